// SPDX-License-Identifier: Apache-2.0
#include "collector/live/socket_wait.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <sstream>
#include <string_view>

#include "collector/base/file.h"
#include "collector/base/find.h"
#include "collector/base/proc_stat.h"
#include "collector/base/text.h"
#include "proto/environment.h"

namespace rollcall {
namespace {

constexpr size_t kMaxDescriptors = 4096;
// Tables that do not fit are not used.
constexpr size_t kMaxSocketTableBytes = 16 << 20;
constexpr char kEstablished[] = "01";  // include/net/tcp_states.h
constexpr char kListen[] = "0A";
constexpr uint64_t kAcceptsConnections = 0x10000;  // __SO_ACCEPTCON of include/linux/net.h

// Where a call keeps its descriptors.
enum class Form : uint8_t { kOne, kPoll, kSelect, kEpoll };

std::optional<Form> FormOf(const ThreadState& thread) {
  switch (thread.blocked_call->number) {
    case SYS_accept:
    case SYS_accept4:
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
      return Form::kOne;
    case SYS_ppoll:
#ifdef SYS_poll
    case SYS_poll:
#endif
      return Form::kPoll;
    case SYS_pselect6:
#ifdef SYS_select
    case SYS_select:
#endif
      return Form::kSelect;
    case SYS_epoll_pwait:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
      return Form::kEpoll;
    case SYS_restart_syscall:
      // poll(2) after a stop, with its own arguments. Other calls continue in the same way.
      if (thread.wchan.find("poll") != std::string::npos) return Form::kPoll;
      break;
    default:
      break;
  }
  return std::nullopt;
}

std::vector<int> OfPoll(const ProcessMemory& memory, uint64_t address, uint64_t count) {
  if (count > kMaxDescriptors) return {};
  std::vector<pollfd> entries(count);
  const size_t bytes = entries.size() * sizeof(pollfd);
  if (memory.Read(address, entries.data(), bytes) != bytes) return {};
  std::vector<int> descriptors;
  for (const pollfd& entry : entries) {
    if (entry.fd >= 0) descriptors.push_back(entry.fd);  // poll(2) ignores negative ones
  }
  return descriptors;
}

std::vector<int> OfSelect(const ProcessMemory& memory, const BlockedCall& call) {
  const uint64_t count = call.arguments[0];
  if (count > FD_SETSIZE) return {};
  std::set<int> descriptors;
  for (int set = 1; set <= 3; ++set) {
    fd_set members;
    FD_ZERO(&members);
    const uint64_t address = call.arguments[static_cast<size_t>(set)];
    // The kernel reads whole words.
    const size_t bytes = (count + 63) / 64 * 8;
    if (address == 0) continue;
    if (memory.Read(address, &members, bytes) != bytes) return {};
    for (int fd = 0; fd < static_cast<int>(count); ++fd) {
      if (FD_ISSET(fd, &members)) descriptors.insert(fd);
    }
  }
  return {descriptors.begin(), descriptors.end()};
}

// The descriptors in an epoll instance: /proc/<pid>/fdinfo has a line "tfd:        5 events:
// 19 data: …" for each; proc(5).
std::vector<int> OfEpoll(const ProcSource& proc, pid_t pid, uint64_t epoll) {
  std::string text;
  const std::string path =
      "/proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(static_cast<int>(epoll));
  if (proc.Read(path, &text) != 0) return {};
  std::vector<int> descriptors;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    int fd = -1;
    if (!(words >> key >> fd) || key != "tfd:") continue;
    if (descriptors.size() == kMaxDescriptors) return {};  // one of the others may be of the job
    descriptors.push_back(fd);
  }
  return descriptors;
}

std::string LinkAt(const std::string& path) {
  std::array<char, 256> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  return length <= 0 ? std::string() : std::string(target.data(), static_cast<size_t>(length));
}

// The number in "socket:[123]"; 0: no socket.
uint64_t SocketInode(std::string_view link) {
  constexpr std::string_view kPrefix = "socket:[";
  if (!link.starts_with(kPrefix)) return 0;
  link.remove_prefix(kPrefix.size());
  return ParseNumber<uint64_t>(TakeUntil(']', &link)).value_or(0);
}

// An IPv4 address in an IPv6 socket is the same address: ::ffff:127.0.0.1.
std::string Normalized(const std::string& address) {
  constexpr std::string_view kMapped = "0000000000000000FFFF0000";
  return address.starts_with(kMapped) ? address.substr(kMapped.size()) : address;
}

bool IsOfThisHost(std::string_view address) {
  constexpr std::string_view kLoopback6 = "00000000000000000000000001000000:";
  return address.starts_with(kLoopback6) ||
         (address.size() == 13 && address.substr(6, 2) == "7F");  // 127.0.0.0/8, reversed
}

struct ProcessInfo {
  pid_t parent = 0;
  bool same_run = false;
};

std::string RunDirectoryOf(const ProcSource& proc, pid_t pid) {
  std::string environment;
  if (proc.Read("/proc/" + std::to_string(pid) + "/environ", &environment) != 0) return {};
  const auto variables = ProcVariables(environment);
  return std::string(FindOr(variables, env::kRunDirectory, ""));
}

// The processes of the run: processes whose environment has the run's variable, and their
// descendants.
std::set<pid_t> ProcessesOfRun(const ProcSource& proc, const std::string& run_directory) {
  std::vector<int> pids;
  proc.ListNumbers("/proc", &pids);
  std::map<pid_t, ProcessInfo> all;
  for (const pid_t pid : pids) {
    std::string stat;
    if (proc.Read("/proc/" + std::to_string(pid) + "/stat", &stat) != 0) continue;
    ProcessInfo& info = all[pid];
    info.parent = ParseNumber<pid_t>(ProcStatField(stat, 4)).value_or(0);
    info.same_run = RunDirectoryOf(proc, pid) == run_directory;
  }
  std::set<pid_t> found;
  for (const auto& [pid, info] : all) {
    constexpr int kMaxDepth = 64;
    pid_t ancestor = pid;
    for (int depth = 0; depth < kMaxDepth && all.contains(ancestor); ++depth) {
      if (all[ancestor].same_run) {
        found.insert(pid);
        break;
      }
      ancestor = all[ancestor].parent;
    }
  }
  return found;
}

// False if the process still exists and its descriptors cannot be read.
bool AddSockets(const ProcSource& proc, pid_t pid, std::set<uint64_t>* inodes) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/fd";
  std::vector<int> descriptors;
  const int error = proc.ListNumbers(directory, &descriptors);
  if (error != 0) return error == ENOENT || error == ESRCH;
  for (const int fd : descriptors) {
    const uint64_t inode = SocketInode(LinkAt(proc.root() + directory + "/" + std::to_string(fd)));
    if (inode != 0) inodes->insert(inode);
  }
  return true;
}

}  // namespace

