// SPDX-License-Identifier: Apache-2.0
#include "cli/unrecorded_job.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "collector/attach/rank_identity.h"
#include "collector/attach/sample.h"
#include "collector/attach/stacks.h"
#include "collector/base/clock.h"
#include "collector/base/process_table.h"
#include "collector/diagnosis/wording/place_text.h"
#include "collector/launch/job_environment.h"
#include "collector/live/process_state.h"
#include "collector/live/process_watch.h"
#include "collector/model/rank_set.h"
#include "collector/model/runtime_modules.h"
#include "proto/environment.h"

namespace rollcall {
namespace {

using attach::FoundJob;
using attach::JobRank;

constexpr int64_t kSecondNs = 1'000'000'000;
// Time between two searches for the ranks. A short job must be found, too.
constexpr int64_t kEarlyNs = 500'000'000;
constexpr int64_t kEarlyUntilNs = 20 * kSecondNs;
constexpr int64_t kLateNs = 5 * kSecondNs;
// Between the two samples of a rank, as of `rollcall attach`: at first, and to confirm a finding.
constexpr int64_t kBetweenNs = kSecondNs;
constexpr int64_t kConfirmNs = 5 * kSecondNs;
// At most this many times --stall-after pass between two stacks of a rank that uses the CPU.
constexpr int64_t kMostStalls = 16;
// A search for the ranks reads all of this user's processes. It takes at most this fraction (one
// part in N) of the time.
constexpr int64_t kPartOfTime = 20;
// A rank that uses less of the CPU than kWaiting waits. A rank that uses more than kSpinning polls
// or computes. A rank in between does both, and moves (as ActivityLevel).
constexpr double kWaiting = 0.02;
constexpr double kSpinning = 0.8;

std::string Directory(pid_t pid) { return fmt::format("/proc/{}", pid); }

// The time for which the rank has run, or was ready to run: the time of its threads on a CPU, and
// the time for which its main thread was ready while others ran. Empty if the rank has ended.
std::optional<double> BusySeconds(const ProcSource& proc, const JobRank& rank) {
  if (ProcessStartTicks(rank.pid) != rank.start_ticks) return std::nullopt;
  const std::optional<ThreadTimes> main = ReadThreadTimes(proc, rank.pid, rank.pid);
  return static_cast<double>(ProcessCpuNs(rank.pid)) / 1e9 +
         (main ? static_cast<double>(main->wait_ns) / 1e9 : 0);
}

// The launcher as the user calls it: "torchrun", or "torch.distributed.run" of
// `python3 -m torch.distributed.run`.
std::string NameOf(const std::vector<std::string>& command) {
  const auto base = [](const std::string& word) { return word.substr(word.rfind('/') + 1); };
  for (const std::string& word : command) {
    if (!word.starts_with("-") && !base(word).starts_with("python")) return base(word);
  }
  return base(command.front());
}

// PyTorch's extension module, in its package.
constexpr std::string_view kTorchModule = "/torch/_C.";

// "PyTorch 1.13", by the version of the package from which the process has loaded `file`.
std::string PyTorchOf(const ProcSource& proc, pid_t pid, const std::string& file) {
  std::string text;
  const std::string package = file.substr(0, file.rfind('/') + 1);
  proc.Read(fmt::format("{}/root{}version.py", Directory(pid), package), &text, 4096);
  constexpr std::string_view kVersion = "__version__ = '";
  const size_t at = text.find(kVersion);
  if (at == std::string::npos) return "PyTorch";
  const size_t begin = at + kVersion.size();
  const size_t minor = text.find('.', begin);
  const size_t end = text.find_first_not_of("0123456789", minor + 1);
  if (minor == std::string::npos || end == std::string::npos) return "PyTorch";
  return "PyTorch " + text.substr(begin, end - begin);
}

bool Hangs(const Report& report) { return std::ranges::any_of(report.findings, &Finding::hangs); }

}  // namespace

UnrecordedJob::UnrecordedJob(Options options)
    : options_(std::move(options)), spin_ns_(options_.stall_after_ns) {
  try {
    thread_ = std::thread([this] { Watch(); });
  } catch (const std::system_error&) {
    // The job runs already, and matters more: it is not looked at unless it records.
  }
}

void UnrecordedJob::Stop() {
  {
    const std::lock_guard lock(stop_mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool UnrecordedJob::Sleep(int64_t ns) {
  std::unique_lock lock(stop_mutex_);
  return !stopped_.wait_for(lock, std::chrono::nanoseconds(ns), [this] { return stop_; });
}

void UnrecordedJob::Watch() {
  const int64_t begin = Now(CLOCK_MONOTONIC);
  int64_t pause = kEarlyNs;
  while (Sleep(pause)) {
    if (options_.recorded() || options_.interrupted()) return;
    const std::lock_guard lock(mutex_);
    const int64_t now = Now(CLOCK_MONOTONIC);
    const bool early = now - begin < kEarlyUntilNs;
    if (early || job_.ranks.empty()) Find();
    const int64_t found = Now(CLOCK_MONOTONIC);
    Follow(found);
    pause = early ? kEarlyNs : std::clamp(options_.stall_after_ns / 10, kEarlyNs, kLateNs);
    pause = std::max(pause, kPartOfTime * (found - now));
  }
}

bool UnrecordedJob::IsOurs(const FoundJob& job) const {
  // Its ranks descend from the launcher, or have got this run's environment from it (srun).
  if (std::ranges::binary_search(job.others, options_.launcher)) return true;
  return std::ranges::any_of(job.ranks, [this](const JobRank& rank) {
    std::string environment;
    proc_.Read(Directory(rank.pid) + "/environ", &environment);
    return rank.pid == options_.launcher ||
           attach::EnvironmentValue(environment, env::kRunDirectory) == options_.run_directory;
  });
}

// If the launcher has started several jobs, none of them is used: they may follow each other.
void UnrecordedJob::Find() {
  std::vector<FoundJob> jobs = attach::FindJobs(proc_, geteuid()).jobs;
  std::erase_if(jobs, [this](const FoundJob& job) { return !IsOurs(job); });
  job_ = jobs.size() == 1 ? std::move(jobs.front()) : FoundJob{};
  if (!job_.ranks.empty() && (!seen_ || job_.ranks.size() >= seen_->ranks)) seen_ = Describe(job_);
}

UnrecordedJob::Seen UnrecordedJob::Describe(const FoundJob& job) const {
  Seen seen{.ranks = job.ranks.size(), .made_no_calls = true};
  for (const JobRank& rank : job.ranks) {
    bool loaded = false;
    bool mpi = false;
    std::string torch;
    const std::set<std::string> files = attach::MappedFiles(proc_, rank.pid);
    for (const std::string& file : files) {
      const ModuleFamily family = FamilyOf(file);
      loaded |= family == ModuleFamily::kRollcall;
      mpi |= family == ModuleFamily::kMpi;
      if (file.find(kTorchModule) != std::string::npos) torch = file;
    }
    std::string environment;
    proc_.Read(Directory(rank.pid) + "/environ", &environment);
    const bool disabled = attach::EnvironmentValue(environment, env::kDisable) == "1";
    seen.made_no_calls &= loaded && !disabled && !torch.empty();
    if (&rank != &job.ranks.front()) continue;
    seen.library = !torch.empty() ? PyTorchOf(proc_, rank.pid, torch) : mpi ? "MPI" : rank.name;
    if (disabled) {
      seen.why = fmt::format("{}=1 is set", env::kDisable);
    } else if (!loaded) {
      seen.why = "librollcall.so is not loaded: the program is static, or LD_PRELOAD was changed";
    } else if (torch.empty() && !mpi) {
      seen.why = "no MPI library is loaded: it is linked statically, or not used";
    } else {
      seen.why = "they made no call that rollcall records";
    }
  }
  return seen;
}

void UnrecordedJob::Follow(int64_t now_ns) {
  const double interval_s = static_cast<double>(now_ns - followed_ns_) / 1e9;
  bool still = !job_.ranks.empty();
  bool spins = false;
  std::map<pid_t, double> busy_s;
  for (const JobRank& rank : job_.ranks) {
    const std::optional<double> seconds = BusySeconds(proc_, rank);
    const auto before = busy_s_.find(rank.pid);
    if (seconds) busy_s[rank.pid] = *seconds;
    if (!seconds || before == busy_s_.end()) {  // it has ended, or is new
      still = false;
      continue;
    }
    const double used = (*seconds - before->second) / interval_s;
    still &= used < kWaiting || used > kSpinning;
    spins |= used > kSpinning;
  }
  if (busy_s.size() != job_.ranks.size()) job_ = {};
  busy_s_ = std::move(busy_s);
  followed_ns_ = now_ns;
  if (!still) still_since_ns_ = now_ns;
  if (!options_.take_stacks) return;
  const int64_t stall_after_ns = options_.stall_after_ns;
  const bool due = now_ns - still_since_ns_ >= (spins ? spin_ns_ : stall_after_ns);
  const bool in_doubt = !still && !reported_.empty() && now_ns - taken_ns_ >= stall_after_ns;
  if (!due && !in_doubt) return;
  TakeStacks();
  still_since_ns_ = taken_ns_ = Now(CLOCK_MONOTONIC);
  if (spins) spin_ns_ = std::min(2 * spin_ns_, kMostStalls * stall_after_ns);
}

attach::JudgedStacks UnrecordedJob::JudgeStacks(int64_t between_ns) {
  attach::HostStacks host = {.host = HostName(), .taken_at_ns = Now(CLOCK_REALTIME), .job = job_};
  // Stop() ends this wait.
  host.ranks = attach::SampleTwice(
      proc_, job_,
      {.between = std::chrono::milliseconds(0), .after_first = [&] { Sleep(between_ns); }});
  return attach::JudgeStacks(attach::JoinHosts({host}).front());
}

void UnrecordedJob::TakeStacks() {
  Find();
  if (job_.ranks.empty()) return;  // the job ends, or starts the next job
  attach::JudgedStacks judged = JudgeStacks(kBetweenNs);
  if (Hangs(judged.report)) judged = JudgeStacks(kConfirmNs);
  if (options_.interrupted() || !Sleep(0)) return;  // the ranks were ending
  Report& report = judged.report;
  if (!Hangs(report)) {
    if (!std::exchange(reported_, {}).empty()) options_.on_withdrawal(judged.trace, report);
    return;
  }
  std::vector<std::string> titles;
  for (Finding& finding : report.findings) {
    finding.certainty = std::max(finding.certainty, Certainty::kSuspected);
    finding.kind_certainty = std::max(finding.kind_certainty, Certainty::kSuspected);
    for (std::string& note : finding.notes) {
      note.erase(std::min(note.size(), note.find(kRecordTheCalls)));
    }
    titles.push_back(finding.title);
  }
  report.notes.emplace_back("no rank recorded its calls");
  if (std::exchange(reported_, titles) != titles) options_.on_report(judged.trace, report);
}

void UnrecordedJob::Look() {
  const std::lock_guard lock(mutex_);
  if (options_.take_stacks && !options_.recorded()) TakeStacks();
}

void UnrecordedJob::KillRanks() {
  const std::lock_guard lock(mutex_);
  if (options_.recorded()) return;
  for (const JobRank& rank : job_.ranks) {
    ProcessWatch process;
    if (process.Open(rank.pid, rank.start_ticks)) process.Signal(SIGKILL);
  }
}

std::string UnrecordedJob::Text() const {
  if (!seen_) return "";
  return fmt::format("{} of {} ({}): {}", CountText(seen_->ranks, "rank"), NameOf(options_.command),
                     seen_->library, seen_->why);
}

}  // namespace rollcall
