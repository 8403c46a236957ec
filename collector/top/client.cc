// SPDX-License-Identifier: Apache-2.0
#include "collector/top/client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "collector/base/file.h"
#include "collector/base/text.h"
#include "collector/rpc/channel.h"
#include "collector/rpc/protocol.h"
#include "collector/rpc/secret.h"
#include "collector/rpc/tls.h"
#include "proto/collector.grpc.pb.h"

namespace rollcall::top {
namespace {

constexpr auto kAnswerTimeout = std::chrono::seconds(60);
constexpr size_t kMaxReasonBytes = 256;

class GrpcClient : public Client {
 public:
  GrpcClient(const std::string& address, std::string token)
      : token_(std::move(token)),
        stub_(rpc::Collector::NewStub(grpc::CreateCustomChannel(
            address, rpc::AgentCredentials(address, token_), rpc::DirectConnection()))) {
    watching_.AddMetadata(rpc::kTokenKey, token_);
    reader_ = std::thread([this] { Read(); });
  }

  ~GrpcClient() override {
    watching_.TryCancel();
    reader_.join();
    if (asking_ != nullptr) asking_->TryCancel();
    if (asker_.joinable()) asker_.join();
  }

  int fd() const override { return wake_.get(); }

  News Take() override {
    if (!wake_.Clear()) return {};  // nothing has come
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
  }

  bool Ask(const rpc::Question& question) override {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(waiting_, true)) return false;
    }
    if (asker_.joinable()) asker_.join();  // it has answered, and is about to end
    asking_ = std::make_unique<grpc::ClientContext>();
    asking_->AddMetadata(rpc::kTokenKey, token_);
    asking_->set_deadline(std::chrono::system_clock::now() + kAnswerTimeout);
    asker_ = std::thread([this, question] {
      rpc::Question sent = question;
      sent.set_protocol(rpc::kProtocol);
      rpc::Answer answer;
      const grpc::Status status = stub_->Ask(asking_.get(), sent, &answer);
      const std::lock_guard lock(mutex_);
      news_.answer = status.ok() ? answer.text() : "no answer: " + ReasonOf(status);
      waiting_ = false;
      wake_.Wake();
    });
    return true;
  }

 private:
  static std::string ReasonOf(const grpc::Status& status) {
    if (rpc::IsOfAnotherToken(status)) return rpc::kWrongToken;
    if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
      return "the collector is of an older version";
    }
    return CleanText(status.error_message(), kMaxReasonBytes);
  }

  void Read() {
    rpc::WatchRequest request;
    request.set_protocol(rpc::kProtocol);
    const auto stream = stub_->Watch(&watching_, request);
    for (rpc::WatchState state; stream->Read(&state);) {
      const std::lock_guard lock(mutex_);
      news_.state = std::move(state);
      wake_.Wake();
    }
    const grpc::Status status = stream->Finish();
    const std::lock_guard lock(mutex_);
    news_.failure = status.ok() ? "the collector has stopped" : ReasonOf(status);
    wake_.Wake();
  }

  const std::string token_;
  const WakeFd wake_;
  const std::unique_ptr<rpc::Collector::Stub> stub_;
  grpc::ClientContext watching_;
  std::unique_ptr<grpc::ClientContext> asking_;  // of asker_
  std::mutex mutex_;
  News news_;             // guarded by mutex_
  bool waiting_ = false;  // for an answer; likewise
  std::thread asker_;
  std::thread reader_;
};

}  // namespace

std::unique_ptr<Client> Connect(const std::string& address, const std::string& token) {
  return std::make_unique<GrpcClient>(address, token);
}

}  // namespace rollcall::top
