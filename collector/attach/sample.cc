// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/sample.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "collector/attach/trace_of_stacks.h"
#include "collector/base/process_table.h"
#include "collector/base/result.h"
#include "collector/import/read_ahead.h"
#include "collector/live/library_call.h"
#include "collector/live/live_frames.h"
#include "collector/live/live_stack.h"
#include "collector/live/other_threads.h"
#include "collector/live/process_image.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall::attach {
namespace {

// Limit for all threads of a rank. No thread is stopped for that long. A machine full of spinning
// ranks is slow.
constexpr std::chrono::seconds kTimeout{20};

// Further tries to take a stack. A thread that gets no CPU time for 50 ms, because many ranks spin,
// does not stop in time. A thread that wakes up occasionally may enter a call in which it must not
// be stopped.
constexpr int kMoreTries = 2;

// Number of further digests of a computing thread. They reveal a loop that repeats the same state,
// at whatever point of its iteration the samples are taken.
constexpr int kMoreDigests = 8;

constexpr size_t kMaxHelpers = 8;  // per rank

// Samples the rank's data loader workers, which the rank waits for.
void SampleHelpers(const ProcSource& proc, const JobRank& rank, Symbolizer* symbolizer,
                   RankSample* sample) {
  for (size_t i = 0; i < std::min(kMaxHelpers, rank.helpers.size()); ++i) {
    const pid_t pid = rank.helpers[i];
    // The pid may belong to another process by now.
    const Result<ProcessState> state = ReadProcessState(proc, pid, 0);
    if (!state || state->parent_pid != rank.pid) continue;
    const LiveStacks stacks = CaptureLiveStacks(proc, pid, {.tid = pid});
    if (stacks.threads.empty() || stacks.threads.front().frames.empty()) continue;
    sample->helpers.push_back(ThreadSampleOf(stacks.threads.front(), symbolizer));
  }
}

void DropIntegers(RankSample* sample) {
  for (ThreadSample& thread : sample->threads) {
    for (LiveFrame& frame : thread.frames) frame.integers.clear();
  }
}

// The caller of the outermost function with that meaning; 0 if there is no such function, or if the
// stack ends at it.
size_t CallerOf(const LiveThread& thread, FrameMeaning meaning, Symbolizer* symbolizer) {
  for (size_t i = thread.frames.size(); i-- > 0;) {
    const SourceFrame function = symbolizer->Symbolize(thread.frames[i]).back();
    if (MeaningOf({&function}).meaning == meaning) return i + 1 < thread.frames.size() ? i + 1 : 0;
  }
  return 0;
}

// The calls in the function that called the outermost sleeping function.
std::vector<NearbyCall> CallsAroundSleep(const LiveThread& thread, Symbolizer* symbolizer) {
  constexpr size_t kMaxCalls = 128;
  constexpr size_t kMaxEntries = 512;
  const size_t caller = CallerOf(thread, FrameMeaning::kSleep, symbolizer);
  std::vector<NearbyCall> nearby;
  if (caller == 0) return nearby;
  const auto calls = symbolizer->CallsOf(thread.frames[caller], kMaxCalls + 1);
  if (calls.size() > kMaxCalls) return nearby;
  for (const Symbolizer::Call& call : calls) {
    for (const SourceFrame& frame : call.frames) {
      nearby.push_back({call.callee, frame.function, frame.file, frame.line});
    }
  }
  // An incomplete list would be taken for a complete list.
  if (nearby.size() > kMaxEntries) nearby.clear();
  return nearby;
}

// Reads the MPI call that the thread is in. The thread may continue meanwhile, so all data that is
// read from the library's objects is checked.
std::optional<LibraryCall> ReadCall(const ProcSource& proc, pid_t pid, const LiveThread& thread,
                                    int32_t world_size, Symbolizer* symbolizer) {
  const size_t caller = CallerOf(thread, FrameMeaning::kMpi, symbolizer);
  if (caller == 0 || caller >= thread.registers.size()) return std::nullopt;
  std::vector<std::string> functions;
  for (size_t i = 0; i <= caller; ++i) {
    functions.push_back(symbolizer->Symbolize(thread.frames[i]).back().function);
  }
  std::vector<CallFrame> frames;
  for (size_t i = 0; i <= caller; ++i) {
    frames.push_back({thread.registers[i], functions[i], thread.frames[i].module_path});
  }
  const ProcessMemory memory(pid);
  ProcessImage image;
  if (image.Load(proc, pid, &memory) != 0) return std::nullopt;
  const std::string root = proc.root() + "/proc/" + std::to_string(pid) + "/root";
  return ReadLibraryCall(image, root, frames, world_size);
}

RankSample TakeSample(const ProcSource& proc, const JobRank& rank, int32_t world_size,
                      bool with_helpers, Symbolizer* symbolizer) {
  RankSample sample;
  Result<ProcessState> state = ReadProcessState(proc, rank.pid, rank.start_ticks);
  sample.error = state.error();
  if (!state) return sample;
  sample.state = std::move(*state);
  LiveStackOptions options = {.deadline = kTimeout, .python_locals = true};
  LiveStacks stacks = CaptureLiveStacks(proc, rank.pid, options);
  sample.error = stacks.error;
  for (LiveThread& thread : stacks.threads) {
    options.tid = thread.tid;
    for (int i = 0; i < kMoreTries && sample.error.empty() && thread.frames.empty(); ++i) {
      LiveStacks again = CaptureLiveStacks(proc, rank.pid, options);
      if (!again.threads.empty()) thread = std::move(again.threads.front());
    }
    sample.threads.push_back(ThreadSampleOf(thread, symbolizer));
  }
  sample.io_bytes = ReadIoBytes(proc, rank.pid);
  StackMeaning meaning;
  const ThreadSample* representative = Representative(sample, &meaning);
  if (representative == nullptr) return sample;
  const auto index = static_cast<size_t>(representative - sample.threads.data());
  if (meaning.meaning == FrameMeaning::kCode &&
      stacks.threads[index].method == CaptureMethod::kStopped) {
    options = {.tid = representative->tid, .more_digests = kMoreDigests};
    LiveStacks again = CaptureLiveStacks(proc, rank.pid, options);
    if (!again.threads.empty()) {
      sample.threads[index].more_digests = std::move(again.threads.front().more_digests);
    }
  }
  if (meaning.meaning == FrameMeaning::kSleep) {
    sample.threads[index].nearby = CallsAroundSleep(stacks.threads[index], symbolizer);
  }
  if (meaning.meaning == FrameMeaning::kMpi) {
    sample.threads[index].call =
        ReadCall(proc, rank.pid, stacks.threads[index], world_size, symbolizer);
  }
  const std::string directory = "/proc/" + std::to_string(rank.pid);
  const auto own_tid = [&](const ThreadSample& thread) {
    return static_cast<pid_t>(OwnNumber(proc, directory + "/task/" + std::to_string(thread.tid)));
  };
  CallingThreads threads = {.waiting = {own_tid(*representative)},
                            .called = {own_tid(*representative)}};
  for (const ThreadSample& thread : sample.threads) {
    // A thread in an MPI call holds Python's lock, unless another thread does. That other thread is
    // judged itself, so threads that wait for the lock count as waiting.
    const bool needs_gil = WaitsForRanks(meaning.meaning) && WaitsForGil(thread);
    if (IsOfLibrary(thread) || needs_gil) threads.waiting.insert(own_tid(thread));
  }
  sample.other_threads =
      SampleOtherThreads(proc, rank.pid, OwnNumber(proc, directory), rank.start_ticks, threads);
  if (with_helpers && meaning.meaning == FrameMeaning::kLoader) {
    SampleHelpers(proc, rank, symbolizer, &sample);
  }
  return sample;
}

}  // namespace

