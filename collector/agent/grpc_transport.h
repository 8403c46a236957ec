// The agent's connection to its collector.
#ifndef ROLLCALL_COLLECTOR_AGENT_GRPC_TRANSPORT_H_
#define ROLLCALL_COLLECTOR_AGENT_GRPC_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collector/agent/transport.h"

namespace rollcall::agent {

// Connects to `address` (HOST:PORT) and again whenever the connection is lost, from threads of its
// own; in between to an aggregator, if the collector says so. The destructor closes the connection,
// after what is queued has gone out or a second has passed. A collector that refuses the agent is
// asked again after 5 s; `on_refused`, from one of those threads, gets its reason, cleaned for a
// terminal, each once in a row.
std::unique_ptr<Transport> ConnectToCollector(
    const std::string& address, const std::string& token,
    std::function<void(const std::string&)> on_refused = {});

// Whether the collector at `address` would serve an agent of here with that token.
struct CollectorCheck {
  enum class Result : uint8_t { kServes, kUnknownName, kUnreachable, kWrongToken, kRefuses };
  Result result = Result::kServes;
  std::string reason = {};
};
// Blocks for a few seconds at most.
CollectorCheck CheckCollector(const std::string& address, const std::string& token);

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_GRPC_TRANSPORT_H_
