// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/stack.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "shim/stack/arch.h"
#include "shim/stack/memo.h"
#include "shim/stack/modules.h"
#include "shim/stack/rule_cache.h"
#include "shim/stack/thread_stack.h"

namespace rollcall::shim {
namespace {

uint64_t Order(CallerFrame frame) { return reinterpret_cast<uint64_t>(frame.order()); }

// A thread's data. It is in a separate mapping, so that only a pointer takes up static TLS. The
// kernel allocates its pages when memos are used.
struct ThreadBlock {
  StackBounds bounds;
  // Order() of the capture in progress, 0 if there is none. A nested capture (in a signal handler)
  // has a lower frame and does not use the memos. If a new capture's frame is equal or higher, the
  // capture in progress was left by longjmp.
  uint64_t busy_frame = 0;
  // Order() of the capture that is calling the loader, 0 if there is none. A nested capture must
  // not call the loader: the loader's lock is recursive, but not while it is being acquired, and
  // the thread would wait for itself.
  uint64_t learning_frame = 0;
  MemoTable memos;
};

RuleCache cache;
std::atomic<bool> ready{false};
std::atomic<uint64_t> unloads_seen{0};
pthread_key_t block_key;
constinit thread_local ThreadBlock* thread_block = nullptr;

void FreeBlock(void* block) {
  thread_block = nullptr;
  munmap(block, sizeof(ThreadBlock));
}

// Zero bytes are a valid empty block.
ThreadBlock* MakeBlock() {
  void* memory = mmap(nullptr, sizeof(ThreadBlock), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* block = static_cast<ThreadBlock*>(memory);
  block->bounds = FindStackBounds();
  pthread_setspecific(block_key, block);  // if this fails, the block is never freed
  thread_block = block;
  return block;
}

// Factors of a multilinear hash, whose products are independent of each other: the output of
// splitmix64, made odd.
constexpr std::array<uint64_t, kMaxStackDepth> kHashFactors = [] {
  std::array<uint64_t, kMaxStackDepth> factors{};
  uint64_t state = 0;
  for (uint64_t& factor : factors) {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    factor = (z ^ (z >> 31)) | 1;
  }
  return factors;
}();

uint64_t HashOf(const uint64_t* pcs, int depth, StackEnd end) {
  uint64_t hash = static_cast<uint64_t>(end) << 8 | static_cast<uint64_t>(depth);
  for (int i = 0; i < depth; ++i) hash += pcs[i] * kHashFactors[i];
  // Fold: the upper bits of a sum of products depend on all bits, the lower ones on few.
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93;
  return hash ^ (hash >> 32);
}

// Looks up the rule of an address that is seen for the first time. `frame` is the Order() of the
// frame where the capture started. Returns a rule of kind kInvalid if the loader must not be called
// now. Keeps errno, which the loader may change.
[[gnu::noinline]] Rule LearnRule(uint64_t pc, uint64_t generation, uint64_t frame) {
  ThreadBlock* block = thread_block;
  if (block->learning_frame != 0 && frame < block->learning_frame) return {};
  const int saved_errno = errno;
  block->learning_frame = frame;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const ModuleRule found = FindModuleRule(pc);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  block->learning_frame = 0;
  errno = saved_errno;
  uint64_t seen = unloads_seen.load(std::memory_order_relaxed);
  if (found.unloads != seen &&
      unloads_seen.compare_exchange_strong(seen, found.unloads, std::memory_order_relaxed)) {
    cache.Clear();  // something was unloaded without OnDlclose; this rule itself is fresh
  } else {
    cache.Insert(pc, generation, found.rule);
  }
  return found.rule;
}

[[gnu::noinline]] StackEnd EndWithoutModule(uint64_t pc) {
  // A library may have been loaded here since the rule was stored. Its addresses get their rules in
  // the next generation.
  if (IsInLoadedModule(pc)) cache.Clear();
  return StackEnd::kNoUnwindInfo;
}

class Walk {
 public:
  // The walk starts at `frame` and may read stack words from its record up to `high`.
  Walk(CallerFrame frame, uint64_t high, uint64_t* pcs, WalkTrace* trace)
      : frame_(frame), size_(high - frame.address()), pcs_(pcs), trace_(trace) {}

  StackEnd Run(int max_depth, uint64_t generation) {
    constexpr uint64_t kPcLimit = uint64_t{1} << arch::kPcBits;
    uint64_t sp = frame_.sp();
    uint64_t fp_at = low();  // where the caller's frame pointer is saved
    uint64_t pc_at = low() + 8;
    uint64_t is_call = 1;  // a return address may be the first byte of the next function
    while (depth_ < max_depth) {
      const uint64_t pc = arch::LoadReturnAddress(pc_at);
      if (pc < 4096 || pc >= kPcLimit) [[unlikely]]
        return StackEnd::kBadFrame;
      pcs_[depth_] = pc;
      trace_->pc_offset[depth_++] = static_cast<uint32_t>(pc_at - low());

      const uint64_t site = pc - is_call;
      Rule rule = cache.Find(site, generation);
      if (rule.kind == RuleKind::kInvalid) [[unlikely]]
        rule = LearnRule(site, generation, Order(frame_));
      uint64_t base = sp;
      uint64_t cfa = 0;
      if (rule.kind == RuleKind::kSp) [[likely]] {
        cfa = sp + static_cast<int64_t>(rule.cfa);
      } else if (rule.kind == RuleKind::kFp) {
        if (!Extra(fp_at, &base)) return StackEnd::kBadFrame;
        cfa = base + static_cast<int64_t>(rule.cfa);
      } else {
        StackEnd end = StackEnd::kNone;
        if (!Irregular(rule, site, sp, &fp_at, &pc_at, &cfa, &end)) return end;
        if (!Rises(cfa, sp)) return StackEnd::kBadFrame;
        is_call = rule.kind == RuleKind::kSignalFrame ? 0 : 1;
        sp = cfa;
        continue;
      }
      if constexpr (arch::kLinkRegister) {
        if (rule.pc_slot != 0) {
          if (!Rises(cfa, sp)) [[unlikely]]
            return StackEnd::kBadFrame;
          pc_at = SlotAddress(rule.pc_slot, base, cfa);
        } else {
          // A function that a signal interrupted: the signal's frame has x30 after x29. The
          // function may have no frame of its own (cfa == sp).
          if (is_call != 0 || (cfa != sp && !Rises(cfa, sp))) return StackEnd::kBadFrame;
          pc_at = fp_at + 8;
        }
        if (!IsStackWord(pc_at)) return StackEnd::kBadFrame;
        if (rule.fp_slot != 0) fp_at = SlotAddress(rule.fp_slot, base, cfa);
      } else {
        if (!Rises(cfa, sp)) [[unlikely]]
          return StackEnd::kBadFrame;
        pc_at = cfa - 8;
        if (rule.fp_slot != 0) fp_at = cfa + int64_t{8} * rule.fp_slot;
      }
      is_call = 1;
      sp = cfa;
    }
    return StackEnd::kDepthLimit;
  }

  int depth() const { return depth_; }

 private:
  uint64_t low() const { return frame_.address(); }

  bool IsStackWord(uint64_t address) const {
    return address - low() <= size_ - 8 && (address & 7) == 0;
  }

  // For processors with a link register: see Rule.
  static uint64_t SlotAddress(int64_t slot, uint64_t base, uint64_t cfa) {
    return slot < 0 ? cfa + 8 * slot : base + 8 * (slot - 1);
  }

  // True if the CFA is valid: above the callee's and at most at the end of the stack.
  bool Rises(uint64_t cfa, uint64_t sp) const {
    return cfa > sp && cfa - low() <= size_ && (cfa & 7) == 0;
  }

  // Reads a word that is not a return address.
  bool Extra(uint64_t address, uint64_t* word) {
    if (!IsStackWord(address)) return false;
    *word = arch::LoadWord(address);
    if (trace_->extras == WalkTrace::kMaxExtra) {
      trace_->complete = false;
      return true;
    }
    trace_->extra_offset[trace_->extras] = static_cast<uint32_t>(address - low());
    trace_->extra_word[trace_->extras++] = *word;
    return true;
  }

  // Handles the rarer kinds of rules. False: the stack ends, *end says why.
  [[gnu::noinline]] bool Irregular(Rule rule, uint64_t site, uint64_t sp, uint64_t* fp_at,
                                   uint64_t* pc_at, uint64_t* cfa, StackEnd* end) {
    *end = StackEnd::kBadFrame;
    switch (rule.kind) {
      case RuleKind::kFpIndirect: {
        uint64_t fp = 0;
        if (!Extra(*fp_at, &fp) || !Extra(fp + static_cast<int64_t>(rule.cfa), cfa)) return false;
        *fp_at = fp + int64_t{8} * rule.fp_slot;
        *pc_at = *cfa - 8;
        return true;
      }
      case RuleKind::kSignalFrame:
        if (!Extra(sp + static_cast<int64_t>(rule.cfa), cfa)) return false;
        *pc_at = sp + int64_t{8} * rule.pc_slot;
        *fp_at = sp + int64_t{8} * rule.fp_slot;
        return IsStackWord(*pc_at);
      case RuleKind::kInvalid:
        *end = StackEnd::kInterrupted;
        return false;
      case RuleKind::kOutermost:
        *end = StackEnd::kComplete;
        return false;
      case RuleKind::kNoFde:
        *end = StackEnd::kNoUnwindInfo;
        return false;
      case RuleKind::kNoModule:
        *end = EndWithoutModule(site);
        return false;
      default:
        *end = StackEnd::kUnsupportedRule;
        return false;
    }
  }

  const CallerFrame frame_;
  const uint64_t size_;
  uint64_t* pcs_;
  WalkTrace* trace_;
  int depth_ = 0;
};

// Walks the stack and stores the walk in `memo` unless that is null.
[[gnu::noinline]] int WalkStack(CallerFrame frame, uint64_t high, uint64_t generation,
                                int max_depth, Memo* memo, uint64_t* pcs, StackEnd* end,
                                uint64_t* hash) {
  WalkTrace trace;
  Walk walk(frame, high, pcs, &trace);
  *end = walk.Run(max_depth, generation);
  const int depth = walk.depth();
  *hash = HashOf(pcs, depth, *end);
  // Two walks are not stored: a walk that ends at an address in no module, because that address
  // must be looked up again, and a walk during which the generation changed.
  if (memo == nullptr || !trace.complete || *end == StackEnd::kNoUnwindInfo ||
      high - frame.address() > UINT32_MAX || cache.generation() != generation) {
    return depth;
  }
  memo->generation = generation;
  memo->hash = *hash;
  memo->depth = depth;
  memo->max_depth = max_depth;
  memo->extras = trace.extras;
  memo->end = *end;
  std::copy_n(pcs, depth, memo->pcs);
  std::copy_n(trace.pc_offset, depth, memo->pc_offset);
  std::copy_n(trace.extra_word, trace.extras, memo->extra_word);
  std::copy_n(trace.extra_offset, trace.extras, memo->extra_offset);
  // Last: a signal handler that leaves this capture by longjmp leaves no half-written memo.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  memo->frame = frame.key();
  return depth;
}

// Slow path: returns the calling thread's block, making it if needed, and stores whether `frame` is
// on the thread's stack. Keeps errno.
[[gnu::noinline]] ThreadBlock* EnterSlowly(CallerFrame frame, bool* on_stack) {
  const int saved_errno = errno;
  ThreadBlock* block = thread_block != nullptr ? thread_block : MakeBlock();
  *on_stack =
      block != nullptr && frame.sp() <= block->bounds.high &&
      (frame.address() >= block->bounds.low || GrowStackBounds(&block->bounds, frame.address()));
  errno = saved_errno;
  return block;
}

void InitOnce() {
  if (!arch::kSupported || !cache.Init()) return;
  if (pthread_key_create(&block_key, FreeBlock) != 0) return;
  InitModules();
  InitThreadStack();
  unloads_seen.store(FindModuleRule(0).unloads, std::memory_order_relaxed);
  ready.store(true, std::memory_order_release);
}

}  // namespace

bool InitStacks() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, InitOnce);
  return ready.load(std::memory_order_acquire);
}

