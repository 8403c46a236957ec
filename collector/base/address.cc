#include "collector/base/address.h"

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

}  // namespace rollcall
