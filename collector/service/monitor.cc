#include "collector/service/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "collector/base/clock.h"
#include "collector/base/text.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/wording/waiting_set.h"
#include "collector/import/add_sources.h"
#include "collector/import/journal.h"
#include "collector/import/node_clock.h"
#include "collector/import/trace_builder.h"
#include "collector/rpc/frames.h"
#include "collector/rpc/protocol.h"

namespace rollcall::service {
namespace {

constexpr int64_t kTickNs = 25'000'000;
// Looks at the digests take a fiftieth of the time at most.
constexpr int64_t kCheckCostFactor = 50;
// Some have parted before the others came by: so long a verdict that names nobody waits for them.
constexpr int64_t kTiePatienceNs = 1'000'000'000;
// So long a mismatch is watched before it is told as one that did not stop the job.
constexpr int64_t kTurnPatienceNs = 1'200'000'000;
// So long a verdict waits for others that would wait with those that it names, or for its proof.
constexpr int64_t kComingPatienceNs = 400'000'000;
constexpr int64_t kSymbolPatienceNs = 10'000'000'000;
// Stacks of more processes than this are not asked for at once.
constexpr size_t kMostStacks = 8;
constexpr size_t kAddressesPerRequest = 4096;
// What as many nodes do not know, no other is asked for.
constexpr size_t kMostAskedForSymbols = 8;
constexpr int kLastLooks = 3;
// Of so many processes whole rings are looked at.
constexpr size_t kWholeProcesses = 64;
// Of more, and of those that mostly compute, as many records in all; a process has two ring
// buffers.
constexpr uint64_t kFirstRecords = 1 << 18;
constexpr uint64_t kLeastRecords = 64;
constexpr uint64_t kMostRecords = 256;
// However slowly it arrives.
constexpr int64_t kMostFetchNs = 60'000'000'000;
// What may be fetched from a node in the long run while its ranks compute.
constexpr int64_t kFetchBytesPerSecond = 1 << 20;
constexpr size_t kMostNameBytes = 256;
constexpr char kReplaced[] = "another agent took its place";
// Of what is held, what is no ring may take one part in so many.
constexpr uint64_t kShareBesidesRings = 4;

int64_t Monotonic() { return Now(CLOCK_MONOTONIC); }

// While the job runs, "cannot tell" is no news, as the next look may be able to; until it stood
// still for so long that a person wants to know even that.
bool IsReportable(const Report& report, int64_t stall_after_ns) {
  if (report.no_progress_ns >= stall_after_ns) return !report.findings.empty();
  return std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
    return finding.certainty != Certainty::kInconclusive;
  });
}

// Whether it holds for a rank of the finding's world; kNoIndex stands for one without a trace.
template <typename Predicate>
bool AnyRank(const Trace& trace, const Finding& finding, Predicate holds) {
  if (finding.world >= trace.worlds.size()) return false;
  const std::vector<uint32_t>& ranks = trace.worlds[finding.world].processes;
  return std::any_of(ranks.begin(), ranks.end(), holds);
}

// Two sides of a mismatch of which none can be singled out yet, while ranks that may tell them
// apart are still on their way.
bool MayBeDecided(const Trace& trace, const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    return finding.culprits.empty() && AnyRank(trace, finding, [&](uint32_t process) {
             return process == kNoIndex || !trace.processes[process].quiet;
           });
  });
}

// Ranks that may come to wait like those that the report names: alive, and in no call. And those in
// a call that were not seen to stand still, if that would prove it.
bool MoreMayCome(const Trace& trace, const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    return finding.hangs && AnyRank(trace, finding, [&](uint32_t process) {
             if (process == kNoIndex) return false;
             const Process& other = trace.processes[process];
             const bool alive_and_moving = other.end.how == ProcessEnd::How::kAlive &&
                                           !other.quiet && other.phase < ring::Phase::kFinalized;
             if (!alive_and_moving) return false;
             if (!other.open_calls.empty()) return finding.certainty != Certainty::kProven;
             return !std::binary_search(finding.culprits.begin(), finding.culprits.end(),
                                        other.rank);
           });
  });
}

// What is wrong may yet turn out to hang: somebody is inside a call, and has not been for long.
bool MayTurnOutToHang(const Trace& trace, const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    return !finding.hangs && AnyRank(trace, finding, [&](uint32_t process) {
      return process != kNoIndex && trace.processes[process].end.how == ProcessEnd::How::kAlive &&
             !trace.processes[process].open_calls.empty();
    });
  });
}

// How long the verdict should wait for ranks that would complete it.
int64_t Patience(const Trace& trace, const Report& report) {
  if (MayTurnOutToHang(trace, report)) return kTurnPatienceNs;
  if (MayBeDecided(trace, report)) return kTiePatienceNs;
  return MoreMayCome(trace, report) ? kComingPatienceNs : 0;
}

