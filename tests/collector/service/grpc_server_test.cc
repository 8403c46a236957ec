// SPDX-License-Identifier: Apache-2.0
// Which connections and messages the port accepts.
#include "collector/service/grpc_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collector/agent/grpc_transport.h"
#include "collector/base/file.h"
#include "collector/rpc/secret.h"
#include "collector/rpc/tls.h"
#include "collector/service/listener.h"
#include "collector/service/monitor.h"
#include "proto/collector.grpc.pb.h"

namespace rollcall::service {
namespace {

class GrpcServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // UBSan opens a pipe when it meets an object of a new type. It must do so now, because some
    // tests leave it no descriptors later.
    ASSERT_EQ(fmt::format("{:1000}", 0).size(), 1000U);  // fmt::basic_memory_buffer::grow()
    SilenceGrpc();
    server_ = Serve("127.0.0.1:0", kToken, &monitor_, {}, monitor_.watchers()).value_or(nullptr);
    ASSERT_NE(server_, nullptr);
    stub_ = Stub(rpc::AgentCredentials("127.0.0.1:1", kToken));
  }

  std::unique_ptr<rpc::Collector::Stub> Stub(
      const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(rpc::kTlsName);
    return rpc::Collector::NewStub(grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(server_->port()), credentials, arguments));
  }

  // Sends these messages, and returns how the call ended; OK if it was still open when this side
  // ended it.
  grpc::Status Talk(const std::string& token, const std::vector<rpc::AgentMessage>& messages) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    if (!token.empty()) context.AddMetadata(rpc::kTokenKey, token);
    const auto stream = stub_->Attach(&context);
    for (const rpc::AgentMessage& message : messages) {
      if (!stream->Write(message)) break;
    }
    stream->WritesDone();
    rpc::CollectorMessage message;
    while (stream->Read(&message)) {
    }
    return stream->Finish();
  }

  // Watches until this many states have come, and returns how the call ended.
  grpc::Status Watch(const std::string& token, uint32_t protocol, int states) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    context.AddMetadata(rpc::kTokenKey, token);
    rpc::WatchRequest request;
    request.set_protocol(protocol);
    const auto stream = stub_->Watch(&context, request);
    for (rpc::WatchState state; states > 0 && stream->Read(&state);) --states;
    if (states == 0) context.TryCancel();
    return stream->Finish();
  }
  std::pair<grpc::Status, std::string> Ask(const std::string& token) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    context.AddMetadata(rpc::kTokenKey, token);
    rpc::Question question;
    question.set_protocol(1);
    question.set_what(rpc::Question::CALLS);
    rpc::Answer answer;
    const grpc::Status status = stub_->Ask(&context, question, &answer);
    return {status, answer.text()};
  }

  static rpc::AgentMessage Hello(uint32_t protocol) {
    rpc::AgentMessage message;
    message.mutable_hello()->set_protocol(protocol);
    message.mutable_hello()->set_host("here");
    return message;
  }

  static constexpr char kToken[] = "0123456789abcdef";
  Monitor monitor_{MonitorOptions{}};
  std::unique_ptr<CollectorServer> server_;
  std::unique_ptr<rpc::Collector::Stub> stub_;
};

TEST_F(GrpcServerTest, AcceptsAgentWithToken) {
  EXPECT_EQ(Talk(kToken, {Hello(1)}).error_message(), "");
}

