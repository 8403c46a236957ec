// SPDX-License-Identifier: Apache-2.0
// Jobs as `rollcall attach` sees them, written in a few lines: a rank's stack, innermost first.
//
//   ObservedJob job(4);
//   job.Rank(0, "MPI_Allreduce < step a.c:20 < main a.c:40");
//   job.Rank(1, "read < load a.c:9 < main a.c:38").Asleep();
//   Report report = job.Judge();
//
// By default, every rank spins at one place and is there in both samples.
#ifndef ROLLCALL_TESTS_COLLECTOR_ATTACH_OBSERVED_JOB_H_
#define ROLLCALL_TESTS_COLLECTOR_ATTACH_OBSERVED_JOB_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "collector/attach/observation.h"
#include "collector/attach/polls.h"
#include "collector/attach/stacks.h"
#include "collector/attach/trace_of_stacks.h"
#include "collector/diagnosis/diagnose.h"

namespace rollcall::attach::testing {

// "step=6 size=3"
inline std::vector<PythonInteger> IntegersOf(const std::string& text) {
  std::vector<PythonInteger> integers;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const size_t equal = text.find('=', at);
    integers.push_back({text.substr(at, equal - at), std::stoll(text.substr(equal + 1))});
    at = end + 1;
  }
  return integers;
}

// "function file.c:88 < …"; a frame whose file ends in .py is Python's and may have variables:
// "train train.py:20 [step=6 size=3]". "function@libgloo.so" is in that module.
inline std::vector<LiveFrame> StackOf(const std::string& text) {
  std::vector<LiveFrame> frames;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(" < ", at), text.size());
    std::string part = text.substr(at, end - at);
    at = end + 3;
    LiveFrame frame;
    if (const size_t bracket = part.find(" ["); bracket != std::string::npos) {
      frame.integers = IntegersOf(part.substr(bracket + 2, part.size() - bracket - 3));
      part.resize(bracket);
    }
    const size_t colon = part.rfind(':');
    const size_t blank = part.rfind(' ');
    frame.frame.function = part.substr(0, blank);
    if (blank != std::string::npos && colon != std::string::npos && colon > blank) {
      frame.frame.file = "/src/" + part.substr(blank + 1, colon - blank - 1);
      frame.frame.line = std::stoi(part.substr(colon + 1));
      frame.frame.detail = FrameDetail::kSourceLine;
    }
    if (frame.frame.file.ends_with(".py")) {
      frame.frame.language = Language::kPython;
      frame.digest = 7;
    } else {
      const size_t module = frame.frame.function.find('@');
      frame.frame.module = module == std::string::npos ? "/app" : part.substr(module + 1);
      frame.frame.function.resize(std::min(module, frame.frame.function.size()));
      frame.frame.vaddr = std::hash<std::string>()(part);
      frame.digest = 7;
    }
    frames.push_back(std::move(frame));
  }
  return frames;
}

class ObservedJob {
 public:
  explicit ObservedJob(int32_t size) {
    job_.launcher = "Open MPI";
    job_.size = size;
    job_.all_local = true;
  }

