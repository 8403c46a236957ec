// SPDX-License-Identifier: Apache-2.0
// Encryption of the connections of a run.
#ifndef ROLLCALL_COLLECTOR_RPC_TLS_H_
#define ROLLCALL_COLLECTOR_RPC_TLS_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::rpc {

// A private key and a certificate that it signed, both as PEM.
struct TlsIdentity {
  std::string key;
  std::string certificate;
};

// The identity of a run, derived from its token. Collector and agents present it to each other and
// trust no other identity. Only a holder of the token can compute it (as with TLS-PSK). It is the
// same on every machine and at each computation, so a restarted collector has the same identity.
// Empty if the library fails.
std::optional<TlsIdentity> IdentityOf(std::string_view token);

// A shorter token could be guessed from the identity that a server presents.
inline constexpr size_t kMinTokenSize = 16;

// An agent's credentials for `address` (HOST:PORT): plain text to this machine's loopback
// interface, otherwise TLS with the run's identity. Null if there is no identity.
std::shared_ptr<grpc::ChannelCredentials> AgentCredentials(const std::string& address,
                                                           std::string_view token);
// TLS credentials for any address. Null if there is no identity.
std::shared_ptr<grpc::ChannelCredentials> TlsCredentials(std::string_view token);
// A collector's credentials for TLS connections: it accepts only clients with the run's identity.
std::shared_ptr<grpc::ServerCredentials> CollectorCredentials(std::string_view token);

// The name in the certificate, which is used for every host.
inline constexpr char kTlsName[] = "rollcall";

// True if a connection failed because the other side has another token.
bool IsOfAnotherToken(const grpc::Status& status);

}  // namespace rollcall::rpc

#endif  // ROLLCALL_COLLECTOR_RPC_TLS_H_
