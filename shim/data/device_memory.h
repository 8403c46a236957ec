// Whether a pointer may be read: MPI libraries take pointers to the memory of devices, which the
// processor cannot read.
#ifndef ROLLCALL_SHIM_DATA_DEVICE_MEMORY_H_
#define ROLLCALL_SHIM_DATA_DEVICE_MEMORY_H_

namespace rollcall::shim::data {

// False for memory of a device, and for anything that is not certain to be the host's. As long as
// the process has not loaded a driver of a device, everything is the host's. Otherwise the driver
// is asked (cuPointerGetAttribute, hipPointerGetAttributes); memory that it can move, and pointers
// for which it returns an unexpected error, are not read. HIP is asked only once HSA below it is
// initialized (hsa_amd_pointer_info): until then there is no memory of a device. Level Zero tells
// only its own contexts: nothing is read in a process that has loaded it, or that has initialized
// HSA without HIP, as for the offloading of OpenMP, or that has loaded two of it.
//
// Any thread. Takes the loader's lock of its list of objects for a moment; keeps errno.
bool MayRead(const void* pointer);

// Whether the process has loaded a driver, or may have. Likewise.
bool HasDriver();

}  // namespace rollcall::shim::data

#endif  // ROLLCALL_SHIM_DATA_DEVICE_MEMORY_H_
