// SPDX-License-Identifier: Apache-2.0
#include "collector/service/agent_queries.h"

#include <algorithm>
#include <utility>

#include "collector/base/clock.h"
#include "collector/base/find.h"
#include "collector/collect/evidence.h"
#include "collector/import/add_sources.h"
#include "collector/rpc/frames.h"

namespace rollcall::service {
namespace {

constexpr int64_t kAnswerTickNs = 25'000'000;
constexpr int64_t kSymbolTimeoutNs = 10'000'000'000;
constexpr size_t kAddressesPerRequest = 4096;
// At most this many nodes are asked to resolve the same addresses.
constexpr size_t kMaxSymbolAgents = 8;
// Images that are unpacked one at a time may take this many times the memory limit of rings.
constexpr uint64_t kMaxExpansion = 16;
// Upper bound of a fetch, however slowly rings arrive.
constexpr int64_t kMaxFetchNs = 60'000'000'000;

}  // namespace

AgentQueries::AgentQueries(int64_t answer_timeout_ns, AgentTable* agents, const JobState* state,
                           std::function<void(int64_t until_ns)> handle_events)
    : answer_timeout_ns_(answer_timeout_ns),
      agents_(agents),
      state_(state),
      handle_events_(std::move(handle_events)) {}

void AgentQueries::HandleUntil(int64_t deadline_ns, const std::function<bool()>& answered) {
  while (!answered() && Now(CLOCK_MONOTONIC) < deadline_ns) {
    handle_events_(std::min(deadline_ns, Now(CLOCK_MONOTONIC) + kAnswerTickNs));
  }
}

void AgentQueries::GiveUpOn(uint64_t number) {
  rings_.GiveUpOn(number);
  std::erase_if(pending_environments_,
                [&](const auto& requested) { return requested.second == number; });
}

void AgentQueries::OnAnswer(uint64_t number, Agent* agent, const rpc::AgentMessage& message) {
  const auto add = [&](const rpc::SnapshotChunk& chunk) {
    return rings_.Add(number, chunk, Now(CLOCK_REALTIME));
  };
  if (message.has_snapshot() || message.has_snapshots()) {
    const auto& chunks = message.snapshots().chunks();
    const bool fits =
        message.has_snapshot() ? add(message.snapshot()) : std::ranges::all_of(chunks, add);
    if (!fits) agent->link->Refuse("a snapshot that does not fit");
  } else if (message.has_symbols()) {
    OnSymbols(message.symbols());
  } else if (message.has_live_stacks()) {
    pending_stacks_.erase(message.live_stacks().request());
  } else if (message.has_environment()) {
    if (pending_environments_.erase(message.environment().request()) == 0) return;
    const std::string& json = message.environment().json();
    if (collect::IsEnvironment(json)) {
      agents_->AddEnvironment(agent, json);
    } else {
      agent->link->Refuse("an environment that does not fit");
    }
  }
}

void AgentQueries::WaitForAgent() {
  HandleUntil(Now(CLOCK_MONOTONIC) + answer_timeout_ns_,
              [this] { return agents_->connected() > 0; });
}

void AgentQueries::FetchRings(const Rings& wanted) {
  std::set<uint64_t> requested;
  std::map<uint64_t, rpc::CollectorMessage> requests;  // by agent
  const auto request_to = [&](uint64_t number) -> rpc::SnapshotRequest* {
    if (agents_->FindConnected(number) == nullptr) return nullptr;
    requested.insert(number);
    return requests[number].mutable_snapshot();
  };
  if (wanted.processes.empty()) {
    if (wanted.deadline_ns == 0) rings_.Clear();
    requested_.clear();
    newest_records_ = wanted.newest_records;
    whole_.clear();
    for (const auto& [number, agent] : agents_->all()) request_to(number);
  }
  if (wanted.newest_records == 0) {
    whole_.insert(wanted.processes.begin(), wanted.processes.end());
  }
  for (const uint64_t id : wanted.processes) {
    const auto* process = FindOrNull(state_->processes(), id);
    if (process == nullptr) continue;
    if (rpc::SnapshotRequest* request = request_to(process->agent)) request->add_ids(id);
  }
  const uint64_t room = agents_->bytes_for_rings();
  rings_.Begin(next_request_, requested,
               {.held_bytes = room, .unpacked_bytes = kMaxExpansion * room});
  requested_.insert(requested.begin(), requested.end());
  for (auto& [number, message] : requests) {
    rpc::SnapshotRequest* request = message.mutable_snapshot();
    request->set_request(next_request_);
    request->set_settle(wanted.settle);
    request->set_newest_records(wanted.newest_records);
    request->set_may_compress(true);
    request->set_may_batch(true);
    agents_->Find(number)->link->Send(message);
  }
  ++next_request_;
  const int64_t begin = Now(CLOCK_MONOTONIC);
  const int64_t end = wanted.deadline_ns == 0 ? begin + kMaxFetchNs : wanted.deadline_ns;
  const int64_t patience = wanted.deadline_ns == 0 ? answer_timeout_ns_ : end - begin;
  for (uint64_t received = UINT64_MAX;
       !rings_.complete() && rings_.received_bytes() != received && Now(CLOCK_MONOTONIC) < end;) {
    received = rings_.received_bytes();
    HandleUntil(std::min(end, Now(CLOCK_MONOTONIC) + patience), [&] { return rings_.complete(); });
  }
  rings_.End();
  for (const uint64_t number : requested) {
    Agent* agent = agents_->Find(number);
    if (agent == nullptr) continue;
    agent->allowance -= static_cast<int64_t>(rings_.ReceivedBytes(number));
  }
}

void AgentQueries::FetchStacks(const std::vector<uint64_t>& processes, bool wait_only) {
  pending_stacks_.clear();
  for (size_t i = 0; i < std::min(processes.size(), kMaxStacks); ++i) {
    const auto* process = FindOrNull(state_->processes(), processes[i]);
    const Agent* agent = process == nullptr ? nullptr : agents_->FindConnected(process->agent);
    if (agent == nullptr) continue;
    rpc::CollectorMessage message;
    message.mutable_live_stack()->set_request(next_request_);
    message.mutable_live_stack()->set_id(processes[i]);
    message.mutable_live_stack()->set_wait_only(wait_only);
    pending_stacks_.insert(next_request_++);
    agent->link->Send(message);
  }
  HandleUntil(Now(CLOCK_MONOTONIC) + answer_timeout_ns_,
              [this] { return pending_stacks_.empty(); });
}

void AgentQueries::FetchVariables(const std::vector<ThreadOf>& threads) {
  pending_stacks_.clear();
  for (const ThreadOf& thread : threads) {
    const auto* process = FindOrNull(state_->processes(), thread.process);
    const Agent* agent = process == nullptr ? nullptr : agents_->FindConnected(process->agent);
    if (agent == nullptr) continue;
    rpc::CollectorMessage message;
    message.mutable_live_stack()->set_request(next_request_);
    message.mutable_live_stack()->set_id(thread.process);
    message.mutable_live_stack()->set_variables(true);
    message.mutable_live_stack()->set_tid(thread.tid);
    pending_stacks_.insert(next_request_++);
    agent->link->Send(message);
  }
  HandleUntil(Now(CLOCK_MONOTONIC) + kVariablesNs, [this] { return pending_stacks_.empty(); });
}

void AgentQueries::RequestEnvironments() {
  pending_environments_.clear();
  for (const auto& [number, agent] : agents_->all()) {
    if (!agent.connected() || !agent.environment.empty()) continue;
    rpc::CollectorMessage message;
    message.mutable_environment()->set_request(next_request_);
    pending_environments_[next_request_++] = number;
    agent.link->Send(message);
  }
}

void AgentQueries::AwaitEnvironments(int64_t deadline_ns) {
  HandleUntil(deadline_ns, [this] { return pending_environments_.empty(); });
}

void AgentQueries::RequestSymbols(Agent* agent, const std::vector<CodeAddress>& addresses) {
  pending_symbols_.clear();
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
    pending_symbols_[next_request_++].assign(addresses.begin() + static_cast<ptrdiff_t>(begin),
                                             addresses.begin() + static_cast<ptrdiff_t>(end));
    agent->link->Send(message);
  }
}

