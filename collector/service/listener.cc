#include "collector/service/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
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

namespace rollcall::service {
namespace {

// RFC 9113, 3.4: every client sends this first.
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// RFC 8446, 5.1: a record of a TLS handshake begins with this. A ClientHello is longer than
// kPreface.
constexpr std::string_view kHandshake = "\x16\x03";
constexpr int64_t kSilenceNs = 5'000'000'000;
// Reserved for files that the collector opens: bundles, binaries, the journal.
constexpr uint64_t kReservedDescriptors = 32;
constexpr int kRetryMs = 100;

void SetOption(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof(value));
}

int PortOf(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
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

bool SameAddress(const addrinfo& a, const addrinfo& b) {
  return a.ai_addrlen == b.ai_addrlen && memcmp(a.ai_addr, b.ai_addr, a.ai_addrlen) == 0;
}

}  // namespace

Listener::~Listener() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

bool Listener::Open(const std::string& address, std::string* problem) {
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
      port_ = PortOf(fd.get());
      sockets_.push_back(std::move(fd));
      continue;
    }
    why = strerror(errno);
    // The address family is disabled. Any other failure is an error: a program that listens on the
    // address already would receive the agents' token.
    if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) continue;
    sockets_.clear();
    break;
  }
  stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!sockets_.empty() && stop_) return true;
  *problem = fmt::format("cannot listen on {}: {}", address, why);
  return false;
}

void Listener::Start(HandOver hand_over) {
  hand_over_ = std::move(hand_over);
  thread_ = std::thread([this] { Run(); });
}

int Listener::TimeoutMs() const {
  if (silent_.empty()) return -1;
  const int64_t left_ns = silent_.front().until_ns - Now(CLOCK_MONOTONIC);
  return static_cast<int>(std::max<int64_t>(0, left_ns) / 1'000'000) + 1;
}

void Listener::Run() {
  std::vector<pollfd> entries;
  for (;;) {
    entries.assign({{stop_.get(), POLLIN, 0}});
    for (const UniqueFd& socket : sockets_) entries.push_back({socket.get(), POLLIN, 0});
    for (const Silent& connection : silent_) entries.push_back({connection.fd.get(), POLLIN, 0});
    poll(entries.data(), entries.size(), TimeoutMs());
    if (entries[0].revents != 0) return;
    for (size_t i = 0; i < silent_.size(); ++i) {
      if (entries[1 + sockets_.size() + i].revents != 0) HandOverOnFirstByte(&silent_[i]);
    }
    const int64_t now = Now(CLOCK_MONOTONIC);
    std::erase_if(silent_, [&](const Silent& connection) {
      return !connection.fd || connection.until_ns <= now;
    });
    for (size_t i = 0; i < sockets_.size(); ++i) {
      if (entries[1 + i].revents != 0) Accept(sockets_[i].get());
    }
  }
}

void Listener::Accept(int listener) {
  for (;;) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);  // `rollcall run` changes it
    UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool none_left = !fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
    if (!fd && !none_left) return;
    // A new descriptor has the lowest free number.
    const bool few_left =
        none_left || static_cast<uint64_t>(fd.get()) + kReservedDescriptors >= files.rlim_cur;
    bool made_room = false;
    if (!silent_.empty() && (few_left || silent_.size() >= kMaxSilent)) {
      made_room = !HandOverOnFirstByte(&silent_.front());
      silent_.pop_front();
    }
    // Moves the connection to the descriptor that was freed. Otherwise the next connection would
    // get that number and hide that few are left.
    if (few_left && made_room && fd) fd = UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (few_left && !made_room) {
      NoteLimitOnce(files.rlim_cur);
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
      "more agents cannot connect: no free descriptors (limit {}); raise it: ulimit -n", limit));
}

bool Listener::HandOverOnFirstByte(Silent* connection) {
  char bytes[kPreface.size()];
  const ssize_t n = recv(connection->fd.get(), bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
  UniqueFd fd = std::move(connection->fd);
  if (n != ssize_t{sizeof(bytes)}) return false;
  const std::string_view spoken(bytes, sizeof(bytes));
  const bool tls = spoken.starts_with(kHandshake);
  // Over plain text, no agent on another machine sends its token, and none is accepted.
  if (!tls && (spoken != kPreface || !IsFromLoopback(fd.get()))) return false;
  SetOption(fd.get(), SOL_SOCKET, SO_RCVLOWAT, 1);
  hand_over_(tls ? Protocol::kTls : Protocol::kPlainText, connection->listener, fd.release());
  return true;
}

}  // namespace rollcall::service