  class RankText {
   public:
    explicit RankText(ObservedRank* rank) : rank_(rank) {}
    // It is blocked in the system call with the number `call`.
    RankText& Asleep(int64_t call = 0) {
      for (RankSample* sample : {&rank_->first, &rank_->second}) {
        sample->state->threads[0].blocked_call = BlockedCall{.number = call};
        sample->state->threads[0].state = RunState::kSleeping;
      }
      rank_->second.state->threads[0].cpu_ns = rank_->first.state->threads[0].cpu_ns;
      return *this;
    }
    // What Open MPI's objects show: the communicator and its first and last rank.
    RankText& On(const std::string& communicator, int32_t first, int32_t last) {
      LibraryCall& call = CallOfBoth();
      call.communicator = communicator;
      call.member_runs = {first, last};
      return Both();
    }
    RankText& Awaits(int32_t rank) {
      CallOfBoth().awaited = rank;
      return Both();
    }
    RankText& AwaitsAlso(int32_t rank) {
      CallOfBoth().also_awaited.push_back(rank);
      return Both();
    }
    // In MPI_Waitall, it has received a message of this rank.
    RankText& AnsweredBy(int32_t rank) {
      CallOfBoth().answered.push_back(rank);
      return Both();
    }
    RankText& AwaitsAnotherJob() {
      CallOfBoth().outside = true;
      return Both();
    }
    RankText& OfCollective() {
      CallOfBoth().of_collective = true;
      return Both();
    }
    // In the first sample, the library waited for another rank.
    RankText& AwaitedBefore(int32_t rank) {
      rank_->first.threads[0].call->awaited = rank;
      return *this;
    }
    // It has loaded no communication library.
    RankText& WithoutLibrary() {
      rank_->rank.communicates = false;
      return *this;
    }
    // It had this stack in the first sample.
    RankText& Before(const std::string& stack) {
      rank_->first.threads[0].frames = StackOf(stack);
      return *this;
    }
    // The contents of its stack frames have changed.
    RankText& Changed() {
      for (LiveFrame& frame : rank_->first.threads[0].frames) frame.digest += frame.digest != 0;
      rank_->first.threads[0].digest = 1;
      return *this;
    }
    // Digests of registers and stack at several moments of the first and of the second sample.
    RankText& States(const std::vector<uint64_t>& first, const std::vector<uint64_t>& second) {
      for (const auto& [sample, digests] :
           {std::pair(&rank_->first, &first), std::pair(&rank_->second, &second)}) {
        ThreadSample& thread = sample->threads[0];
        thread.digest = digests->front();
        thread.more_digests.assign(digests->begin() + 1, digests->end());
      }
      return *this;
    }
    // The function in which it sleeps makes these calls: "MPI_Iprobe a.c:7 < nanosleep a.c:9".
    RankText& Calls(const std::string& function, const std::string& calls) {
      for (const LiveFrame& call : StackOf(calls)) {
        rank_->second.threads[0].nearby.push_back(
            {call.frame.function, function, call.frame.file, call.frame.line});
      }
      return *this;
    }
    // A variable of a Python frame has another value; the interpreter's stack is the same.
    RankText& PythonMoved() {
      for (LiveFrame& frame : rank_->first.threads[0].frames) {
        frame.digest += frame.frame.language == Language::kPython;
      }
      return *this;
    }
    // The outermost frames are not known.
    RankText& Cut() {
      for (RankSample* sample : {&rank_->first, &rank_->second}) sample->threads[0].whole = false;
      return *this;
    }
    // In an uninterruptible wait.
    RankText& InKernel() {
      Asleep();
      for (RankSample* sample : {&rank_->first, &rank_->second}) {
        sample->state->threads[0].state = RunState::kDiskWait;
      }
      return *this;
    }
    RankText& Stopped() {
      Asleep();
      rank_->second.state->threads[0].state = RunState::kStopped;
      return *this;
    }
    RankText& Gone() {
      rank_->first = rank_->second = {};
      return *this;
    }
    RankText& EndedBetween() {
      rank_->second = {};
      return *this;
    }
    RankText& HasOtherThreads(OtherThreads others) {
      rank_->second.other_threads = others;
      return *this;
    }
    // It read and wrote this much between the samples.
    RankText& Moved(uint64_t bytes) {
      rank_->second.io_bytes = *rank_->first.io_bytes + bytes;
      return *this;
    }
    // Another thread of the rank.
    RankText& Thread(const std::string& stack) {
      const auto tid = static_cast<pid_t>(1000 + rank_->first.threads.size());
      for (RankSample* sample : {&rank_->first, &rank_->second}) {
        ThreadSample& thread = sample->threads.emplace_back();
        thread.tid = tid;
        thread.frames = StackOf(stack);
        thread.whole = true;
        ThreadState& state = sample->state->threads.emplace_back();
        state.tid = tid;
        state.state = RunState::kSleeping;
      }
      return *this;
    }
    // A process that it started.
    RankText& Helper(const std::string& stack) {
      ThreadSample& helper = rank_->second.helpers.emplace_back();
      helper.tid = 4711;
      helper.frames = StackOf(stack);
      return *this;
    }
    // It did not stop in time.
    RankText& Unseen(RunState state) {
      for (RankSample* sample : {&rank_->first, &rank_->second}) {
        sample->threads[0].frames.clear();
        sample->threads[0].detail = "the thread did not stop in time";
        sample->state->state = state;
      }
      return *this;
    }
    // It has ended and left a core file.
    RankText& Core(int signal, bool fault = false) {
      rank_->core = CoreEnd{
          .file = "core." + std::to_string(rank_->rank.rank), .signal = signal, .fault = fault};
      rank_->first = {};
      rank_->second.state.reset();
      return *this;
    }
    RankText& Hidden(const std::string& why) {
      for (RankSample* sample : {&rank_->first, &rank_->second}) {
        sample->threads.clear();
        sample->error = why;
      }
      return *this;
    }

