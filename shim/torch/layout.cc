// SPDX-License-Identifier: Apache-2.0
#include "shim/torch/layout.h"

#include <atomic>

#include "proto/datatypes.h"
#include "proto/operations.h"
#include "shim/torch/binding.h"

namespace rollcall::shim::torch {
namespace {

// torch/csrc/inductor/aoti_torch/c/shim.h: an AtenTensorHandle is an at::Tensor*. From 2.1 on.
struct Interface {
  int (*numel)(const void*, int64_t*);
  int (*dtype)(const void*, int32_t*);
};

const Interface& TensorInterface() {
  static constinit Interface interface = {};
  static std::atomic<bool> known{false};
  if (__builtin_expect(!known.load(std::memory_order_acquire), 0)) {
    Interface found;
    found.numel = reinterpret_cast<decltype(found.numel)>(FindInTorch("aoti_torch_get_numel"));
    found.dtype = reinterpret_cast<decltype(found.dtype)>(FindInTorch("aoti_torch_get_dtype"));
    interface = found;  // every thread writes the same
    known.store(true, std::memory_order_release);
  }
  return interface;
}

// 1.13 has no such interface. Offsets in its c10::TensorImpl: of SizesAndStrides (the number of
// sizes, then up to five sizes, or a pointer to more), of numel_ and of data_type_.
constexpr int kVersionOfImpl = 113;
constexpr uint32_t kSizes = 72, kNumel = 168, kDataType = 176;
constexpr uint64_t kInlineSizes = 5, kMostSizes = 64;

// Returns false if the object is not the expected one: if its sizes and its number of elements do
// not agree.
bool ReadImpl(const void* impl, int64_t* numel, int32_t* dtype) {
  const auto* bytes = static_cast<const char*>(impl);
  const auto word = [bytes](uint32_t offset) {
    return *reinterpret_cast<const uint64_t*>(bytes + offset);
  };
  const uint64_t count = word(kSizes);
  if (count > kMostSizes) return false;
  const auto* sizes = count > kInlineSizes ? reinterpret_cast<const int64_t*>(word(kSizes + 8))
                                           : reinterpret_cast<const int64_t*>(bytes + kSizes + 8);
  int64_t product = 1;
  for (uint64_t i = 0; i < count; ++i) {
    if (__builtin_mul_overflow(product, sizes[i], &product)) return false;
  }
  *numel = static_cast<int64_t>(word(kNumel));
  *dtype = *reinterpret_cast<const uint16_t*>(bytes + kDataType);
  return *numel == product;
}

// `tensor` is an at::Tensor*, which is one pointer to its TensorImpl.
bool ReadTensor(const void* tensor, int64_t* numel, int32_t* dtype) {
  const void* impl = *static_cast<const void* const*>(tensor);
  if (impl == nullptr) return false;
  const Interface& interface = TensorInterface();
  if (interface.numel != nullptr && interface.dtype != nullptr) {
    return interface.numel(tensor, numel) == 0 && interface.dtype(tensor, dtype) == 0;
  }
  return TorchVersion() == kVersionOfImpl && ReadImpl(impl, numel, dtype);
}

// c10::ScalarType (c10/core/ScalarType.h): the numbers never changed, the list has only grown.
constexpr BasicType kScalarTypes[] = {
    BasicType::kuint8,   BasicType::kint8,      BasicType::kint16,      BasicType::kint32,
    BasicType::kint64,   BasicType::kfloat16,   BasicType::kfloat32,    BasicType::kfloat64,
    BasicType::kUnknown, BasicType::kcomplex64, BasicType::kcomplex128, BasicType::kbool,
    BasicType::kUnknown, BasicType::kUnknown,   BasicType::kUnknown,    BasicType::kbfloat16};
constexpr int kFloat8E5m2 = 23, kFloat8E4m3fn = 24, kScalarTypeCount = 25;

// The type for each number of c10::ScalarType.
struct ScalarTable {
  BasicTypeInfo row[kScalarTypeCount];
};
constexpr ScalarTable MakeScalarTable() {
  ScalarTable table{};
  int at = 0;
  for (const BasicType type : kScalarTypes) {
    if (type != BasicType::kUnknown) table.row[at] = FindBasicType(static_cast<uint16_t>(type));
    ++at;
  }
  table.row[kFloat8E5m2] = FindBasicType(static_cast<uint16_t>(BasicType::kfloat8_e5m2));
  table.row[kFloat8E4m3fn] = FindBasicType(static_cast<uint16_t>(BasicType::kfloat8_e4m3fn));
  return table;
}
constexpr ScalarTable kScalars = MakeScalarTable();

// The offset of ReduceOp::op_, and the size of ReduceOp. op_ follows the vtable pointer and the two
// reference counts of intrusive_ptr_target. The counts had 64 bits each up to 2.2; from 2.6 on,
// they have 32 bits each, later one word for both.
struct ReduceOpLayout {
  uint32_t op;
  uint32_t bytes;
};
ReduceOpLayout LayoutOfReduceOp() {
  const int version = TorchVersion();
  if (version >= 113 && version <= 202) return {24, 40};
  if (version >= 206 && version <= 299) return {16, 32};
  return {0, 0};
}

// True if the parts of all members have the same number of elements, or if there are no parts.
bool AreEven(const void* parts) {
  const auto* lists = *static_cast<const void* const* const* const*>(parts);
  if (lists == static_cast<const void* const* const* const*>(parts)[1]) return true;
  int64_t first = -1;
  for (const void* const* at = lists[0]; at < lists[1]; ++at) {
    int64_t count = 0;
    int32_t type = -1;
    if (!ReadTensor(at, &count, &type)) return false;
    if (first < 0) first = count;
    if (count != first) return false;
  }
  return true;
}

}  // namespace

TensorData DataOf(const Arguments& arguments) {
  if (arguments.parts != nullptr && !AreEven(arguments.parts)) return {};
  const void* first = arguments.tensor;
  const void* last = first;
  if (const auto* list = static_cast<const void* const* const*>(arguments.tensors)) {
    first = list[0];  // begin and end of the vector; an at::Tensor is one pointer
    last = list[1];
  } else if (first != nullptr) {
    last = static_cast<const void* const*>(first) + 1;
  }
  TensorData data;
  int32_t scalar = -1;
  for (const auto* at = static_cast<const void* const*>(first); at < last; ++at) {
    int64_t count = 0;
    int32_t type = -1;
    if (!ReadTensor(at, &count, &type)) return {};
    if (at != first && type != scalar) return {};
    scalar = type;
    data.count += static_cast<uint64_t>(count);
    data.known = true;
  }
  if (scalar < 0 || scalar >= kScalarTypeCount) return {};
  const BasicTypeInfo& type = kScalars.row[scalar];
  data.datatype = type.number;
  data.type_class = type.type_class;
  data.known &= data.datatype != 0;
  return data;
}

uint16_t ReductionOf(const Arguments& arguments) {
  if (arguments.reduction == nullptr) return 0;
  const ReduceOpLayout layout = LayoutOfReduceOp();
  if (layout.bytes == 0) return 0;
  const uint8_t op = static_cast<const uint8_t*>(arguments.reduction)[layout.op];
  constexpr int kLast = static_cast<int>(ReduceOp::kTorchPremulSum);
  const int named = static_cast<int>(ReduceOp::kTorchSum) + op;
  return named <= kLast ? static_cast<uint16_t>(named) : uint16_t{0};
}

int32_t RootOf(const Arguments& arguments) {
  const int64_t* root = arguments.root;
  if (arguments.root_after_reduction) {
    const ReduceOpLayout layout = LayoutOfReduceOp();
    if (layout.bytes == 0) return ring::kNoPeer;
    root = reinterpret_cast<const int64_t*>(static_cast<const char*>(arguments.reduction) +
                                            layout.bytes);
  }
  if (root == nullptr || *root < 0 || *root > INT32_MAX) return ring::kNoPeer;
  return static_cast<int32_t>(*root);
}

}  // namespace rollcall::shim::torch
