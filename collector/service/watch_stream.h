// SPDX-License-Identifier: Apache-2.0
// The stream of states to one watcher.
#ifndef ROLLCALL_COLLECTOR_SERVICE_WATCH_STREAM_H_
#define ROLLCALL_COLLECTOR_SERVICE_WATCH_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>

#include "collector/service/watch_link.h"

namespace rollcall::service {

// Thread-safe. gRPC's part, the reactor, ends with OnDone; the handler may keep the link for
// longer.
class WatchStream : public WatchLink, public std::enable_shared_from_this<WatchStream> {
 public:
  using Reactor = grpc::ServerWriteReactor<rpc::WatchState>;

  // Call once. gRPC owns the result.
  Reactor* Start();
  void Send(std::shared_ptr<const rpc::WatchState> state) override;
  bool closed() override;
  // Everything has been sent, or can no longer be sent.
  bool Flushed();
  void Close(const grpc::Status& status);

 private:
  class CallReactor;

  void OnWrite(bool ok);
  void OnDone();
  void WriteNext();  // mutex held

  std::mutex mutex_;
  Reactor* reactor_ = nullptr;                      // from Start() to OnDone()
  std::shared_ptr<const rpc::WatchState> writing_;  // null: nothing is being written
  std::shared_ptr<const rpc::WatchState> next_;
  bool closing_ = false;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_WATCH_STREAM_H_
