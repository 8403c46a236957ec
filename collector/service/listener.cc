// SPDX-License-Identifier: Apache-2.0
#include "collector/service/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "collector/base/address.h"
#include "collector/base/clock.h"
#include "collector/base/print_line.h"
#include "collector/base/text.h"

namespace rollcall::service {
namespace {

// RFC 9113, 3.4: every client sends this first.
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// RFC 8446, 5.1: a record of a TLS handshake begins with this. A ClientHello is longer than
// kPreface.
constexpr std::string_view kHandshake = "\x16\x03";
constexpr int64_t kSilenceNs = 5'000'000'000;
constexpr int64_t kQueueNs = 60'000'000'000;
// Reserved for files that the collector opens: bundles, binaries, the journal.
constexpr uint64_t kReservedDescriptors = 32;
constexpr int kRetryMs = 100;
// An agent's first call has less than 4 KiB and comes within milliseconds. Until the call has come,
// the received bytes are counted once a tick.
constexpr uint64_t kMaxUnprovenBytes = 16 << 10;
constexpr int64_t kUnprovenNs = 5'000'000'000;
constexpr int64_t kUnprovenIfOthersWaitNs = 500'000'000;
// How long the place of a closed connection stays taken.
constexpr int64_t kEmptyPlaceNs = 1'000'000'000;
constexpr int kTickMs = 20;
constexpr int kEstablished = 1;  // include/net/tcp_states.h of Linux

void SetOption(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof(value));
}

template <auto get>  // getsockname or getpeername
int PortOf(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  get(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  // The port has the same offset in both address families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

// Empty, with errno set, on failure. `only_v6`: IPv4 has a socket of its own.
UniqueFd ListenOn(const addrinfo& address, int port, bool only_v6) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  SetOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  SetOption(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);  // connections inherit it
  if (address.ai_family == AF_INET6) SetOption(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, only_v6);
  sockaddr_storage where{};
  memcpy(&where, address.ai_addr, address.ai_addrlen);
  reinterpret_cast<sockaddr_in*>(&where)->sin_port = htons(static_cast<uint16_t>(port));
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), address.ai_addrlen) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0) {
    return UniqueFd();
  }
  return fd;
}

// Whether the connection came from this machine's loopback interface.
bool IsFromLoopback(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  char host[NI_MAXHOST];
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  const auto* address = reinterpret_cast<const sockaddr*>(&peer);
  return getnameinfo(address, size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST) == 0 &&
         IsLoopback(host);
}

uint64_t DescriptorLimit() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);  // `rollcall run` changes it
  return files.rlim_cur;
}

// Whether only the reserved descriptors are left. A new descriptor has the lowest free number.
bool FewAreLeft(const UniqueFd& newest) {
  return !newest || static_cast<uint64_t>(newest.get()) + kReservedDescriptors >= DescriptorLimit();
}

// None if few are left.
UniqueFd Copy(const UniqueFd& fd) {
  UniqueFd copy(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  return FewAreLeft(copy) ? UniqueFd() : std::move(copy);
}

// Whether the connection has ended, or has sent more than a connection without the token may send.
bool IsOver(int fd) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
         info.tcpi_state != kEstablished || info.tcpi_bytes_received > kMaxUnprovenBytes;
}

bool SameAddress(const addrinfo& a, const addrinfo& b) {
  return a.ai_addrlen == b.ai_addrlen && memcmp(a.ai_addr, b.ai_addr, a.ai_addrlen) == 0;
}

}  // namespace

void Listener::Stop() {
  if (!thread_.joinable()) return;
  stop_.Wake();
  thread_.join();
}

