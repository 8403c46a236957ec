// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/trace_of_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "collector/import/interner.h"
#include "collector/live/activity.h"
#include "collector/matching/user_code.h"
#include "collector/model/runtime_modules.h"
#include "collector/model/signal_name.h"

namespace rollcall::attach {
namespace {

std::vector<const SourceFrame*> FramesOf(const ThreadSample& thread) {
  std::vector<const SourceFrame*> frames;
  for (const LiveFrame& frame : thread.frames) frames.push_back(&frame.frame);
  return frames;
}

// The first of the caller's frames, which are after the call.
size_t FirstOwnFrame(const StackMeaning& meaning) { return static_cast<size_t>(meaning.frame + 1); }

bool SamePlace(const LiveFrame& a, const LiveFrame& b) {
  return a.frame.function == b.frame.function && a.frame.file == b.frame.file &&
         a.frame.line == b.frame.line && a.frame.module == b.frame.module &&
         a.frame.vaddr == b.frame.vaddr;
}

// Null if there is none. The result is owned by `process`.
const ThreadState* ThreadOf(const ProcessState& process, pid_t tid) {
  const auto found = std::ranges::find(process.threads, tid, &ThreadState::tid);
  return found == process.threads.end() ? nullptr : &*found;
}

// Whether the thread is in an uninterruptible wait; tid 0 means the main thread.
bool InKernel(const ProcessState& process, pid_t tid) {
  if (tid == 0) return process.state == RunState::kDiskWait;
  const ThreadState* thread = ThreadOf(process, tid);
  return thread != nullptr && thread->state == RunState::kDiskWait;
}

// Whether the thread did not run between the samples.
bool DidNotRun(const ObservedRank& rank, pid_t tid) {
  if (!rank.first.state || !rank.second.state) return false;
  const ThreadState* first = ThreadOf(*rank.first.state, tid);
  const ThreadState* second = ThreadOf(*rank.second.state, tid);
  // The sample itself takes some CPU time, but less than an iteration of a loop.
  constexpr uint64_t kSampleCostNs = 300'000;
  return first != nullptr && second != nullptr && first->start_ticks == second->start_ticks &&
         first->blocked_call.has_value() && first->blocked_call == second->blocked_call &&
         second->cpu_ns - first->cpu_ns < kSampleCostNs;
}

// Whether PyTorch's threads may have moved data. If so, a call that all ranks are in may still
// return. Derived from the bytes that were read and written, because the waits of these threads
// have timeouts. (An MPI thread spins for its caller.)
bool MayHaveMovedData(const ObservedRank& rank) {
  const bool has_some = std::ranges::any_of(rank.second.threads, [](const ThreadSample& thread) {
    return IsOfLibrary(thread) && std::ranges::any_of(thread.frames, [](const LiveFrame& frame) {
             return FamilyOf(frame.frame.module) == ModuleFamily::kTorch;
           });
  });
  constexpr uint64_t kHeartbeats = 4096;  // bytes
  return has_some && (!rank.first.io_bytes || !rank.second.io_bytes ||
                      *rank.second.io_bytes - *rank.first.io_bytes > kHeartbeats);
}

// Whether a thread that waits for Python's lock did something else in the first sample, or was
// elsewhere. A thread that gets the lock between the samples continues at once.
bool MayGetGil(const ObservedRank& rank) {
  const auto stays = [&](const ThreadSample& thread) {
    const auto before = std::ranges::find(rank.first.threads, thread.tid, &ThreadSample::tid);
    if (before == rank.first.threads.end() || !WaitsForGil(*before)) return false;
    const auto own = [](const ThreadSample& of) {
      return std::span(of.frames).subspan(FirstOwnFrame(MeaningOf(FramesOf(of))));
    };
    const auto same = [](const LiveFrame& a, const LiveFrame& b) {
      return SamePlace(a, b) && (a.frame.language != Language::kPython || a.digest == b.digest);
    };
    const std::span now = own(thread);
    const std::span then = own(*before);
    return std::equal(now.begin(), now.end(), then.begin(), then.end(), same);
  };
  const std::vector<ThreadSample>& threads = rank.second.threads;
  return std::ranges::any_of(
      threads, [&](const ThreadSample& thread) { return WaitsForGil(thread) && !stays(thread); });
}

// Whether all registers and the whole stack were at some moment the same as before.
bool HasStateOf(const ThreadSample& before, const ThreadSample& now) {
  std::set<uint64_t> states(before.more_digests.begin(), before.more_digests.end());
  states.insert(before.digest);
  states.erase(0);
  return states.contains(now.digest) ||
         std::ranges::any_of(now.more_digests,
                             [&states](uint64_t digest) { return states.contains(digest); });
}

Stillness Compare(const ObservedRank& rank, const ThreadSample& first,
                  const StackMeaning& first_meaning, const ThreadSample& second,
                  const StackMeaning& meaning) {
  if (first.tid != second.tid || first_meaning.meaning != meaning.meaning ||
      first_meaning.call != meaning.call) {
    return Stillness::kMoved;
  }
  const bool slept = DidNotRun(rank, second.tid);
  // A computing thread may change registers only. A thread that waits in a call leaves the caller's
  // registers unchanged.
  if (meaning.meaning == FrameMeaning::kCode && !slept) {
    return HasStateOf(first, second) ? Stillness::kSame : Stillness::kMoved;
  }
  const size_t skip_first = FirstOwnFrame(first_meaning);
  const size_t skip = FirstOwnFrame(meaning);
  if (first.frames.size() - skip_first != second.frames.size() - skip) return Stillness::kMoved;
  for (size_t i = skip; i < second.frames.size(); ++i) {
    if (!SamePlace(first.frames[i - skip + skip_first], second.frames[i])) return Stillness::kMoved;
  }
  if (slept) return Stillness::kAsleep;
  const auto own = [](const ThreadSample& thread, size_t from) {
    for (size_t i = from; i < thread.frames.size(); ++i) {
      const LiveFrame& frame = thread.frames[i];
      const bool native = frame.frame.language == Language::kNative;
      if (native && frame.digest != 0) return frame.digest;
    }
    return uint64_t{0};
  };
  // Python frames have digests of their own, because the interpreter's native frames look alike.
  for (size_t i = skip; i < second.frames.size(); ++i) {
    const LiveFrame& frame = second.frames[i];
    if (frame.frame.language != Language::kPython) continue;
    const uint64_t before = first.frames[i - skip + skip_first].digest;
    if (frame.digest == 0 || frame.digest != before) return Stillness::kMoved;
  }
  const uint64_t digest = own(second, skip);
  return digest != 0 && digest == own(first, skip_first) ? Stillness::kSame : Stillness::kMoved;
}

// The modules of which ranks have different files, for example on different hosts.
class Builds {
 public:
  explicit Builds(const std::vector<ObservedRank>& observed) {
    for (const ObservedRank& rank : observed) {
      for (const ThreadSample& thread : rank.second.threads) {
        for (const LiveFrame& frame : thread.frames) Add(frame);
      }
    }
  }
  bool Differ(const std::string& module) const { return differing_.contains(module); }

