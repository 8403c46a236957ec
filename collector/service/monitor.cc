// SPDX-License-Identifier: Apache-2.0
#include "collector/service/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "collector/base/assert.h"
#include "collector/base/clock.h"
#include "collector/base/find.h"
#include "collector/base/text.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/service/report_delay.h"

namespace rollcall::service {
namespace {

constexpr int kFinalAttempts = 3;
// Limits of the problems that agents report.
constexpr size_t kMaxProblems = 16;
constexpr size_t kMaxProblemBytes = 512;
constexpr size_t kMaxAddressBytes = 256;

int64_t Monotonic() { return Now(CLOCK_MONOTONIC); }

// Whether the monitor must handle the message before its next tick. Digests can wait: the state of
// a job is examined once a tick at most, and waking a thread costs more than handling a digest.
bool IsUrgent(const rpc::AgentMessage& message) {
  return !message.has_digests() && (!message.has_heartbeat() || message.heartbeat().asks_clock());
}

// Whether a process recorded more than its rendezvous at the store of torch.distributed; see
// JobState::ever_seen().
bool RecordsCalls(const Trace& trace) {
  const bool only_met =
      !trace.communicators.empty() &&
      std::ranges::all_of(trace.communicators, [](const Communicator& communicator) {
        return communicator.created_by == Operation::kC10dRendezvous;
      });
  return !trace.processes.empty() && !only_met;
}

// The live processes that a report calls stalled.
std::vector<uint64_t> CalledStalled(const JobState& state, const Trace& trace,
                                    const Report& report) {
  std::vector<uint64_t> ids;
  for (const Finding& finding : report.findings) {
    const bool stalled =
        finding.kind == VerdictKind::kRankStalled || finding.kind == VerdictKind::kInitHang;
    if (!stalled || finding.world >= trace.worlds.size()) continue;
    for (const auto& [id, process] : state.processes()) {
      if (!process.ended && process.job_key == trace.worlds[finding.world].job_key &&
          std::ranges::binary_search(finding.culprits, process.world_rank)) {
        ids.push_back(id);
      }
    }
  }
  return ids;
}

}  // namespace

Monitor::Monitor(MonitorOptions options)
    : options_(std::move(options)),
      agents_(options_.max_held_bytes),
      tree_(options_.max_direct_agents),
      state_({.times = options_.times}),
      queries_(options_.answer_timeout_ns, &agents_, &state_,
               [this](int64_t until_ns) { HandleEvents(until_ns); }),
      live_trace_builder_(&agents_, &state_, &queries_,
                          [this](const std::function<void()>& task) { RunTask(task); }),
      active_findings_(options_.times),
      thread_([this] { Run(); }) {}

Monitor::~Monitor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

uint64_t Monitor::Join(std::shared_ptr<AgentLink> link) {
  const std::lock_guard lock(mutex_);
  const uint64_t number = next_agent_++;
  events_.push_back({Event::Kind::kJoin, number, std::move(link), {}});
  changed_.notify_all();
  return number;
}

void Monitor::Message(uint64_t agent, rpc::AgentMessage message) {
  const bool urgent = IsUrgent(message);
  const std::lock_guard lock(mutex_);
  events_.push_back({Event::Kind::kMessage, agent, nullptr, std::move(message)});
  if (urgent) changed_.notify_all();
}

void Monitor::Leave(uint64_t agent) {
  const std::lock_guard lock(mutex_);
  events_.push_back({Event::Kind::kLeave, agent, nullptr, {}});
  changed_.notify_all();
}

void Monitor::DiagnoseNow(std::function<void()> then) {
  const std::lock_guard lock(mutex_);
  after_diagnosis_ = std::move(then);
}

Monitor::Final Monitor::Finish(const FinalPass& pass) {
  std::unique_lock lock(mutex_);
  ROLLCALL_ASSERT(!finish_requested_);
  final_pass_ = pass;
  finish_requested_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return finished_; });
  return std::move(final_);
}