Result<> Listener::Open(const std::string& address) {
  const auto [host, port] = SplitAddress(address);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed =
      getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &list);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  std::string why = failed != 0 ? gai_strerror(failed) : "";
  if (failed == 0) port_ = ntohs(reinterpret_cast<const sockaddr_in*>(list->ai_addr)->sin_port);
  for (const addrinfo* at = list; failed == 0 && at != nullptr; at = at->ai_next) {
    bool known = false;  // "localhost" may have one address twice
    for (const addrinfo* other = list; other != at; other = other->ai_next) {
      known |= SameAddress(*other, *at);
    }
    if (known) continue;
    UniqueFd fd = ListenOn(*at, port_, list->ai_next != nullptr);
    if (fd) {
      port_ = PortOf<getsockname>(fd.get());
      sockets_.push_back(std::move(fd));
      continue;
    }
    why = strerror(errno);
    // The address family is disabled. Any other failure is an error: another program may already
    // listen on the address, and it would receive the agents' token.
    if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) continue;
    sockets_.clear();
    break;
  }
  if (!sockets_.empty() && stop_.get() >= 0) return {};
  return Error{fmt::format("cannot listen on {}: {}", address, why)};
}

void Listener::Start(HandOver hand_over) {
  hand_over_ = std::move(hand_over);
  thread_ = std::thread([this] { Run(); });
}

int Listener::TimeoutMs() {
  int timeout = -1;
  if (!silent_.empty()) {
    const int64_t left_ns = silent_.front().until_ns - Now(CLOCK_MONOTONIC);
    timeout = static_cast<int>(std::max<int64_t>(0, left_ns) / 1'000'000) + 1;
  }
  // No event reports that a place has become free.
  const bool waits = std::ranges::any_of(silent_, &Silent::waits);
  const std::lock_guard lock(mutex_);
  if (unproven_.empty() && !waits) return timeout;
  return timeout < 0 ? kTickMs : std::min(timeout, kTickMs);
}

void Listener::Run() {
  std::vector<pollfd> entries;
  for (;;) {
    entries.assign({{stop_.get(), POLLIN, 0}});
    const auto add = [&](const UniqueFd& fd, bool wanted) {
      entries.push_back({wanted ? fd.get() : -1, POLLIN, 0});  // poll(2) ignores -1
    };
    for (const UniqueFd& socket : sockets_) add(socket, silent_.size() <= kMaxSilent);
    for (const Silent& connection : silent_) add(connection.fd, !connection.waits);
    poll(entries.data(), entries.size(), TimeoutMs());
    if (entries[0].revents != 0) return;
    for (size_t i = 0; i < silent_.size(); ++i) {
      if (entries[1 + sockets_.size() + i].revents != 0) CheckFirstBytes(&silent_[i]);
    }
    const int64_t now = Now(CLOCK_MONOTONIC);
    HandOverReady(now);
    std::erase_if(silent_, [&](const Silent& connection) {
      return !connection.fd || connection.until_ns <= now;
    });
    for (size_t i = 0; i < sockets_.size(); ++i) {
      if (entries[1 + i].revents != 0) Accept(sockets_[i].get());
    }
  }
}

std::deque<Listener::Silent>::iterator Listener::OldestSilent() {
  return std::ranges::find_if(
      silent_, [](const Silent& connection) { return connection.fd && !connection.waits; });
}

void Listener::Accept(int listener) {
  // If there are too many connections and all of them wait for gRPC, the system queues further
  // ones.
  while (silent_.size() <= kMaxSilent) {
    UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool none_left = !fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
    if (!fd && !none_left) return;
    const bool few_left = FewAreLeft(fd);
    bool made_room = false;
    if (few_left || silent_.size() == kMaxSilent) {
      const auto oldest = OldestSilent();
      if (oldest != silent_.end()) CheckFirstBytes(&*oldest);
      made_room = oldest != silent_.end() && !oldest->fd;
      if (made_room) silent_.erase(oldest);
    }
    // Moves the connection to the descriptor that was freed. Otherwise the next connection would
    // get that number and hide that few are left.
    if (few_left && made_room && fd) fd = UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (few_left && !made_room) {
      NoteLimitOnce(DescriptorLimit());
      fd = UniqueFd();
      pollfd stop{stop_.get(), POLLIN, 0};
      if (none_left && poll(&stop, 1, kRetryMs) != 0) return;
    }
    if (!fd) continue;
    // Readable when the whole preface has arrived.
    SetOption(fd.get(), SOL_SOCKET, SO_RCVLOWAT, static_cast<int>(kPreface.size()));
    silent_.push_back(
        {.fd = std::move(fd), .listener = listener, .until_ns = Now(CLOCK_MONOTONIC) + kSilenceNs});
  }
}

