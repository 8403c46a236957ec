// SPDX-License-Identifier: Apache-2.0
// The exported functions of MPI, all generated from proto/functions.def: MPI_X and PMPI_X, and if
// they exist, MPI_X_c, PMPI_X_c, MPIX_X and PMPIX_X. All wrappers have the same code; the kind of a
// function (call_inline.h) determines what is recorded.
//
// Both names are needed: Open MPI's Fortran bindings call only PMPI_X, MPICH's mostly MPI_X. MPI_X
// calls the next MPI_X, so that a PMPI tool between the shim and the library keeps working.
//
// Deliberately not wrapped: MPI_Pcontrol (varargs), MPI_Wtime and MPI_Wtick (double), MPI_T_*, and
// queries such as MPI_Initialized, which programs without MPI use as weak symbols to detect MPI.
#ifndef ROLLCALL_NO_EXPORTS

#include "proto/operations.h"
#include "shim/call.h"
#include "shim/for_each_word.h"
#include "shim/library.h"
#include "shim/process.h"
#include "shim/roles.h"
#include "shim/stack/stack.h"

namespace rollcall::shim {
namespace {

#define RC_PASS(word) rollcall::shim::roles::word::Pass(arguments, word)

constexpr bool Starts(Kind kind) { return kind == Kind::kInit || kind == Kind::kSessionInit; }

}  // namespace
}  // namespace rollcall::shim

// One exported function. The frame and the return address are this function's own: everything below
// is inlined into it or called from it.
#define RC_WRAPPER(symbol, operation_name, is_pmpi, PARAMETER, TYPE, ...)                   \
  extern "C" ROLLCALL_EXPORT int symbol(RC_LIST(PARAMETER, __VA_ARGS__)) {                  \
    using namespace rollcall;       /* NOLINT */                                            \
    using namespace rollcall::shim; /* NOLINT */                                            \
    static constinit NextFunction next{#symbol};                                            \
    static constexpr const OperationInfo& kInfo =                                           \
        FindOperation(static_cast<uint16_t>(Operation::k##operation_name));                 \
    const void* caller = __builtin_extract_return_addr(__builtin_return_address(0));        \
    using Function = int (*)(RC_LIST(TYPE, __VA_ARGS__));                                   \
    const auto found = Starts(kInfo.kind) ? next.Find(caller) : next.Get(caller);           \
    const auto function = reinterpret_cast<Function>(found.function);                       \
    Library* const library = found.library;                                                 \
    if (function == nullptr) return kNoNextFunction;                                        \
    if (Starts(kInfo.kind)) Start();                                                        \
    if (!Recording() || library == nullptr) return function(RC_LIST(RC_NAME, __VA_ARGS__)); \
    Arguments arguments(kInfo.kind != Kind::kCollective);                                   \
    RC_EACH(RC_TAKE, __VA_ARGS__)                                                           \
    Call call = MakeCall(kInfo, is_pmpi, ROLLCALL_CALLER_FRAME(), caller, library);         \
    Begin<GroupOf(kInfo.kind)>(&call, &arguments);                                          \
    const int returned = function(RC_LIST(RC_PASS, __VA_ARGS__));                           \
    End<GroupOf(kInfo.kind)>(&call, arguments, returned);                                   \
    return returned;                                                                        \
  }

#define RC_SMALL(name, ...)
#define RC_LARGE(name, ...)                                                               \
  RC_WRAPPER(MPI_##name##_c, name, false, RC_LARGE_PARAMETER, RC_LARGE_TYPE, __VA_ARGS__) \
  RC_WRAPPER(PMPI_##name##_c, name, true, RC_LARGE_PARAMETER, RC_LARGE_TYPE, __VA_ARGS__)

#define RC_EXTENSION(name, ...)                                                        \
  RC_WRAPPER(MPIX_##name, name, false, RC_SMALL_PARAMETER, RC_SMALL_TYPE, __VA_ARGS__) \
  RC_WRAPPER(PMPIX_##name, name, true, RC_SMALL_PARAMETER, RC_SMALL_TYPE, __VA_ARGS__)
#define RC_SMALL_MPIX(name, ...) RC_SMALL(name, __VA_ARGS__) RC_EXTENSION(name, __VA_ARGS__)
#define RC_LARGE_MPIX(name, ...) RC_LARGE(name, __VA_ARGS__) RC_EXTENSION(name, __VA_ARGS__)

#define FUNCTION(id, name, kind, rule, large, ...)                                    \
  RC_WRAPPER(MPI_##name, name, false, RC_SMALL_PARAMETER, RC_SMALL_TYPE, __VA_ARGS__) \
  RC_WRAPPER(PMPI_##name, name, true, RC_SMALL_PARAMETER, RC_SMALL_TYPE, __VA_ARGS__) \
  RC_##large(name, __VA_ARGS__)
#include "proto/functions.def"  // NOLINT(bugprone-suspicious-include)
#undef FUNCTION

#endif  // ROLLCALL_NO_EXPORTS
