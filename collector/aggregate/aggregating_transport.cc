// SPDX-License-Identifier: Apache-2.0
#include "collector/aggregate/aggregating_transport.h"

#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "collector/base/address.h"
#include "collector/base/file.h"
#include "collector/base/find.h"

namespace rollcall::aggregate {
namespace {

// Messages that arrive within this time of the first one are sent with it.
constexpr auto kGather = std::chrono::milliseconds(5);
constexpr auto kTick = std::chrono::milliseconds(100);
// Limit for gathered messages; a single message may be larger.
constexpr size_t kMessageBytes = 1 << 20;
// An agent's message plus the fields that are added here must fit into a message of 4 MiB.
constexpr int kMaxAgentBytes = (4 << 20) - (4 << 10);

// The address of this machine from which `collector` (HOST:PORT) is reached, and at which other
// machines can reach this machine as well. Empty if there is none.
std::string OwnAddress(const std::string& collector) {
  const Address address = SplitAddress(collector);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &list) != 0) return {};
  std::string own;
  for (const addrinfo* entry = list; entry != nullptr && own.empty(); entry = entry->ai_next) {
    const UniqueFd fd(socket(entry->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage name = {};
    socklen_t size = sizeof(name);
    auto* raw = reinterpret_cast<sockaddr*>(&name);
    char text[NI_MAXHOST];
    // No data is sent: connect() on a datagram socket only selects a route.
    if (fd.get() < 0 || connect(fd.get(), entry->ai_addr, entry->ai_addrlen) != 0 ||
        getsockname(fd.get(), raw, &size) != 0 ||
        getnameinfo(raw, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) {
      continue;
    }
    // On another machine, a loopback address would mean that machine. It is therefore usable only
    // if the collector is on this machine, too.
    if (IsLoopback(text) && !IsLoopback(address.host)) continue;
    own = entry->ai_family == AF_INET6 ? "[" + std::string(text) + "]" : text;
  }
  freeaddrinfo(list);
  return own;
}

}  // namespace

AggregatingTransport::AggregatingTransport(std::unique_ptr<agent::Transport> collector,
                                           std::string address, std::string token)
    : collector_(std::move(collector)), address_(std::move(address)), token_(std::move(token)) {}

AggregatingTransport::~AggregatingTransport() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  server_.reset();  // this ends its sessions, which call Leave()
}

void AggregatingTransport::Send(uint64_t connection, rpc::AgentMessage message) {
  if (message.has_hello()) message.mutable_hello()->set_can_aggregate(true);
  collector_->Send(connection, std::move(message));
}

std::vector<rpc::CollectorMessage> AggregatingTransport::Receive() {
  std::vector<rpc::CollectorMessage> own;
  const uint64_t connection = collector_->connection();
  bool shut_down = false;
  for (rpc::CollectorMessage& message : collector_->Receive()) {
    if (message.has_to_agent()) {
      Deliver(message.to_agent());
      continue;
    }
    if (message.has_aggregate()) {
      const std::lock_guard lock(mutex_);
      requested_ = true;
      request_connection_ = collector_->connection();
      if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
      changed_.notify_all();
      continue;
    }
    if (message.has_shutdown()) {
      service::CollectorServer* server = nullptr;
      {
        const std::lock_guard lock(mutex_);
        server = server_.get();
      }
      if (server != nullptr) server->ShutDownAgents(message.shutdown().keep());
      shut_down = true;
    }
    own.push_back(std::move(message));
  }
  const std::lock_guard lock(mutex_);
  received_until_ = connection;
  shut_down_ |= shut_down;
  return own;
}

void AggregatingTransport::Deliver(const rpc::ToAgent& message) {
  std::shared_ptr<service::AgentLink> link;
  {
    const std::lock_guard lock(mutex_);
    link = FindOr(agents_, message.agent(), nullptr);
    if (link == nullptr) return;
  }
  if (message.has_message()) {
    link->Send(message.message());
  } else {
    link->Refuse(message.refusal());
  }
}

uint64_t AggregatingTransport::Join(std::shared_ptr<service::AgentLink> link) {
  const std::lock_guard lock(mutex_);
  agents_[next_agent_] = std::move(link);
  return next_agent_++;
}

void AggregatingTransport::Message(uint64_t agent, rpc::AgentMessage message) {
  const std::lock_guard lock(mutex_);
  if (!agents_.contains(agent)) return;
  rpc::FromAgent& from = queue_.emplace_back();
  from.set_agent(agent);
  *from.mutable_message() = std::move(message);
  changed_.notify_all();
}

void AggregatingTransport::Leave(uint64_t agent) {
  const std::lock_guard lock(mutex_);
  if (agents_.erase(agent) == 0) return;
  queue_.emplace_back().set_agent(agent);
  changed_.notify_all();
}

void AggregatingTransport::Run() {
  auto server = Serve();
  std::unique_lock lock(mutex_);
  server_ = std::move(server);
  while (!stop_) {
    const bool is_stale = connection_ != received_until_ || connection_ != request_connection_;
    if (is_stale && !shut_down_) {
      lock.unlock();
      RefuseStale();
      lock.lock();
    }
    if (std::exchange(requested_, false)) SendAddress();
    if (!changed_.wait_for(lock, kTick,
                           [this] { return stop_ || requested_ || !queue_.empty(); })) {
      continue;
    }
    changed_.wait_for(lock, kGather, [this] { return stop_; });
    if (queue_.empty() || !collector_->HasRoom()) continue;
    lock.unlock();
    SendQueued();
    lock.lock();
  }
}

std::unique_ptr<service::CollectorServer> AggregatingTransport::Serve() {
  const std::string own = OwnAddress(address_);
  if (own.empty()) return nullptr;
  // One unread message per agent: a node has no memory to spare for the rings of others.
  auto server = service::Serve(own + ":0", token_, this,
                               {.max_message_bytes = kMaxAgentBytes, .max_unread = 1})
                    .value_or(nullptr);
  if (server != nullptr) served_at_ = own + ":" + std::to_string(server->port());
  return server;
}

void AggregatingTransport::SendAddress() {
  rpc::AgentMessage message;
  message.mutable_aggregator()->set_address(served_at_);
  collector_->Send(request_connection_, std::move(message));
}

// Refuses the agents that joined on another connection than the one on which this agent was asked
// to serve, because their messages are lost.
void AggregatingTransport::RefuseStale() {
  std::map<uint64_t, std::shared_ptr<service::AgentLink>> stale;
  {
    const std::lock_guard lock(mutex_);
    connection_ = received_until_;
    queue_.clear();
    std::swap(stale, agents_);
  }
  for (const auto& [number, link] : stale) link->Refuse("this aggregator lost its collector");
}

void AggregatingTransport::SendQueued() {
  rpc::AgentMessage message;
  std::vector<std::shared_ptr<service::AgentLink>> sent;
  uint64_t connection = 0;
  {
    const std::lock_guard lock(mutex_);
    connection = connection_;
    for (size_t bytes = 0; !queue_.empty(); queue_.pop_front()) {
      const size_t more = queue_.front().ByteSizeLong();
      if (bytes != 0 && bytes + more > kMessageBytes) break;
      bytes += more;
      if (const auto* agent = FindOrNull(agents_, queue_.front().agent())) sent.push_back(*agent);
      *message.mutable_from_agents()->add_messages() = std::move(queue_.front());
    }
  }
  collector_->Send(connection, std::move(message));
  for (const auto& link : sent) link->Consumed();
}

}  // namespace rollcall::aggregate
