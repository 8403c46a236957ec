// SPDX-License-Identifier: Apache-2.0
#include "collector/base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace rollcall {

Address SplitAddress(std::string_view address) {
  const size_t colon = address.rfind(':');
  std::string_view host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const std::string_view port = colon == std::string_view::npos ? "" : address.substr(colon + 1);
  return {std::string(host), std::string(port)};
}

std::string ReplacePort(std::string_view address, int port) {
  return std::string(address.substr(0, address.rfind(':'))) + ':' + std::to_string(port);
}

std::string WithPort(std::string address) {
  const size_t bracket = address.rfind(']');
  const size_t host_end = bracket == std::string::npos ? 0 : bracket;
  if (address.find(':', host_end) == std::string::npos) address += ":0";
  return address;
}

bool IsLoopback(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6) ||
           (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == IN_LOOPBACKNET);
  }
  return host == "localhost";
}

}  // namespace rollcall
