// SPDX-License-Identifier: Apache-2.0
#include "collector/service/grpc_server.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "collector/base/assert.h"
#include "collector/rpc/secret.h"
#include "collector/rpc/tls.h"
#include "collector/service/agent_table.h"
#include "collector/service/listener.h"
#include "collector/service/relayed_agents.h"
#include "collector/service/watch_stream.h"
#include "proto/collector.grpc.pb.h"

namespace rollcall::service {
namespace {

// Requests queued for an agent that does not read them.
constexpr size_t kMaxQueued = 4096;
constexpr size_t kMaxAgents = 16384;
// A connection that has not completed its gRPC handshake after this time is closed, because any
// user can open one.
constexpr int kHandshakeMs = 5000;
// A connection without a call is closed after this time. An agent always has a call.
constexpr int kIdleMs = 10000;
// How long the last requests may take to be sent before the server stops.
constexpr auto kFlushTimeout = std::chrono::seconds(1);
constexpr auto kFlushTick = std::chrono::milliseconds(5);

class Server;

// One agent's stream. Lives as long as gRPC or the handler needs it: gRPC's part ends with OnDone,
// and the handler holds the stream through AgentLink.
class Session : public AgentLink, public std::enable_shared_from_this<Session> {
 public:
  Session(Server* server, int max_unread) : server_(server), max_unread_(max_unread) {}

  // Called by gRPC; deletes itself in OnDone.
  class Reactor : public grpc::ServerBidiReactor<rpc::AgentMessage, rpc::CollectorMessage> {
   public:
    explicit Reactor(std::shared_ptr<Session> session) : session_(std::move(session)) {}
    void OnReadDone(bool ok) override { session_->OnRead(ok); }
    void OnWriteDone(bool ok) override { session_->OnWrite(ok); }
    void OnCancel() override { session_->Close(grpc::Status::CANCELLED); }
    void OnDone() override {
      session_->OnDone();
      delete this;
    }

   private:
    const std::shared_ptr<Session> session_;
  };

  void Start(AgentHandler* handler) {
    handler_ = handler;
    const std::lock_guard lock(mutex_);
    reactor_ = new Reactor(shared_from_this());
    if (closing_) return reactor_->Finish(grpc::Status::CANCELLED);
    number_ = handler_->Join(shared_from_this());
    // The agent takes the first bytes as the sign that it is connected.
    reactor_->StartSendInitialMetadata();
    reactor_->StartRead(&incoming_);
    WriteNext();
  }
  Reactor* reactor() const { return reactor_; }

  void Send(const rpc::CollectorMessage& message) override {
    const std::lock_guard lock(mutex_);
    if (closing_ || queue_.size() >= kMaxQueued) return;
    queue_.push_back(message);
    WriteNext();
  }

  void Consumed() override {
    const std::lock_guard lock(mutex_);
    ROLLCALL_ASSERT(unread_ > 0);
    --unread_;
    if (!reading_ && !closing_ && unread_ < max_unread_) {
      reading_ = true;
      reactor_->StartRead(&incoming_);
    }
  }

  void Refuse(const std::string& why) override {
    Close(grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, why));
  }

  // Everything has been sent, or can no longer be sent.
  bool Flushed() {
    const std::lock_guard lock(mutex_);
    return closing_ || queue_.empty();
  }

  void Close(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    closing_ = true;
    if (reactor_ != nullptr) reactor_->Finish(status);
  }

 private:
  void OnRead(bool ok) {
    if (!ok) {
      Close(grpc::Status::OK);
      return;
    }
    const std::lock_guard lock(mutex_);
    ++unread_;
    handler_->Message(number_, std::move(incoming_));
    incoming_.Clear();
    reading_ = !closing_ && unread_ < max_unread_;
    if (reading_) reactor_->StartRead(&incoming_);
  }

  void OnWrite(bool ok) {
    const std::lock_guard lock(mutex_);
    ROLLCALL_ASSERT(writing_ && !queue_.empty());
    writing_ = false;
    queue_.pop_front();
    if (ok) WriteNext();
  }