void AgentQueries::OnSymbols(const rpc::SymbolTable& symbols) {
  const auto requested = pending_symbols_.find(symbols.request());
  if (requested == pending_symbols_.end()) return;
  const auto answers = static_cast<size_t>(symbols.addresses_size());
  for (size_t i = 0; i < std::min(requested->second.size(), answers); ++i) {
    std::vector<SourceFrame> frames;
    for (const rpc::SymbolFrame& frame : symbols.addresses(static_cast<int>(i)).frames()) {
      frames.push_back(rpc::FromRpc(frame));
    }
    symbols_.Add(requested->second[i], std::move(frames));
  }
  pending_symbols_.erase(requested);
}

void AgentQueries::Symbolize(Trace* trace) {
  std::vector<CodeAddress> unknown = symbols_.Fill(trace);
  const int64_t deadline = Now(CLOCK_MONOTONIC) + kSymbolTimeoutNs;
  std::set<uint64_t> requested;
  while (!unknown.empty() && requested.size() < kMaxSymbolAgents &&
         Now(CLOCK_MONOTONIC) < deadline) {
    const auto agent = std::ranges::find_if(agents_->all(), [&](const auto& entry) {
      return entry.second.connected() && !requested.contains(entry.first);
    });
    if (agent == agents_->all().end()) break;
    const uint64_t number = agent->first;
    requested.insert(number);
    RequestSymbols(agents_->Find(number), unknown);
    HandleUntil(deadline, [&] {
      const Agent* requested_agent = agents_->Find(number);
      return pending_symbols_.empty() || requested_agent == nullptr || requested_agent->left;
    });
    std::erase_if(unknown, [this](const CodeAddress& code) { return symbols_.Knows(code); });
  }
  symbols_.Fill(trace);
  SymbolCache::FillRest(trace);
  AddSources(trace);
}

}  // namespace rollcall::service
