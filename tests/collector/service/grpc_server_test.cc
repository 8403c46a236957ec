// What the port lets in.
#include "collector/service/grpc_server.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "collector/rpc/secret.h"
#include "proto/collector.grpc.pb.h"

namespace rollcall::service {
namespace {

class GrpcServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SilenceGrpc();
    std::string problem;
    server_ = Serve("127.0.0.1:0", kToken, &monitor_, &problem);
    ASSERT_NE(server_, nullptr) << problem;
    stub_ = rpc::Collector::NewStub(grpc::CreateChannel(
        "127.0.0.1:" + std::to_string(server_->port()), grpc::InsecureChannelCredentials()));
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

TEST_F(GrpcServerTest, TheTokenLetsIn) { EXPECT_TRUE(Talk(kToken, {Hello(1)}).ok()); }

TEST_F(GrpcServerTest, NoTokenNoEntry) {
  EXPECT_EQ(Talk("", {Hello(1)}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcServerTest, AWrongTokenNoEntry) {
  EXPECT_EQ(Talk("0123456789abcdeX", {Hello(1)}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Talk("0123456789abcde", {Hello(1)}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcServerTest, AnOversizedMessageEndsTheCall) {
  rpc::AgentMessage large;
  large.mutable_journal()->set_lines(std::string(5 << 20, 'x'));
  EXPECT_EQ(Talk(kToken, {Hello(1), large}).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Talk(kToken, {Hello(1)}).ok());
}

// Anybody who reaches the port can open connections and say nothing: each takes a descriptor.
TEST_F(GrpcServerTest, AConnectionThatSaysNothingIsClosed) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  pollfd closed{fd, POLLIN, 0};
  ssize_t got = 1;
  while (got > 0) {  // the server's own greeting comes first
    ASSERT_EQ(poll(&closed, 1, 60'000), 1) << "still open";
    char bytes[256];
    got = read(fd, bytes, sizeof(bytes));
  }
  close(fd);
}

TEST(ServeTest, AnAddressWithoutAPortGetsAFreeOne) {
  EXPECT_EQ(WithPort("node1"), "node1:0");
  EXPECT_EQ(WithPort("node1:80"), "node1:80");
  EXPECT_EQ(WithPort("[::1]"), "[::1]:0");
  EXPECT_EQ(WithPort("[::1]:80"), "[::1]:80");
}

TEST(ServeTest, AnEmptyTokenServesNobody) {
  Monitor monitor{MonitorOptions{}};
  std::string problem;
  EXPECT_EQ(Serve("127.0.0.1:0", "", &monitor, &problem), nullptr);
}

TEST(ServeTest, SaysWhyItCannotListen) {
  SilenceGrpc();
  Monitor monitor{MonitorOptions{}};
  std::string problem;
  EXPECT_EQ(Serve("no.such.host.invalid:1", "token", &monitor, &problem), nullptr);
  EXPECT_NE(problem.find("no.such.host.invalid"), std::string::npos);
}

TEST(SecretTest, TokensDifferAndAreLong) {
  const std::string a = rpc::NewToken();
  EXPECT_EQ(a.size(), 32u);
  EXPECT_NE(a, rpc::NewToken());
  EXPECT_TRUE(rpc::SameSecret(a, a));
  EXPECT_FALSE(rpc::SameSecret("", ""));
}

}  // namespace
}  // namespace rollcall::service
