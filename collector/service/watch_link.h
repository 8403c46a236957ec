// SPDX-License-Identifier: Apache-2.0
// The interface between the network and the code that serves `rollcall top`.
#ifndef ROLLCALL_COLLECTOR_SERVICE_WATCH_LINK_H_
#define ROLLCALL_COLLECTOR_SERVICE_WATCH_LINK_H_

#include <functional>
#include <memory>

#include "proto/collector.pb.h"

namespace rollcall::service {

// One watcher's connection. Methods may be called from any thread and do not block.
class WatchLink {
 public:
  virtual ~WatchLink() = default;
  // Sends a state. If a state has not been sent when the next one is given, it is left out.
  virtual void Send(std::shared_ptr<const rpc::WatchState> state) = 0;
  virtual bool closed() = 0;
};

// The network calls it from any thread; its methods must be brief.
class WatchHandler {
 public:
  using OnAnswer = std::function<void(rpc::Answer)>;

  virtual ~WatchHandler() = default;
  // The handler keeps the link until it is closed.
  virtual void Watch(std::shared_ptr<WatchLink> link) = 0;
  // `on_answer` is called exactly once, from any thread.
  virtual void Ask(rpc::Question question, OnAnswer on_answer) = 0;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_WATCH_LINK_H_
