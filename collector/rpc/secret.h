// The run's token: who has it may speak to the collector of the run.
#ifndef ROLLCALL_COLLECTOR_RPC_SECRET_H_
#define ROLLCALL_COLLECTOR_RPC_SECRET_H_

#include <string>
#include <string_view>

namespace rollcall::rpc {

// The metadata key that carries it.
inline constexpr char kTokenKey[] = "rollcall-token";
// What who has another one is told.
inline constexpr char kWrongToken[] = "not this run's token";

// 128 bits from getrandom(2), in hex. Empty if the kernel gives none: then there is no run.
std::string NewToken();

// Whether both are the same and not empty, in a time that does not depend on where they differ.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace rollcall::rpc

#endif  // ROLLCALL_COLLECTOR_RPC_SECRET_H_