TEST_F(GrpcServerTest, RefusesAgentWithoutToken) {
  EXPECT_EQ(Talk("", {Hello(1)}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcServerTest, RefusesWrongToken) {
  EXPECT_EQ(Talk("0123456789abcdeX", {Hello(1)}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Talk("0123456789abcde", {Hello(1)}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcServerTest, ServesWatchersWithTokenAndVersion) {
  EXPECT_EQ(Watch(kToken, 1, 2).error_code(), grpc::StatusCode::CANCELLED);  // by this side
  EXPECT_EQ(Watch("0123456789abcdeX", 1, 1).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Watch(kToken, 99, 1).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(GrpcServerTest, AnswersQuestionsWithToken) {
  EXPECT_EQ(Ask(kToken).second, "there is no such rank\n");
  EXPECT_EQ(Ask("0123456789abcdeX").first.error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcServerTest, WatcherHearsTheEndBeforeTheServerStops) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  context.AddMetadata(rpc::kTokenKey, kToken);
  rpc::WatchRequest request;
  request.set_protocol(1);
  const auto stream = stub_->Watch(&context, request);
  rpc::WatchState state;
  ASSERT_TRUE(stream->Read(&state));
  EXPECT_EQ(state.end(), "");
  monitor_.Finish();
  const auto stopped = std::async(std::launch::async, [&] { server_.reset(); });
  while (stream->Read(&state)) {
  }
  EXPECT_EQ(state.end(), "the job ended");
  EXPECT_EQ(stream->Finish().error_message(), "");
}

// An aggregator has no state of the job.
TEST_F(GrpcServerTest, RefusesWatchersWithoutAHandler) {
  server_ = Serve("127.0.0.1:0", kToken, &monitor_).value_or(nullptr);
  ASSERT_NE(server_, nullptr);
  stub_ = Stub(rpc::AgentCredentials("127.0.0.1:1", kToken));
  EXPECT_EQ(Watch(kToken, 1, 1).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Ask(kToken).first.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

// An agent on another machine connects this way.
TEST_F(GrpcServerTest, AcceptsEncryptedConnectionWithToken) {
  stub_ = Stub(rpc::AgentCredentials("node1:1", kToken));
  EXPECT_EQ(Talk(kToken, {Hello(1)}).error_message(), "");
  EXPECT_EQ(Talk("", {Hello(1)}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcServerTest, EncryptedConnectionWithAnotherTokenFails) {
  stub_ = Stub(rpc::AgentCredentials("node1:1", "another token of a run"));
  const grpc::Status status = Talk(kToken, {Hello(1)});
  EXPECT_TRUE(rpc::IsOfAnotherToken(status)) << status.error_message();
}

// A client that accepts the collector's certificate but has none of its own.
TEST_F(GrpcServerTest, RefusesClientWithoutTheIdentity) {
  const auto identity = rpc::IdentityOf(kToken);
  ASSERT_TRUE(identity);
  stub_ = Stub(grpc::SslCredentials({identity->certificate, "", ""}));
  EXPECT_EQ(Talk(kToken, {Hello(1)}).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcServerTest, OversizedMessageEndsTheCall) {
  rpc::AgentMessage large;
  large.mutable_journal()->set_lines(std::string(5 << 20, 'x'));
  EXPECT_EQ(Talk(kToken, {Hello(1), large}).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Talk(kToken, {Hello(1)}).error_message(), "");
}

// The HTTP/2 preface and an empty SETTINGS frame.
constexpr char kGreeting[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";

// RFC 9113, 4.1.
std::string Frame(char type, char flags, uint32_t stream, const std::string& body) {
  std::string frame(9, '\0');
  frame[1] = static_cast<char>(body.size() >> 8);
  frame[2] = static_cast<char>(body.size());
  frame[3] = type;
  frame[4] = flags;
  for (int i = 0; i < 4; ++i)
    frame[5 + static_cast<size_t>(i)] = static_cast<char>(stream >> (24 - 8 * i));
  return frame + body;
}

// A call of Attach() with this token and no message, on a stream with an odd number.
std::string Call(const std::string& token, uint32_t stream) {
  const auto text = [](const std::string& word) { return static_cast<char>(word.size()) + word; };
  const auto field = [&](const std::string& name, const std::string& value) {
    return std::string(1, '\0') + text(name) + text(value);  // RFC 7541, 6.2.2
  };
  constexpr char kHeaders = 1;
  constexpr char kEndsStreamAndHeaders = 5;
  return Frame(kHeaders, kEndsStreamAndHeaders, stream,
               "\x83\x86" +  // :method POST, :scheme http
                   field(":path", "/rollcall.rpc.Collector/Attach") + field(":authority", "x") +
                   field("te", "trailers") + field("content-type", "application/grpc") +
                   field(rpc::kTokenKey, token));
}

void Connect(const UniqueFd& fd, int port, in_addr_t host = htonl(INADDR_LOOPBACK)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = host;
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
}

UniqueFd ConnectTo(int port, in_addr_t host = htonl(INADDR_LOOPBACK)) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Connect(fd, port, host);
  return fd;
}

// Reads until the other side has closed it; false if it stays open.
bool IsClosed(const UniqueFd& fd) {
  pollfd closed{fd.get(), POLLIN, 0};
  char bytes[256];
  do {
    if (poll(&closed, 1, 60'000) != 1) return false;
  } while (read(fd.get(), bytes, sizeof(bytes)) > 0);
  return true;
}

// Anyone who reaches the port can open connections and send nothing; each takes a descriptor.
TEST_F(GrpcServerTest, ClosesSilentConnection) {
  EXPECT_TRUE(IsClosed(ConnectTo(server_->port())));
}

TEST_F(GrpcServerTest, ClosesConnectionThatStartsNoCall) {
  const UniqueFd fd = ConnectTo(server_->port());
  ASSERT_EQ(write(fd.get(), kGreeting, sizeof(kGreeting)), ssize_t{sizeof(kGreeting)});
  EXPECT_TRUE(IsClosed(fd));
}

TEST_F(GrpcServerTest, ClosesConnectionOfAnotherProtocol) {
  const UniqueFd fd = ConnectTo(server_->port());
  constexpr char kRequest[] = "GET /index.html HTTP/1.1\r\n\r\n";
  ASSERT_EQ(write(fd.get(), kRequest, sizeof(kRequest)), ssize_t{sizeof(kRequest)});
  EXPECT_TRUE(IsClosed(fd));
}

// An address of this machine that is not of the loopback interface; 0: it has none.
in_addr_t OwnAddress() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return 0;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    const in_addr_t address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr.s_addr;
    if (ntohl(address) >> 24 != IN_LOOPBACKNET) return address;
  }
  return 0;
}

TEST_F(GrpcServerTest, DoesNotAnswerPlainTextFromAnotherMachine) {
  const in_addr_t address = OwnAddress();
  if (address == 0) GTEST_SKIP() << "this machine has no address but loopback";
  server_ = Serve("0.0.0.0:0", kToken, &monitor_).value_or(nullptr);
  ASSERT_NE(server_, nullptr);
  const UniqueFd fd = ConnectTo(server_->port(), address);
  ASSERT_EQ(write(fd.get(), kGreeting, sizeof(kGreeting)), ssize_t{sizeof(kGreeting)});
  char byte = 0;
  EXPECT_LE(read(fd.get(), &byte, 1), 0) << "it was answered";
}

// For example, 512 nodes start their agents at the same time.
TEST_F(GrpcServerTest, ServesAllOfManySimultaneousConnections) {
  const uint64_t before = RaiseFileLimit();
  std::vector<UniqueFd> agents;
  for (size_t i = 0; i < Listener::kMaxSilent + 100; ++i) {
    agents.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  SetFileLimit(4);  // none is accepted until all are there
  const std::string first = std::string(kGreeting, sizeof(kGreeting)) + Call(kToken, 1);
  for (const UniqueFd& fd : agents) {
    Connect(fd, server_->port());
    ASSERT_EQ(write(fd.get(), first.data(), first.size()), static_cast<ssize_t>(first.size()));
  }
  SetFileLimit(before);
  for (const UniqueFd& fd : agents) {
    char byte = 0;
    ASSERT_EQ(read(fd.get(), &byte, 1), 1) << "closed instead of hello_received";
  }
}

// The number of connections to `port` that this process has accepted.
size_t ConnectionsOf(int port) {
  size_t count = 0;
  for (int fd = 0; fd < 4096; ++fd) {
    sockaddr_in own{};
    sockaddr_in peer{};
    socklen_t size = sizeof(own);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
    size = sizeof(peer);
    const bool connected = getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
    if (connected && own.sin_family == AF_INET && ntohs(own.sin_port) == port) ++count;
  }
  return count;
}

TEST_F(GrpcServerTest, SilentConnectionsDoNotKeepAgentsOut) {
  RaiseFileLimit();
  std::vector<UniqueFd> silent;
  for (size_t i = 0; i < 2 * Listener::kMaxSilent; ++i) {
    silent.push_back(ConnectTo(server_->port()));
  }
  EXPECT_EQ(Talk(kToken, {Hello(1)}).error_message(), "");
  EXPECT_LE(ConnectionsOf(server_->port()), Listener::kMaxSilent + 1);
}

// Connections that begin HTTP/2 and then show no token.
class UnprovenConnections : public GrpcServerTest {
 protected:
  void Open(size_t count) {
    RaiseFileLimit();
    begin_ = Clock::now();
    for (size_t i = 0; i < count; ++i) {
      connections_.push_back(ConnectTo(server_->port()));
      ASSERT_EQ(write(connections_.back().get(), kGreeting, sizeof(kGreeting)),
                ssize_t{sizeof(kGreeting)});
    }
  }

  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
  std::vector<UniqueFd> connections_;
};

TEST_F(UnprovenConnections, FewAreServedAtATime) {
  Open(4 * Listener::kMaxUnproven);
  size_t answered = 0;
  while (!connections_.empty()) {
    std::vector<pollfd> entries;
    for (const UniqueFd& fd : connections_) entries.push_back({fd.get(), POLLIN, 0});
    ASSERT_GT(poll(entries.data(), entries.size(), 60'000), 0);
    for (size_t i = entries.size(); i-- > 0;) {
      if (entries[i].revents == 0) continue;
      ++answered;
      connections_.erase(connections_.begin() + static_cast<ptrdiff_t>(i));
    }
    const std::chrono::duration<double> took = Clock::now() - begin_;
    // A place is given to another connection after half a second.
    const double places = static_cast<double>(Listener::kMaxUnproven) * (1 + took.count() / 0.5);
    ASSERT_LE(static_cast<double>(answered), places);
  }
}

TEST_F(UnprovenConnections, DoNotKeepAgentsOut) {
  Open(4 * Listener::kMaxUnproven);
  EXPECT_EQ(Talk(kToken, {Hello(1)}).error_message(), "");
}

TEST_F(UnprovenConnections, AreClosedIfTheySendMuch) {
  Open(1);
  const int fd = connections_[0].get();
  const auto deadline = begin_ + std::chrono::seconds(5);
  bool open = true;
  for (uint32_t stream = 1; open && Clock::now() < deadline; stream += 2) {
    char answers[4096];
    const std::string call = Call("0123456789abcdeX", stream);
    open = send(fd, call.data(), call.size(), MSG_NOSIGNAL) > 0 &&
           recv(fd, answers, sizeof(answers), MSG_DONTWAIT) != 0;
  }
  EXPECT_FALSE(open);
  EXPECT_LT(Clock::now(), deadline);
}

TEST_F(UnprovenConnections, AreProvenByTheToken) {
  Open(1);
  const int fd = connections_[0].get();
  for (uint32_t stream = 1; stream < 2000; stream += 2) {
    char answers[4096];
    const std::string call = Call(kToken, stream);
    ASSERT_GT(send(fd, call.data(), call.size(), MSG_NOSIGNAL), 0);
    ASSERT_GT(recv(fd, answers, sizeof(answers), 0), 0);
  }
}

// gRPC's own listener would stop accepting forever.
TEST_F(GrpcServerTest, AcceptsConnectionsAgainOnceDescriptorsAreFree) {
  const UniqueFd waiting(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UniqueFd none_above(dup(waiting.get()));
  const uint64_t before = RaiseFileLimit();
  SetFileLimit(static_cast<uint64_t>(none_above.get()));
  Connect(waiting, server_->port());
  SetFileLimit(before);
  EXPECT_EQ(Talk(kToken, {Hello(1)}).error_message(), "");
}

// The collector itself needs some, for a bundle or for a binary's symbols.
TEST_F(GrpcServerTest, ConnectionsLeaveDescriptorsFree) {
  constexpr size_t kFree = 64;
  constexpr size_t kLeft = 32;
  std::vector<UniqueFd> clients;
  for (size_t i = 0; i < 2 * kFree; ++i) {
    clients.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  const uint64_t before = RaiseFileLimit();
  SetFileLimit(static_cast<uint64_t>(clients.back().get()) + 1 + kFree);
  for (const UniqueFd& fd : clients) Connect(fd, server_->port());
  ASSERT_EQ(write(clients.back().get(), kGreeting, sizeof(kGreeting)), ssize_t{sizeof(kGreeting)});
  char byte = 0;
  EXPECT_EQ(read(clients.back().get(), &byte, 1), 1);
  EXPECT_LE(ConnectionsOf(server_->port()), kFree - kLeft);
  SetFileLimit(before);
}

// `rollcall doctor --collector` makes this check.
TEST_F(GrpcServerTest, CheckTellsWhetherAnAgentWouldBeServed) {
  using Result = agent::CollectorCheck::Result;
  const std::string port = ":" + std::to_string(server_->port());
  EXPECT_EQ(agent::CheckCollector("127.0.0.1" + port, kToken).result, Result::kServes);
  EXPECT_EQ(agent::CheckCollector("127.0.0.1" + port, "another").result, Result::kWrongToken);
  EXPECT_EQ(agent::CheckCollector("no.such.host.invalid" + port, kToken).result,
            Result::kUnknownName);
  server_.reset();
  EXPECT_EQ(agent::CheckCollector("127.0.0.1" + port, kToken).result, Result::kUnreachable);
}

TEST_F(GrpcServerTest, RefusesCheckOfAnotherProtocol) {
  grpc::ClientContext context;
  context.AddMetadata(rpc::kTokenKey, kToken);
  rpc::CheckRequest request;
  request.set_protocol(2);
  rpc::CheckReply reply;
  EXPECT_EQ(stub_->Check(&context, request, &reply).error_message(),
            "protocol 2 is not supported; this collector supports 1");
}

// The agent reports the reason and continues to try.
TEST_F(GrpcServerTest, TellsAgentWhyItIsRefused) {
  std::promise<std::string> reason;
  const auto transport =
      agent::ConnectToCollector("127.0.0.1:" + std::to_string(server_->port()), "another",
                                [&](const std::string& text) { reason.set_value(text); });
  EXPECT_EQ(reason.get_future().get(), "not this run's token");
}

TEST(ServeTest, RefusesShortToken) {
  Monitor monitor{MonitorOptions{}};
  for (const char* token : {"", "hunter2"}) {
    EXPECT_EQ(Serve("127.0.0.1:0", token, &monitor).error(),
              "the token has fewer than 16 characters");
  }
}

TEST(ServeTest, ReportsWhyItCannotListen) {
  SilenceGrpc();
  Monitor monitor{MonitorOptions{}};
  const auto server = Serve("no.such.host.invalid:1", rpc::NewToken(), &monitor);
  EXPECT_NE(server.error().find("no.such.host.invalid"), std::string::npos);
}

TEST(TlsTest, IdentityDependsOnlyOnTheToken) {
  const auto first = rpc::IdentityOf("0123456789abcdef");
  const auto again = rpc::IdentityOf("0123456789abcdef");
  const auto other = rpc::IdentityOf("0123456789abcdee");
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(first->certificate, again->certificate);
  EXPECT_EQ(first->key, again->key);
  EXPECT_NE(first->key, other->key);
  EXPECT_NE(first->certificate, other->certificate);
}

TEST(SecretTest, NewTokensAreLongAndDiffer) {
  const std::string a = rpc::NewToken();
  EXPECT_EQ(a.size(), 32u);
  EXPECT_NE(a, rpc::NewToken());
  EXPECT_TRUE(rpc::SameSecret(a, a));
  EXPECT_FALSE(rpc::SameSecret("", ""));
}

}  // namespace
}  // namespace rollcall::service