std::vector<int> AwaitedDescriptors(const ProcSource& proc, pid_t pid, const ProcessMemory& memory,
                                    const ThreadState& thread) {
  if (thread.state != RunState::kSleeping || !thread.blocked_call) return {};
  const std::optional<Form> form = FormOf(thread);
  if (!form) return {};
  const BlockedCall& call = *thread.blocked_call;
  switch (*form) {
    case Form::kOne:
      return {static_cast<int>(call.arguments[0])};
    case Form::kPoll:
      return OfPoll(memory, call.arguments[0], call.arguments[1]);
    case Form::kSelect:
      return OfSelect(memory, call);
    case Form::kEpoll:
      return OfEpoll(proc, pid, call.arguments[0]);
  }
  return {};
}

ProcessSockets::ProcessSockets(const ProcSource& proc, pid_t pid, bool all_here)
    : pid_(pid), root_(proc.root()), all_here_(all_here) {
  const std::string directory = "/proc/" + std::to_string(pid);
  ReadTcp(proc, directory + "/net/tcp");
  ReadTcp(proc, directory + "/net/tcp6");
  ReadUnix(proc, directory + "/net/unix");
  if (LinkAt(root_ + directory + "/ns/net") == LinkAt("/proc/self/ns/net")) ReadUnixPeers();
  ReadJob(proc);
}

// "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 12345 …"
void ProcessSockets::ReadTcp(const ProcSource& proc, const std::string& path) {
  std::string text;
  const int error = proc.Read(path, &text, kMaxSocketTableBytes);
  if (error == ENOENT) return;  // no IPv6
  complete_ &= error == 0 && text.size() < kMaxSocketTableBytes;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);  // the heading
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, timeouts;
    uint64_t user = 0, timeout = 0, inode = 0;
    words >> number >> local >> remote >> state >> queues >> timer >> timeouts >> user >> timeout;
    if (!(words >> inode)) continue;
    local = Normalized(local);
    remote = Normalized(remote);
    // A connection without an inode is not accepted yet, or closed.
    by_ends_[{local, remote}] = inode;
    if (inode == 0) continue;
    sockets_[inode] = {.local = local,
                       .remote = remote,
                       .listens = state == kListen,
                       .connected = state == kEstablished};
  }
}

