// Accepts connections for gRPC and limits the number of silent ones.
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

// gRPC's own listener (1.51) stops for good when accept(2) finds no free descriptor: a client that
// opens enough connections would lock out all agents. Here a connection is handed over once it has
// sent the first bytes of TLS or, from this machine, of HTTP/2. At most kMaxSilent connections
// have not; the oldest of them is closed for another one. Some descriptors are always reserved for
// the rest of the process.
class Listener {
 public:
  static constexpr size_t kMaxSilent = 512;
  enum class Protocol : uint8_t { kTls, kPlainText };
  // Takes the connection `fd`, which was accepted on the socket `listener`.
  using HandOver = std::function<void(Protocol protocol, int listener, int fd)>;

  Listener() = default;
  ~Listener();  // no HandOver is called after it
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Listens on all addresses of HOST:PORT; port 0: any free one. Returns false with the reason on
  // failure.
  bool Open(const std::string& address, std::string* problem);
  int port() const { return port_; }
  // Accepts connections from now on, in its own thread.
  void Start(HandOver hand_over);

 private:
  struct Silent {
    UniqueFd fd;
    int listener = -1;
    int64_t until_ns = 0;  // CLOCK_MONOTONIC
  };

  void Run();
  void Accept(int listener);
  // Returns false if the connection has sent nothing, or something else; it is then closed. When
  // many agents connect at once, most have sent something: check before closing one.
  bool HandOverOnFirstByte(Silent* connection);
  void NoteLimitOnce(uint64_t limit);
  int TimeoutMs() const;

  std::vector<UniqueFd> sockets_;
  int port_ = 0;
  UniqueFd stop_;  // an eventfd
  HandOver hand_over_;
  std::deque<Silent> silent_;  // the oldest first
  bool limit_noted_ = false;
  std::thread thread_;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_LISTENER_H_
