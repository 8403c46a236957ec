// SPDX-License-Identifier: Apache-2.0
// The agents of a collector: connections, what each agent reported about itself, and journals.
#ifndef ROLLCALL_COLLECTOR_SERVICE_AGENT_TABLE_H_
#define ROLLCALL_COLLECTOR_SERVICE_AGENT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/import/journal.h"
#include "collector/import/node_clock.h"
#include "collector/model/trace.h"
#include "collector/service/agent_link.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

// A parsed journal of an agent. If the agent measured its clock offset, times are in the
// collector's clock.
struct NodeJournal {
  Journal journal;
  std::optional<NodeClock> clock;
};

struct Agent {
  static constexpr int64_t kFetchBurstBytes = 64 << 20;

  std::shared_ptr<AgentLink> link;
  bool hello_received = false;
  bool left = false;
  uint64_t id = 0;  // the agent's own id; 0: none
  uint32_t pid = 0;
  std::string host;
  std::string run_directory;
  std::string journal;                                // all lines so far
  std::shared_ptr<const NodeJournal> parsed_journal;  // null: new lines have arrived since
  std::string environment;                            // empty: the agent has not answered
  bool cut = false;                                   // not all of the journal could be held
  int64_t last_heard_ns = 0;
  // Bytes that may be fetched from it while other ranks compute. Below 0, no fetch is allowed until
  // it has recovered.
  int64_t allowance = kFetchBurstBytes;
  int64_t allowance_at_ns = 0;

  bool connected() const { return hello_received && !left; }
};

// Why an agent with that protocol version is refused; empty: it is accepted.
std::string ProtocolProblem(uint32_t protocol);

// Agents are identified by the number of their connection. Not thread-safe; times are of one
// monotonic clock.
class AgentTable {
 public:
  // Host and run directory.
  using Place = std::pair<std::string, std::string>;
  using Agents = std::map<uint64_t, Agent>;  // by number

  // `max_held_bytes` limits rings, journals and environments together. Journals and environments,
  // which are held here, may take a quarter of it.
  explicit AgentTable(uint64_t max_held_bytes) : max_held_bytes_(max_held_bytes) {}

  void Join(uint64_t number, std::shared_ptr<AgentLink> link, int64_t now_ns);
  // Handles the agent's Hello, or refuses the agent. Returns the agents that it replaces, which are
  // refused and removed.
  std::vector<uint64_t> AcceptHello(uint64_t number, const rpc::Hello& hello);
  // Refuses and removes agents that have been silent for `lost_after_ns`.
  Agents TakeLost(int64_t now_ns, int64_t lost_after_ns);

  // Null if no agent has that number.
  Agent* Find(uint64_t number);
  // As Find(), and null if the agent has not sent its Hello or has left.
  Agent* FindConnected(uint64_t number);
  const Agents& all() const { return agents_; }
  size_t connected() const;
  // When the newest connection was made.
  int64_t last_joined_ns() const { return last_joined_ns_; }
  // Agents that were silent for too long and did not reconnect.
  const std::set<Place>& lost() const { return lost_; }

  // Data beyond the memory limit is dropped.
  void AddJournal(Agent* agent, const std::string& lines);
  void AddEnvironment(Agent* agent, const std::string& json);
  // The memory that is left for rings.
  uint64_t bytes_for_rings() const { return max_held_bytes_ - held_bytes_; }
  // "<what>: the collector holds N MiB at most"
  Problem OverLimit(const std::string& what, const std::string& source) const;
  // By agent. Lines that were dropped are a problem of their journal.
  std::map<uint64_t, std::shared_ptr<const NodeJournal>> ReadJournals();

  // Whether the fetch allowance of every node is positive.
  bool MayFetchWhileComputing(int64_t now_ns);

 private:
  // All agents with the id of `hello`, or with its place.
  std::set<uint64_t> Candidates(const rpc::Hello& hello, const Place& place) const;
  void Unindex(uint64_t number, const Agent& agent);
  std::shared_ptr<const NodeJournal> Parse(const Agent& agent) const;
  // Removes an agent, which must exist.
  Agents::node_type Take(uint64_t number);
  bool Hold(size_t bytes);

  const uint64_t max_held_bytes_;
  uint64_t held_bytes_ = 0;
  int64_t last_joined_ns_ = 0;
  Agents agents_;
  // Only agents that have sent their Hello.
  std::multimap<Place, uint64_t> by_place_;
  std::map<uint64_t, uint64_t> by_id_;
  std::set<Place> lost_;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_AGENT_TABLE_H_
