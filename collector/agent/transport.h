// What carries the agent's messages. The agent knows no more of the network than this, so that its
// tests run over a fake, also under ThreadSanitizer.
#ifndef ROLLCALL_COLLECTOR_AGENT_TRANSPORT_H_
#define ROLLCALL_COLLECTOR_AGENT_TRANSPORT_H_

#include <cstdint>
#include <vector>

#include "proto/collector.pb.h"

namespace rollcall::agent {

// Thread safety: every method may be called from any thread. Nothing blocks.
class Transport {
 public:
  virtual ~Transport() = default;

  // A number that grows with every connection made; 0 while there is none. A new number means a
  // collector that knows nothing: it gets everything again.
  virtual uint64_t connection() const = 0;

  // Queues a message for connection `connection`; dropped if that one is gone.
  virtual void Send(uint64_t connection, rpc::AgentMessage message) = 0;
  // Whether the queue has room for more bulk data (snapshots). Small messages are always taken.
  virtual bool HasRoom() const = 0;

  // What has arrived since the last call.
  virtual std::vector<rpc::CollectorMessage> Receive() = 0;
  // An eventfd that is readable when Receive(), connection() or HasRoom() may have changed; the
  // agent reads it empty.
  virtual int wake_fd() const = 0;
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_TRANSPORT_H_
