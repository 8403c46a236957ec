// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fmt/core.h>
#include <netinet/in.h>

#include <thread>

#include "collector/base/address.h"
#include "collector/base/file.h"
#include "collector/base/text.h"

namespace rollcall::http {
namespace {

constexpr int kTimeoutS = 5;
constexpr ev_ssize_t kMaxRequestBytes = 4096;

struct Free {
  void operator()(event_base* base) const { event_base_free(base); }
  void operator()(event* watch) const { event_free(watch); }
  void operator()(evhttp* server) const { evhttp_free(server); }
};

void Answer(evhttp_request* request, void* argument) {
  const auto& page = *static_cast<const Page*>(argument);
  const std::string text = page.text();
  evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", page.type.c_str());
  evbuffer_add(evhttp_request_get_output_buffer(request), text.data(), text.size());
  evhttp_send_reply(request, HTTP_OK, "OK", nullptr);
}

void StopLoop(evutil_socket_t, short, void* base) {
  event_base_loopbreak(static_cast<event_base*>(base));
}

// The port that a socket is bound to; 0: none.
int PortOf(evutil_socket_t socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

// Runs on its own thread; the destructor, called on another thread, stops it.
class EventServer : public Server {
 public:
  explicit EventServer(const std::vector<Page>& pages)
      : pages_(pages),
        base_(event_base_new()),
        server_(evhttp_new(base_.get())),
        stop_(event_new(base_.get(), stop_wish_.get(), EV_READ, &StopLoop, base_.get())) {
    event_add(stop_.get(), nullptr);
    evhttp_set_timeout(server_.get(), kTimeoutS);
    evhttp_set_max_headers_size(server_.get(), kMaxRequestBytes);
    evhttp_set_max_body_size(server_.get(), kMaxRequestBytes);
    evhttp_set_allowed_methods(server_.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    for (Page& page : pages_) evhttp_set_cb(server_.get(), page.path.c_str(), &Answer, &page);
  }
  ~EventServer() override {
    stop_wish_.Wake();
    if (thread_.joinable()) thread_.join();
  }

  bool Start(const std::string& host, uint16_t port) {
    evhttp_bound_socket* bound = evhttp_bind_socket_with_handle(server_.get(), host.c_str(), port);
    if (bound == nullptr) return false;
    port_ = PortOf(evhttp_bound_socket_get_fd(bound));
    thread_ = std::thread([this] { event_base_dispatch(base_.get()); });
    return true;
  }
  int port() const override { return port_; }

 private:
  std::vector<Page> pages_;
  const WakeFd stop_wish_;
  const std::unique_ptr<event_base, Free> base_;
  const std::unique_ptr<evhttp, Free> server_;
  const std::unique_ptr<event, Free> stop_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Server>> Serve(const std::string& address, const std::vector<Page>& pages) {
  const Address parts = SplitAddress(address);
  const auto port = ParseNumber<uint16_t>(parts.port);
  if (parts.host.empty() || !port) {
    return Error{fmt::format("'{}' is not HOST:PORT", address)};
  }
  auto server = std::make_unique<EventServer>(pages);
  if (!server->Start(parts.host, *port)) {
    return Error{fmt::format("cannot listen on {}", address)};
  }
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace rollcall::http