 private:
  void Add(const LiveFrame& frame) {
    if (frame.build_id.empty()) return;
    const auto [known, is_new] = builds_.try_emplace(frame.frame.module, frame.build_id);
    if (!is_new && known->second != frame.build_id) differing_.insert(frame.frame.module);
  }

  std::unordered_map<std::string, std::string> builds_;
  std::unordered_set<std::string> differing_;
};

// A process that a rank forked has the rank's environment. Its core may have overwritten the rank's
// core, if core names have no process id.
bool IsLoaderWorker(const RankSample& sample) {
  return !sample.threads.empty() &&
         std::ranges::any_of(sample.threads.front().frames, [](const LiveFrame& frame) {
           return frame.frame.file.ends_with("torch/utils/data/_utils/worker.py");
         });
}

class Builder {
 public:
  Builder(const FoundJob& job, const std::string& host, const std::vector<ObservedRank>& observed)
      : interner_(&trace_), host_(host), builds_(observed) {
    trace_.evidence = Trace::Evidence::kStacks;
    World world;
    world.size = job.size;
    world.all_here = job.all_local;
    size_t slots = job.size > 0 ? static_cast<size_t>(job.size) : 0;
    for (const JobRank& rank : job.ranks) {
      slots = std::max(slots, static_cast<size_t>(rank.rank) + 1);
    }
    world.processes.assign(slots, kNoIndex);
    trace_.worlds.push_back(std::move(world));
  }

