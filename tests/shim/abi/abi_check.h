// SPDX-License-Identifier: Apache-2.0
// Compares the parameters in proto/functions.def and the constants in shim/library.cc with one
// vendor's mpi.h.
//
// Include this file once, after VENDOR_FLAVOR is defined, in a translation unit whose include path
// has that mpi.h. The vendor's declarations are put into a namespace, so that the name of a
// function that it lacks denotes an `Absent` of the enclosing namespace.
#ifndef ROLLCALL_TESTS_SHIM_ABI_ABI_CHECK_H_
#define ROLLCALL_TESTS_SHIM_ABI_ABI_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include "proto/mpi_errors.h"
#include "shim/library.h"
#include "shim/roles.h"

namespace abi {

// The type of a name that the vendor does not declare. It is not in the global namespace, where it
// would conflict with C functions of the same name.
struct Absent {};
#define FUNCTION(id, name, kind, rule, large, ...) \
  [[maybe_unused]] static Absent MPI_##name;       \
  [[maybe_unused]] static Absent MPI_##name##_c;   \
  [[maybe_unused]] static Absent MPIX_##name;
#include "proto/functions.def"
#undef FUNCTION

}  // namespace abi

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
namespace abi::vendor {
#include <mpi.h>
#if __has_include(<mpi-ext.h>)  // Open MPI's MPIX_ functions
#include <mpi-ext.h>
#endif
}  // namespace abi::vendor

namespace abi::vendor {

namespace shim = rollcall::shim;
namespace roles = rollcall::shim::roles;

// The vendor's type of a parameter that is a handle, by role. Other parameters are compared by
// their C type only.
template <typename Role>
struct HandleOf {
  using type = void;
};
#define HANDLE(role, handle)     \
  template <>                    \
  struct HandleOf<roles::role> { \
    using type = handle;         \
  };
HANDLE(comm, MPI_Comm)
HANDLE(comm2, MPI_Comm)
HANDLE(peer_comm, MPI_Comm)
HANDLE(newcomm, MPI_Comm)
HANDLE(comm_inout, MPI_Comm)
HANDLE(datatype, MPI_Datatype)
HANDLE(sendtype, MPI_Datatype)
HANDLE(recvtype, MPI_Datatype)
HANDLE(sendtypes, MPI_Datatype)
HANDLE(recvtypes, MPI_Datatype)
HANDLE(datatype_inout, MPI_Datatype)
HANDLE(etype, MPI_Datatype)
HANDLE(origin_type, MPI_Datatype)
HANDLE(result_type, MPI_Datatype)
HANDLE(target_type, MPI_Datatype)
HANDLE(filetype, MPI_Datatype)
HANDLE(newtype, MPI_Datatype)
HANDLE(op, MPI_Op)
HANDLE(op_inout, MPI_Op)
HANDLE(newop, MPI_Op)
HANDLE(request, MPI_Request)
HANDLE(request_inout, MPI_Request)
HANDLE(request_in, MPI_Request)
HANDLE(requests, MPI_Request)
HANDLE(status, MPI_Status)
HANDLE(statuses, MPI_Status)
HANDLE(message, MPI_Message)
HANDLE(info, MPI_Info)
HANDLE(infos, MPI_Info)
HANDLE(group, MPI_Group)
HANDLE(remote_group, MPI_Group)
HANDLE(group2, MPI_Group)
HANDLE(newgroup, MPI_Group)
HANDLE(group_inout, MPI_Group)
HANDLE(win, MPI_Win)
HANDLE(win_inout, MPI_Win)
HANDLE(newwin, MPI_Win)
HANDLE(file, MPI_File)
HANDLE(file_inout, MPI_File)
HANDLE(newfile, MPI_File)
HANDLE(errhandler, MPI_Errhandler)
#if MPI_VERSION >= 4
HANDLE(session, MPI_Session)
HANDLE(newsession, MPI_Session)
HANDLE(session_inout, MPI_Session)
#endif
#undef HANDLE

template <typename T>
inline constexpr bool kIsWideInteger = std::is_integral_v<T>&& std::is_signed_v<T> &&
                                       sizeof(T) == 8;

// Removes const at every pointer level: it does not change how an argument is passed.
template <typename T>
struct Bare {
  using type = std::remove_cv_t<T>;
};
template <typename T>
struct Bare<T*> {
  using type = typename Bare<std::remove_cv_t<T>>::type*;
};

// Returns whether a parameter of this role and of type `Theirs` is passed like one of type `Ours`.
template <typename Role, typename Ours, typename Theirs>
constexpr bool Travels() {
  using Handle = typename HandleOf<Role>::type;
  using OursBare = typename Bare<Ours>::type;
  using TheirsBare = typename Bare<Theirs>::type;
  if constexpr (std::is_same_v<OursBare, shim::Word>) {
    return std::is_same_v<TheirsBare, Handle> && sizeof(Theirs) <= sizeof(shim::Word);
  } else if constexpr (!std::is_void_v<Handle>) {
    return std::is_same_v<OursBare, void*> && std::is_same_v<TheirsBare, Handle*>;
  } else if constexpr (std::is_same_v<OursBare, void*>) {
    return std::is_pointer_v<TheirsBare>;
  } else if constexpr (std::is_pointer_v<OursBare> && std::is_pointer_v<TheirsBare>) {
    return Travels<Role, std::remove_pointer_t<OursBare>, std::remove_pointer_t<TheirsBare>>();
  } else {
    return std::is_same_v<OursBare, TheirsBare> ||
           (kIsWideInteger<OursBare> && kIsWideInteger<TheirsBare>);
  }
}

template <bool kLarge, typename Role>
struct TypeOf {
  using type = typename Role::type;
};
template <typename Role>
struct TypeOf<true, Role> {
  using type = typename Role::large_type;
};

// 0: the parameters match; 1: they do not match; 2: the vendor has no such function.
template <bool kLarge, typename Function, typename... Roles>
struct Compare {
  static constexpr int kResult = 2;
  static_assert(std::is_same_v<Function, Absent*>);
};
template <bool kLarge, typename... Theirs, typename... Roles>
struct Compare<kLarge, int (*)(Theirs...), Roles...> {
  static constexpr bool AllTravel() {
    if constexpr (sizeof...(Theirs) != sizeof...(Roles)) {
      return false;
    } else {
      return (Travels<Roles, typename TypeOf<kLarge, Roles>::type, Theirs>() && ...);
    }
  }
  static constexpr int kResult = AllTravel() ? 0 : 1;
};

}  // namespace abi::vendor

