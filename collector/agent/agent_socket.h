// The agent's Unix socket: takes the memfds of ranks that found no room in shared memory
// (proto/run_directory.h says what is sent).
#ifndef ROLLCALL_COLLECTOR_AGENT_AGENT_SOCKET_H_
#define ROLLCALL_COLLECTOR_AGENT_AGENT_SOCKET_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace rollcall::agent {

// What came over the socket: a ring, or why a process has none.
struct ReceivedRing {
  int fd = -1;    // the receiver owns it; -1: there is no ring
  pid_t pid = 0;  // as the kernel sees the sender from here (SO_PEERCRED), across pid namespaces
  std::string
      name;  // file name the ring would have had, safe to use as one; the reason without one
};

// Not thread-safe; never blocks. A peer of another user, one that sends anything but the one
// message, or one that sends nothing for a second is dropped; at most kMaxPeers are waited for at a
// time.
class AgentSocket {
 public:
  static constexpr size_t kMaxPeers = 64;

  AgentSocket() = default;
  ~AgentSocket();
  AgentSocket(const AgentSocket&) = delete;
  AgentSocket& operator=(const AgentSocket&) = delete;

  // Listens in `run_directory`, in place of a socket that an earlier agent left, and on that name
  // in the abstract namespace. False and why if it cannot do the former; the agent then goes on
  // without.
  bool Listen(const std::string& run_directory, std::string* problem);

  // Descriptors that are readable when Accept() has something to do.
  std::vector<int> fds() const;
  // Takes what has arrived.
  std::vector<ReceivedRing> Accept();

 private:
  struct Peer {
    int fd;
    pid_t pid;
    std::chrono::steady_clock::time_point since;
  };
  void AcceptPeers(int listening);
  // True if this peer is done with, well or not.
  static bool Receive(const Peer& peer, std::vector<ReceivedRing>* received);

  int fd_ = -1;
  int abstract_fd_ = -1;
  std::string path_;
  std::vector<Peer> peers_;
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_AGENT_SOCKET_H_