  void WriteNext() {  // mutex held
    if (reactor_ == nullptr || writing_ || closing_ || queue_.empty()) return;
    writing_ = true;
    reactor_->StartWrite(&queue_.front());
  }

  void OnDone();

  Server* const server_;
  const int max_unread_;
  AgentHandler* handler_ = nullptr;
  uint64_t number_ = 0;
  std::mutex mutex_;
  Reactor* reactor_ = nullptr;  // from Start to OnDone
  rpc::AgentMessage incoming_;
  std::deque<rpc::CollectorMessage> queue_;
  bool reading_ = true;
  bool writing_ = false;
  bool closing_ = false;
  int unread_ = 0;
};

template <typename Reactor>
class Refusing : public Reactor {
 public:
  explicit Refusing(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};
using AttachReactor = grpc::ServerBidiReactor<rpc::AgentMessage, rpc::CollectorMessage>;
using WatchReactor = grpc::ServerWriteReactor<rpc::WatchState>;

class Server : public CollectorServer, public rpc::Collector::CallbackService {
 public:
  Server(std::string token, AgentHandler* handler, const ServerLimits& limits,
         WatchHandler* watchers)
      : token_(std::move(token)), agents_(handler), watchers_(watchers), limits_(limits) {}

  ~Server() override {
    listener_->Stop();
    // An agent that misses the order to stop would keep running and keep its node's traces.
    const auto deadline = std::chrono::steady_clock::now() + kFlushTimeout;
    while (!Flushed() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kFlushTick);
    }
    {
      const std::lock_guard lock(mutex_);
      // OK: with another status, gRPC may drop messages that are still being sent.
      for (const auto& session : sessions_) session->Close(grpc::Status::OK);
      for (const auto& stream : streams_) stream->Close(grpc::Status::OK);
    }
    if (server_ != nullptr) {
      server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
      server_->Wait();
    }
  }

