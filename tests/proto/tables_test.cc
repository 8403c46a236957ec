// SPDX-License-Identifier: Apache-2.0
// Tests the tables of proto/: the numbers that are stored in rings are unique and do not change.
#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "proto/datatypes.h"
#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall {
namespace {

TEST(Operations, NumbersAndNamesAreUnique) {
  std::set<uint16_t> numbers = {static_cast<uint16_t>(Operation::kCallError),
                                static_cast<uint16_t>(Operation::kThreadExit), ring::kContinuation};
  std::set<std::string_view> names;
  for (const OperationInfo& info : kOperations) {
    const auto number = static_cast<uint16_t>(info.operation);
    EXPECT_NE(number, 0) << info.name;
    EXPECT_TRUE(numbers.insert(number).second) << info.name << " " << number;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(info.name.substr(0, 4), "MPI_");
  }
}

// The numbers and names of the lists do not overlap.
TEST(Operations, EveryListHasItsOwnRange) {
  std::set<uint16_t> numbers;
  std::set<std::string_view> names;
  const auto add = [&](const OperationInfo& info, uint16_t first, uint16_t end) {
    const auto number = static_cast<uint16_t>(info.operation);
    EXPECT_GE(number, first) << info.name;
    EXPECT_LT(number, end) << info.name;
    EXPECT_TRUE(numbers.insert(number).second) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(FindOperation(number).name, info.name);
  };
  for (const OperationInfo& info : kOperations) add(info, 1, 600);
  for (const OperationInfo& info : kTorchOperations) add(info, 600, 640);
  for (const OperationInfo& info : kNcclOperations) add(info, 700, 840);
  for (const OperationInfo& info : kC10dOperations) {
    const auto number = static_cast<uint16_t>(info.operation);
    EXPECT_GE(number, 640) << info.name;
    EXPECT_LT(number, 700) << info.name;
    EXPECT_FALSE(IsOnDevice(info.operation)) << info.name;
    const OperationInfo& on_device = FindOperation(OnDevice(number));
    EXPECT_EQ(on_device.name, info.name);
    EXPECT_EQ(on_device.rule, info.rule) << info.name;
    EXPECT_TRUE(IsOnDevice(on_device.operation) && IsC10d(on_device.operation)) << info.name;
  }
  EXPECT_EQ(FindOperation(static_cast<uint16_t>(Operation::kC10dDeviceWait)).kind, Kind::kHostWait);
  EXPECT_TRUE(IsNccl(Operation::kNcclAllReduce));
  EXPECT_FALSE(IsNccl(Operation::kcudaStreamSynchronize));
}

// The numbers are stored in files, and later versions must be able to read old rings.
TEST(Operations, NumbersNeverChange) {
  const std::map<std::string_view, uint16_t> fixed = {
      {"MPI_Init", 1},         {"MPI_Barrier", 20}, {"MPI_Allreduce", 32}, {"MPI_Ibarrier", 80},
      {"MPI_Comm_split", 206}, {"MPI_Send", 250},   {"MPI_Waitall", 331}};
  size_t found = 0;
  for (const OperationInfo& info : kOperations) {
    const auto it = fixed.find(info.name);
    if (it == fixed.end()) continue;
    EXPECT_EQ(static_cast<uint16_t>(info.operation), it->second) << info.name;
    ++found;
  }
  EXPECT_EQ(found, fixed.size());
}

TEST(Operations, AreFoundByNumber) {
  for (const OperationInfo& info : kOperations) {
    EXPECT_EQ(FindOperation(static_cast<uint16_t>(info.operation)).name, info.name);
  }
  EXPECT_TRUE(FindOperation(0).name.empty());
  EXPECT_TRUE(FindOperation(12345).name.empty());
}

// Nonblocking and persistent forms match like the blocking form of the same name.
TEST(Operations, FormsOfACollectiveHaveTheSameRule) {
  std::map<std::string, Rule> blocking;
  for (const OperationInfo& info : kOperations) {
    if (info.kind != Kind::kCollective) continue;
    std::string name(info.name.substr(4));
    name[0] = static_cast<char>(std::tolower(name[0]));
    blocking[name] = info.rule;
  }
  size_t compared = 0;
  for (const OperationInfo& info : kOperations) {
    std::string name(info.name.substr(4));
    if (info.kind == Kind::kNonblocking && name[0] == 'I') {
      name = name.substr(1);
    } else if (info.kind == Kind::kPersistentCollective && name.ends_with("_init")) {
      name.resize(name.size() - 5);
      name[0] = static_cast<char>(std::tolower(name[0]));
    } else {
      continue;
    }
    const auto it = blocking.find(name);
    if (it == blocking.end()) continue;
    EXPECT_EQ(info.rule, it->second) << info.name;
    ++compared;
  }
  EXPECT_GE(compared, 40u);
}

TEST(Operations, CollectivesHaveARule) {
  for (const OperationInfo& info : kOperations) {
    if (!IsCollective(info.kind)) continue;
    EXPECT_NE(info.rule, Rule::kNone) << info.name;
  }
}

TEST(Datatypes, NumbersAndNamesAreUniqueAndBasic) {
  std::set<uint16_t> numbers;
  std::set<std::string_view> names;
  for (const BasicTypeInfo& info : kBasicTypes) {
    EXPECT_TRUE(numbers.insert(info.number).second) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_GT(info.number, 0);
    EXPECT_LT(info.number, static_cast<uint16_t>(BasicType::kUnknown)) << info.name;
    EXPECT_EQ(info.bytes == 0, info.name == "MPI_DATATYPE_NULL") << info.name;
    EXPECT_EQ(FindBasicType(info.number).name, info.name);
  }
  EXPECT_EQ(FindBasicType(0).number, 0);
}

// Types of one class have the same representation, so they have the same size.
TEST(Datatypes, TypesOfOneClassHaveTheSameSize) {
  std::map<TypeClass, BasicTypeInfo> first;
  for (const BasicTypeInfo& info : kBasicTypes) {
    if (info.type_class == TypeClass::kUnknown || info.type_class == TypeClass::kPair ||
        info.type_class == TypeClass::kLogical) {
      continue;
    }
    const auto [it, is_new] = first.try_emplace(info.type_class, info);
    EXPECT_EQ(info.bytes, it->second.bytes) << info.name << " and " << it->second.name;
  }
}

TEST(ReduceOps, HaveNames) {
  EXPECT_EQ(ReduceOpName(static_cast<uint16_t>(ReduceOp::kSum)), "MPI_SUM");
  EXPECT_EQ(ReduceOpName(static_cast<uint16_t>(ReduceOp::kNoOp)), "MPI_NO_OP");
  EXPECT_EQ(ReduceOpName(static_cast<uint16_t>(ReduceOp::kNcclAvg)), "ncclAvg");
  EXPECT_EQ(ReduceOpName(static_cast<uint16_t>(ReduceOp::kUser)), "user-defined op");
  EXPECT_EQ(ReduceOpName(60000), "unknown op");
}

// The figures that ring_format.md specifies. A change requires a new major version.
TEST(RingFormat, LayoutEqualsTheSpecification) {
  using namespace ring;
  EXPECT_EQ(sizeof(Section), 40u);
  EXPECT_EQ(sizeof(ThreadEntry), 704u);
  EXPECT_EQ(sizeof(Member), 760u);
  EXPECT_EQ(sizeof(OpenRequest), 160u);
  EXPECT_EQ(sizeof(Record), 128u);
  EXPECT_EQ(offsetof(FileHeader, byte_order), 8u);
  EXPECT_EQ(offsetof(FileHeader, version_major), 12u);
  EXPECT_EQ(offsetof(FileHeader, header_bytes), 16u);
  EXPECT_EQ(offsetof(FileHeader, file_bytes), 24u);
  EXPECT_EQ(offsetof(FileHeader, process_id_random), 32u);
  EXPECT_EQ(offsetof(FileHeader, pid), 48u);
  EXPECT_EQ(offsetof(FileHeader, process_start_ticks), 56u);
  EXPECT_EQ(offsetof(FileHeader, job_key), 64u);
  EXPECT_EQ(offsetof(FileHeader, clock), 88u);
  EXPECT_EQ(offsetof(FileHeader, last_anchor_lock), 120u);
  EXPECT_EQ(offsetof(FileHeader, exit_mark), 168u);
  EXPECT_EQ(offsetof(FileHeader, errors_seen), 200u);
  EXPECT_EQ(offsetof(FileHeader, calls_unrecorded), 1448u);
  EXPECT_EQ(offsetof(FileHeader, sections), 3456u);
  EXPECT_EQ(offsetof(Record, sequence), 32u);
  EXPECT_EQ(offsetof(Record, send_count), 48u);
  EXPECT_EQ(offsetof(Record, send_datatype), 88u);
  EXPECT_EQ(offsetof(Record, continuations), 94u);
  EXPECT_EQ(offsetof(Record, request), 104u);
  EXPECT_EQ(offsetof(Record, detail2), 120u);
  EXPECT_EQ(offsetof(Section, used), 24u);
  // Words that change while the file is in use.
  EXPECT_EQ(offsetof(ThreadEntry, polling) % 8, 0u);
  EXPECT_EQ(offsetof(ThreadEntry, ring_head) % 8, 0u);
  EXPECT_EQ(offsetof(ThreadEntry, calls_ended) % 8, 0u);
  EXPECT_EQ(offsetof(Member, entered) % 8, 0u);
}

}  // namespace
}  // namespace rollcall
