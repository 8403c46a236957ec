// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/agent_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "proto/run_directory.h"

namespace rollcall::agent {
namespace {

constexpr auto kPeerTimeout = std::chrono::seconds(1);

// Whether this is a valid ring file name that cannot lead out of the rings directory.
bool IsRingName(const std::string& name) {
  const std::string suffix = kRingSuffix;
  if (name.size() <= suffix.size() || name[0] == '.' || name.find('/') != std::string::npos) {
    return false;
  }
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x21 || c == 0x7f) return false;
  }
  return name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// Whether the text is one printable ASCII line.
bool IsPlainText(const std::string& text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](const char c) { return c >= 0x20 && c < 0x7f; });
}

// None, with errno, on failure.
UniqueFd ListenAt(const sockaddr_un& address, size_t path_size) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_size);
  const bool abstract = address.sun_path[0] == '\0';
  const bool listens = fd &&
                       bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                       (abstract || chmod(address.sun_path, 0600) == 0) &&
                       listen(fd.get(), AgentSocket::kMaxPeers) == 0;
  return listens ? std::move(fd) : UniqueFd();
}

// The first descriptor in the message. Further descriptors are closed.
UniqueFd TakeDescriptor(msghdr* message) {
  UniqueFd taken;
  for (cmsghdr* header = CMSG_FIRSTHDR(message); header != nullptr;
       header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      UniqueFd one(fd);
      if (!taken) taken = std::move(one);
    }
  }
  return taken;
}

}  // namespace

AgentSocket::~AgentSocket() {
  if (fd_) unlink(path_.c_str());
}

Result<> AgentSocket::Listen(const std::string& run_directory) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path_ = run_directory + "/" + kAgentSocket;
  if (path_.size() >= sizeof(address.sun_path)) {
    return Error{fmt::format("{} is too long for a socket's name", path_)};
  }
  // The caller holds the agent's lock, so an earlier listener has ended.
  unlink(path_.c_str());
  memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  fd_ = ListenAt(address, path_.size() + 1);
  if (!fd_) return Error{fmt::format("cannot listen on {}: {}", path_, strerror(errno))};
  if (path_.size() + 1 < sizeof(address.sun_path)) {
    address.sun_path[0] = '\0';
    memcpy(address.sun_path + 1, path_.data(), path_.size());
    abstract_fd_ = ListenAt(address, path_.size() + 1);
  }
  return {};
}

std::vector<int> AgentSocket::fds() const {
  std::vector<int> fds;
  if (fd_) fds.push_back(fd_.get());
  if (abstract_fd_) fds.push_back(abstract_fd_.get());
  for (const Peer& peer : peers_) fds.push_back(peer.fd.get());
  return fds;
}

void AgentSocket::AcceptPeers(const UniqueFd& listening) {
  while (listening && peers_.size() < kMaxPeers) {
    UniqueFd fd(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    ucred credentials = {};
    socklen_t size = sizeof(credentials);
    if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 ||
        credentials.uid != geteuid()) {
      continue;
    }
    peers_.push_back({std::move(fd), credentials.pid, std::chrono::steady_clock::now()});
  }
}

bool AgentSocket::Receive(const Peer& peer, std::vector<ReceivedRing>* received) {
  AgentHello hello = {};
  iovec bytes = {&hello, sizeof(hello)};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t n = recvmsg(peer.fd.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    return std::chrono::steady_clock::now() - peer.since > kPeerTimeout;
  }
  UniqueFd fd = n > 0 ? TakeDescriptor(&message) : UniqueFd();
  const std::string name(hello.ring_name, strnlen(hello.ring_name, sizeof(hello.ring_name)));
  const bool is_hello = n == sizeof(hello) &&
                        memcmp(hello.magic, kAgentMagic, sizeof(kAgentMagic)) == 0 &&
                        hello.version == 1;
  if (is_hello && (fd ? IsRingName(name) : IsPlainText(name))) {
    received->push_back({std::move(fd), peer.pid, name});
  }
  return true;
}

std::vector<ReceivedRing> AgentSocket::Accept() {
  AcceptPeers(fd_);
  AcceptPeers(abstract_fd_);
  std::vector<ReceivedRing> received;
  std::erase_if(peers_, [&](const Peer& peer) { return Receive(peer, &received); });
  return received;
}

}  // namespace rollcall::agent
