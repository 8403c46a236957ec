// SPDX-License-Identifier: Apache-2.0
// What is read of PyTorch's objects, from memory that is laid out as 1.13 does. Without PyTorch,
// the C interface of later versions is not there: what only that can read is unknown.
#include "shim/torch/layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <vector>

#include "proto/datatypes.h"
#include "proto/operations.h"
#include "shim/torch/binding.h"

namespace rollcall::shim::torch {
namespace {

// c10::ScalarType
constexpr uint16_t kInt64 = 4, kFloat = 6, kComplexHalf = 8, kBFloat16 = 15, kQuantized = 12;

// c10::TensorImpl of 1.13, as far as it is read.
struct Impl {
  char before_sizes[72] = {};
  uint64_t dimensions = 0;
  int64_t sizes[5] = {};  // or a pointer to more
  char before_numel[168 - 72 - 48] = {};
  int64_t numel = 1;
  uint16_t scalar_type = kFloat;
  char after[64] = {};
};
static_assert(offsetof(Impl, dimensions) == 72);
static_assert(offsetof(Impl, numel) == 168);
static_assert(offsetof(Impl, scalar_type) == 176);

Impl MakeImpl(std::initializer_list<int64_t> sizes, uint16_t scalar_type = kFloat) {
  Impl impl;
  impl.dimensions = sizes.size();
  uint64_t at = 0;
  for (const int64_t size : sizes) {
    impl.sizes[at++] = size;
    impl.numel *= size;
  }
  impl.scalar_type = scalar_type;
  return impl;
}

class TorchLayout : public ::testing::Test {
 protected:
  TorchLayout() { SetTorchVersion(113); }
  ~TorchLayout() override { SetTorchVersion(-1); }
};

// An at::Tensor is a pointer to its TensorImpl.
TensorData One(const Impl* impl) {
  Arguments arguments;
  arguments.tensor = &impl;
  return DataOf(arguments);
}
TensorData List(std::initializer_list<const Impl*> tensors) {
  const std::vector<const Impl*> vector = tensors;
  Arguments arguments;
  arguments.tensors = &vector;
  return DataOf(arguments);
}

TEST_F(TorchLayout, TensorHasItsElementsAndType) {
  const Impl impl = MakeImpl({3, 4, 5});
  const TensorData data = One(&impl);
  EXPECT_TRUE(data.known);
  EXPECT_EQ(data.count, 60u);
  EXPECT_EQ(data.datatype, static_cast<uint16_t>(BasicType::kfloat32));
}

TEST_F(TorchLayout, NoDimensionIsOneElementAndADimensionOfZeroIsNone) {
  const Impl scalar = MakeImpl({}), empty = MakeImpl({7, 0}, kInt64);
  EXPECT_EQ(One(&scalar).count, 1u);
  EXPECT_TRUE(One(&empty).known);
  EXPECT_EQ(One(&empty).count, 0u);
  EXPECT_EQ(One(&empty).datatype, static_cast<uint16_t>(BasicType::kint64));
}

TEST_F(TorchLayout, MoreThanFiveSizesAreOutside) {
  const int64_t sizes[] = {2, 2, 2, 2, 2, 3};
  Impl impl;
  impl.dimensions = 6;
  const int64_t* outside = sizes;
  memcpy(impl.sizes, &outside, sizeof(outside));
  impl.numel = 96;
  EXPECT_EQ(One(&impl).count, 96u);
  EXPECT_TRUE(One(&impl).known);
}

TEST_F(TorchLayout, ListIsTheSumOfItsTensors) {
  const Impl first = MakeImpl({10}, kBFloat16), second = MakeImpl({2, 3}, kBFloat16);
  const TensorData data = List({&first, &second});
  EXPECT_TRUE(data.known);
  EXPECT_EQ(data.count, 16u);
  EXPECT_EQ(data.datatype, static_cast<uint16_t>(BasicType::kbfloat16));
}

TEST_F(TorchLayout, InconsistentSizesAreUnknown) {
  Impl impl = MakeImpl({3, 4});
  impl.numel = 13;
  EXPECT_FALSE(One(&impl).known);
  const Impl good = MakeImpl({3});
  EXPECT_FALSE(List({&good, &impl}).known);
}

TEST_F(TorchLayout, ImpossibleSizesAreUnknown) {
  Impl many;
  many.dimensions = uint64_t{1} << 40;  // the pointer to them is not followed
  EXPECT_FALSE(One(&many).known);
  Impl large;
  large.dimensions = 3;
  for (int64_t& size : large.sizes) size = int64_t{1} << 40;
  large.numel = 0;  // as the product would overflow to
  EXPECT_FALSE(One(&large).known);
}

TEST_F(TorchLayout, TensorsOfSeveralTypesAreUnknown) {
  const Impl floats = MakeImpl({10}), longs = MakeImpl({10}, kInt64);
  EXPECT_FALSE(List({&floats, &longs}).known);
}

// NCCL's all_gather of parts that differ: each member gives as much as its part has.
TEST_F(TorchLayout, DataIsUnknownIfThePartsOfTheMembersDiffer) {
  const Impl two = MakeImpl({2}), three = MakeImpl({3});
  const Impl* own = &two;
  Arguments arguments;
  arguments.tensor = &own;
  std::vector<std::vector<const Impl*>> parts = {{&two, &two, &two}};
  arguments.parts = &parts;
  EXPECT_TRUE(DataOf(arguments).known);
  parts[0][1] = &three;
  EXPECT_FALSE(DataOf(arguments).known);
  parts.clear();  // a member that is not the root
  EXPECT_TRUE(DataOf(arguments).known);
}

TEST_F(TorchLayout, TypesWithoutACounterpartAreUnknown) {
  for (const uint16_t type : {kQuantized, kComplexHalf, uint16_t{1000}}) {
    const Impl impl = MakeImpl({10}, type);
    EXPECT_FALSE(One(&impl).known) << type;
    EXPECT_EQ(One(&impl).datatype, 0);
  }
}

TEST_F(TorchLayout, EightBitFloatsAreKnown) {
  const Impl e5m2 = MakeImpl({10}, 23), e4m3fn = MakeImpl({10}, 24);
  EXPECT_EQ(One(&e5m2).datatype, static_cast<uint16_t>(BasicType::kfloat8_e5m2));
  EXPECT_EQ(One(&e4m3fn).datatype, static_cast<uint16_t>(BasicType::kfloat8_e4m3fn));
}

TEST_F(TorchLayout, NoTensorIsUnknown) {
  EXPECT_FALSE(List({}).known);
  EXPECT_FALSE(One(nullptr).known);
  EXPECT_FALSE(DataOf({}).known);
}

TEST_F(TorchLayout, TensorsOfAnotherVersionAreNotRead) {
  const Impl impl = MakeImpl({3});
  for (const int version : {0, 112, 200}) {
    SetTorchVersion(version);
    EXPECT_FALSE(One(&impl).known) << version;
  }
}

// c10d's options structs: the root, or a ReduceOp, whose op_ follows a vtable pointer and counts.
struct Options113 {
  char object[24] = {};
  uint8_t op = 0;
  char rest[15] = {};
  int64_t root = 3;
};
static_assert(offsetof(Options113, root) == 40);
struct Options206 {
  char object[16] = {};
  uint8_t op = 0;
  char rest[15] = {};
  int64_t root = 3;
};
static_assert(offsetof(Options206, root) == 32);

template <typename Options>
Arguments Reducing(const Options& options) {
  Arguments arguments;
  arguments.reduction = &options;
  arguments.root_after_reduction = true;
  return arguments;
}

TEST_F(TorchLayout, ReductionAndRootOfEachVersion) {
  Options113 old;
  old.op = 3;
  EXPECT_EQ(ReductionOf(Reducing(old)), static_cast<uint16_t>(ReduceOp::kTorchSum) + 3);
  EXPECT_EQ(RootOf(Reducing(old)), 3);
  SetTorchVersion(206);
  Options206 current;
  current.op = 1;
  EXPECT_EQ(ReductionOf(Reducing(current)), static_cast<uint16_t>(ReduceOp::kTorchSum) + 1);
  EXPECT_EQ(RootOf(Reducing(current)), 3);
}

TEST_F(TorchLayout, ReductionAndItsRootAreUnknownBetweenTheVersions) {
  const Options113 options;
  for (const int version : {0, 112, 203, 205, 300}) {
    SetTorchVersion(version);
    EXPECT_EQ(ReductionOf(Reducing(options)), 0) << version;
    EXPECT_EQ(RootOf(Reducing(options)), ring::kNoPeer) << version;
  }
}

TEST_F(TorchLayout, ReductionThatDoesNotExistIsUnknown) {
  Options113 options;
  options.op = 200;
  EXPECT_EQ(ReductionOf(Reducing(options)), 0);
  EXPECT_EQ(ReductionOf({}), 0);
}

TEST_F(TorchLayout, RootOfABroadcastIsReadInEveryVersion) {
  Arguments arguments;
  int64_t root = 7;
  arguments.root = &root;
  for (const int version : {0, 113, 203, 206}) {
    SetTorchVersion(version);
    EXPECT_EQ(RootOf(arguments), 7);
  }
  root = -1;
  EXPECT_EQ(RootOf(arguments), ring::kNoPeer);
  root = int64_t{1} << 32;
  EXPECT_EQ(RootOf(arguments), ring::kNoPeer);
  EXPECT_EQ(RootOf({}), ring::kNoPeer);
}

}  // namespace
}  // namespace rollcall::shim::torch
