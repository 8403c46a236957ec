// SPDX-License-Identifier: Apache-2.0
// The agent's connection, on a server that ends it.
#include "collector/agent/grpc_transport.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proto/collector.grpc.pb.h"

namespace rollcall::agent {
namespace {

// Ends every call once a message has come.
class EndingCollector : public rpc::Collector::Service {
 public:
  grpc::Status Attach(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<rpc::CollectorMessage, rpc::AgentMessage>* stream) override {
    stream->SendInitialMetadata();
    rpc::AgentMessage message;
    stream->Read(&message);
    return {grpc::StatusCode::ABORTED, "ended"};
  }
};

// The agent does not know that its connection is ending: it must be able to send at any moment of
// that, also after gRPC has ended the call and before the transport has noticed it.
TEST(GrpcTransportTest, SendsWhileTheConnectionEnds) {
  constexpr int kTransports = 32;
  constexpr uint64_t kConnections = 20;
  EndingCollector service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);

  std::vector<std::thread> agents;
  for (int i = 0; i < kTransports; ++i) {
    agents.emplace_back([port] {
      const auto transport =
          ConnectToCollector("127.0.0.1:" + std::to_string(port), "0123456789abcdef");
      uint64_t connection = 0;
      while (connection < kConnections) {
        rpc::AgentMessage message;
        message.mutable_journal()->set_lines("line\n");
        const uint64_t now = transport->connection();
        // On a busy machine the ends are late.
        if (transport->HasRoom()) transport->Send(now, std::move(message));
        std::this_thread::yield();
        connection = std::max(connection, now);
      }
    });
  }
  for (std::thread& agent : agents) agent.join();
}

}  // namespace
}  // namespace rollcall::agent
