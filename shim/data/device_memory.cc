// SPDX-License-Identifier: Apache-2.0
#include "shim/data/device_memory.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "shim/platform.h"
#include "shim/spin_lock.h"

namespace rollcall::shim::data {
namespace {

// The drivers that are loaded. Changes only when an object is loaded.
struct Drivers {
  // CUDA driver API: reports the type of memory into `data`. Sets no error that the program sees.
  int (*cuda)(void* data, int attribute, uint64_t pointer) = nullptr;
  int (*hip)(void* attributes, const void* pointer) = nullptr;
  int (*hip_last_error)() = nullptr;  // returns the last error and clears it
  int (*hip_peek_error)() = nullptr;
  // HSA, on which HIP is built: called to find out whether HSA is initialized.
  int (*hsa)(const void* pointer, void* info, void* allocate, uint32_t* count,
             void* agents) = nullptr;
  bool unknown = false;  // a driver is loaded that cannot classify pointers
};

constinit Drivers g_drivers;
constinit std::atomic<uint64_t> g_adds{0};  // the loader's count when g_drivers was determined
constinit std::atomic<bool> g_any{false};
constinit SpinLock g_lock;

int ReadAdds(dl_phdr_info* info, size_t size, void* adds) {
  if (size >= offsetof(dl_phdr_info, dlpi_adds) + sizeof(info->dlpi_adds)) {
    *static_cast<uint64_t*>(adds) = info->dlpi_adds;
  }
  return 1;  // the first object is enough
}

constexpr size_t kNameBytes = 512;
struct Names {
  char cuda[kNameBytes] = "";
  char hip[kNameBytes] = "";
  char hsa[kNameBytes] = "";
  bool several_hsa = false;  // for example that of the system and that of a Python package
  bool level_zero = false;
};

int FindNames(dl_phdr_info* info, size_t, void* found) {
  auto* names = static_cast<Names*>(found);
  const char* name = info->dlpi_name;
  if (name == nullptr) return 0;
  const char* slash = strrchr(name, '/');
  const char* file = slash == nullptr ? name : slash + 1;
  const auto is = [&](const char* prefix) { return strncmp(file, prefix, strlen(prefix)) == 0; };
  const auto keep = [&](char(&to)[kNameBytes]) { snprintf(to, kNameBytes, "%s", name); };
  if (is("libcuda.so")) keep(names->cuda);
  if (is("libamdhip64.so")) keep(names->hip);
  if (is("libhsa-runtime64.so")) {
    names->several_hsa |= names->hsa[0] != '\0';
    keep(names->hsa);
  }
  if (is("libze_loader.so") || is("libze_intel_gpu.so")) names->level_zero = true;
  return 0;
}

template <typename Function>
void Find(const char* library, const char* name, Function* function) {
  // The handle is not closed, so that the driver stays loaded.
  void* handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
  *reinterpret_cast<void**>(function) = handle == nullptr ? nullptr : dlsym(handle, name);
}

// Pointers that were found do not change, because another thread may be reading them.
ROLLCALL_COLD void FindDrivers(uint64_t adds) {
  const ErrnoGuard keeper;
  if (!g_lock.TryLock()) return;
  Names names;
  dl_iterate_phdr(FindNames, &names);
  Drivers& all = g_drivers;
  if (names.cuda[0] != '\0' && all.cuda == nullptr) {
    Find(names.cuda, "cuPointerGetAttribute", &all.cuda);
    all.unknown |= all.cuda == nullptr;
  }
  if (names.hip[0] != '\0' && all.hip == nullptr) {
    Find(names.hip, "hipGetLastError", &all.hip_last_error);
    Find(names.hip, "hipPeekAtLastError", &all.hip_peek_error);
    Find(names.hip, "hipPointerGetAttributes", &all.hip);
    all.unknown |=
        all.hip == nullptr || all.hip_last_error == nullptr || all.hip_peek_error == nullptr;
  }
  if (names.hsa[0] != '\0' && all.hsa == nullptr) {
    Find(names.hsa, "hsa_amd_pointer_info", &all.hsa);
    all.unknown |= all.hsa == nullptr;
  }
  all.unknown |= names.level_zero || names.several_hsa;
  g_any.store(all.cuda != nullptr || all.hip != nullptr || all.hsa != nullptr || all.unknown,
              std::memory_order_release);
  g_adds.store(adds, std::memory_order_release);
  g_lock.Unlock();
}

// False while another thread is looking for drivers.
bool KnowsDrivers() {
  uint64_t adds = 0;
  dl_iterate_phdr(ReadAdds, &adds);
  if (__builtin_expect(adds == g_adds.load(std::memory_order_acquire), 1)) return true;
  FindDrivers(adds);
  return adds == g_adds.load(std::memory_order_acquire);
}

// cuda.h: CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_HOST.
bool IsCudasHost(const void* pointer) {
  constexpr int kMemoryType = 2;
  constexpr unsigned kHost = 1;
  constexpr int kInvalidValue = 1;    // the driver does not know the memory: it is the host's
  constexpr int kNotInitialized = 3;  // there is no memory of a device yet
  unsigned type = 0;
  const int error = g_drivers.cuda(&type, kMemoryType, reinterpret_cast<uint64_t>(pointer));
  if (error == 0) return type == kHost;
  return error == kInvalidValue || error == kNotInitialized;
}

// hsa_ext_amd.h: hsa_amd_pointer_info() returns kNotInitialized if HSA is not initialized. HIP is
// not called then: the call would initialize HSA with all devices, from which the program may still
// want to select.
bool HsaIsInitialized() {
  constexpr int kNotInitialized = 0x100b;
  struct {
    uint32_t bytes = 56;  // of the first version of hsa_amd_pointer_info_t
    uint32_t type = 0;
    uint64_t rest[31] = {};
  } info;
  return g_drivers.hsa(&info, &info, nullptr, nullptr, nullptr) != kNotInitialized;
}

// hip_runtime_api.h: the type of memory is the first int of hipPointerAttribute_t. Only value 0
// means memory of the host in all versions: hipMemoryTypeHost up to ROCm 5,
// hipMemoryTypeUnregistered from 6 on. An error of the call becomes the thread's last error, which
// the program may query; it is therefore cleared, and no call is made while another error is
// pending.
bool IsHipsHost(const void* pointer) {
  constexpr int kInvalidValue = 1;
  const Drivers& all = g_drivers;
  if (all.hip == nullptr || all.hip_peek_error == nullptr || all.hip_last_error == nullptr) {
    return false;
  }
  if (all.hip_peek_error() != 0) return false;
  alignas(16) char attributes[256] = {};
  const int error = all.hip(attributes, pointer);
  int type;
  memcpy(&type, attributes, sizeof(type));
  if (error == 0) return type == 0;
  all.hip_last_error();
  return error == kInvalidValue;
}

// If HIP is loaded without HSA, HIP is just being loaded: nothing is read.
bool IsAmdsHost(const void* pointer) {
  const Drivers& all = g_drivers;
  if (all.hsa == nullptr) return all.hip == nullptr;
  return !HsaIsInitialized() || IsHipsHost(pointer);
}

}  // namespace

bool HasDriver() { return !KnowsDrivers() || g_any.load(std::memory_order_acquire); }

bool MayRead(const void* pointer) {
  if (!KnowsDrivers()) return false;
  if (__builtin_expect(!g_any.load(std::memory_order_acquire), 1)) return true;
  const ErrnoGuard keeper;
  const Drivers& drivers = g_drivers;
  if (drivers.unknown) return false;
  return (drivers.cuda == nullptr || IsCudasHost(pointer)) && IsAmdsHost(pointer);
}

}  // namespace rollcall::shim::data