int CaptureStack(CallerFrame frame, uint64_t* pcs, int max_depth, StackEnd* end, uint64_t* hash) {
  *end = arch::kSupported ? StackEnd::kNone : StackEnd::kUnsupportedArch;
  *hash = 0;
  if (!ready.load(std::memory_order_acquire) || max_depth <= 0) [[unlikely]]
    return 0;
  max_depth = std::min(max_depth, kMaxStackDepth);

  ThreadBlock* block = thread_block;
  bool on_stack =
      block != nullptr && frame.address() >= block->bounds.low && frame.sp() <= block->bounds.high;
  if (!on_stack) [[unlikely]] {
    block = EnterSlowly(frame, &on_stack);
    if (block == nullptr) return 0;
  }
  const uint64_t pc = ReturnAddress(frame);
  if (!on_stack) [[unlikely]] {
    pcs[0] = pc;
    *end = StackEnd::kForeignStack;
    *hash = HashOf(pcs, 1, *end);
    return 1;
  }

  const uint64_t generation = cache.generation();
  const uint64_t high = block->bounds.high;
  if (block->busy_frame != 0 && Order(frame) < block->busy_frame) [[unlikely]] {
    return WalkStack(frame, high, generation, max_depth, nullptr, pcs, end, hash);
  }
  block->busy_frame = Order(frame);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Memo& memo = block->memos.Take(frame.key(), pc);
  int depth = 0;
  if (memo.Matches(frame, generation, max_depth)) {
    depth = memo.depth;
    std::copy_n(memo.pcs, depth, pcs);
    *end = memo.end;
    *hash = memo.hash;
  } else {
    memo.frame = 0;  // empty until it is whole
    std::atomic_signal_fence(std::memory_order_seq_cst);
    depth = WalkStack(frame, high, generation, max_depth, &memo, pcs, end, hash);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  block->busy_frame = 0;
  return depth;
}

uint64_t RecallStack(CallerFrame frame, int max_depth) {
  ThreadBlock* block = thread_block;  // only if the stacks are ready
  if (block == nullptr || frame.address() < block->bounds.low || frame.sp() > block->bounds.high ||
      (block->busy_frame != 0 && Order(frame) < block->busy_frame)) [[unlikely]] {
    return 0;
  }
  block->busy_frame = Order(frame);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const Memo* memo = block->memos.Find(frame.key(), ReturnAddress(frame));
  const bool same = memo != nullptr && memo->Matches(frame, cache.generation(), max_depth);
  const uint64_t hash = same ? memo->hash : 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  block->busy_frame = 0;
  return hash;
}

void OnDlclose() {
  if (ready.load(std::memory_order_acquire)) cache.Clear();
}

}  // namespace rollcall::shim
