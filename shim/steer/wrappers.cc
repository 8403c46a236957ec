// SPDX-License-Identifier: Apache-2.0
// The exported functions of librollcall-steer.so, generated from proto/functions.def: MPI_X and
// PMPI_X of the kinds below, and MPI_X_c and PMPI_X_c if they exist. It defines no other function
// of MPI: the recorder finds the MPI library by PMPI_Init.
#include "proto/operations.h"
#include "shim/arguments.h"
#include "shim/for_each_word.h"
#include "shim/library.h"
#include "shim/platform.h"
#include "shim/roles.h"
#include "shim/steer/steering.h"

namespace rollcall::shim {
namespace {

struct SynchronousForm {
  std::string_view name;
  const char* synchronous;
};
constexpr SynchronousForm kSynchronousForms[] = {
    {"MPI_Send", "MPI_Ssend"},       {"PMPI_Send", "PMPI_Ssend"},
    {"MPI_Send_c", "MPI_Ssend_c"},   {"PMPI_Send_c", "PMPI_Ssend_c"},
    {"MPI_Isend", "MPI_Issend"},     {"PMPI_Isend", "PMPI_Issend"},
    {"MPI_Isend_c", "MPI_Issend_c"}, {"PMPI_Isend_c", "PMPI_Issend_c"},
};

// The function to which SteeredCall::synchronous() refers; the function itself if it is no standard
// send.
constexpr const char* SynchronousName(const char* symbol) {
  for (const SynchronousForm& form : kSynchronousForms) {
    if (form.name == symbol) return form.synchronous;
  }
  return symbol;
}

}  // namespace
}  // namespace rollcall::shim

