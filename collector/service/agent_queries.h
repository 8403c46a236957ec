// SPDX-License-Identifier: Apache-2.0
// The requests that the collector sends to agents: rings, stacks, environments, symbols.
#ifndef ROLLCALL_COLLECTOR_SERVICE_AGENT_QUERIES_H_
#define ROLLCALL_COLLECTOR_SERVICE_AGENT_QUERIES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "collector/model/trace.h"
#include "collector/service/agent_table.h"
#include "collector/service/job_state.h"
#include "collector/service/snapshot_set.h"
#include "collector/service/trace_symbols.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

// Not thread-safe. Times are of CLOCK_MONOTONIC.
class AgentQueries {
 public:
  // `answer_timeout_ns`: how long an agent that was asked may be silent. The wait continues while
  // data arrives. Data that has not arrived when the wait ends is left out. `agents` and `state`
  // must outlive this object. `handle_events` handles events until `until_ns` at most: it calls
  // OnAnswer() and GiveUpOn().
  AgentQueries(int64_t answer_timeout_ns, AgentTable* agents, const JobState* state,
               std::function<void(int64_t until_ns)> handle_events);

  // Handles an answer and ignores all other messages. Refuses an agent whose answer is malformed.
  void OnAnswer(uint64_t number, Agent* agent, const rpc::AgentMessage& message);
  // The agent will not answer.
  void GiveUpOn(uint64_t number);

  // Waits until an agent is connected.
  void WaitForAgent();

  struct Rings {
    // The job is over. The agent answers when all process ends are known, or after a short wait.
    bool settle = false;
    uint64_t newest_records = 0;     // of each ring buffer; 0: all
    std::set<uint64_t> processes{};  // process ids; empty: all
    // Not 0: answers are waited for until this time, even if agents are silent. Previously fetched
    // rings are kept until newer rings of their processes arrive.
    int64_t deadline_ns = 0;
  };
  // Waits for the answers of all agents concerned; rings() does not change after that. Forgets
  // previously fetched rings unless only some processes are requested, or there is a deadline.
  void FetchRings(const Rings& wanted);
  SnapshotSet* rings() { return &rings_; }
  // Whether the agent was asked for the data in rings().
  bool WasRequested(uint64_t number) const { return requested_.contains(number); }
  // The number of newest records that was requested of all processes; 0: all.
  uint64_t newest_records() const { return newest_records_; }
  // Whether all records of the process were requested for rings().
  bool FetchedWhole(uint64_t process) const {
    return newest_records_ == 0 || whole_.contains(process);
  }

  // Asks the agents to write the stacks of these processes to their journals, and waits until they
  // have done so. Only the first kMaxStacks processes are asked for. `wait_only`: the agents write
  // no stacks; they only write whether the processes wait for the world outside the job.
  void FetchStacks(const std::vector<uint64_t>& processes, bool wait_only = false);
  static constexpr size_t kMaxStacks = 8;

  // Asks the agents to write the variables of the frames of these threads to their journals,
  // and waits until they have done so, for `kVariablesNs` at most: a verdict waits for them.
  struct ThreadOf {
    uint64_t process = 0;
    uint32_t tid = 0;
  };
  void FetchVariables(const std::vector<ThreadOf>& threads);
  static constexpr int64_t kVariablesNs = 2'000'000'000;

  // The answers are stored in the agent table.
  void RequestEnvironments();
  void AwaitEnvironments(int64_t deadline_ns);

  // Symbolizes a trace. A binary may exist on some nodes only, so one agent after another is asked
  // for the addresses that are still unknown.
  void Symbolize(Trace* trace);

 private:
  // Handles events until `answered` holds or the deadline passes.
  void HandleUntil(int64_t deadline_ns, const std::function<bool()>& answered);
  void RequestSymbols(Agent* agent, const std::vector<CodeAddress>& addresses);
  void OnSymbols(const rpc::SymbolTable& symbols);

  const int64_t answer_timeout_ns_;
  AgentTable* const agents_;
  const JobState* const state_;
  const std::function<void(int64_t)> handle_events_;
  uint64_t next_request_ = 1;
  SnapshotSet rings_;
  std::set<uint64_t> requested_;  // agents
  uint64_t newest_records_ = 0;
  std::set<uint64_t> whole_;  // processes
  SymbolCache symbols_;
  std::map<uint64_t, std::vector<CodeAddress>> pending_symbols_;  // by request
  std::set<uint64_t> pending_stacks_;                             // requests
  std::map<uint64_t, uint64_t> pending_environments_;             // by request, the agent
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_AGENT_QUERIES_H_
