// SPDX-License-Identifier: Apache-2.0
// The mixing function of hashes that shim and collector both compute.
#ifndef ROLLCALL_PROTO_MIX_H_
#define ROLLCALL_PROTO_MIX_H_

#include <cstdint>

namespace rollcall {

constexpr uint64_t Mix64(uint64_t a, uint64_t b) {
  uint64_t value = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd;
  value ^= value >> 32;
  return value;
}

}  // namespace rollcall

#endif  // ROLLCALL_PROTO_MIX_H_
