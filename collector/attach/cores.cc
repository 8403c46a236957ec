// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "collector/attach/rank_identity.h"
#include "collector/attach/sample.h"
#include "collector/attach/trace_of_stacks.h"
#include "collector/base/result.h"
#include "collector/base/text.h"
#include "collector/core/core_unwinder.h"
#include "collector/import/read_ahead.h"
#include "collector/live/python_stack.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall::attach {
namespace {

constexpr size_t kMaxFiles = 1 << 16;
constexpr size_t kMaxFileNameBytes = 256;
constexpr size_t kMaxHelperCores = 8;  // per rank
// No process is stopped while frames are read; a disk may be slow.
constexpr std::chrono::seconds kPythonTimeout{5};

struct OpenedCore {
  std::string file;
  std::unique_ptr<CoreProcess> process;
  std::string error;
  std::optional<RankIdentity> identity;
  bool communicates = false;

  pid_t pid() const { return process->core().pid; }
  pid_t parent() const { return process->core().parent; }
};

OpenedCore OpenCore(const std::filesystem::path& path) {
  OpenedCore opened;
  opened.file = CleanText(path.filename().string(), kMaxFileNameBytes);
  Result<std::unique_ptr<CoreProcess>> process = CoreProcess::Open(path.string());
  opened.error = process.error();
  if (!process) return opened;
  opened.process = std::move(*process);
  const std::vector<CoreMapping>& mappings = opened.process->core().mappings;
  opened.communicates = std::ranges::any_of(
      mappings, [](const CoreMapping& mapping) { return IsCommunicationLibrary(mapping.path); });
  opened.identity =
      IdentifyRank(InitialEnvironment(opened.process->core(), opened.process->memory()));
  if (!opened.identity && opened.communicates) {
    opened.identity = IdentifyRank(EnvironmentInMemory(opened.process->image(), ""));
  }
  return opened;
}

bool IsStartedByOneOf(const std::vector<OpenedCore>& cores, const OpenedCore& core) {
  return std::ranges::any_of(
      cores, [&core](const OpenedCore& other) { return other.pid() == core.parent(); });
}

// Selects the process that is the rank among a rank's processes: it communicates, and none of the
// others started it.
size_t RankAmong(const std::vector<OpenedCore>& cores) {
  const auto key = [&cores](const OpenedCore& core) {
    return std::tuple(!core.communicates, IsStartedByOneOf(cores, core), core.pid());
  };
  const auto best = std::ranges::min_element(
      cores, [&key](const OpenedCore& a, const OpenedCore& b) { return key(a) < key(b); });
  return static_cast<size_t>(best - cores.begin());
}

// Launcher, job, size. An empty job: not given in the environment.
using JobKey = std::tuple<std::string, std::string, int32_t>;
using ByRank = std::map<int32_t, std::vector<OpenedCore>>;

// The number of a rank's processes that no other of its processes started.
size_t Roots(const std::vector<OpenedCore>& cores) {
  return static_cast<size_t>(std::ranges::count_if(
      cores, [&cores](const OpenedCore& core) { return !IsStartedByOneOf(cores, core); }));
}

// The cores in one directory are usually of one job. If a rank occurs twice, the cores are of
// several jobs. These jobs are distinguished by their parents.
std::map<JobKey, ByRank> Separate(std::map<JobKey, ByRank>&& jobs) {
  std::map<JobKey, ByRank> separate;
  for (auto& [key, ranks] : jobs) {
    const auto& [launcher, job, size] = key;
    const bool several = job.empty() && std::ranges::any_of(ranks, [](const auto& rank) {
                           return Roots(rank.second) > 1;
                         });
    for (auto& [rank, cores] : ranks) {
      for (OpenedCore& core : cores) {
        const std::string name = several ? fmt::format("process {}", core.parent()) : job;
        separate[{launcher, name, size}][rank].push_back(std::move(core));
      }
    }
  }
  return separate;
}

std::string ExecutableOf(const CoreFile& core) {
  const CoreMapping* mapping = core.FindMapping(core.entry);
  return mapping == nullptr ? "" : mapping->path;
}

// `cores` are of one rank.
void AddRank(int32_t number, std::vector<OpenedCore> cores, CoreJob* job,
             std::vector<std::string>* problems) {
  const size_t chosen = RankAmong(cores);
  const CoreFile& core = cores[chosen].process->core();
  JobRank rank;
  rank.rank = number;
  rank.pid = core.pid;
  rank.name = core.name;
  rank.executable = ExecutableOf(core);
  RankCore kept;
  kept.file = cores[chosen].file;
  for (size_t i = 0; i < cores.size(); ++i) {
    if (i == chosen) continue;
    if (cores[i].parent() == core.pid) {
      rank.helpers.push_back(cores[i].pid());
      kept.helpers.push_back(std::move(cores[i].process));
    } else if (core.parent != cores[i].pid()) {
      problems->push_back(fmt::format("{} is left out: rank {} is {}, too", cores[i].file, number,
                                      cores[chosen].file));
    }
  }
  kept.process = std::move(cores[chosen].process);
  job->job.ranks.push_back(std::move(rank));
  job->cores.push_back(std::move(kept));
}

// Whether the process caused the signal itself. SIGABRT and SIGQUIT may come from a watchdog. A
// call of abort() is visible on the stack.
bool IsFault(const CoreFile& core) {
  constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGXCPU, SIGXFSZ};
  return !core.signal_from_outside && std::ranges::find(kFaults, core.signal) != std::end(kFaults);
}

