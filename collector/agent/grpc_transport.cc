// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/grpc_transport.h"

#include <grpcpp/grpcpp.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "collector/base/address.h"
#include "collector/base/file.h"
#include "collector/base/text.h"
#include "collector/rpc/channel.h"
#include "collector/rpc/protocol.h"
#include "collector/rpc/secret.h"
#include "collector/rpc/tls.h"
#include "proto/collector.grpc.pb.h"

namespace rollcall::agent {
namespace {

// Bulk data waits while kRoomBytes are queued. If kMaxBytes are queued, the collector receives
// nothing: it is disconnected, and is sent everything again after reconnecting.
constexpr size_t kRoomBytes = 8 << 20;
constexpr size_t kMaxBytes = 64 << 20;
// Memory that a queued message takes besides its content: many small messages must not fill the
// memory.
constexpr size_t kMessageBytes = 256;
// Limit for messages of the collector that wait to be handled; its requests are small.
constexpr size_t kMaxReceived = 1024;
constexpr auto kLinger = std::chrono::seconds(1);
constexpr auto kFirstRetry = std::chrono::milliseconds(100);
// A restarted collector must soon know all ranks: the job may hang meanwhile.
constexpr auto kLastRetry = std::chrono::milliseconds(500);
constexpr auto kRefusedRetry = std::chrono::seconds(5);
constexpr size_t kMaxReasonBytes = 256;
constexpr auto kCheckTimeout = std::chrono::seconds(5);

class GrpcTransport : public Transport {
 public:
  GrpcTransport(const std::string& address, std::string token,
                std::function<void(const std::string&)> on_refused)
      : token_(std::move(token)),
        on_refused_(std::move(on_refused)),
        // Without credentials every call fails.
        collector_(StubOf(address, rpc::AgentCredentials(address, token_))) {
    thread_ = std::thread([this] { ConnectLoop(); });
  }

  ~GrpcTransport() override {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kLinger, [this] { return queue_.empty() || connection_ == 0; });
      stop_ = true;
      if (call_ != nullptr) call_->Cancel();
    }
    changed_.notify_all();
    thread_.join();
  }

  uint64_t connection() const override {
    const std::lock_guard lock(mutex_);
    return connection_;
  }

  void Send(uint64_t connection, rpc::AgentMessage message) override {
    const std::lock_guard lock(mutex_);
    if (connection == 0 || connection != connection_ || call_ == nullptr) return;
    if (message.has_hello()) message.mutable_hello()->set_keeps_direct(keeps_direct_);
    queued_bytes_ += QueuedBytes(message);
    queue_.push_back(std::move(message));
    if (queued_bytes_ > kMaxBytes) {
      call_->Cancel();
    } else {
      call_->WriteNext();
    }
  }

  bool HasRoom() const override {
    const std::lock_guard lock(mutex_);
    return queued_bytes_ < kRoomBytes;
  }

