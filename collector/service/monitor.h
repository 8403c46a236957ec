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
#include "collector/model/trace.h"
#include "collector/service/agent_queries.h"
#include "collector/service/agent_table.h"
#include "collector/service/aggregator_tree.h"
#include "collector/service/job_state.h"
#include "collector/service/look.h"
#include "collector/service/metrics.h"
#include "collector/service/standing_findings.h"
#include "collector/service/task_thread.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

inline constexpr size_t kMostDirectAgents = 1024;

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
  // Of more agents some are asked to be aggregators, and others to attach to these.
  size_t most_direct_agents = kMostDirectAgents;
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
  std::function<void(const Trace&, const Report&, const collect::Evidence&)> on_evidence;
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
  // An agent comes for certain: where the job ended before it connected, it is waited for.
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

  // Thread-safe. Somebody ends the job, or the user has asked it to stop: what the ranks do from
  // now on withdraws no verdict.
  void NoteInterrupted() { interrupted_ = true; }
  // Thread-safe: one look at once, reported as any other, and `then` on the monitor's thread. After
  // that the digests and journals of the agents say of every process whether it stands still.
  void DiagnoseNow(std::function<void()> then);

  struct Final {
    Trace trace;
    Report report;
    collect::Evidence evidence;      // of this look; with on_evidence only
    std::vector<std::string> hosts;  // of the traces, sorted
    bool ranks_seen = false;
    bool is_new = false;        // it says what no report before said
    bool any_findings = false;  // in this or an earlier report, and not withdrawn
  };
  // The job is over: one last look at everything. Blocks until that is done, at most a few seconds.
  // Call once, from any thread.
  Final Finish(const FinalPass& look = {});

 private:
  struct Event {
    enum class Kind : uint8_t { kJoin, kMessage, kLeave } kind;
    uint64_t agent = 0;
    std::shared_ptr<AgentLink> link;
    rpc::AgentMessage message;
  };

  void Run();
  // Deals with what has come, waiting for it until `until_ns` at most, or until `or_else`, which is
  // called with the mutex held.
  void HandleEvents(int64_t until_ns, const std::function<bool()>& or_else = {});
  // Runs a task that needs nothing of the monitor on a thread of its own, and deals with what comes
  // meanwhile: a diagnosis of a large job takes seconds, and agents send no more than is taken.
  void RunApart(const std::function<void()>& task);
  void HandleMessage(uint64_t number, Agent* agent, const rpc::AgentMessage& message);
  // It has introduced itself.
  void OnHello(uint64_t number, const Agent& agent, const rpc::Hello& hello);
  // Tells agents of the aggregators to be, and to attach to.
  void SendOrders();
  // That agent is gone for good.
  void Forget(uint64_t agent);
  // What an agent could not do, told once.
  void Note(const Agent& agent, const std::string& problem);
  void ForgetLostAgents();
  // `asked`: not because of the digests, and not to be put off.
  void RunDiagnosis(const Suspicion& suspicion, bool asked);
  // What the diagnosis says of a job that runs, without what has not been quiet for two looks, or
  // rests on pictures of two moments.
  Report DiagnoseLive(const Look& look) const;
  void WithdrawVoid(const std::function<std::optional<Movement>(uint64_t id)>& moved);
  std::optional<Movement> MovementOf(uint64_t id) const;
  // The same of a job that is over.
  static std::map<uint64_t, Movement> LastMovements(const Look& look);
  void ActIfDue(const Report& report);
  void PublishMetrics(const Suspicion& suspicion, int64_t now);
  // The live processes that a report calls stalled.
  std::vector<uint64_t> CalledStalled(const Trace& trace, const Report& report) const;
  // It has more processes than whole rings are looked at.
  bool IsLarge() const;
  // So many of a ring buffer's records are asked for first; 0: all.
  uint64_t FirstRecords(Reason reason) const;
  // And so many where what is looked for lies further back.
  uint64_t MoreRecords() const;
  // Fetches the counts that a call needs to be compared. False if none are missing.
  bool FetchCounts(const Look& look, const Report& report);
  // Fetches the whole rings that may say more of the findings. False if there is no more to fetch.
  bool FetchHistory(Look* look, const Report& report, AgentQueries::Rings first);
  // Does that until it changes nothing. `diagnose` makes the look and the report anew.
  void DiagnoseWithHistory(Look* look, const Report* report, const AgentQueries::Rings& first,
                           const std::function<void()>& diagnose);
  // Reports what the look says that is new. `fruitful`: there is something to say.
  void Tell(Look* look, const Report& report, bool fruitful, int64_t begin_ns);
  // Waits for them, for a while, and puts what came into the evidence.
  void AddEnvironments(Look* look);
  // Has the agents journal that a hang was found in what was collected until then.
  void TellAgents(const Report& report, int64_t collected_ns);
  // One for each agent whose rings are in it, sorted.
  std::vector<std::string> HostsOf(const Look& look);
  void FinishNow();

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
  AgentTable agents_;
  AggregatorTree tree_;
  std::set<std::string> problems_;  // of agents, as told
  JobState state_;
  DiagnosisThrottle pacer_;
  AgentQueries queries_;
  LookBuilder looks_;
  StandingFindings standing_;
  int64_t checked_ns_ = 0;
  int64_t check_gap_ns_ = 0;      // until the next Check()
  bool unchecked_ = false;        // something came since
  bool withdrawn_ = false;        // since the newest look
  int64_t patient_since_ns_ = 0;  // the newest look may say more with ranks to come; 0: no
  TaskThread tasks_;
  std::thread thread_;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_MONITOR_H_
