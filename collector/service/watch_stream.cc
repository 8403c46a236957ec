// SPDX-License-Identifier: Apache-2.0
#include "collector/service/watch_stream.h"

#include <utility>

namespace rollcall::service {

class WatchStream::CallReactor : public WatchStream::Reactor {
 public:
  explicit CallReactor(std::shared_ptr<WatchStream> stream) : stream_(std::move(stream)) {}
  void OnWriteDone(bool ok) override { stream_->OnWrite(ok); }
  void OnCancel() override { stream_->Close(grpc::Status::CANCELLED); }
  void OnDone() override {
    stream_->OnDone();
    delete this;
  }

 private:
  const std::shared_ptr<WatchStream> stream_;
};

WatchStream::Reactor* WatchStream::Start() {
  const std::lock_guard lock(mutex_);
  reactor_ = new CallReactor(shared_from_this());
  if (closing_) {
    reactor_->Finish(grpc::Status::CANCELLED);
    return reactor_;
  }
  reactor_->StartSendInitialMetadata();  // the watcher takes it as the sign that it is connected
  WriteNext();
  return reactor_;
}

void WatchStream::Send(std::shared_ptr<const rpc::WatchState> state) {
  const std::lock_guard lock(mutex_);
  next_ = std::move(state);
  WriteNext();
}

bool WatchStream::closed() {
  const std::lock_guard lock(mutex_);
  return closing_;
}

bool WatchStream::Flushed() {
  const std::lock_guard lock(mutex_);
  return closing_ || (writing_ == nullptr && next_ == nullptr);
}

// The mutex prevents a write from being started after Finish(): from then on, gRPC may end the
// call, and with it the reactor, at any time.
void WatchStream::Close(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(closing_, true)) return;
  if (reactor_ != nullptr) reactor_->Finish(status);
}

void WatchStream::OnWrite(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = nullptr;
  if (ok) WriteNext();
}

void WatchStream::OnDone() {
  const std::lock_guard lock(mutex_);
  closing_ = true;
  reactor_ = nullptr;
  writing_ = next_ = nullptr;
}

void WatchStream::WriteNext() {
  if (reactor_ == nullptr || closing_ || writing_ != nullptr || next_ == nullptr) return;
  writing_ = std::exchange(next_, nullptr);
  reactor_->StartWrite(writing_.get());
}

}  // namespace rollcall::service
