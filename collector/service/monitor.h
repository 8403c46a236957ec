// The collector proper: follows the digests of all agents, looks closer when they look wrong, and
// says what the diagnosis finds. Knows nothing of gRPC.
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
#include <utility>
#include <vector>

#include "collector/collect/evidence.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/import/journal.h"
#include "collector/model/trace.h"
#include "collector/service/job_state.h"
#include "collector/service/metrics.h"
#include "collector/service/snapshot_set.h"
#include "collector/service/standing_findings.h"
#include "collector/service/trace_symbols.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

// One agent's connection, as the monitor sees it. Methods are called from the monitor's thread,
// must not block, and may be called after the connection is gone.
class AgentLink {
 public:
  virtual ~AgentLink() = default;
  virtual void Send(const rpc::CollectorMessage& message) = 0;
  // One message has been dealt with: the link may take another from the network.
  virtual void Consumed() = 0;
  // Refuses the agent: it said something that no agent says.
  virtual void Refuse(const std::string& why) = 0;
};

struct MonitorOptions {
  ProgressTimes times = {};
  // How long agents may keep silent when they are asked; what did not come by then is judged
  // without. As long as something arrives it is waited for.
  int64_t answer_patience_ns = 5'000'000'000;
  // An agent that said nothing for this long, or left and did not come back, is lost: what is left
  // is judged without it.
  int64_t lost_after_ns = 10'000'000'000;
  // Rings, journals and environments that are held at once, of all agents together. What comes
  // beyond is dropped and named in the verdict. The trace that is made of it takes as much again.
  uint64_t most_held_bytes = uint64_t{4} << 30;
  // No live stacks are asked for.
  bool live_stacks = true;
  // Called on the monitor's thread, with every report that says something new. Must not call back.
  std::function<void(const Trace&, const Report&)> on_report;
  // Likewise, with one that says the same, of more waiting ranks. May be empty.
  std::function<void(const Trace&, const Report&)> on_update;
  // After those: the job may be ended because of a finding in it. Once; nothing is withdrawn from
  // then on. May be empty.
  std::function<void(const Report&)> on_due = {};
  // Findings of earlier reports are void: ranks that they said wait have moved. A report of how
  // things stand follows by on_report or on_update. May be empty.
  std::function<void(const Withdrawal&)> on_withdrawal;
  // Called after the two above, with what the report rests on. May take its time over a file: what
  // agents say meanwhile is dealt with afterwards, and none is lost for it. Empty: no agent is
  // asked for more than a verdict needs.
  std::function<void(const Trace&, const Report&, const bundle::Evidence&)> on_evidence;
  // Something that the user should know besides verdicts (an agent lost). May be empty.
  std::function<void(const std::string&)> on_note;
  // Kept up to date on the monitor's thread, once a second; must outlive the monitor. May be null.
  Metrics* metrics = nullptr;
};

// How a job that is over is looked at.
struct FinalPass {
  DiagnoseOptions diagnose = {};  // besides what MonitorOptions says, and that the job is over
  // Code is named in the trace even where nothing was found: for who shows all of it. Reading debug
  // information takes longer than all else here, and a job that ended well should not wait for it.
  bool name_code = false;
};

// Why an agent of that protocol is refused; empty: it is not.
std::string ProtocolProblem(uint32_t protocol);

class Monitor {
 public:
  explicit Monitor(MonitorOptions options);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Thread-safe, called by the network. Join() returns the number by which the others name the
  // link.
  uint64_t Join(std::shared_ptr<AgentLink> link);
  void Message(uint64_t agent, rpc::AgentMessage message);
  void Leave(uint64_t agent);

  // Thread-safe. Somebody ends the job, or the user has asked it to stop: what the ranks do from
  // now on withdraws no verdict.
  void NoteInterrupted() { interrupted_ = true; }
  // Thread-safe: one look at once, reported as any other, and `then` on the monitor's thread. After
  // that the digests and journals of the agents say of every process whether it stands still.
  void DiagnoseNow(std::function<void()> then);