  Result<> Listen(const std::string& address) {
    Result<> opened = listener_->Open(address);
    if (!opened) return opened;
    const auto credentials = rpc::CollectorCredentials(token_);
    if (credentials == nullptr) return Error{"OpenSSL makes no certificate"};
    grpc::ServerBuilder builder;
    const auto accept = [&](const std::shared_ptr<grpc::ServerCredentials>& with) {
      using Experimental = grpc::ServerBuilder::experimental_type;
      return builder.experimental().AddExternalConnectionAcceptor(
          Experimental::ExternalConnectionType::FROM_FD, with);
    };
    tls_ = accept(credentials);
    plain_text_ = accept(grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    builder.SetMaxReceiveMessageSize(limits_.max_message_bytes);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return Error{"gRPC does not start"};
    listener_->Start([this](Listener::Protocol protocol, int listener, int fd) {
      Acceptor::NewConnectionParameters connection;
      connection.listener_fd = listener;
      connection.fd = fd;
      (protocol == Listener::Protocol::kTls ? tls_ : plain_text_)->HandleNewConnection(&connection);
    });
    return {};
  }

  AttachReactor* Attach(grpc::CallbackServerContext* context) override {
    if (!HasToken(*context)) return new Refusing<AttachReactor>(kNoToken);
    auto session = std::make_shared<Session>(this, limits_.max_unread);
    {
      const std::lock_guard lock(mutex_);
      if (sessions_.size() >= kMaxAgents) {
        return new Refusing<AttachReactor>(
            {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many agents"});
      }
      sessions_.insert(session);
    }
    session->Start(&agents_);
    return session->reactor();
  }

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const rpc::CheckRequest* request, rpc::CheckReply*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(Admission(*context, request->protocol()));
    return reactor;
  }

  WatchReactor* Watch(grpc::CallbackServerContext* context,
                      const rpc::WatchRequest* request) override {
    const grpc::Status status = WatcherAdmission(*context, request->protocol());
    if (!status.ok()) return new Refusing<WatchReactor>(status);
    const auto stream = std::make_shared<WatchStream>();
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(streams_, [](const auto& other) { return other->closed(); });
      streams_.push_back(stream);
    }
    WatchStream::Reactor* const reactor = stream->Start();
    watchers_->Watch(stream);
    return reactor;
  }

  grpc::ServerUnaryReactor* Ask(grpc::CallbackServerContext* context, const rpc::Question* question,
                                rpc::Answer* answer) override {
    const grpc::Status status = WatcherAdmission(*context, question->protocol());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    if (!status.ok()) {
      reactor->Finish(status);
      return reactor;
    }
    // gRPC keeps `answer` and the reactor until Finish(), even if the watcher has disconnected.
    watchers_->Ask(*question, [reactor, answer](rpc::Answer text) {
      *answer = std::move(text);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  int port() const override { return listener_->port(); }

  void ShutDownAgents(bool keep) override {
    rpc::CollectorMessage message;
    message.mutable_shutdown()->set_keep(keep);
    const std::lock_guard lock(mutex_);
    for (const auto& session : sessions_) session->Send(message);
  }

  void RemoveSession(const std::shared_ptr<Session>& session) {
    const std::lock_guard lock(mutex_);
    sessions_.erase(session);
  }

 private:
  bool HasToken(const grpc::CallbackServerContext& context) const {
    const auto& metadata = context.client_metadata();
    const auto token = metadata.find(rpc::kTokenKey);
    const bool has_it = token != metadata.end() &&
                        rpc::SameSecret({token->second.data(), token->second.size()}, token_);
    if (has_it) listener_->Prove(context.peer());
    return has_it;
  }

  grpc::Status Admission(const grpc::CallbackServerContext& context, uint32_t protocol) const {
    if (!HasToken(context)) return kNoToken;
    const std::string problem = ProtocolProblem(protocol);
    return problem.empty() ? grpc::Status::OK
                           : grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, problem);
  }

  grpc::Status WatcherAdmission(const grpc::CallbackServerContext& context,
                                uint32_t protocol) const {
    if (watchers_ == nullptr && HasToken(context)) {
      return {grpc::StatusCode::FAILED_PRECONDITION, "this is an aggregator, not the collector"};
    }
    return Admission(context, protocol);
  }

  bool Flushed() {
    const std::lock_guard lock(mutex_);
    const auto flushed = [](const auto& connection) { return connection->Flushed(); };
    return std::ranges::all_of(sessions_, flushed) && std::ranges::all_of(streams_, flushed);
  }

  const grpc::Status kNoToken{grpc::StatusCode::UNAUTHENTICATED, rpc::kWrongToken};
  const std::string token_;
  RelayedAgents agents_;
  WatchHandler* const watchers_;
  const ServerLimits limits_;
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
  std::unique_ptr<Acceptor> tls_;
  std::unique_ptr<Acceptor> plain_text_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_ = std::make_unique<Listener>();
  std::mutex mutex_;
  std::set<std::shared_ptr<Session>> sessions_;
  std::vector<std::shared_ptr<WatchStream>> streams_;
};

void Session::OnDone() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  handler_->Leave(number_);
  server_->RemoveSession(shared_from_this());
}

}  // namespace

Result<std::unique_ptr<CollectorServer>> Serve(const std::string& address, const std::string& token,
                                               AgentHandler* handler, const ServerLimits& limits,
                                               WatchHandler* watchers) {
  auto server = std::make_unique<Server>(token, handler, limits, watchers);
  if (token.size() < rpc::kMinTokenSize) {
    return Error{fmt::format("the token has fewer than {} characters", rpc::kMinTokenSize)};
  }
  const Result<> listens = server->Listen(address);
  if (!listens) return Error{listens.error()};
  return std::unique_ptr<CollectorServer>(std::move(server));
}

void SilenceGrpc() {
  gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace rollcall::service
