// SPDX-License-Identifier: Apache-2.0
// HOST:PORT as users write it: "node1:7000", "[::1]:0".
#ifndef ROLLCALL_COLLECTOR_BASE_ADDRESS_H_
#define ROLLCALL_COLLECTOR_BASE_ADDRESS_H_

#include <string>
#include <string_view>

namespace rollcall {

struct Address {
  std::string host;  // without the brackets of IPv6
  std::string port;  // empty if there is none
};

Address SplitAddress(std::string_view address);

// The same host, brackets included, with another port.
std::string ReplacePort(std::string_view address, int port);

// `address` with port 0 (any free one) if it has no port: "node1", "[::1]".
std::string WithPort(std::string address);

// Whether it is this machine's loopback interface: "localhost", 127.0.0.0/8, "::1". Other names are
// not resolved.
bool IsLoopback(const std::string& host);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_ADDRESS_H_
