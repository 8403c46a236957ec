// SPDX-License-Identifier: Apache-2.0
#include "collector/live/other_threads.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <map>

#include "collector/base/result.h"
#include "collector/live/thread_ids.h"
#include "collector/live/thread_starts.h"
#include "collector/model/runtime_modules.h"

namespace rollcall {
namespace {

// futex(2): WAIT and WAIT_BITSET end only by a wake-up, unless they have a timeout.
bool IsUntimedFutexWait(const BlockedCall& call) {
  const auto operation = static_cast<int>(call.arguments[1]) & FUTEX_CMD_MASK;
  return call.number == SYS_futex && call.arguments[3] == 0 &&
         (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
}

class OtherThreadsJudge {
 public:
  OtherThreadsJudge(const ProcessState& first, const ProcessState& second,
                    const CallingThreads& threads, ThreadEvidence* evidence)
      : first_(first), second_(second), threads_(threads), evidence_(*evidence) {}

  OtherThreads Run() {
    OtherThreads worst = OtherThreads::kWait;
    for (const ThreadState& thread : second_.threads) {
      const bool gone = thread.state == RunState::kZombie || thread.state == RunState::kDead;
      if (gone || threads_.waiting.contains(thread.tid) || WaitsForOwn(thread)) continue;
      if (StartsOwnThreads(FamilyOf(evidence_.StartModule(thread.tid)))) continue;
      // A thread asleep in a call that cannot be inspected could be waiting for anything.
      const bool hidden = thread.state != RunState::kRunning && !thread.blocked_call;
      if (threads_.called.contains(thread.tid)) {
        if (!hidden) return OtherThreads::kCallers;
        worst = OtherThreads::kUnseen;
      } else if (worst == OtherThreads::kWait) {
        worst = hidden ? OtherThreads::kUnseen : OtherThreads::kOutside;
      }
    }
    return worst;
  }

 private:
  bool WaitsForOwn(const ThreadState& thread) {
    const ThreadState* before = FindSame(first_, thread);
    if (before == nullptr || before->cpu_ns != thread.cpu_ns) return false;
    if (!thread.blocked_call || before->blocked_call != thread.blocked_call) return false;
    const BlockedCall& call = *thread.blocked_call;
    if (!IsUntimedFutexWait(call)) return false;
    if ((call.arguments[1] & FUTEX_PRIVATE_FLAG) != 0) return true;
    // The kernel clears the id of a joined thread when it ends.
    const std::optional<uint32_t> word = evidence_.Word(call.arguments[0]);
    return word.has_value() && std::ranges::any_of(second_.threads, [&](const ThreadState& other) {
             return other.tid != thread.tid && static_cast<uint32_t>(other.tid) == *word;
           });
  }

  const ProcessState& first_;
  const ProcessState& second_;
  const CallingThreads& threads_;
  ThreadEvidence& evidence_;
};

// Reads modules and thread starts on first use: most processes have no thread that needs it.
class RealEvidence : public ThreadEvidence {
 public:
  RealEvidence(const ProcSource& proc, pid_t pid) : proc_(proc), pid_(pid), memory_(pid) {}

  std::string StartModule(pid_t tid) override {
    if (!loaded_) {
      loaded_ = true;
      if (image_.Load(proc_, pid_, &memory_) == 0) {
        starts_ = ReadThreadStarts(image_, "/proc/" + std::to_string(pid_) + "/root");
      }
    }
    const auto start = starts_.find(tid);
    const LoadedModule* module =
        start == starts_.end() ? nullptr : image_.FindModule(start->second);
    return module == nullptr ? "" : module->path;
  }

  std::optional<uint32_t> Word(uint64_t address) override {
    uint32_t word = 0;
    if (memory_.Read(address, &word, sizeof(word)) != sizeof(word)) return std::nullopt;
    return word;
  }

 private:
  const ProcSource& proc_;
  const pid_t pid_;
  const ProcessMemory memory_;
  ProcessImage image_;
  std::map<pid_t, uint64_t> starts_;
  bool loaded_ = false;
};

}  // namespace

OtherThreads JudgeOtherThreads(const ProcessState& first, const ProcessState& second,
                               const CallingThreads& threads, ThreadEvidence* evidence) {
  return OtherThreadsJudge(first, second, threads, evidence).Run();
}

OtherThreads SampleOtherThreads(const ProcSource& proc, pid_t pid, uint32_t own_pid,
                                uint64_t start_ticks, const CallingThreads& threads) {
  Result<ProcessState> first = ReadProcessState(proc, pid, start_ticks);
  if (!first) return OtherThreads::kUnseen;
  Result<ProcessState> second = ReadProcessState(proc, pid, start_ticks);
  if (!second) return OtherThreads::kUnseen;
  // Its memory contains thread ids of its own pid namespace.
  const ThreadIds ids(proc, pid, own_pid);
  for (ProcessState* state : {&*first, &*second}) {
    for (ThreadState& thread : state->threads) thread.tid = ids.ToOwnId(thread.tid);
  }
  RealEvidence evidence(proc, pid);
  return JudgeOtherThreads(*first, *second, threads, &evidence);
}

}  // namespace rollcall