  std::vector<rpc::CollectorMessage> Receive() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(received_, {});
  }

  int wake_fd() const override { return wake_.get(); }

 private:
  // One Attach call. All of its state is guarded by the transport's mutex; gRPC calls the On…
  // methods from its own threads, and the Start… methods may be called with the mutex held: they
  // never call back on the same stack (gRPC L67, "C++ callback-based asynchronous API").
  //
  // Send() starts writes from outside of the On… methods. gRPC ends a call as soon as none of its
  // operations is outstanding. A hold therefore keeps the call until its last read, and no write is
  // started after that read (grpcpp/support/client_callback.h, ClientBidiReactor::AddHold).
  class Call : public grpc::ClientBidiReactor<rpc::AgentMessage, rpc::CollectorMessage> {
   public:
    explicit Call(GrpcTransport* owner) : owner_(owner) {
      context_.AddMetadata(rpc::kTokenKey, owner->token_);
    }

    void Start(rpc::Collector::Stub* stub) {
      stub->async()->Attach(&context_, this);
      AddHold();
      StartRead(&incoming_);
      StartCall();
    }

    void Cancel() { context_.TryCancel(); }

    // Mutex held.
    void WriteNext() {
      if (writing_ || !open_ || owner_->queue_.empty()) return;
      writing_ = true;
      outgoing_ = std::move(owner_->queue_.front());
      owner_->queue_.pop_front();
      StartWrite(&outgoing_);
    }

    void OnReadInitialMetadataDone(bool ok) override {
      if (!ok) return;
      const std::lock_guard lock(owner_->mutex_);
      owner_->queue_.clear();
      owner_->queued_bytes_ = 0;
      owner_->connection_ = ++owner_->connections_;
      owner_->wake_.Wake();
    }

    void OnReadDone(bool ok) override {
      {
        const std::lock_guard lock(owner_->mutex_);
        if (ok && incoming_.has_parent()) owner_->parent_ = incoming_.parent().address();
        if (!ok || incoming_.has_parent() || owner_->received_.size() >= kMaxReceived) {
          if (ok) Cancel();
          open_ = false;
          RemoveHold();
          return;
        }
        owner_->received_.push_back(std::move(incoming_));
        incoming_.Clear();
        owner_->wake_.Wake();
      }
      StartRead(&incoming_);
    }

    void OnWriteDone(bool ok) override {
      const std::lock_guard lock(owner_->mutex_);
      writing_ = false;
      owner_->queued_bytes_ -= std::min(owner_->queued_bytes_, QueuedBytes(outgoing_));
      if (ok) WriteNext();
      if (owner_->queue_.empty()) owner_->changed_.notify_all();
      owner_->wake_.Wake();
    }

    void OnDone(const grpc::Status& status) override {
      const std::lock_guard lock(owner_->mutex_);
      done_ = true;
      // rollcall's collector refuses with these status codes. gRPC itself uses other codes for
      // connections that fail.
      const bool refused = status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
                           status.error_code() == grpc::StatusCode::FAILED_PRECONDITION ||
                           status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
      if (refused) refusal_ = CleanText(status.error_message(), kMaxReasonBytes);
      if (rpc::IsOfAnotherToken(status)) refusal_ = rpc::kWrongToken;
      owner_->connection_ = 0;
      owner_->changed_.notify_all();
      owner_->wake_.Wake();
    }

    // Mutex held.
    bool done() const { return done_; }
    const std::string& refusal() const { return refusal_; }  // empty: it was not refused

   private:
    GrpcTransport* const owner_;
    grpc::ClientContext context_;
    rpc::CollectorMessage incoming_;
    rpc::AgentMessage outgoing_;
    bool open_ = true;  // it is held, and writes may be started
    bool writing_ = false;
    bool done_ = false;
    std::string refusal_;
  };

  static std::unique_ptr<rpc::Collector::Stub> StubOf(
      const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments = rpc::DirectConnection();
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastRetry / std::chrono::milliseconds(1));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
    return rpc::Collector::NewStub(grpc::CreateCustomChannel(address, credentials, arguments));
  }

  static size_t QueuedBytes(const rpc::AgentMessage& message) {
    return kMessageBytes + message.ByteSizeLong();
  }

  void ConnectLoop() {
    std::chrono::milliseconds retry = kFirstRetry;
    std::string reported;
    std::unique_lock lock(mutex_);
    while (!stop_) {
      auto call = std::make_unique<Call>(this);
      call_ = call.get();
      const uint64_t before = connections_;
      const std::string parent = std::exchange(parent_, {});
      lock.unlock();
      // Uses TLS on loopback, too: the address may be a loopback address of another machine.
      const auto aggregator =
          parent.empty() ? nullptr : StubOf(parent, rpc::TlsCredentials(token_));
      call->Start((parent.empty() ? collector_ : aggregator).get());
      lock.lock();
      if (stop_) call->Cancel();  // the stop may have come before there was a call to cancel
      changed_.wait(lock, [&] { return call->done(); });
      call_ = nullptr;
      queue_.clear();
      queued_bytes_ = 0;
      // Requests belong to one connection, so they are dropped; a shutdown is kept because it is
      // often the last message before the connection closes.
      std::erase_if(received_, [](const auto& message) { return !message.has_shutdown(); });
      const bool was_connected = connections_ != before;
      const std::string refusal = call->refusal();
      // OnDone is gRPC's last access to the reactor. It has released the mutex by now, because the
      // mutex is held here. The reactor can be destroyed.
      call.reset();
      if (!parent_.empty()) continue;
      if (!parent.empty()) {
        // Reconnects to the collector. The collector selects another aggregator if this one had
        // been reached.
        keeps_direct_ = keeps_direct_ || !was_connected;
        retry = kFirstRetry;
      } else if (!refusal.empty()) {
        retry = kRefusedRetry;
        if (on_refused_ && refusal != reported) on_refused_(refusal);
        reported = refusal;
      } else {
        retry = was_connected ? kFirstRetry : std::min(retry * 2, kLastRetry);
      }
      changed_.wait_for(lock, retry, [this] { return stop_; });
    }
  }

  const std::string token_;
  const std::function<void(const std::string&)> on_refused_;
  const WakeFd wake_;
  const std::unique_ptr<rpc::Collector::Stub> collector_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  Call* call_ = nullptr;
  uint64_t connection_ = 0;
  uint64_t connections_ = 0;
  std::deque<rpc::AgentMessage> queue_;
  size_t queued_bytes_ = 0;
  std::vector<rpc::CollectorMessage> received_;
  std::string parent_;         // address of the aggregator to connect to next; empty: the collector
  bool keeps_direct_ = false;  // an aggregator could not be reached
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Transport> ConnectToCollector(const std::string& address, const std::string& token,
                                              std::function<void(const std::string&)> on_refused) {
  return std::make_unique<GrpcTransport>(address, token, std::move(on_refused));
}

CollectorCheck CheckCollector(const std::string& address, const std::string& token) {
  using Result = CollectorCheck::Result;
  addrinfo* list = nullptr;
  if (const int failed = getaddrinfo(SplitAddress(address).host.c_str(), nullptr, nullptr, &list);
      failed != 0) {
    return {Result::kUnknownName, gai_strerror(failed)};
  }
  freeaddrinfo(list);
  const auto stub = rpc::Collector::NewStub(grpc::CreateCustomChannel(
      address, rpc::AgentCredentials(address, token), rpc::DirectConnection()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCheckTimeout);
  context.AddMetadata(rpc::kTokenKey, token);
  rpc::CheckRequest request;
  request.set_protocol(rpc::kProtocol);
  rpc::CheckReply reply;
  const grpc::Status status = stub->Check(&context, request, &reply);
  if (rpc::IsOfAnotherToken(status)) return {Result::kWrongToken, rpc::kWrongToken};
  const std::string reason = CleanText(status.error_message(), kMaxReasonBytes);
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return {};
    case grpc::StatusCode::UNAUTHENTICATED:
      return {Result::kWrongToken, reason};
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::UNIMPLEMENTED:  // a collector from before this call existed
      return {Result::kRefuses, reason};
    default:
      return {Result::kUnreachable, reason};
  }
}

}  // namespace rollcall::agent
