// SPDX-License-Identifier: Apache-2.0
// The agent's Unix socket: receives the memfds of ranks that found no room in shared memory
// (proto/run_directory.h defines the message).
#ifndef ROLLCALL_COLLECTOR_AGENT_AGENT_SOCKET_H_
#define ROLLCALL_COLLECTOR_AGENT_AGENT_SOCKET_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "collector/base/file.h"
#include "collector/base/result.h"

namespace rollcall::agent {

// Received over the socket: a ring, or the reason why a process has none.
struct ReceivedRing {
  UniqueFd fd;    // none: there is no ring
  pid_t pid = 0;  // the sender's pid in the agent's namespace (SO_PEERCRED)
  std::string
      name;  // file name the ring would have had, safe to use as one; the reason without one
};

// Not thread-safe; never blocks. A peer is dropped if it belongs to another user, sends anything
// other than the one message, or sends nothing for a second. At most kMaxPeers are served at a
// time.
class AgentSocket {
 public:
  static constexpr size_t kMaxPeers = 64;

  AgentSocket() = default;
  ~AgentSocket();
  AgentSocket(const AgentSocket&) = delete;
  AgentSocket& operator=(const AgentSocket&) = delete;

  // Listens in `run_directory`, replacing a socket that an earlier agent left, and on the same name
  // in the abstract namespace. On an error the agent continues without a socket.
  Result<> Listen(const std::string& run_directory);

  // Descriptors that are readable when Accept() has something to do.
  std::vector<int> fds() const;
  // Returns what has arrived.
  std::vector<ReceivedRing> Accept();

 private:
  struct Peer {
    UniqueFd fd;
    pid_t pid;
    std::chrono::steady_clock::time_point since;
  };
  void AcceptPeers(const UniqueFd& listening);
  // True if this peer is finished, successfully or not.
  static bool Receive(const Peer& peer, std::vector<ReceivedRing>* received);

  UniqueFd fd_;
  UniqueFd abstract_fd_;
  std::string path_;
  std::vector<Peer> peers_;
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_AGENT_SOCKET_H_
