// What a thread that sleeps in a system call waits for, as far as its sockets show.
#ifndef ROLLCALL_COLLECTOR_LIVE_SOCKET_WAIT_H_
#define ROLLCALL_COLLECTOR_LIVE_SOCKET_WAIT_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/base/proc_source.h"
#include "collector/live/process_image.h"
#include "collector/live/process_state.h"
#include "collector/model/trace.h"

namespace rollcall {

// The descriptors at which the call waits, in no order: one of accept, read, recv, write and send
// (and their variants), or those of poll, select and epoll. Empty: another call, or unreadable.
std::vector<int> AwaitedDescriptors(const ProcSource& proc, pid_t pid, const ProcessMemory& memory,
                                    const ThreadState& thread);

// The sockets of one process and their peers, at the moment of construction. Reads all processes
// of this machine, which takes some ten milliseconds. Not thread-safe.
class ProcessSockets {
 public:
  // A process belongs to the job if its environment has the same run directory as that of `pid`,
  // or if its parent belongs to the job; and so does this process itself. `all_here`: all ranks of
  // the job are on this machine, so that no host but this one can be the other end of a connection
  // between ranks.
  ProcessSockets(const ProcSource& proc, pid_t pid, bool all_here);

  // What a thread waits for that waits at all of these descriptors. Nothing: not for the world
  // outside the job, or that is not certain, as with a connection to another process of the job, a
  // peer that cannot be found, or without any socket. Descriptors that are no sockets do not
  // matter, nor do connections of the process with itself.
  std::optional<OutsideWait::For> WaitFor(const std::vector<int>& descriptors) const;

 private:
  enum class Peer : uint8_t { kUnknown, kItself, kJob, kOutside, kAnybody };  // kAnybody: listens
  struct Socket {
    std::string local;  // address and port as in /proc/net/tcp; empty: not of TCP
    std::string remote;
    bool listens = false;
    bool connected = false;
    uint64_t peer = 0;  // inode; not of TCP
  };

  void ReadTcp(const ProcSource& proc, const std::string& path);
  void ReadUnix(const ProcSource& proc, const std::string& path);
  void ReadUnixPeers();
  void ReadJob(const ProcSource& proc);
  Peer PeerOf(uint64_t inode) const;
  Peer OwnerOf(uint64_t inode) const;
  uint64_t InodeAt(int descriptor) const;

  const pid_t pid_;
  const std::string root_;
  const bool all_here_;
  bool complete_ = true;                // all tables and all sockets of the job could be read
  std::map<uint64_t, Socket> sockets_;  // by inode
  std::map<std::pair<std::string, std::string>, uint64_t> by_ends_;  // local and remote: inode
  std::set<uint64_t> own_;                                           // inodes that `pid` has open
  std::set<uint64_t> of_job_;  // and other processes of the job
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_SOCKET_WAIT_H_
