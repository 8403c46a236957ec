// How the connections of a run are encrypted.
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

// The identity of a run, derived from its token: collector and agents show it to each other, and
// trust no other. Who has the token can compute it, and nobody else (as with TLS-PSK). It is the
// same each time, on every machine: a collector that is started again is the same one. Nothing if
// the library refuses.
std::optional<TlsIdentity> IdentityOf(std::string_view token);

// A token with fewer characters could be guessed from the identity that a server shows.
inline constexpr size_t kLeastTokenSize = 16;

// What an agent connects to `address` (HOST:PORT) with: in plain text to this machine's loopback
// interface, else by TLS as the run's identity. Null if there is none.
std::shared_ptr<grpc::ChannelCredentials> AgentCredentials(const std::string& address,
                                                           std::string_view token);
// By TLS, wherever it is.
std::shared_ptr<grpc::ChannelCredentials> TlsCredentials(std::string_view token);
// What a collector serves TLS connections with: only those of the run's identity.
std::shared_ptr<grpc::ServerCredentials> CollectorCredentials(std::string_view token);

// The name in the certificate, which stands for every host.
inline constexpr char kTlsName[] = "rollcall";

// Whether a connection failed because the other side's token is another.
bool IsOfAnotherToken(const grpc::Status& status);

}  // namespace rollcall::rpc

#endif  // ROLLCALL_COLLECTOR_RPC_TLS_H_