  struct Final {
    Trace trace;
    Report report;
    bundle::Evidence evidence;       // of this look; with on_evidence only
    std::vector<std::string> hosts;  // of the traces, as HostsOfTraces()
    bool ranks_seen = false;
    bool is_new = false;        // it says what no report before said
    bool any_findings = false;  // in this or an earlier report, and not withdrawn
  };
  // The job is over: one last look at everything. Blocks until that is done, at most a few seconds.
  // Call once, from any thread.
  Final Finish(const FinalPass& look = {});

 private:
  struct Agent {
    std::shared_ptr<AgentLink> link;
    bool greeted = false;
    bool left = false;
    uint64_t id = 0;  // its own; 0: it has none
    uint32_t pid = 0;
    std::string host;
    std::string run_directory;
    std::string journal;      // all lines so far
    std::string environment;  // of one that answered
    bool cut = false;         // not all of the journal could be held
    int64_t last_heard_ns = 0;
    // Bytes that may be fetched from it while others compute; below 0: it must recover first.
    int64_t allowance = kFetchBurstBytes;
    int64_t allowance_at_ns = 0;
  };
  // What is asked of the agents.
  struct Wanted {
    // The job is over: after all ends are known, if that is soon.
    bool settle = false;
    uint64_t newest_records = 0;     // of each ring buffer; 0: all
    std::set<uint64_t> processes{};  // ids; empty: all
  };
  struct Event {
    enum class Kind : uint8_t { kJoin, kMessage, kLeave } kind;
    uint64_t agent = 0;
    std::shared_ptr<AgentLink> link;
    rpc::AgentMessage message;
  };

  void Run();
  // Deals with what has come, waiting for it until `until_ns` at most. True if something came.
  bool HandleEvents(int64_t until_ns);
  // The same again and again, until `answered` or the deadline.
  void HandleUntil(int64_t deadline_ns, const std::function<bool()>& answered);
  void HandleMessage(uint64_t number, const rpc::AgentMessage& message);
  void HandleHello(uint64_t number, Agent* agent, const rpc::Hello& hello);
  std::map<uint64_t, Agent>::iterator Erase(std::map<uint64_t, Agent>::iterator agent);
  // Counts so much more as held for the rest of the run, unless that leaves rings too little room.
  bool Hold(size_t bytes);
  void ForgetLostAgents();
  // `asked`: not because of the digests, and not to be put off.
  void RunDiagnosis(const Suspicion& suspicion, bool asked);
  // What the diagnosis says of a job that runs, without what has not been quiet for two looks.
  Report DiagnoseLive(const Trace& trace) const;
  void WithdrawVoid(const std::function<std::optional<Movement>(uint64_t id)>& moved);
  std::optional<Movement> MovementOf(uint64_t id) const;
  // The same of a job that is over, by the newest Collect()'s trace.
  std::map<uint64_t, Movement> LastMovements(const Trace& trace) const;
  void ActIfDue(const Report& report);
  void PublishMetrics(const Suspicion& suspicion, int64_t now);
  // The live processes that a report calls stalled.
  std::vector<uint64_t> CalledStalled(const Trace& trace, const Report& report) const;
  // Asks for stacks of stalled processes and waits for them.
  void AskForStacks(const std::vector<uint64_t>& stalled);
  Observed Observe(uint64_t id, const IncomingRing& image);
  // So many of a ring buffer's records are asked for first: of many processes a few each, so that
  // a look at 16,384 ranks stays below 100 MB. 0: all.
  uint64_t FirstRecords(Reason reason) const;
  // Waits for the answers of all agents concerned. Forgets what was fetched before unless only some
  // processes are wanted.
  void Fetch(const Wanted& wanted);
  Problem OverLimit(const std::string& what, const std::string& source) const;
  // All in one, as each application costs what there are processes. Times are the collector's, by
  // the clocks of the agents that said theirs.
  rollcall::Journal ReadJournals(std::map<uint64_t, NodeClock>* clocks) const;
  void NoteWhatWasNotFetched(Trace* trace) const;
  // A trace of what was fetched.
  Trace BuildTrace(bool settle);
  Trace Collect(const Wanted& wanted) {
    Fetch(wanted);
    return BuildTrace(wanted.settle);
  }
  // The processes whose whole history may say more of the findings: the members of small
  // communicators, all of each. Empty: that is all of them.
  std::optional<std::set<uint64_t>> WorthWholeHistory(const Trace& trace,
                                                      const Report& report) const;
  // Fetches their whole rings, or all for a bundle. False if there is no more to fetch.
  bool FetchHistory(const Trace& trace, const Report& report, Wanted first);
  // Whether no node was fetched from too much while its ranks computed.
  bool MayFetchWhileComputing();
  // What BuildTrace() got; `processes`: by ring id, in its trace.
  bundle::Evidence TakeEvidence(const std::map<uint64_t, uint32_t>& processes);
  void AskForEnvironments();
  // Waits for them, for a while, and puts what came into the evidence.
  void AddEnvironments();
  // Asks one agent after the other what is still unknown: a binary may lie on some nodes only.
  void Symbolize(Trace* trace);
  void AskForSymbols(Agent* agent, const std::vector<CodeAddress>& addresses);
  // Has the agents journal that a hang was found in what was collected until then.
  void TellAgents(const Report& report, int64_t collected_ns);
  // One for each agent whose rings are in the newest BuildTrace(), sorted.
  std::vector<std::string> HostsOfTraces() const;
  void FinishNow();

