// SPDX-License-Identifier: Apache-2.0
// A small HTTP server for the collector's pages: texts made by functions, under fixed paths. Only
// server.cc includes libevent.
#ifndef ROLLCALL_COLLECTOR_HTTP_SERVER_H_
#define ROLLCALL_COLLECTOR_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collector/base/result.h"

namespace rollcall::http {

struct Page {
  std::string path;  // "/metrics"
  std::string type;  // Content-Type
  // Called on the server's thread. Must return soon.
  std::function<std::string()> text;
};

// Serves until it is destroyed. Every client that can connect to the port may read: there is no
// token and no encryption.
class Server {
 public:
  virtual ~Server() = default;
  virtual int port() const = 0;
};

// An error if `address` (HOST:PORT; port 0 takes any free one) is malformed or cannot be bound.
Result<std::unique_ptr<Server>> Serve(const std::string& address, const std::vector<Page>& pages);

}  // namespace rollcall::http

#endif  // ROLLCALL_COLLECTOR_HTTP_SERVER_H_