// A call of which nothing is steered, nor what the library calls inside it.
#define RC_COVERED(symbol, operation_name, PARAMETER, TYPE, ...)                     \
  extern "C" ROLLCALL_EXPORT int symbol(RC_LIST(PARAMETER, __VA_ARGS__)) {           \
    using namespace rollcall;       /* NOLINT */                                     \
    using namespace rollcall::shim; /* NOLINT */                                     \
    static constinit NextFunction next{#symbol};                                     \
    const void* caller = __builtin_extract_return_addr(__builtin_return_address(0)); \
    using Function = int (*)(RC_LIST(TYPE, __VA_ARGS__));                            \
    const auto function = reinterpret_cast<Function>(next.Get(caller).function);     \
    if (function == nullptr) return kNoNextFunction;                                 \
    const CoveredCall call;                                                          \
    return function(RC_LIST(RC_NAME, __VA_ARGS__));                                  \
  }

#define RC_STEERED(symbol, operation_name, PARAMETER, TYPE, ...)                     \
  extern "C" ROLLCALL_EXPORT int symbol(RC_LIST(PARAMETER, __VA_ARGS__)) {           \
    using namespace rollcall;       /* NOLINT */                                     \
    using namespace rollcall::shim; /* NOLINT */                                     \
    static constinit NextFunction next{#symbol};                                     \
    static constinit NextFunction synchronous{SynchronousName(#symbol)};             \
    static constexpr const OperationInfo& kInfo =                                    \
        FindOperation(static_cast<uint16_t>(Operation::k##operation_name));          \
    const void* caller = __builtin_extract_return_addr(__builtin_return_address(0)); \
    using Function = int (*)(RC_LIST(TYPE, __VA_ARGS__));                            \
    const NextFunction::Found found = next.Get(caller);                              \
    auto function = reinterpret_cast<Function>(found.function);                      \
    if (function == nullptr) return kNoNextFunction;                                 \
    Arguments arguments(kInfo.kind != Kind::kCollective);                            \
    RC_EACH(RC_TAKE, __VA_ARGS__)                                                    \
    SteeredCall call(kInfo, found.library, arguments);                               \
    if (call.synchronous()) {                                                        \
      if (void* other = synchronous.Get(caller).function)                            \
        function = reinterpret_cast<Function>(other);                                \
    }                                                                                \
    const int returned = function(RC_LIST(RC_NAME, __VA_ARGS__));                    \
    call.Finish(returned, arguments);                                                \
    return returned;                                                                 \
  }

#define RC_SMALL(WRAPPER, name, ...)
#define RC_LARGE(WRAPPER, name, ...)                                            \
  WRAPPER(MPI_##name##_c, name, RC_LARGE_PARAMETER, RC_LARGE_TYPE, __VA_ARGS__) \
  WRAPPER(PMPI_##name##_c, name, RC_LARGE_PARAMETER, RC_LARGE_TYPE, __VA_ARGS__)
#define RC_SMALL_MPIX(WRAPPER, name, ...)
#define RC_LARGE_MPIX(WRAPPER, name, ...) RC_LARGE(WRAPPER, name, __VA_ARGS__)

// How a kind is wrapped: RC_STEER(Kind) is the word in its line, and RC_LEFT for all others. ROMIO,
// by which libraries access files, sends messages with the functions that programs call.
#define RC_KIND_Send , RC_STEERED
#define RC_KIND_Isend , RC_STEERED
#define RC_KIND_Recv , RC_STEERED
#define RC_KIND_Irecv , RC_STEERED
#define RC_KIND_Probe , RC_STEERED
#define RC_KIND_Wait , RC_STEERED
#define RC_KIND_Waitall , RC_STEERED
#define RC_KIND_Waitany , RC_STEERED
#define RC_KIND_Waitsome , RC_STEERED
#define RC_KIND_Collective , RC_STEERED
#define RC_KIND_OpenFile , RC_COVERED
#define RC_KIND_CloseFile , RC_COVERED
#define RC_KIND_File , RC_COVERED
#define RC_KIND_FileNonblocking , RC_COVERED
#define RC_SECOND(first, second, ...) second
#define RC_CHOOSE(...) RC_SECOND(__VA_ARGS__)
#define RC_STEER(kind) RC_CHOOSE(RC_KIND_##kind, RC_LEFT, )

#define RC_LEFT(...)
#define RC_WRAP(WRAPPER, name, large, ...)                                   \
  WRAPPER(MPI_##name, name, RC_SMALL_PARAMETER, RC_SMALL_TYPE, __VA_ARGS__)  \
  WRAPPER(PMPI_##name, name, RC_SMALL_PARAMETER, RC_SMALL_TYPE, __VA_ARGS__) \
  RC_##large(WRAPPER, name, __VA_ARGS__)

#define FUNCTION(id, name, kind, rule, large, ...) RC_WRAP(RC_STEER(kind), name, large, __VA_ARGS__)
#include "proto/functions.def"  // NOLINT(bugprone-suspicious-include)
#undef FUNCTION

// A rank joins when it initializes MPI. The first steered call makes up for the ways that do not
// lead here.
#define RC_INIT(name, parameters, types, arguments)                                  \
  extern "C" ROLLCALL_EXPORT int name parameters {                                   \
    using namespace rollcall::shim; /* NOLINT */                                     \
    static constinit NextFunction next{#name};                                       \
    const void* caller = __builtin_extract_return_addr(__builtin_return_address(0)); \
    const NextFunction::Found found = next.Find(caller);                             \
    const auto function = reinterpret_cast<int(*) types>(found.function);            \
    if (function == nullptr) return kNoNextFunction;                                 \
    const int returned = function arguments;                                         \
    if (returned == 0 && found.library != nullptr) JoinSteeredRun(*found.library);   \
    return returned;                                                                 \
  }
RC_INIT(MPI_Init, (int* argc, char*** argv), (int*, char***), (argc, argv))
RC_INIT(MPI_Init_thread, (int* argc, char*** argv, int required, int* provided),
        (int*, char***, int, int*), (argc, argv, required, provided))
