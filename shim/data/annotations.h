// What the program says about its buffers: rollcall_elements() and rollcall_replica() of
// proto/rollcall.h.
#ifndef ROLLCALL_SHIM_DATA_ANNOTATIONS_H_
#define ROLLCALL_SHIM_DATA_ANNOTATIONS_H_

#include <cstddef>

#include "shim/data/type_map.h"
#include "shim/data/words.h"
#include "shim/stack/arch.h"

namespace rollcall::shim::data {

// The memory [buffer, buffer + bytes) has elements of this type, which the datatype with which MPI
// gets it does not say. nullptr or "" for the type withdraws it. Any thread; a call at the same
// moment as another one may be ignored.
void DescribeElements(const void* buffer, size_t bytes, const char* type);

// How the elements of a buffer are scanned: by its datatype, or, if that is bytes or integers of
// 8 or 16 bits, by what the program said of the memory.
Scan ScanFor(const TypedBuffer& buffer);
// The elements that are scanned so; kUnknown for kNone.
TypeClass ClassOf(Scan scan);

// Reads a buffer that is to be equal in all processes that call this with the same name for the
// same time. `caller` is the frame of the program's call. Any thread, not in a signal handler; does
// nothing unless data is read.
void ReadReplica(const char* name, const void* buffer, size_t bytes, CallerFrame caller);

}  // namespace rollcall::shim::data

#endif  // ROLLCALL_SHIM_DATA_ANNOTATIONS_H_
