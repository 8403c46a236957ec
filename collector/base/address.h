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

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_ADDRESS_H_
