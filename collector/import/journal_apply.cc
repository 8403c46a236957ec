// SPDX-License-Identifier: Apache-2.0
// Applies the journal's events to the processes of a trace.
#include <signal.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "collector/base/find.h"
#include "collector/import/journal.h"

namespace rollcall {
namespace {

// How much an observation reveals about an end; the highest value wins.
int Knowledge(ProcessEnd::How how) {
  switch (how) {
    case ProcessEnd::How::kExited:
    case ProcessEnd::How::kSignaled:
      return 3;
    case ProcessEnd::How::kVanished:
      return 2;
    case ProcessEnd::How::kAlive:
      return 1;
    case ProcessEnd::How::kUnknown:
      break;
  }
  return 0;
}

class JournalApplier {
 public:
  explicit JournalApplier(RingTraceBuilder* builder)
      : builder_(*builder), trace_(*builder->trace()) {}

  void operator()(const journal::Run&) {}
  void operator()(const journal::ProcessSeen&) {}
  void operator()(const journal::JobEnd&) {}
  void operator()(const journal::Clock&) {}  // applied by CorrectTimes(), before this
  void operator()(const journal::StopRequest& request) {
    if (request.at_ns == kNoTime) return;
    stop_ns_ = stop_ns_ == kNoTime ? request.at_ns : std::min(stop_ns_, request.at_ns);
  }
  void operator()(const journal::Absent& absent) { trace_.problems.push_back(ProblemOf(absent)); }
  void operator()(const journal::Source& source) { trace_.sources.push_back(source.source); }
  void operator()(const journal::Verdict& verdict) {
    Process* process = Find(verdict.process, verdict.at_ns);
    if (process == nullptr || verdict.at_ns == kNoTime) return;
    const auto index = static_cast<uint32_t>(process - trace_.processes.data());
    NoteActivity(index, verdict.activity);
    if (builder_.Activity(index) != verdict.activity) return;
    const bool first = process->judged_ns == kNoTime || verdict.at_ns < process->judged_ns;
    if (first) process->judged_ns = verdict.at_ns;
  }

  void operator()(const journal::ProcessEnded& ended) {
    Process* process = Find(ended.process, ended.end.at_ns);
    if (process == nullptr) return;
    ProcessEnd told = ended.end;
    if (told.how == ProcessEnd::How::kAlive) {
      process->taken_at_ns = std::max(process->taken_at_ns, std::exchange(told.at_ns, kNoTime));
    }
    ProcessEnd& end = process->end;
    const bool better = Knowledge(told.how) > Knowledge(end.how);
    const ProcessEnd& best = better ? told : end;
    ProcessEnd merged = best;
    merged.oom_killed = end.oom_killed || told.oom_killed;
    merged.by_launcher = end.by_launcher || told.by_launcher;
    merged.by_rollcall = end.by_rollcall || told.by_rollcall;
    const bool by_parent = ended.process.ring_id == 0 && Knowledge(told.how) == 3;
    merged.parent_saw = end.parent_saw || by_parent;
    if (best.at_ns == kNoTime) merged.at_ns = std::max(end.at_ns, told.at_ns);
    end = merged;
  }

  void operator()(const journal::Quiet& quiet) {
    Process* process = Find(quiet.process, quiet.at_ns);
    if (process == nullptr) return;
    const auto index = static_cast<uint32_t>(process - trace_.processes.data());
    NoteActivity(index, quiet.activity);
    if (builder_.Activity(index) != quiet.activity) return;
    process->quiet = true;
    process->taken_at_ns = std::max(process->taken_at_ns, quiet.at_ns);
    const std::set<uint32_t> polling(quiet.polling.begin(), quiet.polling.end());
    for (Thread& thread : process->threads) {
      thread.polling |= polling.contains(thread.tid);
      thread.polls_tightly_since_ns = kNoTime;  // the last line counts
      for (const journal::TightPoll& poll : quiet.tight) {
        if (poll.tid == thread.tid) thread.polls_tightly_since_ns = poll.since_ns;
      }
    }
    process->other_threads = quiet.other_threads;
  }

  void operator()(const journal::StackSeen& seen) {
    Process* process = Find(seen.process, seen.at_ns);
    if (process == nullptr) return;
    const auto same = std::ranges::find(process->live_stacks, seen.stack.tid, &LiveStack::tid);
    if (same != process->live_stacks.end()) {
      *same = seen.stack;
    } else {
      process->live_stacks.push_back(seen.stack);
    }
  }

  void operator()(const journal::OutsideWaitSeen& seen) {
    Process* process = Find(seen.process, seen.at_ns);
    if (process == nullptr) return;
    const auto index = static_cast<uint32_t>(process - trace_.processes.data());
    // The process has made a call since. The stacks that were taken then do not show where it is
    // now.
    if (builder_.Activity(index) > seen.activity) process->live_stacks.clear();
    if (builder_.Activity(index) != seen.activity) return;
    // The process has received something from outside and works on it, so the time of its wait does
    // not count as standing still.
    if (process->outside_wait && !seen.wait) {
      process->idle_since_ns = std::max(process->idle_since_ns, seen.at_ns);
    }
    process->outside_wait = seen.wait;
  }

