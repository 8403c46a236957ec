// SPDX-License-Identifier: Apache-2.0
// The part of the monitor that serves watchers.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "collector/base/clock.h"
#include "collector/base/text.h"
#include "collector/diagnosis/graph/aligned_trace.h"
#include "collector/report/names.h"
#include "collector/report/show.h"
#include "collector/service/monitor.h"

namespace rollcall::service {
namespace {

constexpr size_t kMaxTitleBytes = 512;
constexpr size_t kMaxNames = 4096;
// The newest records of each ring buffer of a rank, and the calls that are shown.
constexpr uint64_t kRecords = 64;
constexpr size_t kCalls = 50;

std::string EndText(const Report& report) {
  if (report.findings.empty()) return "the job ended";
  return fmt::format("the job ended: {}, {}: {}", StatusName(report.status),
                     CertaintyName(report.findings.front().certainty),
                     report.findings.front().title);
}

}  // namespace

void Monitor::PublishState(int64_t now_ns, const Report* final) {
  watchers_.Publish(now_ns, [&] { return WatchedState(now_ns, final); });
}

rpc::WatchState Monitor::WatchedState(int64_t now_ns, const Report* final) const {
  rpc::WatchState state = MakeWatchState(state_, pace_, names_, now_ns);
  state.set_realtime_ns(Now(CLOCK_REALTIME));
  state.set_agents(static_cast<uint32_t>(agents_.connected()));
  state.set_suspicion(std::string(ReasonText(suspected_)));
  if (final != nullptr) state.set_end(CleanText(EndText(*final), kMaxTitleBytes));
  const auto add = [&state](VerdictKind kind, Certainty certainty, const std::string& title,
                            bool reported) {
    rpc::CurrentFinding* finding = state.add_findings();
    finding->set_kind(std::string(KindName(kind)));
    finding->set_certainty(std::string(CertaintyName(certainty)));
    finding->set_title(CleanText(title, kMaxTitleBytes));
    finding->set_reported(reported);
  };
  for (const FindingState* one : active_findings_.All()) {
    add(one->kind, one->certainty, one->title, true);
  }
  for (const Finding& one : unreported_) add(one.kind, one.certainty, one.title, false);
  return state;
}

void Monitor::AnswerWatchers() {
  while (const auto asked = watchers_.Take()) {
    rpc::Answer answer;
    answer.set_text(Answer(asked->question));
    asked->on_answer(std::move(answer));
  }
}

std::string Monitor::Answer(const rpc::Question& question) {
  if (question.what() != rpc::Question::DIAGNOSE) return AnswerOnRank(question);
  const Suspicion suspicion = state_.Check(Now(CLOCK_MONOTONIC));
  if (suspicion.reason == Reason::kSomeWait &&
      !agents_.MayFetchWhileComputing(Now(CLOCK_MONOTONIC))) {
    return "no diagnosis: it would disturb the ranks that compute; try again later\n";
  }
  // Not as a requested diagnosis: that would report findings before their time.
  RunDiagnosis(suspicion, /*requested=*/false, /*time_is_up=*/false);
  if (active_findings_.empty() && unreported_.empty()) return "the diagnosis found nothing\n";
  std::string text;
  for (const FindingState* one : active_findings_.All()) {
    text += fmt::format("{}: {}\n", CertaintyName(one->certainty), one->title);
  }
  for (const Finding& one : unreported_) {
    text += fmt::format("{}, not yet reported: {}\n", CertaintyName(one.certainty), one.title);
  }
  return text;
}

std::string Monitor::AnswerOnRank(const rpc::Question& question) {
  const bool stacks = question.what() == rpc::Question::STACKS;
  if (stacks && !options_.live_stacks) return "no stacks are taken: --no-stacks\n";
  AgentQueries::Rings wanted{.newest_records = kRecords};
  for (const auto& [id, process] : state_.processes()) {
    if (process.job_key == question.job_key() && process.world_rank == question.rank()) {
      wanted.processes.insert(id);
    }
  }
  if (wanted.processes.empty()) return "there is no such rank\n";
  if (stacks) queries_.FetchStacks({wanted.processes.begin(), wanted.processes.end()});
  queries_.rings()->Clear();
  queries_.FetchRings(wanted);
  LiveTrace live = live_trace_builder_.Build({});
  LearnNames(live.trace);
  if (!stacks) queries_.Symbolize(&live.trace);
  queries_.rings()->Clear();
  const DiagnoseOptions options;
  const Shown shown = stacks ? ShowThreads(live.trace, question.rank())
                             : ShowRank(AlignedTrace(live.trace, options), question.rank(), kCalls);
  return shown.error.empty() ? shown.text : shown.error + "\n";
}

void Monitor::LearnNames(const Trace& trace) {
  for (const Communicator& one : trace.communicators) {
    if (names_.size() >= kMaxNames || names_.contains(one.key)) continue;
    names_[one.key] = CleanText(one.name, JobState::kMaxNameBytes);
  }
}

}  // namespace rollcall::service
