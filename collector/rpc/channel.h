// SPDX-License-Identifier: Apache-2.0
// How clients of a collector connect.
#ifndef ROLLCALL_COLLECTOR_RPC_CHANNEL_H_
#define ROLLCALL_COLLECTOR_RPC_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include "collector/rpc/tls.h"

namespace rollcall::rpc {

// Ignores a proxy from the environment: it is meant for web traffic and must not receive the run's
// token.
inline grpc::ChannelArguments DirectConnection() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetSslTargetNameOverride(kTlsName);
  return arguments;
}

}  // namespace rollcall::rpc

#endif  // ROLLCALL_COLLECTOR_RPC_CHANNEL_H_