void Monitor::Run() {
  for (;;) {
    HandleEvents(Monotonic() + DiagnosisSchedule::kTickNs,
                 [this] { return stop_ || (finish_requested_ && !finished_); });
    const bool due = schedule_.CheckIsDue(Monotonic());
    if (due && schedule_.TakeEvents()) {
      WithdrawVoid([this](uint64_t id) { return MovementOf(id); });
    }
    std::function<void()> after_diagnosis;
    {
      std::unique_lock lock(mutex_);
      if (stop_) return;
      if (finish_requested_ && !finished_) {
        lock.unlock();
        FinishNow();
        lock.lock();
        finished_ = true;
        changed_.notify_all();
      }
      if (finished_) continue;
      std::swap(after_diagnosis, after_diagnosis_);
    }
    if (!due && !after_diagnosis) continue;
    // No orders are sent while a live trace waits for answers, because an agent that changes its
    // connection drops pending answers.
    SendOrders();
    RemoveLostAgents();
    const int64_t now = Monotonic();
    const Suspicion suspicion = state_.Check(now);
    suspected_ = suspicion.reason;
    if (suspicion.reason == Reason::kNone) unreported_.clear();
    schedule_.Checked(now, Monotonic());
    ExamineEarly(suspicion.slow);
    PublishMetrics(suspicion, now);
    using Cause = DiagnosisSchedule::Cause;
    const Cause cause = schedule_.Next(suspicion, after_diagnosis != nullptr,
                                       active_findings_.NextDiagnosisNs(), now);
    if (cause != Cause::kNone) {
      RunDiagnosis(suspicion, cause == Cause::kRequest, after_diagnosis != nullptr);
    }
    if (after_diagnosis) after_diagnosis();
    AnswerWatchers();
  }
}

void Monitor::PublishMetrics(const Suspicion& suspicion, int64_t now) {
  if (options_.metrics == nullptr || !options_.metrics->IsDue(now)) return;
  const int64_t begin = Monotonic();
  options_.metrics->Publish(state_,
                            {.agents = agents_.connected(),
                             .relayed_agents = tree_.relayed(),
                             .suspected = suspicion.reason != Reason::kNone,
                             .findings = active_findings_.Counts()},
                            now);
  options_.metrics->OnPublished(Monotonic() - begin);
}

void Monitor::HandleEvents(int64_t until_ns, const std::function<bool()>& or_else) {
  std::deque<Event> events;
  {
    std::unique_lock lock(mutex_);
    const auto wait = std::chrono::nanoseconds(std::max<int64_t>(0, until_ns - Monotonic()));
    changed_.wait_for(lock, wait, [&] { return !events_.empty() || (or_else && or_else()); });
    std::swap(events, events_);
  }
  for (Event& event : events) {
    if (event.kind == Event::Kind::kJoin) {
      agents_.Join(event.agent, std::move(event.link), Monotonic());
      continue;
    }
    Agent* agent = agents_.Find(event.agent);
    if (agent == nullptr) continue;
    if (event.kind == Event::Kind::kLeave) {
      agent->left = true;
      tree_.Remove(event.agent);
      queries_.GiveUpOn(event.agent);
    } else {
      agent->last_heard_ns = Monotonic();
      agent->link->Consumed();
      if (options_.metrics != nullptr) options_.metrics->OnMessage(event.message);
      HandleMessage(event.agent, agent, event.message);
    }
  }
  if (!events.empty()) schedule_.OnEvents();
  // The state is published here so that watchers see the job move during a long diagnosis.
  if (const int64_t now = Monotonic(); watchers_.IsDue(now)) PublishState(now, nullptr);
}

void Monitor::RunTask(const std::function<void()>& task) {
  std::atomic<bool> done = false;
  worker_.Add([&] {
    task();
    const std::lock_guard lock(mutex_);  // this thread is not between its check and its wait
    done = true;
    changed_.notify_all();
  });
  while (!done) {
    HandleEvents(Monotonic() + DiagnosisSchedule::kTickNs, [&done] { return done.load(); });
  }
}

void Monitor::OnHello(uint64_t number, const Agent& agent, const rpc::Hello& hello) {
  for (const uint64_t replaced : agents_.AcceptHello(number, hello)) RemoveAgent(replaced);
  if (!agent.hello_received) return;
  tree_.Add(number, {.id = hello.agent_id(),
                     .aggregator = agent.link->aggregator(),
                     .can_aggregate = hello.can_aggregate(),
                     .keeps_direct = hello.keeps_direct()});
}

void Monitor::SendOrders() {
  for (const AggregatorTree::Order& order : tree_.TakeOrders()) {
    const Agent* agent = agents_.Find(order.agent);
    if (agent == nullptr) continue;
    rpc::CollectorMessage message;
    if (order.parent.empty()) {
      message.mutable_aggregate();
    } else {
      message.mutable_parent()->set_address(order.parent);
    }
    agent->link->Send(message);
  }
}

void Monitor::RemoveAgent(uint64_t agent) {
  state_.RemoveAgent(agent);
  pace_.Prune(state_);
  tree_.Remove(agent);
  queries_.GiveUpOn(agent);
}