ThreadSample ThreadSampleOf(const LiveThread& thread, Symbolizer* symbolizer) {
  ThreadSample sample;
  sample.tid = thread.tid;
  sample.name = thread.name;
  sample.frames = LiveFrames(thread, symbolizer);
  sample.whole = thread.end == ring::StackEnd::kComplete;
  sample.digest = thread.digest;
  sample.detail = thread.detail;
  return sample;
}

std::vector<ObservedRank> SampleTwice(const ProcSource& proc, const FoundJob& job,
                                      const SampleOptions& options) {
  using Clock = std::chrono::steady_clock;
  Symbolizer symbolizer;
  std::vector<ObservedRank> observed;
  for (const JobRank& rank : job.ranks)
    observed.push_back({.rank = rank, .first = {}, .second = {}});
  std::vector<Clock::time_point> begun(observed.size());
  const auto sample_all = [&](RankSample ObservedRank::*sample) {
    const bool second = sample == &ObservedRank::second;
    ReadAhead<RankSample> samples(observed.size(), ReadingThreads(), [&](size_t i) {
      if (second) std::this_thread::sleep_until(begun[i] + options.between);
      begun[i] = Clock::now();
      return TakeSample(proc, job.ranks[i], job.size, /*with_helpers=*/second, &symbolizer);
    });
    for (ObservedRank& rank : observed) rank.*sample = samples.Next();
  };
  sample_all(&ObservedRank::first);
  if (options.after_first) options.after_first();
  sample_all(&ObservedRank::second);
  if (!options.integers) {
    for (ObservedRank& rank : observed) {
      DropIntegers(&rank.first);
      DropIntegers(&rank.second);
    }
  }
  return observed;
}

}  // namespace rollcall::attach
