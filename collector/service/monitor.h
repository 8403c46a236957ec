// SPDX-License-Identifier: Apache-2.0
// The core of the collector: follows the digests of all agents, fetches rings when the digests are
// suspicious, and reports the findings of the diagnosis. Independent of gRPC.
#ifndef ROLLCALL_COLLECTOR_SERVICE_MONITOR_H_
#define ROLLCALL_COLLECTOR_SERVICE_MONITOR_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "collector/base/worker.h"
#include "collector/collect/evidence.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"
#include "collector/service/active_findings.h"
#include "collector/service/agent_queries.h"
#include "collector/service/agent_table.h"
#include "collector/service/aggregator_tree.h"
#include "collector/service/diagnosis_pass.h"
#include "collector/service/diagnosis_schedule.h"
#include "collector/service/job_pace.h"
#include "collector/service/job_state.h"
#include "collector/service/live_trace.h"
#include "collector/service/metrics.h"
#include "collector/service/pass_text.h"
#include "collector/service/watch_desk.h"
#include "collector/service/watch_state.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

inline constexpr size_t kMaxDirectAgents = 1024;

// How the data of a report is collected for a bundle.
struct EvidenceOptions {
  // Called on the monitor's thread after the report was reported. It may block on a file: messages
  // of agents are queued meanwhile. If empty, agents are asked only for what a verdict needs.
  std::function<void(const Report&, const collect::Evidence&)> write;
  // How long all rings of a job may take to arrive after the report. Rings that have not arrived by
  // then are left out and named. The records that the verdict needed are always included.
  int64_t deadline_ns = 30'000'000'000;
};

struct MonitorOptions {
  ProgressTimes times = {};
  // How long an agent that was asked may be silent. The wait continues while data arrives. Data
  // that has not arrived when the wait ends is left out.
  int64_t answer_timeout_ns = 5'000'000'000;
  // An agent that is silent for this long, or leaves and does not reconnect, is lost; the diagnosis
  // continues without it.
  int64_t lost_after_ns = 10'000'000'000;
  // Limit of the rings, journals and environments of all agents together. Data beyond it is dropped
  // and named in the verdict. The trace that is made of the data takes as much memory again.
  uint64_t max_held_bytes = uint64_t{4} << 30;
  // With more agents than this, some agents are asked to become aggregators, and others to connect
  // to an aggregator.
  size_t max_direct_agents = kMaxDirectAgents;
  // False: no live stacks are requested.
  bool live_stacks = true;
  // Called on the monitor's thread with every report that has a new finding. Must not call back.
  std::function<void(const Trace&, const Report&)> on_report;
  // As on_report, for a report with the same findings and more waiting ranks. May be empty.
  std::function<void(const Trace&, const Report&)> on_update;
  // Called after on_report or on_update, and after evidence.write: the job may be ended because of
  // a finding in the report. Called once; nothing is withdrawn afterwards. May be empty.
  std::function<void(const Report&)> on_due = {};
  // Called when findings of earlier reports are void: ranks that they reported as waiting have
  // moved. A report of the new state follows by on_report or on_update. May be empty.
  std::function<void(const Withdrawal&)> on_withdrawal;
  EvidenceOptions evidence = {};
  // Adds to the trace of a report what is known from elsewhere than the agents. Runs on the thread
  // of tasks. May be empty.
  std::function<void(Trace*, bool job_ended)> add_to_trace = {};
  // Information for the user besides verdicts (an agent is lost). May be empty.
  std::function<void(const std::string&)> on_note;
  // What a diagnosis read and decided (pass_text.h), when this differs from the last one. Called on
  // the monitor's thread. May be empty.
  std::function<void(const std::string&)> on_pass = {};
  // Updated on the monitor's thread, once a second; must outlive the monitor. May be null.
  Metrics* metrics = nullptr;
};

// How to diagnose a job that is over.
struct FinalPass {
  DiagnoseOptions diagnose = {};  // in addition to MonitorOptions and job_ended
  // Symbolize the trace even without findings, for exporters that show all of it. Reading debug
  // information takes longer than everything else here, and a job that ended well should not wait
  // for it.
  bool name_code = false;
  // An agent is expected: if the job ended before the agent connected, wait for it.
  bool await_agent = false;
};

class Monitor : public AgentHandler {
 public:
  explicit Monitor(MonitorOptions options);
  ~Monitor() override;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  uint64_t Join(std::shared_ptr<AgentLink> link) override;
  void Message(uint64_t agent, rpc::AgentMessage message) override;
  void Leave(uint64_t agent) override;
  // Thread-safe, and lives as long as the monitor.
  WatchHandler* watchers() { return &watchers_; }

  // Thread-safe. Call when the job is being ended, or when the user has asked it to stop: movements
  // of ranks after this call withdraw no verdict.
  void NoteInterrupted() { interrupted_ = true; }
  bool interrupted() const { return interrupted_; }
  // Thread-safe. Some rank has been recorded.
  bool ranks_seen() const { return state_.ever_seen(); }
  // Thread-safe. Diagnoses once at once, reports as usual, and then calls `then` on the monitor's
  // thread. From then on, the digests and journals of the agents determine for every process
  // whether it is still.
  void DiagnoseNow(std::function<void()> then);

