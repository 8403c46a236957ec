#include "collector/http/server.h"

#include <fmt/core.h>
#include <httplib.h>

#include <charconv>
#include <thread>

#include "collector/base/address.h"

namespace rollcall::http {
namespace {

// A monitoring system asks with one or two connections, and a person with a browser with six.
constexpr size_t kThreads = 2;
constexpr time_t kPatienceS = 5;
constexpr size_t kMostRequestBytes = 4096;

class HttplibServer : public Server {
 public:
  explicit HttplibServer(const std::vector<Page>& pages) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    // cpp-httplib's own choice lets two servers have one port.
    server_.set_socket_options([](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    });
    server_.set_read_timeout(kPatienceS);
    server_.set_write_timeout(kPatienceS);
    server_.set_payload_max_length(kMostRequestBytes);
    for (const Page& page : pages) {
      server_.Get(page.path, [page](const httplib::Request&, httplib::Response& response) {
        response.set_content(page.text(), page.type);
      });
    }
  }
  ~HttplibServer() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  bool Start(const std::string& host, int port) {
    port_ = port == 0 ? server_.bind_to_any_port(host) : port;
    if (port_ < 0 || (port != 0 && !server_.bind_to_port(host, port))) return false;
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();  // stop() would be lost before that
    return true;
  }
  int port() const override { return port_; }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Server> Serve(const std::string& address, const std::vector<Page>& pages,
                              std::string* problem) {
  const Address parts = SplitAddress(address);
  int port = -1;
  const char* end = parts.port.data() + parts.port.size();
  if (parts.host.empty() || std::from_chars(parts.port.data(), end, port).ptr != end || port < 0 ||
      port > 65535) {
    *problem = fmt::format("'{}' is not HOST:PORT", address);
    return nullptr;
  }
  auto server = std::make_unique<HttplibServer>(pages);
  if (!server->Start(parts.host, port)) {
    *problem = fmt::format("cannot listen on {}", address);
    return nullptr;
  }
  return server;
}

}  // namespace rollcall::http