// The stack that a signal interrupted, without the frames of the signal handler.
LiveThread WithoutHandler(const CoreThread& thread, const CoreStack& stack) {
  LiveThread live;
  live.tid = thread.tid;
  live.frames.assign(stack.frames.begin() + static_cast<ptrdiff_t>(stack.interrupted),
                     stack.frames.end());
  live.end = stack.end;
  live.detail = stack.detail;
  return live;
}

class Sampler {
 public:
  explicit Sampler(bool integers) : integers_(integers) {}

  struct Result {
    ObservedRank observed;
    std::vector<std::string> problems;
  };

  Result Sample(const JobRank& rank, const RankCore& core) {
    Result result;
    const CoreFile& file = core.process->core();
    result.observed.rank = rank;
    result.observed.core = CoreEnd{core.file, file.signal, IsFault(file)};
    RankSample& sample = result.observed.second;
    TakeSample(*core.process, &sample);
    if (result.observed.core->fault) {
      std::stable_partition(
          sample.threads.begin(), sample.threads.end(),
          [&](const ThreadSample& thread) { return thread.tid == file.signaled_thread; });
    }
    StackMeaning meaning;
    const ThreadSample* representative = Representative(sample, &meaning);
    if (representative != nullptr && meaning.meaning == FrameMeaning::kLoader) {
      for (size_t i = 0; i < std::min(kMaxHelperCores, core.helpers.size()); ++i) {
        RankSample helper;
        TakeSample(*core.helpers[i], &helper);
        if (helper.threads.empty() || helper.threads.front().frames.empty()) continue;
        sample.helpers.push_back(std::move(helper.threads.front()));
      }
    }
    AddProblems(*core.process, &result);
    return result;
  }

 private:
  void TakeSample(const CoreProcess& process, RankSample* sample) {
    const CoreStacks stacks = UnwindCore(process);
    sample->error = stacks.error;
    const PythonReader python(&process.image(), "", kPythonTimeout);
    for (size_t i = 0; i < stacks.threads.size(); ++i) {
      const CoreThread& thread = process.core().threads[i];
      LiveThread live = WithoutHandler(thread, stacks.threads[i]);
      live.python = python.Read(static_cast<uint64_t>(thread.tid), thread.thread_pointer,
                                thread.tid == process.core().pid, integers_);
      sample->threads.push_back(ThreadSampleOf(live, &symbolizer_));
    }
  }

  static void AddProblems(const CoreProcess& process, Result* result) {
    const std::string& file = result->observed.core->file;
    const auto add = [&](std::string_view text) {
      result->problems.push_back(fmt::format("{}: {}", file, text));
    };
    if (!result->observed.second.error.empty()) add(result->observed.second.error);
    if (process.core().threads_left_out != 0) {
      add(fmt::format("{} of its threads are left out", process.core().threads_left_out));
    }
    for (const std::string& module : process.unknown_modules()) {
      result->problems.push_back(
          fmt::format("{} is not here, or not the file that was loaded", module));
    }
  }

  const bool integers_;
  Symbolizer symbolizer_;
};

}  // namespace

FoundCores FindCores(const std::string& directory) {
  FoundCores found;
  std::vector<std::filesystem::path> paths;
  std::error_code code;
  std::filesystem::directory_iterator entries(directory, code);
  for (; !code && entries != std::filesystem::directory_iterator(); entries.increment(code)) {
    std::error_code ignored;
    if (paths.size() < kMaxFiles && entries->is_regular_file(ignored)) {
      paths.push_back(entries->path());
    }
  }
  if (code) found.problems.push_back(fmt::format("{}: {}", directory, code.message()));
  std::ranges::sort(paths);
  std::map<JobKey, ByRank> jobs;
  ReadAhead<OpenedCore> cores(paths.size(), ReadingThreads(),
                              [&paths](size_t i) { return OpenCore(paths[i]); });
  for (size_t i = 0; i < paths.size(); ++i) {
    OpenedCore core = cores.Next();
    if (core.process == nullptr) {
      if (!core.error.empty()) found.problems.push_back(core.file + ": " + core.error);
      continue;
    }
    for (const std::string& problem : core.process->core().problems) {
      found.problems.push_back(core.file + ": " + problem);
    }
    if (!core.identity) {
      found.problems.push_back(core.file + ": its environment, if there is one, names no rank");
      continue;
    }
    const RankIdentity identity = *core.identity;
    jobs[{identity.launcher, identity.job, identity.size}][identity.rank].push_back(
        std::move(core));
  }
  for (auto& [key, ranks] : Separate(std::move(jobs))) {
    CoreJob& job = found.jobs.emplace_back();
    std::tie(job.job.launcher, job.job.job, job.job.size) = key;
    for (auto& [rank, all] : ranks) AddRank(rank, std::move(all), &job, &found.problems);
  }
  return found;
}

std::vector<ObservedRank> SampleCores(const CoreJob& job, bool integers,
                                      std::vector<std::string>* problems) {
  Sampler sampler(integers);
  std::vector<ObservedRank> observed;
  std::set<std::string> known;
  ReadAhead<Sampler::Result> samples(job.cores.size(), ReadingThreads(), [&](size_t i) {
    return sampler.Sample(job.job.ranks[i], job.cores[i]);
  });
  for (size_t i = 0; i < job.cores.size(); ++i) {
    Sampler::Result result = samples.Next();
    observed.push_back(std::move(result.observed));
    for (std::string& problem : result.problems) {
      if (known.insert(problem).second) problems->push_back(std::move(problem));
    }
  }
  return observed;
}

}  // namespace rollcall::attach