// "ffff9c3f40d2e000: 00000002 00000000 00010000 0001 01 12345 /run/x.sock"
void ProcessSockets::ReadUnix(const ProcSource& proc, const std::string& path) {
  std::string text;
  const int error = proc.Read(path, &text, kMaxSocketTableBytes);
  complete_ &= error == 0 && text.size() < kMaxSocketTableBytes;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number, references, protocol, flags, type, state;
    uint64_t inode = 0;
    if (!(words >> number >> references >> protocol >> flags >> type >> state >> inode)) continue;
    const uint64_t bits = ParseNumber<uint64_t>(flags, 16).value_or(0);
    sockets_[inode].listens = (bits & kAcceptsConnections) != 0;
  }
}

// /proc does not show the peers of Unix sockets; sock_diag(7) does.
void ProcessSockets::ReadUnixPeers() {
  const UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } message{};
  message.header = {.nlmsg_len = sizeof(message),
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                    .nlmsg_seq = 0,
                    .nlmsg_pid = 0};
  message.request.sdiag_family = AF_UNIX;
  message.request.udiag_states = ~0U;
  message.request.udiag_show = UDIAG_SHOW_PEER;
  if (send(fd.get(), &message, sizeof(message), 0) < 0) return;
  alignas(nlmsghdr) std::array<char, 1 << 16> buffer{};
  for (;;) {
    const ssize_t got = recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return;
    auto left = static_cast<unsigned>(got);
    for (auto* header = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(header, left);
         header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) return;  // the end, or an error
      const auto* socket = static_cast<const unix_diag_msg*>(NLMSG_DATA(header));
      auto size = static_cast<unsigned>(header->nlmsg_len - NLMSG_LENGTH(sizeof(*socket)));
      const auto* attribute = reinterpret_cast<const rtattr*>(socket + 1);
      for (; RTA_OK(attribute, size); attribute = RTA_NEXT(attribute, size)) {
        if (attribute->rta_type != UNIX_DIAG_PEER) continue;
        uint32_t peer = 0;
        memcpy(&peer, RTA_DATA(attribute), sizeof(peer));
        sockets_[socket->udiag_ino].peer = peer;
      }
    }
  }
}

void ProcessSockets::ReadJob(const ProcSource& proc) {
  complete_ &= AddSockets(proc, pid_, &own_);
  const std::string run_directory = RunDirectoryOf(proc, pid_);
  complete_ &= !run_directory.empty();
  if (!complete_) return;
  const std::string network = LinkAt(root_ + "/proc/" + std::to_string(pid_) + "/ns/net");
  std::set<pid_t> job = ProcessesOfRun(proc, run_directory);
  job.insert(getpid());
  for (const pid_t pid : job) {
    if (pid == pid_) continue;
    complete_ &= AddSockets(proc, pid, &of_job_);
    // In another network namespace, the other end of the process's connections is not in these
    // tables.
    const std::string other = LinkAt(root_ + "/proc/" + std::to_string(pid) + "/ns/net");
    complete_ &= pid == getpid() || other.empty() || other == network;
  }
}

uint64_t ProcessSockets::InodeAt(int descriptor) const {
  return SocketInode(
      LinkAt(root_ + "/proc/" + std::to_string(pid_) + "/fd/" + std::to_string(descriptor)));
}

ProcessSockets::Peer ProcessSockets::OwnerOf(uint64_t inode) const {
  if (inode == 0) return Peer::kUnknown;
  if (own_.contains(inode)) return Peer::kItself;  // children inherit both ends of a pair
  if (of_job_.contains(inode)) return Peer::kJob;
  return complete_ ? Peer::kOutside : Peer::kUnknown;
}

ProcessSockets::Peer ProcessSockets::PeerOf(uint64_t inode) const {
  const Socket* socket = FindOrNull(sockets_, inode);
  if (socket == nullptr) return Peer::kUnknown;  // datagrams come from any process
  if (socket->listens) return Peer::kAnybody;
  if (socket->local.empty()) return OwnerOf(socket->peer);
  if (!socket->connected) return Peer::kUnknown;
  if (const uint64_t* other = FindOrNull(by_ends_, {socket->remote, socket->local})) {
    return OwnerOf(*other);
  }
  const bool elsewhere = complete_ && all_here_ && !IsOfThisHost(socket->remote);
  return elsewhere ? Peer::kOutside : Peer::kUnknown;
}

std::optional<OutsideWait::For> ProcessSockets::WaitFor(const std::vector<int>& descriptors) const {
  std::optional<OutsideWait::For> wait;
  for (const int fd : descriptors) {
    const uint64_t inode = InodeAt(fd);
    if (inode == 0) continue;
    switch (PeerOf(inode)) {
      case Peer::kUnknown:
      case Peer::kJob:
        return std::nullopt;
      case Peer::kItself:
        break;
      case Peer::kAnybody:
        if (!wait) wait = OutsideWait::For::kClient;
        break;
      case Peer::kOutside:
        wait = OutsideWait::For::kOutside;
        break;
    }
  }
  return wait;
}

}  // namespace rollcall
