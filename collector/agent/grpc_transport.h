// SPDX-License-Identifier: Apache-2.0
// The agent's connection to its collector.
#ifndef ROLLCALL_COLLECTOR_AGENT_GRPC_TRANSPORT_H_
#define ROLLCALL_COLLECTOR_AGENT_GRPC_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collector/agent/transport.h"

namespace rollcall::agent {

// Connects to `address` (HOST:PORT), through an aggregator if the collector requests it. Reconnects
// whenever the connection is lost. All of this happens in threads of its own. The destructor closes
// the connection after the queue has been sent, or after a second. If a collector refuses the
// agent, the transport retries after 5 s. It calls `on_refused` from one of its threads with the
// reason, cleaned for a terminal, but not again for an equal reason.
std::unique_ptr<Transport> ConnectToCollector(
    const std::string& address, const std::string& token,
    std::function<void(const std::string&)> on_refused = {});

// Whether the collector at `address` would serve an agent from this node with that token.
struct CollectorCheck {
  enum class Result : uint8_t { kServes, kUnknownName, kUnreachable, kWrongToken, kRefuses };
  Result result = Result::kServes;
  std::string reason = {};
};
// Blocks for a few seconds at most.
CollectorCheck CheckCollector(const std::string& address, const std::string& token);

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_GRPC_TRANSPORT_H_
