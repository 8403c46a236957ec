// SPDX-License-Identifier: Apache-2.0
// The collector's port.
#ifndef ROLLCALL_COLLECTOR_SERVICE_GRPC_SERVER_H_
#define ROLLCALL_COLLECTOR_SERVICE_GRPC_SERVER_H_

#include <memory>
#include <string>

#include "collector/base/result.h"
#include "collector/service/agent_link.h"
#include "collector/service/watch_link.h"

namespace rollcall::service {

struct ServerLimits {
  int max_message_bytes = 4 << 20;
  // Messages of one agent that have been read and not yet handled.
  int max_unread = 16;
};

// Serves agents for an AgentHandler until it is destroyed. Every call must carry the token.
// Connections from other machines must be encrypted (rpc/tls.h). Messages beyond the limits are not
// read from the network.
class CollectorServer {
 public:
  virtual ~CollectorServer() = default;
  // The bound port. `address` may have requested any port with 0.
  virtual int port() const = 0;
  // Tells every agent that the run is over, and whether to keep its traces.
  virtual void ShutDownAgents(bool keep) = 0;
};

// Listens on `address` (HOST:PORT). An error if it cannot listen, or if the token is too short. The
// handlers must outlive the server. Without `watchers`, no watchers are served.
Result<std::unique_ptr<CollectorServer>> Serve(const std::string& address, const std::string& token,
                                               AgentHandler* handler,
                                               const ServerLimits& limits = {},
                                               WatchHandler* watchers = nullptr);

// Sends gRPC's log messages to rollcall's log file instead of the job's stderr. Call before any
// other gRPC function; calling it once is enough.
void SilenceGrpc();

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_GRPC_SERVER_H_