void Monitor::HandleMessage(uint64_t number, Agent* agent, const rpc::AgentMessage& message) {
  if (message.has_hello()) {
    OnHello(number, *agent, message.hello());
    return;
  }
  if (!agent->hello_received) {
    agent->link->Refuse("no greeting");
    return;
  }
  if (message.heartbeat().asks_clock()) {
    rpc::CollectorMessage answer;
    answer.mutable_clock()->set_asked_realtime_ns(message.heartbeat().realtime_ns());
    answer.mutable_clock()->set_asked_monotonic_ns(message.heartbeat().monotonic_ns());
    answer.mutable_clock()->set_collector_realtime_ns(Now(CLOCK_REALTIME));
    agent->link->Send(answer);
  } else if (message.has_digests()) {
    const int64_t now = Monotonic();
    for (const rpc::ProcessDigest& digest : message.digests().processes()) {
      state_.OnDigest(number, digest, now);
    }
    pace_.OnDigests(state_, message.digests(), now);
  } else if (message.has_process_event()) {
    state_.OnProcessEvent(message.process_event());
  } else if (message.has_aggregator()) {
    tree_.OnAggregator(number, CleanText(message.aggregator().address(), kMaxAddressBytes));
  } else if (message.has_problem()) {
    Note(*agent, message.problem().text());
  } else if (message.has_journal()) {
    agents_.AddJournal(agent, message.journal().lines());
  } else {
    queries_.OnAnswer(number, agent, message);
  }
}

void Monitor::Note(const Agent& agent, const std::string& problem) {
  const std::string text = CleanText(problem, kMaxProblemBytes);
  // Many nodes may report the same problem.
  if (!options_.on_note || problems_.size() >= kMaxProblems || !problems_.insert(text).second) {
    return;
  }
  options_.on_note(fmt::format("the agent on {}: {}", agent.host, text));
}