  void Add(const ObservedRank& observed) {
    Process process;
    process.world = 0;
    process.rank = observed.rank.rank;
    process.host = observed.host.empty() ? host_ : observed.host;
    process.pid = static_cast<uint32_t>(observed.rank.pid);
    process.executable = observed.rank.executable;
    process.source = "process " + std::to_string(observed.rank.pid);
    process.end.how = ProcessEnd::How::kAlive;
    Place& place = process.place.emplace();
    place.no_library = !observed.rank.communicates && !observed.core;
    if (observed.core) {
      PlaceFromCore(observed, &place);
      trace_.evidence = Trace::Evidence::kCores;
      process.source = observed.core->file;
      const int signal = observed.core->signal;
      process.end.how = signal != 0 ? ProcessEnd::How::kSignaled : ProcessEnd::How::kUnknown;
      process.end.status = signal;
    } else {
      LookAtSamples(observed, &place);
      if (place.gone || place.ended) process.end.how = ProcessEnd::How::kVanished;
    }
    AddStacks(observed, &process);
    AddOpenCall(&process);
    trace_.worlds[0].processes[static_cast<size_t>(process.rank)] =
        static_cast<uint32_t>(trace_.processes.size());
    trace_.processes.push_back(std::move(process));
  }

  Trace Finish() { return std::move(trace_); }

 private:
  void LookAtSamples(const ObservedRank& observed, Place* place) {
    const std::optional<ProcessState>& state = observed.second.state;
    const auto ended = [](RunState run) {
      return run == RunState::kZombie || run == RunState::kDead;
    };
    if (!state || ended(state->state)) {
      const std::optional<ProcessState>& before = observed.first.state;
      place->gone = !before || ended(before->state);
      place->ended = !place->gone;
      return;
    }
    place->may_act = observed.second.other_threads != OtherThreads::kWait ||
                     MayHaveMovedData(observed) || MayGetGil(observed);
    StackMeaning first_meaning;
    const ThreadSample* first = Representative(observed.first, &first_meaning);
    const ThreadSample* second = Representative(observed.second, &place->meaning);
    if (second == nullptr) {
      place->problem = observed.second.error;
      place->unreadable = !place->problem.empty();
      if (!place->unreadable && !observed.second.threads.empty()) {
        place->problem = observed.second.threads.front().detail;
      }
      SetState(observed, 0, place);
      if (place->in_kernel) place->stillness = Stillness::kAsleep;  // no debugger can stop it
      return;
    }
    SetState(observed, second->tid, place);
    place->timed = place->meaning.meaning == FrameMeaning::kSleep;
    if (place->timed) SetSleeper(*second, place);
    SetPlace(observed, *second, place);
    const ThreadSample& main = observed.second.threads.front();
    place->main_needs_gil = &main != second && WaitsForGil(main);
    if (first == nullptr) return;
    place->stillness = Compare(observed, *first, first_meaning, *second, place->meaning);
    if (second->call) place->library = *second->call;
    if (first->call && !Merge(*first->call, &place->library)) {
      place->stillness = Stillness::kMoved;
    }
  }

