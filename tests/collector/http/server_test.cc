// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server.h"

#include <gtest/gtest.h>
#include <httplib.h>

namespace rollcall::http {
namespace {

Page Hello() {
  return {.path = "/hello", .type = "text/plain", .text = [] { return std::string("hello"); }};
}

TEST(HttpServerTest, ServesOnlyItsPages) {
  std::string problem;
  const auto server = Serve("127.0.0.1:0", {Hello()}, &problem);
  ASSERT_NE(server, nullptr) << problem;
  httplib::Client client("127.0.0.1", server->port());
  const auto page = client.Get("/hello");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->body, "hello");
  const auto other = client.Get("/");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->status, 404);
}

TEST(HttpServerTest, ServesOnIpv6) {
  std::string problem;
  const auto server = Serve("[::1]:0", {Hello()}, &problem);
  if (server == nullptr) GTEST_SKIP() << problem;
  EXPECT_TRUE(httplib::Client("::1", server->port()).Get("/hello"));
}

TEST(HttpServerTest, AddressInUseIsAnError) {
  std::string problem;
  const auto first = Serve("127.0.0.1:0", {Hello()}, &problem);
  ASSERT_NE(first, nullptr) << problem;
  const std::string address = "127.0.0.1:" + std::to_string(first->port());
  EXPECT_EQ(Serve(address, {Hello()}, &problem), nullptr);
  EXPECT_EQ(problem, "cannot listen on " + address);
}

TEST(HttpServerTest, AddressWithoutPortIsAnError) {
  for (const char* address : {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:70000", "a:b"}) {
    std::string problem;
    EXPECT_EQ(Serve(address, {Hello()}, &problem), nullptr) << address;
    EXPECT_EQ(problem, std::string("'") + address + "' is not HOST:PORT");
  }
}

}  // namespace
}  // namespace rollcall::http