void Monitor::RemoveLostAgents() {
  for (const auto& [number, agent] : agents_.TakeLost(Monotonic(), options_.lost_after_ns)) {
    RemoveAgent(number);
    tree_.GiveUp(agent.id);
    if (!options_.on_note || !agent.hello_received) continue;
    options_.on_note(
        fmt::format("the agent on {} has not reported for {} s; its ranks are excluded from "
                    "diagnosis, and their traces stay in {}",
                    agent.host, options_.lost_after_ns / 1'000'000'000, agent.run_directory));
  }
}

DiagnosisPass::Shared Monitor::SharedByPasses() {
  return {.agents = &agents_,
          .state = &state_,
          .queries = &queries_,
          .builder = &live_trace_builder_,
          .run_task = [this](const std::function<void()>& task) { RunTask(task); },
          .times = &options_.times,
          .add_to_trace = options_.add_to_trace};
}

std::optional<Movement> Monitor::MovementOf(uint64_t id) const {
  const auto* process = FindOrNull(state_.processes(), id);
  if (process == nullptr) return std::nullopt;
  return Movement{.activity = process->activity, .gave_up = process->aborts()};
}

void Monitor::WithdrawVoid(const std::function<std::optional<Movement>(uint64_t id)>& moved) {
  if (interrupted_ || active_findings_.empty()) return;
  const Withdrawal withdrawal = active_findings_.Withdraw(moved);
  if (withdrawal.keys.empty()) return;
  schedule_.OnWithdrawal();
  if (options_.on_withdrawal) options_.on_withdrawal(withdrawal);
}

void Monitor::ExamineEarly(const std::vector<uint64_t>& slow) {
  // Only a few ranks of a job act as servers. If many ranks are slow, they compute.
  if (!options_.live_stacks || slow.size() > AgentQueries::kMaxStacks) return;
  std::vector<uint64_t> unseen;
  for (const uint64_t id : slow) {
    const uint64_t activity = state_.processes().at(id).activity;
    const auto [examined, is_first] = examined_early_.try_emplace(id, activity);
    if (is_first || std::exchange(examined->second, activity) != activity) unseen.push_back(id);
  }
  if (!unseen.empty()) queries_.FetchStacks(unseen, /*wait_only=*/true);
}

void Monitor::RunDiagnosis(const Suspicion& suspicion, bool requested, bool time_is_up) {
  using Amount = DiagnosisPass::Amount;
  using Outcome = DiagnosisSchedule::Outcome;
  const int64_t begin = Monotonic();
  const auto ran = [&](Outcome outcome) { schedule_.Ran(suspicion, outcome, begin, Monotonic()); };
  if (suspicion.reason == Reason::kSomeWait && !requested &&
      !agents_.MayFetchWhileComputing(begin)) {
    return ran(Outcome::kNothing);
  }
  if (options_.live_stacks && !suspicion.stalled.empty()) queries_.FetchStacks(suspicion.stalled);
  DiagnosisPass pass(SharedByPasses(), {}, [this, time_is_up](const LiveTrace& live) {
    return DiagnoseRunning(live, options_.times, time_is_up);
  });
  const auto reportable = [&] {
    return IsReportable(pass.report(), options_.times.stall_after_ns);
  };
  const bool large = IsLarge(state_);
  const bool some_wait = suspicion.reason == Reason::kSomeWait;
  pass.Fetch(large ? Amount::kBrief : some_wait ? Amount::kMore : Amount::kWhole);
  LearnNames(pass.live().trace);
  // Ranks that continue may have made so many calls that the mismatched call is no longer among the
  // records.
  if (suspicion.reason == Reason::kMismatch && large && !reportable()) pass.Fetch(Amount::kMore);
  // The rings are newer than the digests: a rank may have passed the threshold in between.
  if (options_.live_stacks && suspicion.stalled.empty()) {
    const std::vector<uint64_t> stalled = CalledStalled(state_, pass.live().trace, pass.report());
    if (!stalled.empty()) {
      queries_.FetchStacks(stalled);
      pass.FetchAgain();
    }
  }
  // No rank computes and nothing was found: the diagnosis may need older calls.
  const bool all_stand =
      (suspicion.reason == Reason::kAllWait || suspicion.reason == Reason::kEnded) &&
      schedule_.Repeats(suspicion);
  if (all_stand || reportable()) pass.AddHistory(/*complete=*/true);
  if (options_.metrics != nullptr) options_.metrics->OnDiagnosis(begin, Monotonic());
  const bool is_verdict = reportable();
  const int64_t delay = is_verdict && !requested ? ReportDelay(pass.live().trace, pass.report(),
                                                               begin - agents_.last_joined_ns())
                                                 : 0;
  const auto tell = [&](Outcome outcome) {
    TellPass({.reason = suspicion.reason,
              .outcome = outcome,
              .delay_ns = delay,
              .stall_after_ns = options_.times.stall_after_ns},
             pass.report());
  };
  if (!schedule_.MayPublish(delay, begin)) {
    unreported_ = pass.report().findings;
    tell(Outcome::kPending);
    return ran(Outcome::kPending);
  }
  if (is_verdict) {
    NotifyAgents(pass.report(), pass.collected_ns());
    // The environments are requested early, because the reader of the verdict may end the job.
    if (options_.evidence.write) queries_.RequestEnvironments();
    pass.Complete();
    if (options_.live_stacks) pass.AddVariables();
  }
  const Outcome outcome = is_verdict ? Outcome::kVerdict : Outcome::kNothing;
  tell(outcome);
  if (suspicion.reason == Reason::kMismatch && !is_verdict) state_.ClearMismatches();
  unreported_ = is_verdict ? std::vector<Finding>() : pass.report().findings;
  ReportChanges(&pass.live(), pass.report(), is_verdict, begin);
  queries_.rings()->Clear();
  ActIfDue(pass.report());
  ran(outcome);
}

void Monitor::TellPass(const PassFacts& facts, const Report& report) {
  if (!options_.on_pass) return;
  std::string text = PassText(facts, report);
  if (text == told_) return;
  options_.on_pass(text);
  told_ = std::move(text);
}

void Monitor::ReportChanges(LiveTrace* live, const Report& report, bool is_verdict,
                            int64_t begin_ns) {
  using ReportDelta = ActiveFindings::ReportDelta;
  const ReportDelta news = active_findings_.Report(
      is_verdict ? FindingStates(live->trace, report, live->observed) : std::vector<FindingState>{},
      begin_ns);
  const bool changed = schedule_.TakeWithdrawal() || news == ReportDelta::kMoreRanks;
  if (news == ReportDelta::kNew) {
    if (options_.on_report) options_.on_report(live->trace, report);
  } else if (changed && options_.on_update) {
    options_.on_update(live->trace, report);
  }
  if (news != ReportDelta::kNone && options_.evidence.write && !report.findings.empty()) {
    RunTask([live] { *live = {}; });  // a large job leaves no memory for two traces
    options_.evidence.write(report, CollectEvidence({}));
  }
}

collect::Evidence Monitor::CollectEvidence(LiveTraceBuilder::Options options) {
  const int64_t deadline = Monotonic() + options_.evidence.deadline_ns;
  if (queries_.newest_records() != 0 || !queries_.rings()->complete()) {
    queries_.FetchRings({.settle = options.settle, .deadline_ns = deadline});
  }
  options.keep_evidence = true;
  LiveTrace live = live_trace_builder_.Build(options);
  queries_.Symbolize(&live.trace);
  queries_.AwaitEnvironments(deadline);
  for (const auto& [number, node] : live.evidence_nodes) {
    const Agent* agent = agents_.Find(number);
    if (agent != nullptr) live.evidence.nodes[node].environment = agent->environment;
  }
  live.evidence.trace = std::move(live.trace);
  return std::move(live.evidence);
}

void Monitor::ActIfDue(const Report& report) {
  if (!options_.on_due || interrupted_ || report.status != Report::Status::kHung) return;
  // Reading debug information may have taken seconds. Movements of ranks during that time are taken
  // into account.
  HandleEvents(Monotonic());
  WithdrawVoid([this](uint64_t id) { return MovementOf(id); });
  if (!active_findings_.AnyDue(Monotonic())) return;
  NoteInterrupted();
  options_.on_due(report);
}

void Monitor::NotifyAgents(const Report& report, int64_t collected_ns) {
  if (report.status != Report::Status::kHung) return;
  rpc::CollectorMessage message;
  message.mutable_verdict()->set_age_ns(Monotonic() - collected_ns);
  for (const auto& [number, agent] : agents_.all()) {
    if (agent.connected()) agent.link->Send(message);
  }
}

std::map<uint64_t, Movement> Monitor::LastMovements(const LiveTrace& live) {
  std::map<uint64_t, Movement> movements;
  for (size_t i = 0; i < live.observed.size(); ++i) {
    const Process& process = live.trace.processes[i];
    const ProcessEnd& end = process.end;
    movements[live.observed[i].id] = {
        .activity = live.observed[i].activity,
        .gave_up = process.exit_mark == ring::ExitMark::kMpiAbort,
        .ended_well = end.how == ProcessEnd::How::kExited && end.status == 0 && !end.by_launcher};
  }
  return movements;
}

std::vector<std::string> Monitor::HostsOf(const LiveTrace& live) {
  std::vector<std::string> hosts;
  for (const uint64_t number : live.agents) {
    const Agent* agent = agents_.Find(number);
    if (agent != nullptr) hosts.push_back(agent->host);
  }
  std::ranges::sort(hosts);
  return hosts;
}

void Monitor::FinishNow() {
  DiagnoseOptions diagnose = final_pass_.diagnose;
  diagnose.stall_after_ns = options_.times.stall_after_ns;
  diagnose.idle_after_ns = options_.times.idle_after_ns;
  diagnose.job_ended = true;
  const LiveTraceBuilder::Options ended = {.settle = true,
                                           .time_is_up = diagnose.time_limit_ns >= 0};
  if (final_pass_.await_agent) queries_.WaitForAgent();
  if (options_.evidence.write) queries_.RequestEnvironments();
  DiagnosisPass pass(SharedByPasses(), ended,
                     [&diagnose](const LiveTrace& live) { return Diagnose(live.trace, diagnose); });
  // The agents' last messages precede their snapshots. If ranks outlive their launcher for longer
  // than the agents wait, they may end while snapshots are taken.
  for (int i = 0; i < kFinalAttempts; ++i) {
    using Amount = DiagnosisPass::Amount;
    pass.Fetch(IsLarge(state_) ? Amount::kMore : Amount::kWhole);
    if (IsLarge(state_) && !pass.report().findings.empty()) pass.AddHistory(/*complete=*/false);
    if (pass.live().ended_meanwhile.empty() || !queries_.rings()->complete()) break;
  }
  if (final_pass_.name_code || !EndedWell(pass.report())) pass.Complete();
  LiveTrace& live = pass.live();
  Final final;
  final.report = std::move(pass.report());
  // A finding that the time is up is not a finding about ranks.
  const std::vector<Finding>& findings = final.report.findings;
  const bool found = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.kind != VerdictKind::kTimedOut; });
  final.ranks_seen = state_.ever_seen() || RecordsCalls(live.trace) || found;
  WithdrawVoid([movements = LastMovements(live)](uint64_t id) -> std::optional<Movement> {
    const Movement* found = FindOrNull(movements, id);
    return found == nullptr ? std::nullopt : std::optional(*found);
  });
  final.is_new = active_findings_.Report(FindingStates(live.trace, final.report, live.observed),
                                         Monotonic()) == ActiveFindings::ReportDelta::kNew;
  final.any_findings = !active_findings_.empty();
  final.hosts = HostsOf(live);
  PublishState(Monotonic(), &final.report);
  if (options_.evidence.write && !final.report.findings.empty()) {
    final.evidence = CollectEvidence(ended);
  }
  final.trace = std::move(live.trace);
  const std::lock_guard lock(mutex_);
  final_ = std::move(final);
}

}  // namespace rollcall::service
