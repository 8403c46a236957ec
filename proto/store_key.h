// SPDX-License-Identifier: Apache-2.0
// The key that a call waits for in a store of torch.distributed. The call's record holds the end of
// the key, in fields that the call does not need otherwise (send_count, recv_count, send_signature,
// recv_signature), and a hash of the whole key in Record::semantic_hash.
#ifndef ROLLCALL_PROTO_STORE_KEY_H_
#define ROLLCALL_PROTO_STORE_KEY_H_

#include <cstdint>
#include <cstring>

namespace rollcall {

inline constexpr uint32_t kStoreKeyWords = 4;
inline constexpr uint32_t kStoreKeyBytes = kStoreKeyWords * sizeof(uint64_t);

// The last kStoreKeyBytes of `text`, filled up with NUL.
struct StoreKey {
  uint64_t words[kStoreKeyWords] = {};
};
inline StoreKey StoreKeyOf(const char* text, uint64_t length) {
  StoreKey key;
  const uint64_t skipped = length > kStoreKeyBytes ? length - kStoreKeyBytes : 0;
  memcpy(key.words, text + skipped, length - skipped);
  return key;
}

}  // namespace rollcall

#endif  // ROLLCALL_PROTO_STORE_KEY_H_
