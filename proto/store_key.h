// The key that a call waits for in a store of torch.distributed: its end, in words of the call's
// record that such a call does not use. Record::semantic_hash has a hash of the whole key.
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
