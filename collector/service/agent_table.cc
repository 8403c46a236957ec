// SPDX-License-Identifier: Apache-2.0
#include "collector/service/agent_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collector/base/assert.h"
#include "collector/base/byte_source.h"
#include "collector/base/find.h"
#include "collector/base/text.h"
#include "collector/rpc/protocol.h"

namespace rollcall::service {
namespace {

constexpr size_t kMaxAgentNameBytes = 256;
constexpr char kReplaced[] = "another agent took its place";
// Long-term limit of the data that is fetched from a node while its ranks compute.
constexpr int64_t kFetchBytesPerSecond = 1 << 20;
// Journals and environments may use this fraction (one part in N) of the memory limit.
constexpr uint64_t kShareBesidesRings = 4;

}  // namespace

std::string ProtocolProblem(uint32_t protocol) {
  if (protocol == rpc::kProtocol) return {};
  return fmt::format("protocol {} is not supported; this collector supports {}", protocol,
                     rpc::kProtocol);
}

void AgentTable::Join(uint64_t number, std::shared_ptr<AgentLink> link, int64_t now_ns) {
  Agent& agent = agents_[number];
  agent.link = std::move(link);
  agent.last_heard_ns = last_joined_ns_ = now_ns;
}

std::set<uint64_t> AgentTable::Candidates(const rpc::Hello& hello, const Place& place) const {
  std::set<uint64_t> candidates;
  const auto [first, last] = by_place_.equal_range(place);
  for (auto other = first; other != last; ++other) candidates.insert(other->second);
  const auto same = by_id_.find(hello.agent_id());
  if (same != by_id_.end()) candidates.insert(same->second);
  return candidates;
}

std::vector<uint64_t> AgentTable::AcceptHello(uint64_t number, const rpc::Hello& hello) {
  Agent* agent = &agents_.at(number);
  if (const std::string problem = ProtocolProblem(hello.protocol()); !problem.empty()) {
    agent->link->Refuse(problem);
    return {};
  }
  const Place place(CleanText(hello.host(), kMaxAgentNameBytes),
                    CleanText(hello.run_directory(), kMaxAgentNameBytes));
  // The same agent has reconnected, or another agent takes its place. In both cases the new
  // connection sends the agent's whole state again. Two nodes may have the same name and path, so
  // an agent takes another's place only if the other agent has left. Agents without an id are
  // identified by name and path. If an agent without an id was replaced, it is refused until its
  // successor leaves.
  std::vector<uint64_t> replaced;
  for (const uint64_t other : Candidates(hello, place)) {
    if (other == number) continue;
    const Agent& known = agents_.at(other);
    const bool has_id = known.id != 0 && hello.agent_id() != 0;
    if (!has_id && !known.left && hello.resumed() && known.pid != hello.pid()) {
      agent->link->Refuse(kReplaced);
      return {};
    }
    if (!has_id || known.id == hello.agent_id() || known.left) replaced.push_back(other);
  }
  for (const uint64_t other : replaced) {
    if (!agents_.at(other).left) agents_.at(other).link->Refuse(kReplaced);
    Take(other);
  }
  lost_.erase(place);
  Unindex(number, *agent);
  agent->hello_received = true;
  agent->id = hello.agent_id();
  agent->pid = hello.pid();
  std::tie(agent->host, agent->run_directory) = place;
  ROLLCALL_ASSERT(held_bytes_ >= agent->journal.size());
  held_bytes_ -= agent->journal.size();
  agent->journal.clear();
  agent->parsed_journal.reset();
  agent->cut = false;
  by_place_.emplace(place, number);
  if (agent->id != 0) by_id_[agent->id] = number;
  return replaced;
}

void AgentTable::Unindex(uint64_t number, const Agent& agent) {
  const auto [first, last] = by_place_.equal_range({agent.host, agent.run_directory});
  const auto place =
      std::find_if(first, last, [&](const auto& entry) { return entry.second == number; });
  if (place != last) by_place_.erase(place);
  const auto id = by_id_.find(agent.id);
  if (id != by_id_.end() && id->second == number) by_id_.erase(id);
}

AgentTable::Agents::node_type AgentTable::Take(uint64_t number) {
  Agents::node_type agent = agents_.extract(number);
  Unindex(number, agent.mapped());
  const size_t bytes = agent.mapped().journal.size() + agent.mapped().environment.size();
  ROLLCALL_ASSERT(held_bytes_ >= bytes);
  held_bytes_ -= bytes;
  return agent;
}

AgentTable::Agents AgentTable::TakeLost(int64_t now_ns, int64_t lost_after_ns) {
  std::vector<uint64_t> silent;
  for (const auto& [number, agent] : agents_) {
    if (now_ns - agent.last_heard_ns > lost_after_ns) silent.push_back(number);
  }
  Agents lost;
  for (const uint64_t number : silent) {
    const Agent& agent = lost.insert(Take(number)).position->second;
    if (agent.hello_received) lost_.emplace(agent.host, agent.run_directory);
    if (!agent.left) agent.link->Refuse("silent for too long");
  }
  return lost;
}

Agent* AgentTable::Find(uint64_t number) { return FindOrNull(agents_, number); }

Agent* AgentTable::FindConnected(uint64_t number) {
  Agent* agent = Find(number);
  return agent != nullptr && agent->connected() ? agent : nullptr;
}

size_t AgentTable::connected() const {
  return static_cast<size_t>(
      std::ranges::count_if(agents_, [](const auto& agent) { return agent.second.connected(); }));
}

bool AgentTable::Hold(size_t bytes) {
  const bool fits = held_bytes_ + bytes <= max_held_bytes_ / kShareBesidesRings;
  if (fits) held_bytes_ += bytes;
  return fits;
}

void AgentTable::AddJournal(Agent* agent, const std::string& lines) {
  // No lines are kept after a gap: a later line may withdraw a missing one.
  agent->cut = agent->cut || !Hold(lines.size());
  if (!agent->cut) agent->journal += lines;
  agent->parsed_journal.reset();
}

void AgentTable::AddEnvironment(Agent* agent, const std::string& json) {
  if (agent->environment.empty() && Hold(json.size())) agent->environment = json;
}

Problem AgentTable::OverLimit(const std::string& what, const std::string& source) const {
  return {ProblemCode::kOverLimit,
          fmt::format("{}: the collector holds {} MiB at most", what, max_held_bytes_ >> 20),
          source};
}

std::shared_ptr<const NodeJournal> AgentTable::Parse(const Agent& agent) const {
  const std::string name = agent.host + " journal";
  MemorySource source(
      {reinterpret_cast<const uint8_t*>(agent.journal.data()), agent.journal.size()});
  auto parsed = std::make_shared<NodeJournal>();
  Journal& journal = parsed->journal;
  journal = ReadJournal(source, name);
  parsed->clock = CorrectTimes(&journal);
  if (agent.cut) {
    journal.problems.insert(journal.problems.begin(), OverLimit("lines were dropped", name));
  }
  return parsed;
}

std::map<uint64_t, std::shared_ptr<const NodeJournal>> AgentTable::ReadJournals() {
  std::map<uint64_t, std::shared_ptr<const NodeJournal>> journals;
  for (auto& [number, agent] : agents_) {
    if (agent.parsed_journal == nullptr) agent.parsed_journal = Parse(agent);
    journals.emplace_hint(journals.end(), number, agent.parsed_journal);
  }
  return journals;
}

bool AgentTable::MayFetchWhileComputing(int64_t now_ns) {
  bool may = true;
  for (auto& [number, agent] : agents_) {
    const int64_t passed_ns = now_ns - std::exchange(agent.allowance_at_ns, now_ns);
    const double recovered =
        static_cast<double>(passed_ns) * 1e-9 * static_cast<double>(kFetchBytesPerSecond);
    agent.allowance = static_cast<int64_t>(std::min(
        static_cast<double>(agent.allowance) + recovered, double{Agent::kFetchBurstBytes}));
    may = may && agent.allowance >= 0;
  }
  return may;
}

}  // namespace rollcall::service