bool EndedWell(const Report& report) {
  return report.findings.empty() && report.status == Report::Status::kFinished;
}

}  // namespace

std::string ProtocolProblem(uint32_t protocol) {
  if (protocol == rpc::kProtocol) return {};
  return fmt::format("protocol {} is not served, only {}", protocol, rpc::kProtocol);
}

Monitor::Monitor(MonitorOptions options)
    : options_(std::move(options)),
      state_({.times = options_.times}),
      standing_(options_.times),
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
  const std::lock_guard lock(mutex_);
  events_.push_back({Event::Kind::kMessage, agent, nullptr, std::move(message)});
  changed_.notify_all();
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

Monitor::Final Monitor::Finish(const FinalPass& look) {
  std::unique_lock lock(mutex_);
  final_pass_ = look;
  finish_asked_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return finished_; });
  return std::move(final_);
}

void Monitor::Run() {
  for (;;) {
    unchecked_ |= HandleEvents(Monotonic() + kTickNs);
    const bool due = Monotonic() - checked_ns_ >= check_gap_ns_;
    if (due && std::exchange(unchecked_, false)) {
      WithdrawVoid([this](uint64_t id) { return MovementOf(id); });
    }
    std::function<void()> after_diagnosis;
    {
      std::unique_lock lock(mutex_);
      if (stop_) return;
      if (finish_asked_ && !finished_) {
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
    ForgetLostAgents();
    const int64_t now = checked_ns_ = Monotonic();
    const Suspicion suspicion = state_.Check(now);
    // It costs what there are processes, however few of them spoke.
    check_gap_ns_ = std::max(kTickNs, kCheckCostFactor * (Monotonic() - now));
    PublishMetrics(suspicion, now);
    const bool asked = after_diagnosis || withdrawn_ || now >= standing_.NextDiagnosisNs();
    if (asked || pacer_.MayRun(suspicion, now)) RunDiagnosis(suspicion, asked);
    if (after_diagnosis) after_diagnosis();
  }
}

void Monitor::PublishMetrics(const Suspicion& suspicion, int64_t now) {
  if (options_.metrics == nullptr || !options_.metrics->IsDue(now)) return;
  const auto connected = [](const auto& agent) {
    return agent.second.greeted && !agent.second.left;
  };
  options_.metrics->Publish(
      state_,
      {.agents = static_cast<size_t>(std::count_if(agents_.begin(), agents_.end(), connected)),
       .suspected = suspicion.reason != Reason::kNone,
       .findings = standing_.Counts()},
      now);
}

bool Monitor::HandleEvents(int64_t until_ns) {
  std::deque<Event> events;
  {
    std::unique_lock lock(mutex_);
    const auto wait = std::chrono::nanoseconds(std::max<int64_t>(0, until_ns - Monotonic()));
    changed_.wait_for(
        lock, wait, [this] { return stop_ || !events_.empty() || (finish_asked_ && !finished_); });
    std::swap(events, events_);
  }
  for (Event& event : events) {
    if (event.kind == Event::Kind::kJoin) {
      agents_[event.agent].link = std::move(event.link);
      agents_[event.agent].last_heard_ns = Monotonic();
      continue;
    }
    const auto agent = agents_.find(event.agent);
    if (agent == agents_.end()) continue;
    if (event.kind == Event::Kind::kLeave) {
      agent->second.left = true;
      snapshots_.GiveUpOn(event.agent);
      std::erase_if(asked_environments_,
                    [&](const auto& asked) { return asked.second == event.agent; });
    } else {
      agent->second.last_heard_ns = Monotonic();
      agent->second.link->Consumed();
      if (options_.metrics != nullptr) options_.metrics->OnMessage(event.message, Monotonic());
      HandleMessage(event.agent, event.message);
    }
  }
  return !events.empty();
}

void Monitor::HandleUntil(int64_t deadline_ns, const std::function<bool()>& answered) {
  while (!answered() && Monotonic() < deadline_ns) {
    HandleEvents(std::min(deadline_ns, Monotonic() + kTickNs));
  }
}

void Monitor::HandleHello(uint64_t number, Agent* agent, const rpc::Hello& hello) {
  if (const std::string problem = ProtocolProblem(hello.protocol()); !problem.empty()) {
    agent->link->Refuse(problem);
    return;
  }
  const std::string host = CleanText(hello.host(), kMostNameBytes);
  const std::string run_directory = CleanText(hello.run_directory(), kMostNameBytes);
  // The same agent again, or another in its place: it tells everything anew. Two nodes may have one
  // name and one path: only a node whose agent left is taken over by another agent. Agents without
  // an id of their own go by name and path; one that was replaced waits until its successor leaves.
  for (const auto& [other, known] : agents_) {
    const bool has_id = known.id != 0 && hello.agent_id() != 0;
    if (other == number || !known.greeted || known.left || has_id || !hello.resumed()) continue;
    if (known.pid != hello.pid() && known.host == host && known.run_directory == run_directory) {
      agent->link->Refuse(kReplaced);
      return;
    }
  }
  for (auto other = agents_.begin(); other != agents_.end();) {
    const Agent& known = other->second;
    const bool namesake = known.host == host && known.run_directory == run_directory;
    const bool has_id = known.id != 0 && hello.agent_id() != 0;
    const bool same =
        other->first != number && known.greeted &&
        (has_id ? known.id == hello.agent_id() || (namesake && known.left) : namesake);
    if (same && !known.left) known.link->Refuse(kReplaced);
    other = same ? Erase(other) : std::next(other);
  }
  lost_.erase({host, run_directory});
  agent->greeted = true;
  agent->id = hello.agent_id();
  agent->pid = hello.pid();
  agent->host = host;
  agent->run_directory = run_directory;
  held_bytes_ -= agent->journal.size();
  agent->journal.clear();
  agent->cut = false;
}

std::map<uint64_t, Monitor::Agent>::iterator Monitor::Erase(
    std::map<uint64_t, Agent>::iterator agent) {
  state_.Forget(agent->first);
  snapshots_.GiveUpOn(agent->first);
  held_bytes_ -= agent->second.journal.size() + agent->second.environment.size();
  return agents_.erase(agent);
}

bool Monitor::Hold(size_t bytes) {
  const bool fits = held_bytes_ + bytes <= options_.most_held_bytes / kShareBesidesRings;
  if (fits) held_bytes_ += bytes;
  return fits;
}

void Monitor::HandleMessage(uint64_t number, const rpc::AgentMessage& message) {
  Agent& agent = agents_[number];
  if (message.has_hello()) {
    HandleHello(number, &agent, message.hello());
    return;
  }
  if (!agent.greeted) {
    agent.link->Refuse("no greeting");
    return;
  }
  const int64_t now = Monotonic();
  if (message.heartbeat().asks_clock()) {
    rpc::CollectorMessage answer;
    answer.mutable_clock()->set_asked_realtime_ns(message.heartbeat().realtime_ns());
    answer.mutable_clock()->set_asked_monotonic_ns(message.heartbeat().monotonic_ns());
    answer.mutable_clock()->set_collector_realtime_ns(Now(CLOCK_REALTIME));
    agent.link->Send(answer);
  } else if (message.has_digests()) {
    for (const rpc::ProcessDigest& digest : message.digests().processes()) {
      state_.OnDigest(number, digest, now);
    }
  } else if (message.has_process_event()) {
    state_.OnProcessEvent(message.process_event());
  } else if (message.has_journal()) {
    // Nothing after a gap: a line that is missing may be what a later one takes back.
    agent.cut = agent.cut || !Hold(message.journal().lines().size());
    if (!agent.cut) agent.journal += message.journal().lines();
  } else if (message.has_snapshot()) {
    if (!snapshots_.Add(number, message.snapshot(), Now(CLOCK_REALTIME))) {
      agent.link->Refuse("a snapshot that does not fit");
    }
  } else if (message.has_symbols()) {
    const auto asked = asked_symbols_.find(message.symbols().request());
    if (asked == asked_symbols_.end()) return;
    const auto answers = static_cast<size_t>(message.symbols().addresses_size());
    for (size_t i = 0; i < std::min(asked->second.size(), answers); ++i) {
      std::vector<SourceFrame> frames;
      for (const rpc::SymbolFrame& frame :
           message.symbols().addresses(static_cast<int>(i)).frames()) {
        frames.push_back(rpc::FromRpc(frame));
      }
      symbols_.Add(asked->second[i], std::move(frames));
    }
    asked_symbols_.erase(asked);
  } else if (message.has_live_stacks()) {
    asked_stacks_.erase(message.live_stacks().request());
  } else if (message.has_environment()) {
    if (asked_environments_.erase(message.environment().request()) == 0) return;
    const std::string& json = message.environment().json();
    if (!bundle::IsEnvironment(json)) {
      agent.link->Refuse("an environment that does not fit");
    } else if (agent.environment.empty() && Hold(json.size())) {
      agent.environment = json;
    }
  }
}

void Monitor::ForgetLostAgents() {
  const int64_t now = Monotonic();
  for (auto agent = agents_.begin(); agent != agents_.end();) {
    const bool lost = now - agent->second.last_heard_ns > options_.lost_after_ns;
    if (!lost) {
      ++agent;
      continue;
    }
    if (options_.on_note && agent->second.greeted) {
      options_.on_note(fmt::format(
          "no word from the agent on {} for {} s; its ranks are judged no "
          "more, their traces stay in {}",
          agent->second.host, options_.lost_after_ns / 1'000'000'000, agent->second.run_directory));
    }
    if (agent->second.greeted) lost_.emplace(agent->second.host, agent->second.run_directory);
    if (!agent->second.left) agent->second.link->Refuse("silent for too long");
    agent = Erase(agent);
  }
}

void Monitor::AskForStacks(const std::vector<uint64_t>& stalled) {
  asked_stacks_.clear();
  for (size_t i = 0; i < std::min(stalled.size(), kMostStacks); ++i) {
    const auto process = state_.processes().find(stalled[i]);
    if (process == state_.processes().end()) continue;
    const auto agent = agents_.find(process->second.agent);
    if (agent == agents_.end() || agent->second.left) continue;
    rpc::CollectorMessage message;
    message.mutable_live_stack()->set_request(next_request_);
    message.mutable_live_stack()->set_id(stalled[i]);
    asked_stacks_.insert(next_request_++);
    agent->second.link->Send(message);
  }
  HandleUntil(Monotonic() + options_.answer_patience_ns, [this] { return asked_stacks_.empty(); });
}

void Monitor::AskForEnvironments() {
  asked_environments_.clear();
  if (!options_.on_evidence) return;
  for (const auto& [number, agent] : agents_) {
    if (!agent.greeted || agent.left || !agent.environment.empty()) continue;
    rpc::CollectorMessage message;
    message.mutable_environment()->set_request(next_request_);
    asked_environments_[next_request_++] = number;
    agent.link->Send(message);
  }
}

void Monitor::AddEnvironments() {
  HandleUntil(Monotonic() + options_.answer_patience_ns,
              [this] { return asked_environments_.empty(); });
  for (const auto& [number, node] : evidence_nodes_) {
    const auto agent = agents_.find(number);
    if (agent != agents_.end()) evidence_.nodes[node].environment = agent->second.environment;
  }
}

bundle::Evidence Monitor::TakeEvidence(const std::map<uint64_t, uint32_t>& processes) {
  bundle::Evidence evidence;
  evidence_nodes_.clear();
  for (const auto& [number, agent] : agents_) {
    if (!agent.greeted) continue;
    evidence_nodes_[number] = evidence.nodes.size();
    bundle::NodeEvidence& node = evidence.nodes.emplace_back();
    node.host = agent.host;
    node.run_directory = agent.run_directory;
    node.journal = agent.journal;
    if (snapshots_.Answered(number)) continue;
    node.absent = agent.left || !asked_.contains(number)
                      ? "its agent was not connected"
                      : fmt::format("its agent did not answer within {:g} s",
                                    static_cast<double>(options_.answer_patience_ns) / 1e9);
  }
  for (const auto& [host, run_directory] : lost_) {
    bundle::NodeEvidence& node = evidence.nodes.emplace_back();
    node.host = host;
    node.run_directory = run_directory;
    node.absent = "there was no word from its agent any more";
  }
  for (auto& [id, image] : snapshots_.TakeImages()) {
    const auto node = evidence_nodes_.find(image.agent);
    if (!image.whole || node == evidence_nodes_.end()) continue;
    const auto process = processes.find(id);
    evidence.rings.push_back({.node = node->second,
                              .name = std::move(image.name),
                              .image = std::move(image.bytes),
                              .process = process == processes.end() ? kNoIndex : process->second});
  }
  return evidence;
}

Observed Monitor::Observe(uint64_t id, const IncomingRing& image) {
  const int64_t now = Monotonic();
  Observed observed{
      .id = id, .activity = image.activity, .still_since_ns = now - image.idle_ns, .cpu_share = 0};
  const auto [last, is_first] = cpu_.try_emplace(id, image.cpu_ns, now);
  const auto [cpu_ns, at_ns] = std::exchange(last->second, {image.cpu_ns, now});
  if (!is_first && image.cpu_ns != 0 && now > at_ns) {
    observed.cpu_share =
        static_cast<double>(image.cpu_ns - cpu_ns) / static_cast<double>(now - at_ns);
  }
  return observed;
}

uint64_t Monitor::FirstRecords(Reason reason) const {
  const size_t processes = state_.processes().size();
  const bool whole = processes <= kWholeProcesses && reason != Reason::kSomeWait;
  if (whole) return 0;
  return std::clamp(kFirstRecords / processes, kLeastRecords, kMostRecords);
}

bool Monitor::MayFetchWhileComputing() {
  const int64_t now = Monotonic();
  bool may = true;
  for (auto& [number, agent] : agents_) {
    const double recovered = static_cast<double>(now - std::exchange(agent.allowance_at_ns, now)) *
                             1e-9 * static_cast<double>(kFetchBytesPerSecond);
    agent.allowance = static_cast<int64_t>(
        std::min(static_cast<double>(agent.allowance) + recovered, double{kFetchBurstBytes}));
    may = may && agent.allowance >= 0;
  }
  return may;
}

void Monitor::Fetch(const Wanted& wanted) {
  evidence_ = {};  // rings are large: not those of two looks at once
  std::set<uint64_t> asked;
  std::map<uint64_t, rpc::CollectorMessage> requests;  // by agent
  const auto request_to = [&](uint64_t number) -> rpc::SnapshotRequest* {
    const auto agent = agents_.find(number);
    if (agent == agents_.end() || agent->second.left || !agent->second.greeted) return nullptr;
    asked.insert(number);
    return requests[number].mutable_snapshot();
  };
  if (wanted.processes.empty()) {
    snapshots_.Clear();
    asked_.clear();
    newest_records_ = wanted.newest_records;
    for (const auto& [number, agent] : agents_) request_to(number);
  }
  for (const uint64_t id : wanted.processes) {
    const auto process = state_.processes().find(id);
    if (process == state_.processes().end()) continue;
    if (rpc::SnapshotRequest* request = request_to(process->second.agent)) request->add_ids(id);
  }
  snapshots_.Begin(next_request_, asked, options_.most_held_bytes - held_bytes_);
  asked_.insert(asked.begin(), asked.end());
  for (auto& [number, message] : requests) {
    rpc::SnapshotRequest* request = message.mutable_snapshot();
    request->set_request(next_request_);
    request->set_settle(wanted.settle);
    request->set_newest_records(wanted.newest_records);
    request->set_may_compress(true);
    agents_[number].link->Send(message);
  }
  ++next_request_;
  const int64_t end = Monotonic() + kMostFetchNs;
  for (uint64_t received = UINT64_MAX;
       !snapshots_.complete() && snapshots_.received_bytes() != received && Monotonic() < end;) {
    received = snapshots_.received_bytes();
    HandleUntil(Monotonic() + options_.answer_patience_ns, [&] { return snapshots_.complete(); });
  }
  for (const uint64_t number : asked) {
    const auto agent = agents_.find(number);
    if (agent == agents_.end()) continue;
    agent->second.allowance -= static_cast<int64_t>(snapshots_.ReceivedBytes(number));
  }
}

std::optional<std::set<uint64_t>> Monitor::WorthWholeHistory(const Trace& trace,
                                                             const Report& report) const {
  std::set<uint64_t> ids;
  if (state_.processes().size() <= kWholeProcesses) return ids;
  for (const Finding& finding : report.findings) {
    if (finding.communicator >= trace.communicators.size()) continue;
    const Communicator& communicator = trace.communicators[finding.communicator];
    if (communicator.members.size() > kWholeProcesses - ids.size()) continue;
    for (const uint32_t member : communicator.members) {
      const uint32_t process = trace.members[member].process;
      if (process < observed_.size()) ids.insert(observed_[process].id);
    }
  }
  return ids.empty() ? std::nullopt : std::optional(ids);
}

bool Monitor::FetchHistory(const Trace& trace, const Report& report, Wanted first) {
  if (first.newest_records == 0 || report.findings.empty()) return false;
  first.newest_records = 0;
  if (!options_.on_evidence) {
    std::optional<std::set<uint64_t>> ids = WorthWholeHistory(trace, report);
    if (!ids) return false;
    first.processes = std::move(*ids);
  }
  Fetch(first);
  return true;
}

Problem Monitor::OverLimit(const std::string& what, const std::string& source) const {
  return {
      ProblemCode::kOverLimit,
      fmt::format("{}: the collector holds {} MiB at most", what, options_.most_held_bytes >> 20),
      source};
}

rollcall::Journal Monitor::ReadJournals(std::map<uint64_t, NodeClock>* clocks) const {
  rollcall::Journal journal;
  for (const auto& [number, agent] : agents_) {
    if (agent.cut) {
      journal.problems.push_back(OverLimit("lines were dropped", agent.host + " journal"));
    }
    MemorySource source(
        {reinterpret_cast<const uint8_t*>(agent.journal.data()), agent.journal.size()});
    rollcall::Journal lines = ReadJournal(source, agent.host + " journal");
    if (const auto clock = CorrectTimes(&lines)) clocks->emplace(number, *clock);
    std::move(lines.events.begin(), lines.events.end(), std::back_inserter(journal.events));
    std::move(lines.problems.begin(), lines.problems.end(), std::back_inserter(journal.problems));
  }
  return journal;
}

void Monitor::NoteWhatWasNotFetched(Trace* trace) const {
  const bool cut =
      std::any_of(trace->processes.begin(), trace->processes.end(), [](const Process& process) {
        return std::any_of(process.threads.begin(), process.threads.end(),
                           [](const Thread& thread) {
                             return thread.lost_collectives != 0 || thread.lost_p2p != 0;
                           });
      });
  if (newest_records_ == 0 || !cut) return;
  trace->problems.push_back(
      {.code = ProblemCode::kMissingCalls,
       .message = fmt::format(
           "of each ring buffer the newest {} records were read; older calls are not compared",
           newest_records_)});
}

Trace Monitor::BuildTrace(bool settle) {
  observed_.clear();
  tracing_.clear();
  std::map<uint64_t, NodeClock> clocks;
  const rollcall::Journal journal = ReadJournals(&clocks);
  // Of a job that was ended for its time, who was killed says nothing about who stood still.
  const bool time_is_up = settle && final_pass_.diagnose.time_limit_ns >= 0;
  RingTraceBuilder builder;
  std::vector<uint32_t> alive;
  std::map<uint64_t, uint32_t> processes;
  for (const std::string& name : snapshots_.Incomplete()) {
    builder.trace()->problems.push_back(
        {ProblemCode::kTruncated, "its agent did not send all of it", name});
  }
  if (const size_t n = snapshots_.dropped(); n != 0) {
    builder.trace()->problems.push_back(
        OverLimit(fmt::format("records of {} rank{} were not fetched", n, n == 1 ? "" : "s"), ""));
  }
  for (const auto& [id, image] : snapshots_.images()) {
    MemorySource source(image.bytes);
    RingSnapshot snapshot = ReadRing(source, image.name);
    const auto clock = clocks.find(image.agent);
    if (clock != clocks.end()) CorrectTimes(clock->second, &snapshot);
    snapshot.taken_at_ns = image.arrived_realtime_ns;
    const std::optional<uint32_t> index = builder.Add(snapshot);
    if (!index.has_value()) continue;
    processes[id] = *index;
    tracing_.insert(image.agent);
    Process& process = builder.trace()->processes[*index];
    observed_.resize(std::max<size_t>(observed_.size(), *index + 1));
    observed_[*index] = Observe(id, image);
    // Two collects, the second begun after the first ended: the digest that said quiet came before
    // this request was sent, and the activity is still the same.
    const auto digest = state_.processes().find(id);
    process.quiet = image.quiet && !(time_is_up && !image.alive) &&
                    (!image.alive || (digest != state_.processes().end() && digest->second.quiet &&
                                      digest->second.activity == image.activity));
    process.idle_since_ns = image.arrived_realtime_ns - image.idle_ns;
    if (image.alive) {
      process.end.how = ProcessEnd::How::kAlive;
      alive.push_back(*index);
    }
  }
  ApplyJournal(journal, &builder);
  // Only who ended by itself stood still then; the others did if the journal says so.
  for (Process& process : builder.trace()->processes) {
    const bool ended = process.end.how == ProcessEnd::How::kExited ||
                       process.end.how == ProcessEnd::How::kSignaled ||
                       process.end.how == ProcessEnd::How::kVanished;
    process.quiet |= time_is_up && ended && !process.end.by_launcher;
  }
  // The journal is newer than the images: who ended in between may have done much first, finalize
  // even, or said why it ends. The next look sees both; of the last one the journal is believed.
  ended_meanwhile_ = false;
  for (const uint32_t index : alive) {
    ProcessEnd& end = builder.trace()->processes[index].end;
    ended_meanwhile_ |= end.how != ProcessEnd::How::kAlive;
    if (!settle) end = {.how = ProcessEnd::How::kAlive};
  }
  if (options_.on_evidence) evidence_ = TakeEvidence(processes);
  Trace trace = builder.Finish();
  NoteWhatWasNotFetched(&trace);
  return trace;
}

void Monitor::AskForSymbols(Agent* agent, const std::vector<CodeAddress>& addresses) {
  asked_symbols_.clear();
  for (size_t begin = 0; begin < addresses.size(); begin += kAddressesPerRequest) {
    const size_t end = std::min(addresses.size(), begin + kAddressesPerRequest);
    rpc::CollectorMessage message;
    message.mutable_symbols()->set_request(next_request_);
    for (size_t i = begin; i < end; ++i) {
      rpc::CodeAddress* address = message.mutable_symbols()->add_addresses();
      address->set_module(addresses[i].module_path);
      address->set_build_id(addresses[i].build_id);
      address->set_vaddr(addresses[i].vaddr);
    }
    asked_symbols_[next_request_++].assign(addresses.begin() + static_cast<ptrdiff_t>(begin),
                                           addresses.begin() + static_cast<ptrdiff_t>(end));
    agent->link->Send(message);
  }
}

void Monitor::Symbolize(Trace* trace) {
  std::vector<CodeAddress> unknown = symbols_.Fill(trace);
  const int64_t deadline = Monotonic() + kSymbolPatienceNs;
  std::set<uint64_t> asked;
  while (!unknown.empty() && asked.size() < kMostAskedForSymbols && Monotonic() < deadline) {
    const auto agent = std::find_if(agents_.begin(), agents_.end(), [&](const auto& entry) {
      return entry.second.greeted && !entry.second.left && !asked.contains(entry.first);
    });
    if (agent == agents_.end()) break;
    const uint64_t number = agent->first;
    asked.insert(number);
    AskForSymbols(&agent->second, unknown);
    HandleUntil(deadline, [&] {
      return asked_symbols_.empty() || !agents_.contains(number) || agents_[number].left;
    });
    std::erase_if(unknown, [this](const CodeAddress& code) { return symbols_.Knows(code); });
  }
  symbols_.Fill(trace);
  SymbolCache::FillRest(trace);
  AddSources(trace);
}

std::optional<Movement> Monitor::MovementOf(uint64_t id) const {
  const auto process = state_.processes().find(id);
  if (process == state_.processes().end()) return std::nullopt;
  return Movement{.activity = process->second.activity, .gave_up = process->second.aborts};
}

void Monitor::WithdrawVoid(const std::function<std::optional<Movement>(uint64_t id)>& moved) {
  if (interrupted_ || standing_.empty()) return;
  const Withdrawal withdrawal = standing_.Withdraw(moved);
  if (withdrawal.keys.empty()) return;
  withdrawn_ = true;
  if (options_.on_withdrawal) options_.on_withdrawal(withdrawal);
}

Report Monitor::DiagnoseLive(const Trace& trace) const {
  Report report = Diagnose(trace, {.stall_after_ns = options_.times.stall_after_ns});
  const size_t moving = std::erase_if(report.findings, [&](const Finding& finding) {
    return finding.hangs && !StoodStill(trace, finding);
  });
  const bool hangs = std::any_of(report.findings.begin(), report.findings.end(),
                                 [](const Finding& finding) { return finding.hangs; });
  if (moving != 0 && !hangs) report.status = Report::Status::kRunning;
  return report;
}

std::vector<uint64_t> Monitor::CalledStalled(const Trace& trace, const Report& report) const {
  std::vector<uint64_t> ids;
  for (const Finding& finding : report.findings) {
    if (finding.kind != VerdictKind::kRankStalled || finding.world >= trace.worlds.size()) continue;
    for (const auto& [id, process] : state_.processes()) {
      if (!process.ended && process.job_key == trace.worlds[finding.world].job_key &&
          std::binary_search(finding.culprits.begin(), finding.culprits.end(),
                             process.world_rank)) {
        ids.push_back(id);
      }
    }
  }
  return ids;
}

void Monitor::RunDiagnosis(const Suspicion& suspicion, bool asked) {
  const int64_t begin = Monotonic();
  if (suspicion.reason == Reason::kSomeWait && !asked && !MayFetchWhileComputing()) {
    pacer_.Ran(suspicion, false, begin, Monotonic());
    return;
  }
  if (options_.live_stacks && !suspicion.stalled.empty()) AskForStacks(suspicion.stalled);
  const Wanted first{.newest_records = FirstRecords(suspicion.reason)};
  Trace trace = Collect(first);
  int64_t collected = Monotonic();
  Report report = DiagnoseLive(trace);
  // The rings are newer than the digests: a rank may have passed the threshold in between.
  if (options_.live_stacks && suspicion.stalled.empty()) {
    const std::vector<uint64_t> stalled = CalledStalled(trace, report);
    if (!stalled.empty()) {
      AskForStacks(stalled);
      trace = Collect(first);
      collected = Monotonic();
      report = DiagnoseLive(trace);
    }
  }
  if (IsReportable(report, options_.times.stall_after_ns) && FetchHistory(trace, report, first)) {
    trace = BuildTrace(false);
    collected = Monotonic();
    report = DiagnoseLive(trace);
  }
  if (options_.metrics != nullptr) options_.metrics->OnDiagnosis(begin, Monotonic());
  const bool fruitful = IsReportable(report, options_.times.stall_after_ns);
  const int64_t patience = fruitful && !asked ? Patience(trace, report) : 0;
  if (patience == 0) {
    patient_since_ns_ = 0;
  } else {
    if (patient_since_ns_ == 0) patient_since_ns_ = begin;
    if (begin - patient_since_ns_ < patience) {
      pacer_.Ran(suspicion, false, begin, Monotonic());
      return;
    }
  }
  if (fruitful) {
    TellAgents(report, collected);
    AskForEnvironments();  // early: whoever hears of the verdict may end the job
    // Only now: reading debug information takes far longer than everything else here.
    Symbolize(&trace);
    report = DiagnoseLive(trace);
  }
  if (suspicion.reason == Reason::kMismatch && !fruitful) state_.ClearMismatches();
  using ReportDelta = StandingFindings::ReportDelta;
  const ReportDelta news = standing_.Report(
      fruitful ? SightingsOf(trace, report, observed_) : std::vector<Sighting>{}, begin);
  const bool changed = news == ReportDelta::kMoreRanks || withdrawn_;
  withdrawn_ = false;
  if (news == ReportDelta::kNew) {
    if (options_.on_report) options_.on_report(trace, report);
  } else if (changed && options_.on_update) {
    options_.on_update(trace, report);
  }
  if (news != ReportDelta::kNone && options_.on_evidence) {
    AddEnvironments();
    options_.on_evidence(trace, report, evidence_);
  }
  evidence_ = {};
  snapshots_.Clear();
  ActIfDue(report);
  pacer_.Ran(suspicion, fruitful, begin, Monotonic());
}

void Monitor::ActIfDue(const Report& report) {
  if (!options_.on_due || interrupted_ || report.status != Report::Status::kHung) return;
  // Reading debug information may have taken seconds: who moved meanwhile counts.
  HandleEvents(Monotonic());
  WithdrawVoid([this](uint64_t id) { return MovementOf(id); });
  if (!standing_.AnyDue(Monotonic())) return;
  NoteInterrupted();
  options_.on_due(report);
}

void Monitor::TellAgents(const Report& report, int64_t collected_ns) {
  if (report.status != Report::Status::kHung) return;
  rpc::CollectorMessage message;
  message.mutable_verdict()->set_age_ns(Monotonic() - collected_ns);
  for (const auto& [number, agent] : agents_) {
    if (agent.greeted && !agent.left) agent.link->Send(message);
  }
}

std::map<uint64_t, Movement> Monitor::LastMovements(const Trace& trace) const {
  std::map<uint64_t, Movement> movements;
  for (size_t i = 0; i < observed_.size(); ++i) {
    const Process& process = trace.processes[i];
    const ProcessEnd& end = process.end;
    movements[observed_[i].id] = {
        .activity = observed_[i].activity,
        .gave_up = process.exit_mark == ring::ExitMark::kMpiAbort,
        .ended_well = end.how == ProcessEnd::How::kExited && end.status == 0 && !end.by_launcher};
  }
  return movements;
}

std::vector<std::string> Monitor::HostsOfTraces() const {
  std::vector<std::string> hosts;
  for (const uint64_t number : tracing_) {
    const auto agent = agents_.find(number);
    if (agent != agents_.end()) hosts.push_back(agent->second.host);
  }
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

void Monitor::FinishNow() {
  Final final;
  DiagnoseOptions diagnose = final_pass_.diagnose;
  diagnose.stall_after_ns = options_.times.stall_after_ns;
  diagnose.job_ended = true;
  AskForEnvironments();
  // What the agents still have to say is on its way: the snapshots come behind it. Ranks that
  // outlive their launcher for longer than the agents wait may end while these are taken.
  for (int look = 0; look < kLastLooks; ++look) {
    const Wanted first{.settle = true, .newest_records = FirstRecords(Reason::kEnded)};
    final.trace = Collect(first);
    if (first.newest_records != 0 &&
        FetchHistory(final.trace, Diagnose(final.trace, diagnose), first)) {
      final.trace = BuildTrace(true);
    }
    if (!ended_meanwhile_ || !snapshots_.complete()) break;
  }
  if (final_pass_.name_code) Symbolize(&final.trace);
  final.report = Diagnose(final.trace, diagnose);
  if (!final_pass_.name_code && !EndedWell(final.report)) {
    Symbolize(&final.trace);
    final.report = Diagnose(final.trace, diagnose);
  }
  final.ranks_seen = state_.ever_seen() || !final.trace.processes.empty();
  WithdrawVoid([movements = LastMovements(final.trace)](uint64_t id) -> std::optional<Movement> {
    const auto found = movements.find(id);
    return found == movements.end() ? std::nullopt : std::optional(found->second);
  });
  final.is_new = standing_.Report(SightingsOf(final.trace, final.report, observed_), Monotonic()) ==
                 StandingFindings::ReportDelta::kNew;
  final.any_findings = !standing_.empty();
  final.hosts = HostsOfTraces();
  if (options_.on_evidence) {
    AddEnvironments();
    final.evidence = std::move(evidence_);
  }
  const std::lock_guard lock(mutex_);
  final_ = std::move(final);
}

}  // namespace rollcall::service
