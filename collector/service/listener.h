// Accepts connections for gRPC, and keeps those that say nothing few.
#ifndef ROLLCALL_COLLECTOR_SERVICE_LISTENER_H_
#define ROLLCALL_COLLECTOR_SERVICE_LISTENER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collector/base/file.h"

namespace rollcall::service {

// gRPC's own listener (1.51) stops for good when accept(2) finds no free descriptor: whoever opened
// enough connections would keep all agents out. Here a connection is handed over when it has sent
// the first bytes of TLS or, from this machine, of HTTP/2, at most kMostSilent have not, the oldest
// of them makes room for another, and some descriptors are always left to the rest of the process.
class Listener {
 public:
  static constexpr size_t kMostSilent = 512;
  enum class Protocol : uint8_t { kTls, kPlainText };
  // Takes the connection `fd`, which came by the socket `listener`.
  using HandOver = std::function<void(Protocol protocol, int listener, int fd)>;

  Listener() = default;
  ~Listener();  // no HandOver is called from then on
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Listens on all addresses of HOST:PORT; port 0: any free one. False and why if it cannot.
  bool Open(const std::string& address, std::string* problem);
  int port() const { return port_; }
  // Accepts from now on, in a thread of its own.
  void Start(HandOver hand_over);

 private:
  struct Silent {
    UniqueFd fd;
    int listener = -1;
    int64_t until_ns = 0;  // CLOCK_MONOTONIC
  };

  void Run();
  void Accept(int listener);
  // False if it has not, or something else: it is closed. Of many agents that come at once most
  // have, so ask before closing one.
  bool HandOverIfSpoken(Silent* connection);
  void TellOnce(uint64_t limit);
  int TimeoutMs() const;

  std::vector<UniqueFd> sockets_;
  int port_ = 0;
  UniqueFd stop_;  // an eventfd
  HandOver hand_over_;
  std::deque<Silent> silent_;  // the oldest first
  bool told_ = false;
  std::thread thread_;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_LISTENER_H_
