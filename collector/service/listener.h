// SPDX-License-Identifier: Apache-2.0
// Accepts connections for gRPC, and limits the cost of connections without the token.
#ifndef ROLLCALL_COLLECTOR_SERVICE_LISTENER_H_
#define ROLLCALL_COLLECTOR_SERVICE_LISTENER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collector/base/file.h"
#include "collector/base/result.h"

namespace rollcall::service {

// gRPC's own listener (1.51) stops for good when accept(2) finds no free descriptor, so a client
// that opens enough connections would lock out all agents. This listener hands a connection over to
// gRPC only after the connection has sent the first bytes of TLS or, from this machine, of HTTP/2.
// A connection that has not sent them is *silent*. There are at most kMaxSilent silent connections;
// the oldest one is closed to make room for a new one. Some descriptors are always reserved for the
// rest of the process.
//
// A connection is *unproven* from the handover until Prove(). gRPC has at most kMaxUnproven
// unproven connections of each protocol; further connections wait. An unproven connection that
// ends, sends much or takes long is closed, and its place stays empty for a while. All unproven
// connections together therefore cost a few percent of a core at most, however many there are.
class Listener {
 public:
  static constexpr size_t kMaxSilent = 512;
  static constexpr size_t kMaxUnproven = 64;
  enum class Protocol : uint8_t { kTls, kPlainText };
  // Takes the connection `fd`, which was accepted on the socket `listener`.
  using HandOver = std::function<void(Protocol protocol, int listener, int fd)>;

  Listener() = default;
  ~Listener() { Stop(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Listens on all addresses of HOST:PORT; port 0: any free one.
  Result<> Open(const std::string& address);
  int port() const { return port_; }
  // Accepts connections from now on, in its own thread.
  void Start(HandOver hand_over);
  // No HandOver is called after it.
  void Stop();
  // A call with the token has come from this address, "ipv4:127.0.0.1:1234". Thread-safe.
  void Prove(std::string_view peer);

 private:
  struct Silent {
    UniqueFd fd;
    int listener = -1;
    int64_t until_ns = 0;  // CLOCK_MONOTONIC
    bool waits = false;    // it has sent the first bytes
    Protocol protocol = Protocol::kPlainText;
  };
  // A connection that was handed over. gRPC owns its descriptor, and does not report when it closes
  // it.
  struct Unproven {
    UniqueFd copy;  // none: it was closed, and its place stays taken
    Protocol protocol = Protocol::kPlainText;
    int port = 0;          // of the other side
    int64_t since_ns = 0;  // CLOCK_MONOTONIC, as the next
    int64_t until_ns = 0;
    void Close(int64_t now_ns);
  };

  void Run();
  void Accept(int listener);
  // Closes the connection if it has sent nothing, or other bytes than TLS or HTTP/2 begin with;
  // otherwise the connection waits. When many agents connect at once, most connections have already
  // sent their first bytes: call this before a connection is closed as silent.
  static void CheckFirstBytes(Silent* connection);
  std::deque<Silent>::iterator OldestSilent();
  void HandOverReady(int64_t now_ns);
  bool HasPlace(Protocol protocol, int64_t now_ns);  // mutex held
  void NoteLimitOnce(uint64_t limit);
  int TimeoutMs();

  std::vector<UniqueFd> sockets_;
  int port_ = 0;
  WakeFd stop_;
  HandOver hand_over_;
  std::deque<Silent> silent_;  // the oldest first
  std::mutex mutex_;
  std::deque<Unproven> unproven_;  // the oldest first; guarded by mutex_
  bool limit_noted_ = false;
  std::thread thread_;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_LISTENER_H_
