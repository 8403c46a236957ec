// SPDX-License-Identifier: Apache-2.0
// The exported functions of NCCL and CUDA, all generated from proto/nccl_functions.def,
// cuda_functions.def and cuda_forms.def. Each NCCL function is exported as ncclX, which
// applications call, and as pncclX, which tools call. The guard of shim/call.cc records each call
// once. All wrappers have the same code; the kind of a function (call.cc) determines what is
// recorded.
#include "shim/nccl/targets.h"

#ifdef ROLLCALL_NO_EXPORTS

namespace rollcall::shim::nccl {
TargetList AllTargets() { return {nullptr, 0}; }
}  // namespace rollcall::shim::nccl

#else

#include "proto/operations.h"
#include "shim/for_each_word.h"
#include "shim/nccl/call.h"
#include "shim/nccl/group.h"
#include "shim/nccl/roles.h"
#include "shim/process.h"
#include "shim/stack/stack.h"

namespace rollcall::shim::nccl {
namespace {

#define RC_PARAMETER(word) rollcall::shim::nccl::roles::word::type word
#define RC_TYPE(word) rollcall::shim::nccl::roles::word::type
#define RC_NAME(word) word
#define RC_TAKE(word) rollcall::shim::nccl::roles::word::Take(arguments, word);

// In a process without MPI, creating a communicator starts the recording. CUDA alone does not.
constexpr bool Starts(Kind kind) { return kind == Kind::kNcclInit || kind == Kind::kNcclInitAll; }

inline void NoteUnrecorded(Kind kind, int result) {
  if (result != 0) return;
  if (kind == Kind::kNcclGroupStart) CountUnrecordedGroup(1);
  if (kind == Kind::kNcclGroupEnd) CountUnrecordedGroup(-1);
}

// The return value of a wrapper that has no next function.
constexpr int Missing(Kind kind) {
  constexpr int kNcclSystemError = 2;          // nccl.h
  constexpr int kCudaErrorSharedObject = 302;  // cudaErrorSharedObjectSymbolNotFound
  const bool cuda =
      kind == Kind::kHostWait || kind == Kind::kHostQuery || kind == Kind::kHostRecordsEvent;
  return cuda ? kCudaErrorSharedObject : kNcclSystemError;
}

}  // namespace
}  // namespace rollcall::shim::nccl

// One exported function. The frame and the return address are this function's own: everything below
// is inlined into it or called from it.
#define RC_NCCL_WRAPPER(symbol, operation_name, is_p, ...)                                      \
  extern "C" ROLLCALL_EXPORT int symbol(RC_LIST(RC_PARAMETER, __VA_ARGS__));                    \
  namespace rollcall::shim::nccl {                                                              \
  static constinit Target target_##symbol{#symbol,                                              \
                                          []() { return reinterpret_cast<void*>(&::symbol); }}; \
  }                                                                                             \
  extern "C" ROLLCALL_EXPORT int symbol(RC_LIST(RC_PARAMETER, __VA_ARGS__)) {                   \
    using namespace rollcall;             /* NOLINT */                                          \
    using namespace rollcall::shim;       /* NOLINT */                                          \
    using namespace rollcall::shim::nccl; /* NOLINT */                                          \
    static constexpr const OperationInfo& kInfo =                                               \
        FindOperation(static_cast<uint16_t>(Operation::k##operation_name));                     \
    const void* caller = __builtin_extract_return_addr(__builtin_return_address(0));            \
    using Function = int (*)(RC_LIST(RC_TYPE, __VA_ARGS__));                                    \
    const auto function = reinterpret_cast<Function>(target_##symbol.Get(caller));              \
    if (function == nullptr) return Missing(kInfo.kind);                                        \
    if (Starts(kInfo.kind)) StartWith(reinterpret_cast<const void*>(function), caller);         \
    if (!Recording()) {                                                                         \
      const int unrecorded = function(RC_LIST(RC_NAME, __VA_ARGS__));                           \
      NoteUnrecorded(kInfo.kind, unrecorded);                                                   \
      return unrecorded;                                                                        \
    }                                                                                           \
    nccl::Arguments arguments;                                                                  \
    RC_EACH(RC_TAKE, __VA_ARGS__)                                                               \
    Call call = MakeCall(kInfo, is_p, ROLLCALL_CALLER_FRAME(), caller, NcclLibrary());          \
    nccl::Begin(&call, &arguments);                                                             \
    const int returned = function(RC_LIST(RC_NAME, __VA_ARGS__));                               \
    nccl::End(&call, arguments, returned);                                                      \
    return returned;                                                                            \
  }

#define NCCL_FORM(name, operation, ...)                            \
  RC_NCCL_WRAPPER(nccl##name, Nccl##operation, false, __VA_ARGS__) \
  RC_NCCL_WRAPPER(pnccl##name, Nccl##operation, true, __VA_ARGS__)
#define NCCL(id, name, kind, rule, ...) NCCL_FORM(name, name, __VA_ARGS__)
#include "proto/nccl_functions.def"  // NOLINT(bugprone-suspicious-include)
#undef NCCL
#undef NCCL_FORM
#define CUDA(id, name, kind, ...) RC_NCCL_WRAPPER(name, name, false, __VA_ARGS__)
#include "proto/cuda_functions.def"  // NOLINT(bugprone-suspicious-include)
#undef CUDA
#define CUDA_FORM(name, operation, ...) RC_NCCL_WRAPPER(name, operation, false, __VA_ARGS__)
#include "proto/cuda_forms.def"  // NOLINT(bugprone-suspicious-include)
#undef CUDA_FORM

namespace rollcall::shim::nccl {

TargetList AllTargets() {
  static constexpr Target* kAll[] = {
#define NCCL_FORM(name, operation, ...) &target_nccl##name, &target_pnccl##name,
#define NCCL(id, name, kind, rule, ...) &target_nccl##name, &target_pnccl##name,
#include "proto/nccl_functions.def"  // NOLINT(bugprone-suspicious-include)
#undef NCCL
#undef NCCL_FORM
#define CUDA(id, name, kind, ...) &target_##name,
#include "proto/cuda_functions.def"  // NOLINT(bugprone-suspicious-include)
#undef CUDA
#define CUDA_FORM(name, operation, ...) &target_##name,
#include "proto/cuda_forms.def"  // NOLINT(bugprone-suspicious-include)
#undef CUDA_FORM
  };
  return {kAll, sizeof(kAll) / sizeof(kAll[0])};
}

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_NO_EXPORTS