  static void SetSleeper(const ThreadSample& thread, Place* place) {
    for (size_t i = FirstOwnFrame(place->meaning); i < thread.frames.size(); ++i) {
      place->sleeper.push_back(thread.frames[i].frame);
      if (!thread.frames[i].frame.inlined) break;
    }
    place->nearby = thread.nearby;
  }

  // Sets what the rank was doing when the signal arrived.
  void PlaceFromCore(const ObservedRank& observed, Place* place) {
    const RankSample& sample = observed.second;
    const CoreEnd& end = *observed.core;
    if (IsLoaderWorker(sample)) {
      place->unreadable = true;
      place->problem = fmt::format(
          "{} belongs to a data loader worker; the rank itself has no core file", end.file);
      return;
    }
    const ThreadSample* thread = Representative(sample, &place->meaning);
    if (end.fault) {
      place->fault = SignalName(end.signal);
      thread = sample.threads.empty() ? nullptr : &sample.threads.front();
      if (thread != nullptr) place->meaning = MeaningOf(FramesOf(*thread));
    } else if (place->meaning.meaning == FrameMeaning::kExit && place->meaning.call == "abort") {
      place->fault = "abort()";  // called by this thread, not by a watchdog's thread
    }
    place->gone = !place->fault.empty();
    if (thread != nullptr && !thread->frames.empty()) {
      SetPlace(observed, *thread, place);
    } else if (!place->gone) {
      place->unreadable = true;
      place->problem = sample.error;
      if (sample.error.empty() && !sample.threads.empty()) {
        place->problem = sample.threads.front().detail;
      }
    }
  }

  void SetPlace(const ObservedRank& observed, const ThreadSample& thread, Place* place) {
    place->call_path = Path(thread, FirstOwnFrame(place->meaning));
    AddVariables(thread, place);
    for (const ThreadSample& helper : observed.second.helpers) {
      AddAwaited("process", helper, place);
    }
    if (place->meaning.meaning != FrameMeaning::kExit) return;
    for (const ThreadSample& other : observed.second.threads) {
      if (&other != &thread) AddAwaited("thread", other, place);
    }
  }

  static void SetState(const ObservedRank& observed, pid_t tid, Place* place) {
    if (!observed.first.state || !observed.second.state) return;
    const ThreadActivity activity = Summarize(*observed.first.state, *observed.second.state, tid);
    place->stopped = activity.activity_level == ActivityLevel::kStopped;
    place->in_kernel =
        InKernel(*observed.first.state, tid) && InKernel(*observed.second.state, tid);
    place->state = StateText(activity);
  }

  void AddStacks(const ObservedRank& observed, Process* process) {
    for (const ThreadSample& thread : observed.second.threads) {
      LiveStack& stack = process->live_stacks.emplace_back();
      stack.tid = static_cast<uint32_t>(thread.tid);
      stack.thread_name = thread.name;
      for (const LiveFrame& frame : thread.frames) stack.frames.push_back(frame.frame);
      if (thread.frames.empty()) {
        stack.unreadable = observed.second.error.empty() ? thread.detail : observed.second.error;
      }
      if (!observed.first.state || !observed.second.state) continue;
      SetActivity(Summarize(*observed.first.state, *observed.second.state, thread.tid), &stack);
    }
  }

  static void AddVariables(const ThreadSample& thread, Place* place) {
    const size_t from = FirstOwnFrame(place->meaning);
    for (size_t i = thread.frames.size(); i-- > from;) {
      const LiveFrame& frame = thread.frames[i];
      if (frame.frame.language != Language::kPython || IsFrameworkFrame(frame.frame)) continue;
      place->variables.push_back({frame.frame, frame.integers});
    }
  }

