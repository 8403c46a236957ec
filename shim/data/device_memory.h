// SPDX-License-Identifier: Apache-2.0
// Determines whether a pointer may be read. MPI libraries accept pointers to the memory of devices,
// which the processor cannot read.
#ifndef ROLLCALL_SHIM_DATA_DEVICE_MEMORY_H_
#define ROLLCALL_SHIM_DATA_DEVICE_MEMORY_H_

namespace rollcall::shim::data {

// Returns true only if the memory is certain to be the host's:
//   - No driver of a device is loaded: all memory is the host's.
//   - CUDA or HIP is loaded: the driver classifies the pointer (cuPointerGetAttribute,
//     hipPointerGetAttributes). Memory that the driver can move, and pointers for which it returns
//     an unexpected error, are not read. HIP is called only after HSA, on which it is built, is
//     initialized (hsa_amd_pointer_info): until then there is no memory of a device.
//   - Level Zero is loaded: nothing is read, because it classifies pointers only for its own
//     contexts.
//   - HSA is initialized without HIP (offloading of OpenMP), or two copies of HSA are loaded:
//     nothing is read.
//
// Any thread. Takes the loader's lock of its list of objects for a moment; keeps errno.
bool MayRead(const void* pointer);

// True if the process has loaded a driver, or may have. Threads, lock and errno as for MayRead.
bool HasDriver();

}  // namespace rollcall::shim::data

#endif  // ROLLCALL_SHIM_DATA_DEVICE_MEMORY_H_
