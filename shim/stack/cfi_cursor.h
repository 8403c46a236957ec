// SPDX-License-Identifier: Apache-2.0
// A bounds-checked reader over a module's bytes, addressed as in the process.
#ifndef ROLLCALL_SHIM_STACK_CFI_CURSOR_H_
#define ROLLCALL_SHIM_STACK_CFI_CURSOR_H_

#include <cstdint>
#include <cstring>

#include "shim/stack/cfi.h"

namespace rollcall::shim {

// After a read beyond the bytes, ok() stays false and every read returns 0.
class Cursor {
 public:
  // Covers `address` to the end of its segment; not ok() if no segment contains it.
  Cursor(const ModuleImage& module, uint64_t address) {
    for (int i = 0; i < module.count; ++i) {
      const Segment& segment = module.segments[i];
      if (address < segment.begin || address >= segment.end) continue;
      address_ = address;
      end_ = segment.end;
      bytes_ = segment.bytes + (address - segment.begin);
      return;
    }
    ok_ = false;
  }

  bool ok() const { return ok_; }
  bool done() const { return !ok_ || address_ == end_; }
  uint64_t address() const { return address_; }
  uint64_t end() const { return end_; }

  // Limits the cursor to the next `size` bytes.
  void Limit(uint64_t size) {
    if (size > end_ - address_) {
      ok_ = false;
    } else {
      end_ = address_ + size;
    }
  }

  void Skip(uint64_t size) {
    if (!ok_ || size > end_ - address_) {
      ok_ = false;
      return;
    }
    address_ += size;
    bytes_ += size;
  }

  template <typename T>
  T Read() {
    T value{};
    if (!ok_ || sizeof(T) > end_ - address_) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, bytes_, sizeof(T));
    Skip(sizeof(T));
    return value;
  }

  uint64_t Uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; ok_; shift += 7) {
      const auto byte = Read<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }

  int64_t Sleb() {
    uint64_t value = 0;
    unsigned shift = 0;
    while (ok_) {
      const auto byte = Read<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
      break;
    }
    return static_cast<int64_t>(value);
  }

  // Reads a pointer in one of the DW_EH_PE_ encodings; datarel is relative to `data_base`. Indirect
  // pointers are not followed: only personality routines are encoded indirectly, and no rule needs
  // them.
  uint64_t Pointer(uint8_t encoding, uint64_t data_base) {
    const uint64_t here = address_;
    uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:
        value = Read<uint64_t>();
        break;  // absptr
      case 0x01:
        value = Uleb();
        break;  // uleb128
      case 0x02:
        value = Read<uint16_t>();
        break;  // udata2
      case 0x03:
        value = Read<uint32_t>();
        break;  // udata4
      case 0x04:
        value = Read<uint64_t>();
        break;  // udata8
      case 0x09:
        value = static_cast<uint64_t>(Sleb());
        break;  // sleb128
      case 0x0a:
        value = static_cast<uint64_t>(Read<int16_t>());
        break;  // sdata2
      case 0x0b:
        value = static_cast<uint64_t>(Read<int32_t>());
        break;  // sdata4
      case 0x0c:
        value = Read<uint64_t>();
        break;  // sdata8
      default:
        ok_ = false;
        return 0;
    }
    switch (encoding & 0x70) {
      case 0x00:
        return value;  // absolute
      case 0x10:
        return value + here;  // pcrel
      case 0x30:
        return value + data_base;  // datarel
      default:
        ok_ = false;
        return 0;
    }
  }

 private:
  uint64_t address_ = 0;
  uint64_t end_ = 0;
  const uint8_t* bytes_ = nullptr;
  bool ok_ = true;
};

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_CFI_CURSOR_H_
