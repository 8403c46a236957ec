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
  const auto server = Serve("127.0.0.1:0", {Hello()});
  ASSERT_TRUE(server) << server.error();
  httplib::Client client("127.0.0.1", (*server)->port());
  const auto page = client.Get("/hello");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->body, "hello");
  const auto other = client.Get("/");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->status, 404);
}

TEST(HttpServerTest, ServesOnIpv6) {
  const auto server = Serve("[::1]:0", {Hello()});
  if (!server) GTEST_SKIP() << server.error();
  EXPECT_TRUE(httplib::Client("::1", (*server)->port()).Get("/hello"));
}

TEST(HttpServerTest, AddressInUseIsAnError) {
  const auto first = Serve("127.0.0.1:0", {Hello()});
  ASSERT_TRUE(first) << first.error();
  const std::string address = "127.0.0.1:" + std::to_string((*first)->port());
  EXPECT_EQ(Serve(address, {Hello()}).error(), "cannot listen on " + address);
}

TEST(HttpServerTest, AddressWithoutPortIsAnError) {
  for (const char* address : {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:70000", "a:b"}) {
    EXPECT_EQ(Serve(address, {Hello()}).error(), std::string("'") + address + "' is not HOST:PORT");
  }
}

}  // namespace
}  // namespace rollcall::http
