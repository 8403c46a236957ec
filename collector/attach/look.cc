#include "collector/attach/look.h"

#include <thread>
#include <utility>

#include "collector/attach/standing.h"
#include "collector/base/process_table.h"
#include "collector/import/read_ahead.h"
#include "collector/live/live_frames.h"
#include "collector/live/live_stack.h"
#include "collector/live/other_threads.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall::attach {
namespace {

// Of all threads of a rank: nobody is held for so long. A machine full of ranks that spin is slow.
constexpr std::chrono::seconds kPatience{20};

// A thread that gets no processor for 50 ms does not stop in time, where many ranks spin.
constexpr int kMoreTries = 2;

bool MainIsMissing(const LiveStacks& stacks) {
  return stacks.error.empty() && !stacks.threads.empty() && stacks.threads.front().frames.empty();
}

RankLook LookAt(const ProcSource& proc, const JobRank& rank, Symbolizer* symbolizer) {
  RankLook look;
  look.state = ReadProcessState(proc, rank.pid, rank.start_ticks, &look.error);
  if (!look.state) return look;
  const auto capture = [&] {
    return CaptureLiveStacks(proc, rank.pid, {.deadline = kPatience, .python_locals = true});
  };
  LiveStacks stacks = capture();
  for (int i = 0; i < kMoreTries && MainIsMissing(stacks); ++i) stacks = capture();
  look.error = stacks.error;
  for (const LiveThread& thread : stacks.threads) {
    ThreadLook& seen = look.threads.emplace_back();
    seen.tid = thread.tid;
    seen.name = thread.name;
    seen.frames = LiveFrames(thread, symbolizer);
    seen.whole = thread.end == ring::StackEnd::kComplete;
    seen.digest = thread.digest;
    seen.detail = thread.detail;
  }
  StackMeaning meaning;
  const ThreadLook* representative = Representative(look, &meaning);
  if (representative == nullptr) return look;
  const std::string directory = "/proc/" + std::to_string(rank.pid);
  const uint32_t own_pid = OwnNumber(proc, directory);
  const auto own_tid = static_cast<pid_t>(
      OwnNumber(proc, directory + "/task/" + std::to_string(representative->tid)));
  look.other_threads = SampleOtherThreads(proc, rank.pid, own_pid, rank.start_ticks,
                                          {.waiting = {own_tid}, .called = {own_tid}});
  return look;
}

}  // namespace

std::vector<ObservedRank> LookTwice(const ProcSource& proc, const FoundJob& job,
                                    const LookOptions& options) {
  using Clock = std::chrono::steady_clock;
  Symbolizer symbolizer;
  std::vector<ObservedRank> observed;
  for (const JobRank& rank : job.ranks)
    observed.push_back({.rank = rank, .first = {}, .second = {}});
  std::vector<Clock::time_point> begun(observed.size());
  const auto look_at_all = [&](RankLook ObservedRank::*look) {
    const bool second = look == &ObservedRank::second;
    ReadAhead<RankLook> looks(observed.size(), ReadingThreads(), [&](size_t i) {
      if (second) std::this_thread::sleep_until(begun[i] + options.between);
      begun[i] = Clock::now();
      return LookAt(proc, job.ranks[i], &symbolizer);
    });
    for (ObservedRank& rank : observed) rank.*look = looks.Next();
  };
  look_at_all(&ObservedRank::first);
  look_at_all(&ObservedRank::second);
  return observed;
}

}  // namespace rollcall::attach
