// SPDX-License-Identifier: Apache-2.0
// The program's annotations of its buffers: rollcall_elements() and rollcall_replica() of
// proto/rollcall.h.
#ifndef ROLLCALL_SHIM_DATA_ANNOTATIONS_H_
#define ROLLCALL_SHIM_DATA_ANNOTATIONS_H_

#include <cstddef>

#include "shim/data/type_map.h"
#include "shim/data/words.h"
#include "shim/stack/arch.h"

namespace rollcall::shim::data {

// Stores that the memory [buffer, buffer + bytes) has elements of this type, for memory that the
// program passes to MPI by a datatype that does not show the type. nullptr or "" for the type
// withdraws an earlier call. Any thread; a call at the same moment as another call may be ignored.
void DescribeElements(const void* buffer, size_t bytes, const char* type);

// Returns how the elements of a buffer are scanned. The datatype determines it. If the datatype is
// bytes or integers of 8 or 16 bits, DescribeElements() may have stored another type for the
// memory.
Scan ScanFor(const TypedBuffer& buffer);
// The type class of elements that are scanned in this way; kUnknown for kNone.
TypeClass ClassOf(Scan scan);

// Reads a buffer whose data must be equal in the n-th call with this name of every process.
// `caller` is the frame of the program's call. Any thread, not in a signal handler; does nothing
// unless data is read.
void ReadReplica(const char* name, const void* buffer, size_t bytes, CallerFrame caller);

}  // namespace rollcall::shim::data

#endif  // ROLLCALL_SHIM_DATA_ANNOTATIONS_H_
