// SPDX-License-Identifier: Apache-2.0
// The values that the program passes to rollcall_value() (proto/rollcall.h), stored in the ring.
#ifndef ROLLCALL_SHIM_RECORDED_VALUES_H_
#define ROLLCALL_SHIM_RECORDED_VALUES_H_

#include <cstddef>

#include "proto/ring_format.h"
#include "shim/stack/arch.h"

namespace rollcall::shim {

// Stores the next value with this name. `value` points to the 8 bytes of a number or, for kHash, to
// `bytes` bytes, of which only a hash is stored. Neither pointer is kept. Does nothing before the
// ring exists. If there is no room for another name, the call is counted in Section::lost. Any
// thread; not async-signal-safe; keeps errno.
void RecordValue(const char* name, ring::ValueType type, const void* value, size_t bytes,
                 CallerFrame caller);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_RECORDED_VALUES_H_