  static void AddAwaited(std::string_view what, const ThreadSample& thread, Place* place) {
    const SourceFrame* frame = InnermostUserFrame(FramesOf(thread));
    if (frame == nullptr || !IsUserLine(*frame)) return;
    place->awaited.push_back(
        fmt::format("{} {} is in {} ({})", what, thread.tid, frame->function, PlaceText(*frame)));
  }

  // Adds the open call for the exporters.
  void AddOpenCall(Process* process) {
    const Place& place = *process->place;
    if (place.meaning.operation == Operation::kNone) return;
    Arguments arguments;
    arguments.operation = place.meaning.operation;
    OpenCall open;
    open.event.arguments = interner_.Arguments(arguments);
    open.event.call_path = place.call_path;
    process->open_calls.push_back(std::move(open));
    process->threads.emplace_back().main = true;
  }

  // The frames from `from` outwards, as a call path.
  uint32_t Path(const ThreadSample& thread, size_t from) {
    Trace& trace = trace_;
    CallPath path;
    path.end = thread.whole ? ring::StackEnd::kComplete : ring::StackEnd::kBadFrame;
    for (size_t i = from; i < thread.frames.size();) {
      size_t end = i + 1;
      while (end < thread.frames.size() && thread.frames[end - 1].frame.inlined) ++end;
      const SourceFrame& place = thread.frames[end - 1].frame;
      const bool python = place.language == Language::kPython;
      const uint32_t code =
          python ? interner_.PythonCode(place, 0) : NativeCode(thread.frames[end - 1]);
      if (trace.codes[code].frames.empty()) {
        for (size_t k = i; k < end; ++k) trace.codes[code].frames.push_back(thread.frames[k].frame);
      }
      path.codes.push_back(code);
      i = end;
    }
    return path.codes.empty() ? kNoIndex : interner_.CallPath(path);
  }

  uint32_t NativeCode(const LiveFrame& live) {
    const SourceFrame& place = live.frame;
    // Addresses differ between two builds of a library even if the callers are the same. Places
    // without lines are therefore distinguished by their functions alone.
    const bool by_name = place.line == 0 && !place.function.empty() && builds_.Differ(place.module);
    if (by_name) {
      return interner_.Code(interner_.Module(place.module, ""),
                            std::hash<std::string>()(place.function));
    }
    return interner_.Code(interner_.Module(place.module, live.build_id), place.vaddr);
  }

  Trace trace_;
  Interner interner_;
  const std::string host_;
  const Builds builds_;
};

}  // namespace

const ThreadSample* Representative(const RankSample& sample, StackMeaning* meaning) {
  const ThreadSample* chosen = nullptr;
  for (const ThreadSample& thread : sample.threads) {
    const bool is_main = &thread == &sample.threads.front();
    if (thread.frames.empty()) continue;
    const StackMeaning own = MeaningOf(FramesOf(thread));
    const bool better = own.meaning == FrameMeaning::kMpi || own.meaning == FrameMeaning::kNccl ||
                        own.meaning == FrameMeaning::kTorch;
    if (!is_main && (!better || WaitsForRanks(meaning->meaning))) continue;
    chosen = &thread;
    *meaning = own;
  }
  return chosen;
}

bool WaitsForGil(const ThreadSample& thread) {
  return MeaningOf(FramesOf(thread)).meaning == FrameMeaning::kGil;
}

bool IsOfLibrary(const ThreadSample& thread) {
  bool some = false;
  for (const LiveFrame& frame : thread.frames) {
    const ModuleFamily family = FamilyOf(frame.frame.module);
    const bool library = IsCommunication(family);
    if (frame.frame.language == Language::kPython || (!library && family != ModuleFamily::kC)) {
      return false;
    }
    some |= library;
  }
  return some && thread.whole;
}

Trace TraceOfStacks(const FoundJob& job, const std::string& host,
                    const std::vector<ObservedRank>& observed) {
  Builder builder(job, host, observed);
  for (const ObservedRank& rank : observed) builder.Add(rank);
  return builder.Finish();
}

}  // namespace rollcall::attach
