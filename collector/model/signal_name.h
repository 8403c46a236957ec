// SPDX-License-Identifier: Apache-2.0
// Names of signals.
#ifndef ROLLCALL_COLLECTOR_MODEL_SIGNAL_NAME_H_
#define ROLLCALL_COLLECTOR_MODEL_SIGNAL_NAME_H_

#include <string>

namespace rollcall {

// "SIGTERM", or "signal 35": real-time signals have no name.
std::string SignalName(int number);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_SIGNAL_NAME_H_
