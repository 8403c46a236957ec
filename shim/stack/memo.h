// SPDX-License-Identifier: Apache-2.0
// The last stacks that a thread captured, each with the stack words that determined it.
//
// The result of a walk depends only on the frame where the walk starts, the stack words that it
// reads, and the rules. If the frame, the generation of the rules and these words are unchanged,
// the result is the same, and the walk with its chain of dependent loads can be omitted. The words
// are the return addresses, the saved frame pointers that a rule used, and the words that indirect
// rules read. MPI programs call from the same loops repeatedly, so most captures are found here.
//
// Belongs to one thread; not thread-safe.
#ifndef ROLLCALL_SHIM_STACK_MEMO_H_
#define ROLLCALL_SHIM_STACK_MEMO_H_

#include <cstdint>

#include "shim/stack/arch.h"
#include "shim/stack/stack.h"

namespace rollcall::shim {

// The stack words that a walk read, as offsets from its first frame. Stacks of 4 GiB and more are
// not stored.
struct WalkTrace {
  static constexpr int kMaxExtra =
      kMaxStackDepth;  // enough if every frame uses the saved frame pointer

  uint32_t pc_offset[kMaxStackDepth];  // offset of pcs[i]
  uint32_t extra_offset[kMaxExtra];
  uint64_t extra_word[kMaxExtra];
  int extras = 0;
  bool complete = true;  // false: more than kMaxExtra words, so that the walk cannot be stored
};

struct Memo {
  uint64_t frame = 0;  // CallerFrame::key(); 0: empty
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

  // True if all words are unchanged.
  bool Matches(CallerFrame from, uint64_t now, int limit) const {
    const uint64_t at_frame = from.address();
    if (frame != from.key() || generation != now || max_depth != limit) return false;
    uint64_t different = 0;
    const int words = depth;
#pragma GCC unroll 4
    for (int i = 0; i < words; ++i) {
      different |= pcs[i] ^ arch::LoadReturnAddress(at_frame + pc_offset[i]);
    }
    for (int i = 0; i < extras; ++i) {
      different |= extra_word[i] ^ arch::LoadWord(at_frame + extra_offset[i]);
    }
    return different == 0;
  }
};

class MemoTable {
 public:
  // Returns nullptr if there is no memo of this frame (CallerFrame::key()) and return address. Both
  // are needed: a loop calls from several sites at the same frame address, and one site may be
  // called at several depths.
  const Memo* Find(uint64_t frame, uint64_t pc) const {
    const Memo* set = memos_ + FirstOf(frame, pc);
    for (uint64_t way = 0; way < kWays; ++way) {
      if (set[way].frame == frame && set[way].pcs[0] == pc) return &set[way];
    }
    return nullptr;
  }

  // The memo to write: the existing one, an empty one, or another one, which is given up.
  Memo& Take(uint64_t frame, uint64_t pc) {
    if (const Memo* known = Find(frame, pc)) return memos_[known - memos_];
    Memo* set = memos_ + FirstOf(frame, pc);
    for (uint64_t way = 0; way < kWays; ++way) {
      if (set[way].frame == 0) return set[way];
    }
    return set[next_++ % kWays];
  }

 private:
  static constexpr uint64_t kSetBits = 5;
  static constexpr uint64_t kWays = 4;

  static uint64_t FirstOf(uint64_t frame, uint64_t pc) {
    return ((pc ^ (frame << 20)) * 0x9e3779b97f4a7c15 >> (64 - kSetBits)) * kWays;
  }

  uint64_t next_ = 0;
  Memo memos_[kWays << kSetBits];
};

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_MEMO_H_