  struct Final {
    Trace trace;
    Report report;
    collect::Evidence evidence;      // if there are findings, with evidence.write only
    std::vector<std::string> hosts;  // hosts of the traces, sorted
    bool ranks_seen = false;
    bool is_new = false;        // it contains more than all earlier reports
    bool any_findings = false;  // in this or an earlier report, and not withdrawn
  };
  // The job is over: diagnoses everything a last time. Blocks until that is done, at most a few
  // seconds. Call once, from any thread.
  Final Finish(const FinalPass& pass = {});

 private:
  struct Event {
    enum class Kind : uint8_t { kJoin, kMessage, kLeave } kind;
    uint64_t agent = 0;
    std::shared_ptr<AgentLink> link;
    rpc::AgentMessage message;
  };

  void Run();
  // Handles queued events and waits for more until `until_ns`, or until `or_else` holds, which is
  // called with the mutex held.
  void HandleEvents(int64_t until_ns, const std::function<bool()>& or_else = {});
  // Runs a task that uses no state of the monitor on its own thread and handles events meanwhile: a
  // diagnosis of a large job takes seconds, and agents stop sending if their messages are not read.
  void RunTask(const std::function<void()>& task);
  void HandleMessage(uint64_t number, Agent* agent, const rpc::AgentMessage& message);
  // The agent has sent its Hello.
  void OnHello(uint64_t number, const Agent& agent, const rpc::Hello& hello);
  // Tells agents to become aggregators or to connect to one.
  void SendOrders();
  // The agent is gone for good.
  void RemoveAgent(uint64_t agent);
  // Reports a problem of an agent, once.
  void Note(const Agent& agent, const std::string& problem);
  void RemoveLostAgents();
  // Asks once, ahead of the threshold, whether processes that may become stalled wait for the world
  // outside the job. A server may be working on a request when the threshold is reached; the early
  // answer shows that it has not stood still all the time.
  void ExamineEarly(const std::vector<uint64_t>& slow);
  // `requested`: the diagnosis was requested independently of the digests, and must not be delayed.
  void RunDiagnosis(const Suspicion& suspicion, bool requested, bool time_is_up);
  void WithdrawVoid(const std::function<std::optional<Movement>(uint64_t id)>& moved);
  std::optional<Movement> MovementOf(uint64_t id) const;
  // As MovementOf(), for a job that is over.
  static std::map<uint64_t, Movement> LastMovements(const LiveTrace& live);
  void ActIfDue(const Report& report);
  void PublishMetrics(const Suspicion& suspicion, int64_t now);
  // `final`: the job has ended; null: it continues.
  void PublishState(int64_t now_ns, const Report* final);
  rpc::WatchState WatchedState(int64_t now_ns, const Report* final) const;
  void AnswerWatchers();
  std::string Answer(const rpc::Question& question);
  std::string AnswerOnRank(const rpc::Question& question);
  void LearnNames(const Trace& trace);
  // Reports what is new in the live trace, which may be empty afterwards. `is_verdict`: the
  // report is reportable.
  void ReportChanges(LiveTrace* live, const Report& report, bool is_verdict, int64_t begin_ns);
  void TellPass(const PassFacts& facts, const Report& report);
  DiagnosisPass::Shared SharedByPasses();
  // Fetches the part of the job's rings that the live trace of a report lacks, and then forgets all
  // rings. `options` are the options of that live trace.
  collect::Evidence CollectEvidence(LiveTraceBuilder::Options options);
  // Asks the agents to write to their journals that a hang was found in the data that was collected
  // until `collected_ns`.
  void NotifyAgents(const Report& report, int64_t collected_ns);
  // The host of each agent whose rings are in the live trace, sorted.
  std::vector<std::string> HostsOf(const LiveTrace& live);
  void FinishNow();

  const MonitorOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
  uint64_t next_agent_ = 1;
  bool stop_ = false;
  bool finish_requested_ = false;
  FinalPass final_pass_;  // set before finish_requested_
  bool finished_ = false;
  Final final_;
  std::function<void()> after_diagnosis_;  // of DiagnoseNow()
  std::atomic<bool> interrupted_ = false;

  // Used by the monitor's thread only.
  AgentTable agents_;
  AggregatorTree tree_;
  std::set<std::string> problems_;  // reported problems of agents
  JobState state_;
  JobPace pace_;
  Reason suspected_ = Reason::kNone;  // by the newest Check()
  CommunicatorNames names_;           // of communicators in the traces so far
  std::string told_;                  // the last text of on_pass
  std::vector<Finding> unreported_;   // of the newest diagnosis
  WatchDesk watchers_;
  DiagnosisSchedule schedule_;
  std::unordered_map<uint64_t, uint64_t> examined_early_;  // by id: the activity at that time
  AgentQueries queries_;
  LiveTraceBuilder live_trace_builder_;
  ActiveFindings active_findings_;
  Worker worker_;
  std::thread thread_;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_MONITOR_H_
