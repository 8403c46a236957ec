// Tells runtime libraries from the user's code, by file name. Pure functions.
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

// An MPI library, or one that belongs to it.
constexpr bool IsOfMpi(ModuleFamily family) {
  return family == ModuleFamily::kMpi || family == ModuleFamily::kMpiRuntime;
}

// Whether it starts threads that make no calls for the application. (PyTorch's threads run the
// user's hooks, so it is not included.)
constexpr bool StartsOwnThreads(ModuleFamily family) {
  return IsOfMpi(family) || family == ModuleFamily::kTransport;
}

// A C or C++ runtime, an MPI library or its transports: even with debug information, its lines are
// not shown to the user.
constexpr bool IsRuntime(ModuleFamily family) {
  return family == ModuleFamily::kC || StartsOwnThreads(family) ||
         family == ModuleFamily::kRollcall;
}

// A library by which ranks communicate, or a layer below it.
constexpr bool IsCommunication(ModuleFamily family) {
  return StartsOwnThreads(family) || family == ModuleFamily::kNccl ||
         family == ModuleFamily::kTorch;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_RUNTIME_MODULES_H_
