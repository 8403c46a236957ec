// SPDX-License-Identifier: Apache-2.0
// The version of the protocol between agents and collectors (proto/collector.proto).
#ifndef ROLLCALL_COLLECTOR_RPC_PROTOCOL_H_
#define ROLLCALL_COLLECTOR_RPC_PROTOCOL_H_

#include <cstdint>

namespace rollcall::rpc {

inline constexpr uint32_t kProtocol = 1;  // Hello.protocol, CheckRequest.protocol

}  // namespace rollcall::rpc

#endif  // ROLLCALL_COLLECTOR_RPC_PROTOCOL_H_
