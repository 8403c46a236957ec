// SPDX-License-Identifier: Apache-2.0
// The connection of `rollcall top` to a collector.
#ifndef ROLLCALL_COLLECTOR_TOP_CLIENT_H_
#define ROLLCALL_COLLECTOR_TOP_CLIENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "proto/collector.pb.h"

namespace rollcall::top {

// The data that has arrived since the last Take().
struct News {
  std::optional<rpc::WatchState> state;  // the newest
  std::optional<std::string> answer;     // text of the newest answer, or why there is none
  std::string failure;                   // why the states stopped without an end; empty: they come
};

// Reads states and answers on threads of its own. Not thread-safe otherwise.
class Client {
 public:
  virtual ~Client() = default;
  // Readable (a descriptor for poll) when there are news.
  virtual int fd() const = 0;
  virtual News Take() = 0;
  // Sends the question and returns true, unless another question waits for its answer.
  virtual bool Ask(const rpc::Question& question) = 0;
};

std::unique_ptr<Client> Connect(const std::string& address, const std::string& token);

}  // namespace rollcall::top

#endif  // ROLLCALL_COLLECTOR_TOP_CLIENT_H_
