// SPDX-License-Identifier: Apache-2.0
// Compares proto/nccl_functions.def and shim/nccl/roles.h with a real nccl.h: for each function
// that this version declares, the number of parameters, and the size and register class of each.
// CMake generates nccl_declared.h with a macro IF_DECLARED_X(...) for each name of the table. It
// expands to its arguments if the header declares the function, otherwise to nothing.
#include <nccl.h>
#if NCCL_VERSION_CODE >= 22800
#include <nccl_device.h>
#endif

#include <cstdio>
#include <type_traits>

#include "nccl_declared.h"
#include "proto/datatypes.h"
#include "proto/operations.h"
#include "shim/for_each_word.h"
#include "shim/nccl/roles.h"

namespace {

namespace roles = rollcall::shim::nccl::roles;

int g_differences = 0;
int g_compared = 0;

// Returns how a value is passed: 0 in memory, 1 in a vector register, 2 in a general register.
template <typename T>
constexpr int RegisterClass() {
  return std::is_class_v<T> ? 0 : std::is_floating_point_v<T> ? 1 : 2;
}

template <typename Ours, typename Theirs>
constexpr bool SameWord() {
  return sizeof(Ours) == sizeof(Theirs) && RegisterClass<Ours>() == RegisterClass<Theirs>() &&
         std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
}

template <typename... Ours>
struct List {
  template <typename Result, typename... Theirs>
  static bool Matches(Result (*)(Theirs...)) {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
      return false;
    } else {
      return sizeof(Result) == sizeof(int) && (SameWord<Ours, Theirs>() && ...);
    }
  }
};

[[maybe_unused]] void Note(const char* name, bool matches) {
  ++g_compared;
  if (matches) return;
  ++g_differences;
  std::printf("%s: the table's words are not what nccl.h declares\n", name);
}

void Expect(const char* what, long ours, long theirs) {
  ++g_compared;
  if (ours == theirs) return;
  ++g_differences;
  std::printf("%s: %ld here, %ld in nccl.h\n", what, ours, theirs);
}

#define TYPE(word) roles::word::type

void CompareFunctions() {
#define NCCL_FORM(name, operation, ...)                                            \
  IF_DECLARED_##name(Note("nccl" #name, List<RC_LIST(TYPE, __VA_ARGS__)>::Matches( \
                                            static_cast<decltype(&nccl##name)>(nullptr)));)
#define NCCL(id, name, kind, rule, ...) NCCL_FORM(name, name, __VA_ARGS__)
#include "proto/nccl_functions.def"
#undef NCCL
#undef NCCL_FORM
}

void CompareNumbers() {
  using rollcall::BasicType;
  const auto type = [](BasicType ours) {
    return static_cast<long>(ours) - static_cast<long>(BasicType::kncclInt8);
  };
  Expect("ncclInt8", type(BasicType::kncclInt8), ncclInt8);
  Expect("ncclUint64", type(BasicType::kncclUint64), ncclUint64);
  Expect("ncclFloat64", type(BasicType::kncclFloat64), ncclFloat64);
#if NCCL_VERSION_CODE >= 22800
  Expect("ncclBfloat16", type(BasicType::kncclBfloat16), ncclBfloat16);
  Expect("ncclFloat8e5m2", type(BasicType::kncclFloat8e5m2), ncclFloat8e5m2);
#endif
  const auto op = [](rollcall::ReduceOp ours) {
    return static_cast<long>(ours) - static_cast<long>(rollcall::ReduceOp::kNcclSum);
  };
  Expect("ncclSum", op(rollcall::ReduceOp::kNcclSum), ncclSum);
  Expect("ncclProd", op(rollcall::ReduceOp::kNcclProd), ncclProd);
  Expect("ncclMax", op(rollcall::ReduceOp::kNcclMax), ncclMax);
  Expect("ncclMin", op(rollcall::ReduceOp::kNcclMin), ncclMin);
  Expect("ncclAvg", op(rollcall::ReduceOp::kNcclAvg), ncclAvg);
  Expect("sizeof(ncclUniqueId)", sizeof(rollcall::shim::nccl::UniqueId), sizeof(ncclUniqueId));
  Expect("ncclInProgress", 7, ncclInProgress);
}

}  // namespace

int main() {
  CompareFunctions();
  CompareNumbers();
  std::printf("NCCL %d: %d compared, %d differences\n", NCCL_VERSION_CODE, g_compared,
              g_differences);
  return g_compared > 40 && g_differences == 0 ? 0 : 1;
}
