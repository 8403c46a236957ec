// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/job_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "collector/attach/polls.h"
#include "collector/attach/trace_of_stacks.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/import/add_sources.h"
#include "collector/model/rank_set.h"

namespace rollcall::attach {
namespace {

bool IsSameJob(const FoundJob& a, const FoundJob& b) {
  const bool named = !IsIdentifiedByParent(a) && !IsIdentifiedByParent(b);
  return a.launcher == b.launcher && a.size == b.size && (!named || a.job == b.job);
}

class Joiner {
 public:
  void Add(const HostStacks& host) {
    JobStacks& all = JobOf(host.job);
    std::map<std::string, std::vector<int32_t>> twice;  // by the other host that has them
    for (const ObservedRank& rank : host.ranks) {
      const std::string& name = rank.host.empty() ? host.host : rank.host;
      const auto [known, is_new] = hosts_[&all].try_emplace(rank.rank.rank, name);
      if (!is_new) {
        twice[known->second].push_back(rank.rank.rank);
        continue;
      }
      all.ranks.push_back(rank);
      all.ranks.back().host = name;
    }
    for (const auto& [first, ranks] : twice) {
      all.notes.push_back(fmt::format("{} and {} both have {}: those of {} count", first, host.host,
                                      RanksPhrase(ranks), first));
    }
    std::set<std::string_view> files;
    for (const SourceBlocks& source : all.sources) files.insert(source.file);
    std::vector<SourceBlocks> more;
    for (const SourceBlocks& source : host.sources) {
      if (!files.contains(source.file)) more.push_back(source);
    }
    all.sources.insert(all.sources.end(), more.begin(), more.end());
  }

  std::vector<JobStacks> Finish(const std::vector<HostStacks>& hosts) {
    std::vector<JobStacks> all;
    for (auto& job : jobs_) {
      for (const HostStacks& host : hosts) {
        if (!host.ranks.empty()) continue;
        job->notes.push_back(fmt::format("{}: {}", host.host,
                                         host.absent.empty() ? "no rank was seen" : host.absent));
        if (!host.absent.empty()) job->job.all_local = false;
      }
      std::ranges::sort(job->ranks, [](const ObservedRank& a, const ObservedRank& b) {
        return a.rank.rank < b.rank.rank;
      });
      job->job.ranks.clear();
      for (const ObservedRank& rank : job->ranks) job->job.ranks.push_back(rank.rank);
      all.push_back(std::move(*job));
    }
    return all;
  }

 private:
  JobStacks& JobOf(const FoundJob& job) {
    for (const auto& known : jobs_) {
      if (!IsSameJob(known->job, job)) continue;
      // The launcher reported that all ranks are on one node, but there is another node.
      known->job.all_local = false;
      return *known;
    }
    jobs_.push_back(std::make_unique<JobStacks>());
    jobs_.back()->job = job;
    return *jobs_.back();
  }

  std::vector<std::unique_ptr<JobStacks>> jobs_;
  std::map<const JobStacks*, std::map<int32_t, std::string>> hosts_;  // by rank
};

}  // namespace

std::vector<JobStacks> JoinHosts(const std::vector<HostStacks>& hosts) {
  Joiner joiner;
  for (const HostStacks& host : hosts) {
    if (!host.ranks.empty()) joiner.Add(host);
  }
  return joiner.Finish(hosts);
}

std::string JobText(const FoundJob& job) {
  constexpr size_t kMaxPids = 4;
  std::string pids;
  std::vector<int32_t> ranks;
  for (size_t i = 0; i < job.ranks.size(); ++i) {
    ranks.push_back(job.ranks[i].rank);
    if (i < kMaxPids) pids += fmt::format("{}{}", i == 0 ? "" : ", ", job.ranks[i].pid);
  }
  if (job.ranks.size() > kMaxPids) pids += ", …";
  return fmt::format("{}, {}{}: {} (process{} {})", job.launcher, RanksPhrase(ranks),
                     job.size > 0 ? fmt::format(" of {}", job.size) : "", job.ranks.front().name,
                     job.ranks.size() == 1 ? "" : "es", pids);
}

JudgedStacks JudgeStacks(const JobStacks& stacks) {
  JudgedStacks judged;
  judged.trace = TraceOfStacks(stacks.job, "", stacks.ranks);
  judged.trace.sources = stacks.sources;
  AddSources(&judged.trace);
  FindPolls(&judged.trace);
  judged.report = Diagnose(judged.trace, DiagnoseOptions());
  judged.report.notes.insert(judged.report.notes.end(), stacks.notes.begin(), stacks.notes.end());
  return judged;
}

}  // namespace rollcall::attach
