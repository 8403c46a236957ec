// SPDX-License-Identifier: Apache-2.0
// Distinguishes runtime libraries from the user's code, by file name. Pure functions.
#ifndef ROLLCALL_COLLECTOR_MODEL_RUNTIME_MODULES_H_
#define ROLLCALL_COLLECTOR_MODEL_RUNTIME_MODULES_H_

#include <cstdint>
#include <string_view>

namespace rollcall {

// The families of runtime_modules.def.
enum class ModuleFamily : uint8_t {
  kUser,
  kC,
  kMpi,
  kMpiRuntime,  // the libraries of an MPI implementation below the one that programs call
  kTransport,
  kNccl,
  kTorch,
  kRollcall
};

// Decides by the last component of `path`.
ModuleFamily FamilyOf(std::string_view path);

// Whether this is an MPI library, or a library that belongs to one.
constexpr bool IsOfMpi(ModuleFamily family) {
  return family == ModuleFamily::kMpi || family == ModuleFamily::kMpiRuntime;
}

// Whether the library starts threads that make no calls for the application. PyTorch is not
// included, because its threads run the user's hooks.
constexpr bool StartsOwnThreads(ModuleFamily family) {
  return IsOfMpi(family) || family == ModuleFamily::kTransport;
}

// Whether this is a C or C++ runtime, an MPI library or its transports, or rollcall's own library.
// Even with debug information, its lines are not shown to the user.
constexpr bool IsRuntime(ModuleFamily family) {
  return family == ModuleFamily::kC || StartsOwnThreads(family) ||
         family == ModuleFamily::kRollcall;
}

// Whether this is a library by which ranks communicate, or a layer below it.
constexpr bool IsCommunication(ModuleFamily family) {
  return StartsOwnThreads(family) || family == ModuleFamily::kNccl ||
         family == ModuleFamily::kTorch;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_RUNTIME_MODULES_H_
