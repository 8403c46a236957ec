// SPDX-License-Identifier: Apache-2.0
// The words of proto/nccl_functions.def, proto/cuda_functions.def and cuda_forms.def. Each word has
// a C type and a statement that records the value. The types follow NCCL's ABI without nccl.h or
// cuda.h: handles and pointers are one register, enums are ints. tests/shim/abi compares them with
// nccl.h.
#ifndef ROLLCALL_SHIM_NCCL_ROLES_H_
#define ROLLCALL_SHIM_NCCL_ROLES_H_

#include <cstddef>
#include <cstdint>

#include "proto/device_streams.h"
#include "shim/nccl/arguments.h"
#include "shim/platform.h"

namespace rollcall::shim::nccl::roles {

// A table with one word per line, not formatted by clang-format.
// clang-format off

// ROLE(word, type, statement that records `value` in `a`)
#define ROLE(word, type_, ...)                                                             \
  struct word {                                                                            \
    using type = type_;                                                                    \
    static inline void Take([[maybe_unused]] Arguments& a,                                 \
                            [[maybe_unused]] const type& value) { __VA_ARGS__; }           \
  };

// Communicators.
ROLE(comm, void*, a.comm = reinterpret_cast<uint64_t>(value))
ROLE(new_comm, void*, a.new_comm = value)
ROLE(new_comms, void*, a.new_comms = value)
ROLE(nranks, int, a.nranks = value)
ROLE(rank, int, a.rank = value)
ROLE(unique_id, UniqueId, a.id_hash = HashBytes(value.bytes, sizeof(value.bytes), 0x1d))
ROLE(unique_id_in, const void*, a.unique_id_at = value)
ROLE(id_count, int, a.id_count = value)
ROLE(unique_ids, const void*, if (value != nullptr && a.id_count > 0) a.id_hash = HashBytes(value, sizeof(UniqueId) * static_cast<uint64_t>(a.id_count), 0x1d))
ROLE(device_count, int, a.device_count = value)
ROLE(devices, const int*, (void)value)
ROLE(color, int, a.color = value)
ROLE(key, int, a.key = value)
ROLE(config, void*, (void)value)
ROLE(flags, int, a.flags = value)
ROLE(excluded, const int*, a.excluded = value)
ROLE(excluded_count, int, a.excluded_count = value)
ROLE(state_out, int*, a.state = value)

// Data.
ROLE(sendbuf, const void*, (void)value)
ROLE(recvbuf, void*, (void)value)
ROLE(buffer, void*, (void)value)
ROLE(count, size_t, a.count = value)
ROLE(datatype, int, a.datatype = value)
ROLE(op, int, a.op = value)
ROLE(root, int, a.root_or_peer = value)
ROLE(peer, int, a.root_or_peer = value)
ROLE(stream, void*, a.stream = reinterpret_cast<uint64_t>(value))

// CUDA.
ROLE(event, void*, a.event = reinterpret_cast<uint64_t>(value))
ROLE(flags_unsigned, unsigned, (void)value)
// In the _ptsz functions, stream 0 means the thread's own default stream.
ROLE(stream_ptsz, void*, a.stream = value == nullptr ? ring::kPerThreadStream : reinterpret_cast<uint64_t>(value))

// Forwarded, not recorded.
ROLE(registered, void*, (void)value)
ROLE(size, size_t, (void)value)
ROLE(handle, void*, (void)value)
ROLE(handle_in, const void*, (void)value)
ROLE(handle_out, void*, (void)value)
ROLE(requirements, const void*, (void)value)
ROLE(op_out, void*, (void)value)
ROLE(op_plain, int, (void)value)
ROLE(datatype_plain, int, (void)value)
ROLE(residence, int, (void)value)
ROLE(simulation, void*, (void)value)
ROLE(number, int, (void)value)
ROLE(number2, int, (void)value)
ROLE(descriptors, void*, (void)value)

#undef ROLE
// clang-format on

}  // namespace rollcall::shim::nccl::roles

#endif  // ROLLCALL_SHIM_NCCL_ROLES_H_