  static constexpr int64_t kFetchBurstBytes = 64 << 20;

  const MonitorOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
  uint64_t next_agent_ = 1;
  bool stop_ = false;
  bool finish_asked_ = false;
  FinalPass final_pass_;  // set before finish_asked_
  bool finished_ = false;
  Final final_;
  std::function<void()> after_diagnosis_;  // of DiagnoseNow()
  std::atomic<bool> interrupted_ = false;

  // The monitor's thread alone.
  std::map<uint64_t, Agent> agents_;
  JobState state_;
  DiagnosisThrottle pacer_;
  uint64_t next_request_ = 1;
  SnapshotSet snapshots_;
  std::set<uint64_t> asked_;     // agents, for what is in snapshots_
  uint64_t newest_records_ = 0;  // that were asked of all of them first; 0: all
  uint64_t held_bytes_ = 0;      // besides rings
  SymbolCache symbols_;
  std::map<uint64_t, std::vector<CodeAddress>> asked_symbols_;  // by request
  std::set<uint64_t> asked_stacks_;                             // requests
  std::map<uint64_t, uint64_t> asked_environments_;             // by request, the agent
  bundle::Evidence evidence_;                                   // of the newest Collect()
  std::map<uint64_t, size_t> evidence_nodes_;                   // by agent, in evidence_
  std::vector<Observed> observed_;                              // likewise, by process
  std::set<uint64_t> tracing_;                                  // likewise, agents
  std::map<uint64_t, std::pair<int64_t, int64_t>> cpu_;         // by process: CPU time, and when
  bool ended_meanwhile_ = false;  // a process, after the newest Collect() had its picture
  // Agents that were given up: host and run directory.
  std::set<std::pair<std::string, std::string>> lost_;
  StandingFindings standing_;
  int64_t checked_ns_ = 0;
  int64_t check_gap_ns_ = 0;      // until the next Check()
  bool unchecked_ = false;        // something came since
  bool withdrawn_ = false;        // since the newest look
  int64_t patient_since_ns_ = 0;  // the newest look may say more with ranks to come; 0: no
  std::thread thread_;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_MONITOR_H_