   private:
    LibraryCall& CallOfBoth() {
      std::optional<LibraryCall>& call = rank_->second.threads[0].call;
      return call ? *call : call.emplace();
    }
    RankText& Both() {
      rank_->first.threads[0].call = rank_->second.threads[0].call;
      return *this;
    }

    ObservedRank* rank_;
  };

  RankText Rank(int32_t rank, const std::string& stack) {
    JobRank found;
    found.rank = rank;
    found.pid = 100 + rank;
    found.name = "app";
    job_.ranks.push_back(found);
    ObservedRank& observed = observed_.emplace_back();
    observed.rank = found;
    uint64_t second = 0;
    for (RankSample* sample : {&observed.first, &observed.second}) {
      ThreadSample& thread = sample->threads.emplace_back();
      thread.tid = found.pid;
      thread.frames = StackOf(stack);
      thread.whole = true;
      thread.digest = 5;
      sample->other_threads = OtherThreads::kWait;
      sample->io_bytes = 1'000'000;
      sample->state.emplace();
      sample->state->pid = found.pid;
      sample->state->sampled_ns = 1'000'000'000 * ++second;
      ThreadState& state = sample->state->threads.emplace_back();
      state.tid = found.pid;
      state.state = RunState::kRunning;
      state.cpu_ns = sample->state->sampled_ns;
    }
    return RankText(&observed);
  }
  FoundJob* job() { return &job_; }

  // A `for` loop of /src/<file> that assigns `names`.
  void Loop(const std::string& file, int first, int last, const std::string& names) {
    SourceBlocks source;
    source.file = "/src/" + file;
    source.blocks.push_back({.first = first, .last = last, .subject = names});
    sources_.push_back(std::move(source));
  }

  // An arm of a branch of it, whose condition compares `subject` with `value`.
  void Arm(const std::string& file, int first, int last, const std::string& subject,
           const std::string& value, bool equal) {
    SourceBlocks source;
    source.file = "/src/" + file;
    source.blocks.push_back({.kind = SourceBlock::Kind::kArm,
                             .first = first,
                             .last = last,
                             .branch = 1,
                             .subject = subject,
                             .value = value,
                             .equal = equal});
    sources_.push_back(std::move(source));
  }

  // What the source of /src/<file> shows.
  void Source(const std::string& file, std::vector<SourceBlock> blocks,
              std::vector<SourceFlow> flow) {
    sources_.push_back(
        {.file = "/src/" + file, .blocks = std::move(blocks), .flow = std::move(flow)});
  }

  rollcall::Trace Trace() const {
    rollcall::Trace trace = TraceOfStacks(job_, "node1", {observed_.begin(), observed_.end()});
    trace.sources = sources_;
    FindPolls(&trace);
    return trace;
  }
  Report Judge() const { return Diagnose(Trace(), DiagnoseOptions()); }
  HostStacks On(const std::string& host) const {
    return {.host = host,
            .job = job_,
            .ranks = {observed_.begin(), observed_.end()},
            .sources = sources_};
  }

 private:
  FoundJob job_;
  std::deque<ObservedRank> observed_;
  std::vector<SourceBlocks> sources_;
};

}  // namespace rollcall::attach::testing

#endif  // ROLLCALL_TESTS_COLLECTOR_ATTACH_OBSERVED_JOB_H_
