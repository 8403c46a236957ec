// SPDX-License-Identifier: Apache-2.0
// Determines from a process's sockets what a thread that sleeps in a system call waits for.
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

// The descriptors that the call waits on, in no order. The call is accept, read, recv, write or
// send (or a variant), poll, select or epoll. Empty: another call, or the descriptors are
// unreadable.
std::vector<int> AwaitedDescriptors(const ProcSource& proc, pid_t pid, const ProcessMemory& memory,
                                    const ThreadState& thread);

// The sockets of one process and their peers, at the moment of construction. Reads all processes
// of this machine, which takes some ten milliseconds. Not thread-safe.
class ProcessSockets {
 public:
  // A process belongs to the job if its environment has the same run directory as that of `pid`, or
  // if its parent belongs to the job. This process itself also belongs to the job. `all_here`: all
  // ranks of the job are on this machine. A connection to another host is then no connection
  // between ranks.
  ProcessSockets(const ProcSource& proc, pid_t pid, bool all_here);

  // For whom a thread waits that waits on all of these descriptors. Nothing if it does not wait for
  // the world outside the job, or if that is not certain: for example with a connection to another
  // process of the job, with a peer that cannot be found, or without any socket. Descriptors that
  // are not sockets are ignored, and so are connections of the process with itself.
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