  void operator()(const journal::VariablesSeen& seen) {
    Process* process = Find(seen.process, seen.at_ns);
    if (process == nullptr) return;
    const auto index = static_cast<uint32_t>(process - trace_.processes.data());
    if (builder_.Activity(index) == seen.activity) process->variables = seen.frames;
  }

  void operator()(const journal::Symbols& symbols) {
    const bool says_something = std::ranges::any_of(symbols.frames, [](const SourceFrame& frame) {
      return frame.detail != FrameDetail::kModule;
    });
    if (says_something) symbols_[KeyOf(symbols)] = &symbols;
  }

  void Finish() {
    for (Code& code : trace_.codes) {
      if (!code.frames.empty()) continue;
      if (const auto* known = FindOrNull(symbols_, KeyOf(code))) code.frames = (*known)->frames;
    }
    for (const uint32_t index : moved_on_) trace_.processes[index].quiet = false;
    std::vector<Process*> ended;
    for (Process& process : trace_.processes) {
      process.end.by_launcher = process.end.by_launcher || EndedByStopRequest(process);
      if (HasEnded(process.end)) {
        ended.push_back(&process);
        process.taken_at_ns = std::max(process.taken_at_ns, process.end.at_ns);
      }
    }
    // Unknown times come last; equal times are ordered by the collector's count.
    std::ranges::stable_sort(ended, [](const Process* a, const Process* b) {
      const auto key = [](const Process* process) {
        return std::tuple(process->end.at_ns == kNoTime, process->end.at_ns, process->end.order);
      };
      return key(a) < key(b);
    });
    for (uint32_t i = 0; i < ended.size(); ++i) ended[i]->end.order = i;
  }

 private:
  // The ring is older than an observation of its process: it is a copy of a ring in memory.
  void NoteActivity(uint32_t process, uint64_t activity) {
    if (activity > builder_.Activity(process)) moved_on_.insert(process);
  }

  // Batch systems send SIGTERM to the launcher and to the ranks of all nodes at about the same time
  // (Slurm's scancel). Only the agent beside the launcher observes the launcher's signal. A rank
  // inside a call then loses its peers, perhaps before its own signal arrives: MPI ends the rank,
  // or crashes (MPICH 4.2).
  bool EndedByStopRequest(const Process& process) const {
    const ProcessEnd& end = process.end;
    if (stop_ns_ == kNoTime || end.at_ns == kNoTime || end.oom_killed) return false;
    const int64_t error_ns = process.clock ? process.clock->error_ns : 0;
    const bool signaled = end.how == ProcessEnd::How::kSignaled;
    const bool reacts =
        !process.open_calls.empty() && process.exit_mark != ring::ExitMark::kMpiAbort;
    if (reacts || (signaled && end.status == SIGTERM)) {
      return end.at_ns >= stop_ns_ - kEndOrderBlurNs - error_ns;
    }
    const bool killed =
        end.how == ProcessEnd::How::kVanished || (signaled && end.status == SIGKILL);
    return killed && end.at_ns >= stop_ns_ - error_ns;
  }

  // A build id identifies the file; without one, its path is used.
  template <typename T>
  static std::pair<std::string, uint64_t> KeyOf(const T& code) {
    return {code.build_id.empty() ? code.module_path : code.build_id, code.vaddr};
  }

  void IndexPids() {
    for (uint32_t i = 0; i < trace_.processes.size(); ++i) {
      const Process& process = trace_.processes[i];
      by_pid_[{process.host, process.pid}].push_back(i);
    }
  }

  Process* Find(const journal::ProcessName& name, int64_t at_ns) {
    if (name.ring_id != 0) {
      const auto index = builder_.FindProcess(name.ring_id);
      return index ? &trace_.processes[*index] : nullptr;
    }
    // Only parents and launchers identify processes by pid.
    if (by_pid_.empty()) IndexPids();
    // Pids are reused: finds the last process with this pid that had started by then.
    const auto it = by_pid_.find({name.host, name.pid});
    if (it == by_pid_.end()) return nullptr;
    Process* found = nullptr;
    int64_t found_begin = kNoTime;
    for (const uint32_t index : it->second) {
      const int64_t begin = builder_.StartNs(index);
      if (it->second.size() > 1 && at_ns != kNoTime && begin > at_ns) continue;
      if (found == nullptr || begin > found_begin) {
        found = &trace_.processes[index];
        found_begin = begin;
      }
    }
    return found;
  }

  RingTraceBuilder& builder_;
  Trace& trace_;
  std::set<uint32_t> moved_on_;  // processes
  int64_t stop_ns_ = kNoTime;    // the first stop request
  std::map<std::pair<std::string, uint32_t>, std::vector<uint32_t>> by_pid_;
  std::map<std::pair<std::string, uint64_t>, const journal::Symbols*> symbols_;
};

}  // namespace

void ApplyJournals(std::span<const Journal* const> journals, RingTraceBuilder* builder) {
  JournalApplier applier(builder);
  for (const Journal* journal : journals) {
    for (const JournalEvent& event : journal->events) {
      std::visit([&](const auto& one) { applier(one); }, event);
    }
  }
  applier.Finish();
  std::vector<Problem>& problems = builder->trace()->problems;
  for (const Journal* journal : journals) {
    problems.insert(problems.end(), journal->problems.begin(), journal->problems.end());
  }
}

}  // namespace rollcall
