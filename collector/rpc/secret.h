// SPDX-License-Identifier: Apache-2.0
// The run's token: a client that has it may connect to the collector of the run.
#ifndef ROLLCALL_COLLECTOR_RPC_SECRET_H_
#define ROLLCALL_COLLECTOR_RPC_SECRET_H_

#include <string>
#include <string_view>

namespace rollcall::rpc {

// The metadata key of the token.
inline constexpr char kTokenKey[] = "rollcall-token";
// The error message for a client with another token.
inline constexpr char kWrongToken[] = "not this run's token";

// 128 bits from getrandom(2), in hex. Empty if the kernel provides none; the run then fails.
std::string NewToken();

// ROLLCALL_TOKEN: the token of a run whose parts are started separately. Empty if it is not set.
std::string GivenToken();

// True if both are equal and not empty. The time does not depend on the position of a difference.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace rollcall::rpc

#endif  // ROLLCALL_COLLECTOR_RPC_SECRET_H_