void Listener::NoteLimitOnce(uint64_t limit) {
  if (std::exchange(limit_noted_, true)) return;
  PrintLine(fmt::format(
      "refuses further connections: no free descriptors (limit {}); raise it: ulimit -n", limit));
}

void Listener::CheckFirstBytes(Silent* connection) {
  char bytes[kPreface.size()];
  const ssize_t n = recv(connection->fd.get(), bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
  const std::string_view spoken(bytes, n == ssize_t{sizeof(bytes)} ? sizeof(bytes) : 0);
  const bool tls = spoken.starts_with(kHandshake);
  connection->protocol = tls ? Protocol::kTls : Protocol::kPlainText;
  // No agent on another machine sends its token over plain text, so plain text is accepted from
  // this machine only.
  connection->waits = tls || (spoken == kPreface && IsFromLoopback(connection->fd.get()));
  if (!connection->waits) connection->fd = UniqueFd();
  // The connection is no longer silent. It gets its place when the connections before it have shown
  // the token. If 512 agents start at once on a slow machine, the last one waits for seconds.
  connection->until_ns = Now(CLOCK_MONOTONIC) + kQueueNs;
}

void Listener::Unproven::Close(int64_t now_ns) {
  shutdown(copy.get(), SHUT_RDWR);
  copy = UniqueFd();
  until_ns = now_ns + kEmptyPlaceNs;
}

bool Listener::HasPlace(Protocol protocol, int64_t now_ns) {
  const auto is_one = [&](const Unproven& other) { return other.protocol == protocol; };
  const auto count = std::ranges::count_if(unproven_, is_one);
  if (static_cast<size_t>(count) < kMaxUnproven) return true;
  const auto oldest = std::ranges::find_if(unproven_, [&](const Unproven& other) {
    return is_one(other) && other.copy && now_ns - other.since_ns > kUnprovenIfOthersWaitNs;
  });
  if (oldest == unproven_.end()) return false;
  oldest->Close(now_ns);
  unproven_.erase(oldest);
  return true;
}

void Listener::HandOverReady(int64_t now_ns) {
  std::vector<Silent*> may;
  {
    const std::lock_guard lock(mutex_);
    for (Unproven& connection : unproven_) {
      if (!connection.copy) continue;
      if (connection.until_ns <= now_ns || IsOver(connection.copy.get())) connection.Close(now_ns);
    }
    std::erase_if(unproven_, [&](const Unproven& connection) {
      return !connection.copy && connection.until_ns <= now_ns;
    });
    bool full[2] = {};
    for (Silent& connection : silent_) {
      if (connection.waits && IsOver(connection.fd.get())) connection.fd = UniqueFd();
      bool& none_left = full[static_cast<size_t>(connection.protocol)];
      if (!connection.waits || !connection.fd || none_left) continue;
      none_left = !HasPlace(connection.protocol, now_ns);
      if (none_left) continue;
      UniqueFd copy = Copy(connection.fd);
      const auto oldest = OldestSilent();
      if (!copy && oldest != silent_.end()) {
        oldest->fd = UniqueFd();
        copy = Copy(connection.fd);
      }
      if (!copy) continue;
      unproven_.push_back({.copy = std::move(copy),
                           .protocol = connection.protocol,
                           .port = PortOf<getpeername>(connection.fd.get()),
                           .since_ns = now_ns,
                           .until_ns = now_ns + kUnprovenNs});
      may.push_back(&connection);
    }
  }
  for (Silent* connection : may) {
    SetOption(connection->fd.get(), SOL_SOCKET, SO_RCVLOWAT, 1);
    hand_over_(connection->protocol, connection->listener, connection->fd.release());
  }
}

void Listener::Prove(std::string_view peer) {
  const int port = ParseNumber<int>(peer.substr(peer.rfind(':') + 1)).value_or(0);
  const std::lock_guard lock(mutex_);
  // Several hosts may use the same port. It is better to count one connection too many as proven
  // than to close an agent's connection.
  std::erase_if(unproven_, [&](const Unproven& connection) {
    return connection.copy && connection.port == port;
  });
}

}  // namespace rollcall::service
