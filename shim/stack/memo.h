// The stacks that a thread captured last, each with the stack words that decided it.
//
// A walk is a function of the frame it starts at, the words that it reads on the stack, and the
// rules. So if, from the same frame and in the same generation of the rules, all of those words are
// as they were, the result is the same: not a guess, but the same walk without its chain of
// dependent loads. The words are the return addresses, the saved frame pointers that some rule
// used, and what the indirect rules read. MPI programs call from the same loops again and again;
// most captures end here.
//
// One thread's; not for concurrent use.
#ifndef ROLLCALL_SHIM_STACK_MEMO_H_
#define ROLLCALL_SHIM_STACK_MEMO_H_

#include <cstdint>

#include "shim/stack/arch.h"
#include "shim/stack/stack.h"

namespace rollcall::shim {

// What a walk read, addressed from its first frame; stacks of 4 GiB and more are not remembered.
struct WalkTrace {
  static constexpr int kMaxExtra =
      kMaxStackDepth;  // where every frame uses the saved frame pointer

  uint32_t pc_offset[kMaxStackDepth];  // where pcs[i] stands
  uint32_t extra_offset[kMaxExtra];
  uint64_t extra_word[kMaxExtra];
  int extras = 0;
  bool complete = true;  // false: there were more than kMaxExtra, and the walk cannot be remembered
};

struct Memo {
  uint64_t frame = 0;  // 0: empty
  uint64_t generation = 0;
  uint64_t hash = 0;
  int32_t depth = 0;
  int32_t max_depth = 0;
  int32_t extras = 0;
  StackEnd end = StackEnd::kNone;
  uint64_t pcs[kMaxStackDepth];
  uint32_t pc_offset[kMaxStackDepth];
  uint64_t extra_word[WalkTrace::kMaxExtra];
  uint32_t extra_offset[WalkTrace::kMaxExtra];

  // Copies the addresses to `out` while comparing; true if all words are as they were.
  bool Matches(uint64_t at_frame, uint64_t now, int limit, uint64_t* out) const {
    if (frame != at_frame || generation != now || max_depth != limit) return false;
    uint64_t different = 0;
    for (int i = 0; i < depth; ++i) {
      const uint64_t pc = pcs[i];
      different |= pc ^ arch::LoadWord(at_frame + pc_offset[i]);
      out[i] = pc;
    }
    for (int i = 0; i < extras; ++i) {
      different |= extra_word[i] ^ arch::LoadWord(at_frame + extra_offset[i]);
    }
    return different == 0;
  }
};

class MemoTable {
 public:
  static constexpr uint64_t kMemos = 16;

  // A loop calls from several sites at the same frame address, and one site from several depths.
  Memo& For(uint64_t frame, uint64_t pc) {
    const uint64_t mixed = (pc ^ (frame << 20)) * 0x9e3779b97f4a7c15;
    return memos_[mixed >> 60];
  }

 private:
  Memo memos_[kMemos];
  static_assert(kMemos == 16, "For() takes four bits");
};

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_MEMO_H_
