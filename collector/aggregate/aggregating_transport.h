// SPDX-License-Identifier: Apache-2.0
// An agent's connection to its collector, which other agents can share.
#ifndef ROLLCALL_COLLECTOR_AGGREGATE_AGGREGATING_TRANSPORT_H_
#define ROLLCALL_COLLECTOR_AGGREGATE_AGGREGATING_TRANSPORT_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collector/agent/transport.h"
#include "collector/service/agent_link.h"
#include "collector/service/grpc_server.h"

namespace rollcall::aggregate {

// Forwards messages between its own agent and the collector. If the collector asks it to be an
// aggregator, it also serves other agents, with the run's token. It serves them at the address of
// this machine from which the collector is reached. Messages of several agents travel to the
// collector in one message. The collector's answers are forwarded to the agent that they are for.
// If the connection to the collector ends, all served agents are refused: they attach to the
// collector again and send it everything.
//
// Thread safety: as agent::Transport, but Receive() and the destructor belong to one thread.
class AggregatingTransport : public agent::Transport, private service::AgentHandler {
 public:
  // `collector` is connected to `address`.
  AggregatingTransport(std::unique_ptr<agent::Transport> collector, std::string address,
                       std::string token);
  ~AggregatingTransport() override;

  uint64_t connection() const override { return collector_->connection(); }
  void Send(uint64_t connection, rpc::AgentMessage message) override;
  bool HasRoom() const override { return collector_->HasRoom(); }
  std::vector<rpc::CollectorMessage> Receive() override;
  int wake_fd() const override { return collector_->wake_fd(); }

 private:
  uint64_t Join(std::shared_ptr<service::AgentLink> link) override;
  void Message(uint64_t agent, rpc::AgentMessage message) override;
  void Leave(uint64_t agent) override;

  void Deliver(const rpc::ToAgent& message);
  // Run by the thread.
  void Run();
  std::unique_ptr<service::CollectorServer> Serve();
  void SendAddress();
  void RefuseStale();
  void SendQueued();

  const std::unique_ptr<agent::Transport> collector_;
  const std::string address_;
  const std::string token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool requested_ = false;           // to be an aggregator, without having answered yet
  uint64_t request_connection_ = 0;  // the connection on which it was asked; 0: it was not asked
  bool stop_ = false;
  uint64_t connection_ = 0;  // the connection to the collector on which the agents joined
  // All messages that the collector sent on earlier connections have been received. A shutdown is
  // often the last of them, and agents that were refused before it would miss it.
  uint64_t received_until_ = 0;
  bool shut_down_ = false;  // the agents have got the shutdown; none is refused any more
  uint64_t next_agent_ = 1;
  std::map<uint64_t, std::shared_ptr<service::AgentLink>> agents_;
  std::deque<rpc::FromAgent> queue_;
  std::unique_ptr<service::CollectorServer> server_;
  std::string served_at_;  // HOST:PORT; used only by the thread
  std::thread thread_;     // started when it is asked to be an aggregator
};

}  // namespace rollcall::aggregate

#endif  // ROLLCALL_COLLECTOR_AGGREGATE_AGGREGATING_TRANSPORT_H_