#include "tests/shim/abi/word_list.h"

namespace abi::vendor {

inline int failures = 0;
inline std::string lacking;

inline void Report(const char* name, int result, bool may_lack) {
  if (result == 1) {
    std::printf("%s: the words do not fit this mpi.h\n", name);
    ++failures;
  } else if (result == 2) {
    lacking += std::string(" ") + name;
    if (!may_lack) ++failures;
  }
}

inline void Expect(const char* what, uint64_t ours, uint64_t theirs) {
  if (ours == theirs) return;
  std::printf("%s: 0x%llx here, 0x%llx in mpi.h\n", what, static_cast<unsigned long long>(ours),
              static_cast<unsigned long long>(theirs));
  ++failures;
}

// Versions before MPI 4.0 do not have all functions.
inline constexpr bool kMayLack = MPI_VERSION < 4;
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
inline constexpr bool kMayLackExtensions = false;
#else
inline constexpr bool kMayLackExtensions = true;
#endif

inline void CompareFunctions() {
#define ROLLCALL_CHECK(name, large, may_lack, ...)                                             \
  {                                                                                            \
    using Result = Compare<large, decltype(&name) __VA_OPT__(, ) ROLLCALL_ROLES(__VA_ARGS__)>; \
    Report(#name, Result::kResult, may_lack);                                                  \
  }
#define SMALL_FORM(name, ...)
#define LARGE_FORM(name, ...) ROLLCALL_CHECK(MPI_##name##_c, true, kMayLack, __VA_ARGS__)
#define EXTENSION(name, ...) ROLLCALL_CHECK(MPIX_##name, false, kMayLackExtensions, __VA_ARGS__)
#define SMALL_MPIX_FORM(name, ...) SMALL_FORM(name, __VA_ARGS__) EXTENSION(name, __VA_ARGS__)
#define LARGE_MPIX_FORM(name, ...) LARGE_FORM(name, __VA_ARGS__) EXTENSION(name, __VA_ARGS__)
#define FUNCTION(id, name, kind, rule, large, ...) \
  ROLLCALL_CHECK(MPI_##name, false, kMayLack, __VA_ARGS__) large##_FORM(name, __VA_ARGS__)
#include "proto/functions.def"
#undef FUNCTION
}

template <typename Handle>
uint64_t HandleWord(Handle handle) {
  uint64_t word = 0;
  std::memcpy(&word, &handle, sizeof(handle));
  return word;
}

inline void CompareConstants() {
  const shim::Abi& abi = shim::AbiOf(VENDOR_FLAVOR);
  Expect("handle_bytes", abi.handle_bytes, sizeof(MPI_Comm));
  Expect("sizeof(MPI_File)", 8, sizeof(MPI_File));
  Expect("sizeof(MPI_Status)", abi.status_bytes, sizeof(MPI_Status));
  Expect("MPI_SOURCE", abi.status_source, offsetof(MPI_Status, MPI_SOURCE));
  Expect("MPI_TAG", abi.status_tag, offsetof(MPI_Status, MPI_TAG));
  Expect("MPI_ERROR", abi.status_error, offsetof(MPI_Status, MPI_ERROR));
  Expect("MPI_STATUS_IGNORE", abi.status_ignore, reinterpret_cast<uint64_t>(MPI_STATUS_IGNORE));
  Expect("MPI_STATUSES_IGNORE", abi.status_ignore, reinterpret_cast<uint64_t>(MPI_STATUSES_IGNORE));
  Expect("MPI_IN_PLACE", abi.in_place, reinterpret_cast<uint64_t>(MPI_IN_PLACE));
  const auto number = [](const char* what, int32_t ours, int theirs) {
    Expect(what, static_cast<uint32_t>(ours), static_cast<uint32_t>(theirs));
  };
  number("MPI_ANY_SOURCE", abi.any_source, MPI_ANY_SOURCE);
  number("MPI_PROC_NULL", abi.proc_null, MPI_PROC_NULL);
  number("MPI_ROOT", abi.root, MPI_ROOT);
  number("MPI_ANY_TAG", abi.any_tag, MPI_ANY_TAG);
  number("MPI_UNDEFINED", abi.undefined, MPI_UNDEFINED);
  number("MPI_ERR_IN_STATUS", abi.err_in_status, MPI_ERR_IN_STATUS);
  number("MPI_COMBINER_NAMED", abi.combiner_named, MPI_COMBINER_NAMED);
  number("MPI_CART", abi.cart, MPI_CART);
  number("MPI_GRAPH", abi.graph, MPI_GRAPH);
  number("MPI_DIST_GRAPH", abi.dist_graph, MPI_DIST_GRAPH);
  number("MPI_THREAD_SINGLE", 0, MPI_THREAD_SINGLE);
  number("MPI_THREAD_MULTIPLE", 3, MPI_THREAD_MULTIPLE);
#define X(name, text, open_mpi, mpich, rejects)                                                   \
  number("MPI_ERR_" #name, abi.flavor == ::rollcall::ring::Flavor::kMpich ? (mpich) : (open_mpi), \
         MPI_ERR_##name);
  ROLLCALL_ERROR_CLASSES(X)
#undef X
}

inline int Finish(const char* vendor) {
  std::printf("%s, MPI %d.%d: %d difference(s)\n", vendor, MPI_VERSION, MPI_SUBVERSION, failures);
  if (!lacking.empty()) std::printf("not in this mpi.h:%s\n", lacking.c_str());
  return failures == 0 ? 0 : 1;
}

}  // namespace abi::vendor

#endif  // ROLLCALL_TESTS_SHIM_ABI_ABI_CHECK_H_
