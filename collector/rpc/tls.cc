// SPDX-License-Identifier: Apache-2.0
#include "collector/rpc/tls.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "collector/base/address.h"

namespace rollcall::rpc {
namespace {

// The purpose is part of the hash: another use of the token would get another key.
constexpr std::string_view kPurpose = "rollcall TLS identity 1:";
// The clocks of nodes differ, and collectors may run for months. RFC 5280, 4.1.2.5: a certificate
// with no well-defined end.
constexpr char kBegin[] = "20000101000000Z";
constexpr char kEnd[] = "99991231235959Z";

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Memory = std::unique_ptr<BIO, Free<BIO_free>>;

// RFC 8032: any 32 bytes are a private key of Ed25519, and its signatures are deterministic.
Key KeyOf(std::string_view token) {
  const std::string text = std::string(kPurpose) + std::string(token);
  unsigned char seed[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), seed, &size, EVP_sha256(), nullptr) != 1) return nullptr;
  return Key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed, size));
}

bool AddExtension(X509* certificate, int kind, const std::string& value) {
  const Extension extension(X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Certificate SelfSigned(EVP_PKEY* key) {
  Certificate certificate(X509_new());
  X509* const x509 = certificate.get();
  if (x509 == nullptr) return nullptr;
  X509_NAME* const name = X509_get_subject_name(x509);
  const auto* const text = reinterpret_cast<const unsigned char*>(kTlsName);
  constexpr long kVersion3 = 2;  // NOLINT(google-runtime-int): OpenSSL's type
  const bool made = X509_set_version(x509, kVersion3) == 1 &&
                    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1) == 1 &&
                    ASN1_TIME_set_string_X509(X509_getm_notBefore(x509), kBegin) == 1 &&
                    ASN1_TIME_set_string_X509(X509_getm_notAfter(x509), kEnd) == 1 &&
                    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
                    X509_set_issuer_name(x509, name) == 1 && X509_set_pubkey(x509, key) == 1 &&
                    AddExtension(x509, NID_basic_constraints, "critical,CA:TRUE") &&
                    AddExtension(x509, NID_subject_alt_name, std::string("DNS:") + kTlsName) &&
                    X509_sign(x509, key, nullptr) != 0;
  return made ? std::move(certificate) : nullptr;
}

std::string Contents(BIO* memory) {
  char* text = nullptr;
  const auto size = BIO_get_mem_data(memory, &text);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : std::string();
}

}  // namespace

std::optional<TlsIdentity> IdentityOf(std::string_view token) {
  const Key key = KeyOf(token);
  const Certificate certificate = key == nullptr ? nullptr : SelfSigned(key.get());
  const Memory key_pem(BIO_new(BIO_s_mem()));
  const Memory certificate_pem(BIO_new(BIO_s_mem()));
  if (certificate == nullptr || key_pem == nullptr || certificate_pem == nullptr) return {};
  if (PEM_write_bio_PrivateKey(key_pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1 ||
      PEM_write_bio_X509(certificate_pem.get(), certificate.get()) != 1) {
    return {};
  }
  return TlsIdentity{Contents(key_pem.get()), Contents(certificate_pem.get())};
}

std::shared_ptr<grpc::ChannelCredentials> AgentCredentials(const std::string& address,
                                                           std::string_view token) {
  return IsLoopback(SplitAddress(address).host) ? grpc::InsecureChannelCredentials()
                                                : TlsCredentials(token);
}

std::shared_ptr<grpc::ChannelCredentials> TlsCredentials(std::string_view token) {
  const std::optional<TlsIdentity> identity = IdentityOf(token);
  if (!identity) return nullptr;
  return grpc::SslCredentials({.pem_root_certs = identity->certificate,
                               .pem_private_key = identity->key,
                               .pem_cert_chain = identity->certificate});
}

std::shared_ptr<grpc::ServerCredentials> CollectorCredentials(std::string_view token) {
  const std::optional<TlsIdentity> identity = IdentityOf(token);
  if (!identity) return nullptr;
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = identity->certificate;
  options.pem_key_cert_pairs.push_back({identity->key, identity->certificate});
  return grpc::SslServerCredentials(options);
}

bool IsOfAnotherToken(const grpc::Status& status) {
  // OpenSSL's message: gRPC 1.51 gives no other indication.
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         status.error_message().find("certificate verify failed") != std::string::npos;
}

}  // namespace rollcall::rpc
