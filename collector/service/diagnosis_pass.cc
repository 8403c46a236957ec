// SPDX-License-Identifier: Apache-2.0
#include "collector/service/diagnosis_pass.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "collector/base/clock.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/wording/waiting_set.h"
#include "collector/import/journal.h"
#include "collector/service/active_findings.h"
#include "collector/service/history_need.h"

namespace rollcall::service {
namespace {

// The tables beside the newest records show what each process does and where it is.
constexpr uint64_t kBriefRecords = 4;
// The number of records in all that is requested when the cause may lie further back, or the job is
// over. A process has two ring buffers.
constexpr uint64_t kAllRecords = 1 << 18;
constexpr uint64_t kMinRecords = 64;
constexpr uint64_t kMaxRecords = 256;
// In a large job, whole rings of so many processes are read at a time.
constexpr size_t kMaxWholeRings = 64;
// Limit of all counts that are requested to compare a call of v-collectives.
constexpr uint64_t kMaxCountsBytes = uint64_t{256} << 20;
// Whole rings may show that further rings are needed.
constexpr int kHistoryRounds = 3;

using Key = std::tuple<VerdictKind, uint32_t, uint64_t, std::vector<int32_t>>;
std::vector<Key> KeysOf(const Report& report) {
  std::vector<Key> keys;
  for (const Finding& finding : report.findings) {
    keys.emplace_back(finding.kind, finding.communicator, finding.sequence, finding.culprits);
  }
  return keys;
}

}  // namespace

Report DiagnoseRunning(const LiveTrace& live, const ProgressTimes& times, bool time_is_up) {
  const int64_t stall_after_ns = times.stall_after_ns;
  DiagnoseOptions diagnose = times.Options();
  diagnose.time_is_up = time_is_up;
  Report report = Diagnose(live.trace, diagnose);
  size_t moving = 0;
  if (time_is_up && report.no_progress_ns < stall_after_ns) {
    const std::vector<FindingState> states = FindingStates(live.trace, report, live.observed);
    std::vector<Finding> idle;
    for (size_t i = 0; i < states.size(); ++i) {
      const FindingState& state = states[i];
      const bool by_time =
          state.certainty == Certainty::kSuspected &&
          (state.kind == VerdictKind::kRankStalled || state.kind == VerdictKind::kInitHang);
      const bool computes = state.computes || !state.cpu_known;
      if (!by_time || !computes) idle.push_back(std::move(report.findings[i]));
    }
    moving += states.size() - idle.size();
    report.findings = std::move(idle);
  }
  moving += std::erase_if(report.findings, [&](const Finding& finding) {
    // If one of two processes ended and still appears alive, the order of the ends is unknown.
    const bool torn = live.ended_meanwhile.contains(finding.world);
    return finding.hangs || finding.idle ? torn || !StoodStill(live.trace, finding)
                                         : torn && BasisOf(finding.kind) == KindBasis::kFact;
  });
  const bool hangs = std::ranges::any_of(report.findings, &Finding::hangs);
  if (moving != 0 && !hangs) report.status = Report::Status::kRunning;
  return report;
}

uint64_t DiagnosisPass::Records(Amount amount) const {
  const size_t processes = std::max<size_t>(1, shared_.state->processes().size());
  switch (amount) {
    case Amount::kBrief:
      return kBriefRecords;
    case Amount::kMore:
      return std::clamp(kAllRecords / processes, kMinRecords, kMaxRecords);
    case Amount::kWhole:
      break;
  }
  return 0;
}

void DiagnosisPass::Fetch(Amount amount) {
  rings_ = {.settle = options_.settle, .newest_records = Records(amount)};
  FetchAgain();
}

void DiagnosisPass::FetchAgain() {
  shared_.queries->FetchRings(rings_);
  Diagnose();
}

void DiagnosisPass::Diagnose() {
  shared_.run_task([this] { live_ = {}; });  // a large job leaves no memory for two traces
  live_ = shared_.builder->Build(options_);
  collected_ns_ = Now(CLOCK_MONOTONIC);
  if (complete_) CompleteTrace();
  shared_.run_task([this] { report_ = diagnose_(live_); });
}

void DiagnosisPass::CompleteTrace() {
  // A job that ended well lacks nothing.
  if (shared_.add_to_trace && !EndedWell(report_)) {
    shared_.run_task([this] { shared_.add_to_trace(&live_.trace, options_.settle); });
  }
  shared_.queries->Symbolize(&live_.trace);
}

void DiagnosisPass::Complete() {
  if (std::exchange(complete_, true)) return;
  CompleteTrace();
  shared_.run_task([this] { report_ = diagnose_(live_); });
}

void DiagnosisPass::AddVariables() {
  std::vector<AgentQueries::ThreadOf> threads;
  std::map<uint64_t, uint32_t> processes;  // by id
  for (const uint32_t process : SelectForVariables(live_.trace, report_)) {
    if (process >= live_.observed.size()) continue;
    const uint64_t id = live_.observed[process].id;
    const Process& of = live_.trace.processes[process];
    threads.push_back({id, of.threads[of.open_calls.front().event.thread].tid});
    processes[id] = process;
  }
  if (threads.empty()) return;
  shared_.queries->FetchVariables(threads);
  bool any = false;
  for (const auto& [agent, node] : shared_.agents->ReadJournals()) {
    for (const JournalEvent& event : node->journal.events) {
      const auto* seen = std::get_if<journal::VariablesSeen>(&event);
      if (seen == nullptr) continue;
      const auto process = processes.find(seen->process.ring_id);
      if (process == processes.end() ||
          live_.observed[process->second].activity != seen->activity) {
        continue;
      }
      live_.trace.processes[process->second].variables = seen->frames;
      any = true;
    }
  }
  if (any) shared_.run_task([this] { UpdateValues(live_.trace, &report_); });
}

std::set<uint64_t> DiagnosisPass::IdsNotFetchedWhole(const std::set<uint32_t>& processes) const {
  std::set<uint64_t> ids;
  for (const uint32_t process : processes) {
    if (process >= live_.observed.size()) continue;
    const uint64_t id = live_.observed[process].id;
    if (!shared_.queries->FetchedWhole(id)) ids.insert(id);
  }
  return ids;
}

bool DiagnosisPass::FetchCounts() {
  // Whole rings include the counts, if there are any.
  if (!IsLarge(*shared_.state)) return false;
  // The amount is limited because a healthy job may be in a long call at every diagnosis.
  if (report_.no_progress_ns < shared_.times->stall_after_ns &&
      !shared_.agents->MayFetchWhileComputing(Now(CLOCK_MONOTONIC))) {
    return false;
  }
  const CountsNeed need = MissingCounts(live_.trace, kMaxCountsBytes);
  AgentQueries::Rings wanted{.newest_records = need.newest_records};
  wanted.processes = IdsNotFetchedWhole(need.processes);
  if (wanted.processes.empty()) return false;
  shared_.queries->FetchRings(wanted);
  return true;
}

bool DiagnosisPass::FetchHistory() {
  AgentQueries::Rings wanted = rings_;
  wanted.newest_records = 0;
  if (!IsLarge(*shared_.state)) {
    if (shared_.queries->newest_records() == 0 || report_.findings.empty()) return false;
  } else {
    wanted.processes.merge(
        IdsNotFetchedWhole(SelectForWholeHistory(live_.trace, report_, kMaxWholeRings)));
    if (wanted.processes.empty()) return false;
  }
  shared_.queries->FetchRings(wanted);
  return true;
}

void DiagnosisPass::AddHistory(bool complete) {
  const auto diagnose = [&] {
    complete_ |= complete;
    Diagnose();
  };
  if (FetchCounts()) diagnose();
  for (int round = 0; round < kHistoryRounds; ++round) {
    const std::vector<Key> before = KeysOf(report_);
    if (!FetchHistory()) return;
    diagnose();
    if (!report_.findings.empty() && KeysOf(report_) == before) return;
  }
}

}  // namespace rollcall::service
