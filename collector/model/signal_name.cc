// SPDX-License-Identifier: Apache-2.0
#include "collector/model/signal_name.h"

#include <cstring>

namespace rollcall {

std::string SignalName(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace rollcall
