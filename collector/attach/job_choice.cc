// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/job_choice.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "collector/attach/job_stacks.h"
#include "collector/base/text.h"
#include "collector/live/ptrace_permission.h"

namespace rollcall::attach {
namespace {

bool Holds(const FoundJob& job, pid_t pid) {
  const bool other = std::ranges::find(job.others, pid) != job.others.end();
  return other || std::ranges::any_of(job.ranks, [pid](const JobRank& rank) {
           return rank.pid == pid || std::ranges::find(rank.helpers, pid) != rank.helpers.end();
         });
}

// Explains why the process belongs to no job.
std::string NoRankText(const ProcSource& proc, pid_t pid) {
  struct stat process {};
  if (stat(fmt::format("/proc/{}", pid).c_str(), &process) != 0) {
    return fmt::format("there is no process {}", pid);
  }
  if (geteuid() != 0 && process.st_uid != geteuid()) return ExplainPtraceDenied(proc, pid);
  return fmt::format(
      "process {} is not a rank and starts none; `rollcall attach --list` shows the jobs", pid);
}

}  // namespace

Choice Choose(const ProcSource& proc, const FoundJobs& found, pid_t pid, const std::string& name) {
  if (found.jobs.empty() && pid != 0) return {.why = {NoRankText(proc, pid)}};
  if (found.jobs.empty()) {
    std::string line = "no rank of a distributed job was found on this machine";
    if (geteuid() != 0) {
      line += fmt::format(" among the processes of user id {} (root sees those of all)", geteuid());
    }
    if (found.hidden != 0) {
      line += fmt::format("; the environment of {} process{} may not be read{}", found.hidden,
                          found.hidden == 1 ? "" : "es", geteuid() == 0 ? "" : " (root may)");
    }
    return {.why = {line}};
  }
  std::vector<const FoundJob*> fitting;
  for (const FoundJob& job : found.jobs) {
    const bool named = name.empty() || job.job == name || job.ranks.front().name == name;
    if (named && (pid == 0 || Holds(job, pid))) fitting.push_back(&job);
  }
  if (fitting.size() == 1) return {.job = fitting.front()};
  if (fitting.empty() && pid != 0) return {.why = {NoRankText(proc, pid)}};
  if (fitting.empty()) return {.why = {fmt::format("there is no job '{}'", CleanText(name, 256))}};
  // All of them belong to the launcher with that pid, which names its jobs. The first job has
  // started the others (MPI_Comm_spawn).
  const bool spawned =
      pid != 0 && std::ranges::all_of(fitting, [&](const FoundJob* job) {
        return !IsIdentifiedByParent(*job) && job->others == fitting.front()->others;
      });
  if (spawned) {
    Choice first = {.job = fitting.front(),
                    .why = {"using the launcher's first job; it has others:"}};
    for (size_t i = 1; i < fitting.size(); ++i) first.why.push_back("  " + JobText(*fitting[i]));
    return first;
  }
  // A shell may have started several jobs.
  Choice none = {.why = {"there are several jobs; choose one with --pid (one of its ranks) or "
                         "--job (its program):"}};
  for (const FoundJob* job : fitting) none.why.push_back("  " + JobText(*job));
  return none;
}

Choice Choose(const FoundCores& found, const std::string& directory) {
  if (found.jobs.size() == 1) return {.job = &found.jobs.front().job};
  if (found.jobs.empty()) {
    return {
        .why = {fmt::format("no core file of a rank of a distributed job is in {}", directory)}};
  }
  Choice none = {
      .why = {fmt::format(
          "the cores in {} are of several jobs; give a directory with those of one:", directory)}};
  for (const CoreJob& job : found.jobs) none.why.push_back("  " + JobText(job.job));
  return none;
}

}  // namespace rollcall::attach
