// SPDX-License-Identifier: Apache-2.0
#include "collector/live/mpich_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tests/collector/live/fake_python.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using testing::FakeMemory;
using ::testing::IsEmpty;

// The library's data.
constexpr uint64_t kMpichData = 0x10000, kMpichDataEnd = 0x18000;
constexpr uint64_t kCommunicatorPool = 0x10100, kRequestPool = 0x10200, kTablePointer = 0x10300;
constexpr uint64_t kMpichDirect = 0x11000, kMpichWorld = 0x13000, kMpichRequests = 0x15000;
constexpr uint64_t kCommunicatorBytes = 872, kRequestBytes = 272;
constexpr uint64_t kMap = 784, kLastMap = 824;
// Heap and stack.
constexpr uint64_t kMpichBlocks = 0x40000, kMpichBlock = 0x50000, kMpichRecords = 0x60000,
                   kMpichTable = 0x70000, kMpichStack = 0xf000, kMpichArrays = 0xe000;

constexpr uint64_t DirectCommunicator(uint64_t i) { return kMpichDirect + kCommunicatorBytes * i; }
constexpr uint64_t DirectRequest(uint64_t i) { return kMpichRequests + kRequestBytes * i; }
constexpr uint64_t MpichRecord(uint64_t i) { return kMpichRecords + 0x1000 * i + 0x800; }
constexpr uint64_t MpichEndpoint(uint64_t rank) { return 0x71000 + 88 * rank; }

struct FakeMap {
  uint32_t mode = 1;
  int32_t job = 0;
  int32_t size = 4;
  int32_t offset = 0;
  int32_t stride = 0;
  int32_t block_size = 0;
  uint64_t table = 0;
};

// Objects in the layout of MPICH 4.0 over UCX. The job has four ranks, and this process is rank 2.
// Communicator 0 has all ranks, communicator 1 the ranks 3, 1 and 2.
class MpichCall : public ::testing::Test {
 protected:
  MpichCall() {
    memory_.Zero(kMpichData, kMpichDataEnd - kMpichData);
    AddPool(kCommunicatorPool, 1, kCommunicatorBytes, kMpichDirect, 4);
    AddPool(kRequestPool, 11, kRequestBytes, kMpichRequests, 8);
    for (uint32_t i = 0; i < 4; ++i) memory_.Put(DirectCommunicator(i), 0x84000000 + i);
    for (uint32_t i = 0; i < 8; ++i) memory_.Put(DirectRequest(i), 0xac000000 + i);
    AddCommunicator(kMpichWorld, 0x44000000, 0, 2, {});
    AddCommunicator(DirectCommunicator(0), 0x84000000, 0x1f0, 2, {});
    const std::vector<int32_t> ranks = {3, 1, 2};
    for (size_t i = 0; i < ranks.size(); ++i) memory_.Put(kMpichTable + 0x800 + 4 * i, ranks[i]);
    AddCommunicator(DirectCommunicator(1), 0x84000001, 0x200, 2,
                    {.mode = 9, .size = 3, .table = kMpichTable + 0x800});
  }
  void AddPool(uint64_t at, uint32_t what, uint64_t size, uint64_t direct, uint32_t count) {
    memory_.Put(at + 8, 1);
    memory_.Put(at + 28, count);
    memory_.Put(at + 36, what);
    memory_.Put(at + 40, static_cast<uint32_t>(size));
    memory_.Put(at + 48, direct);
    memory_.Put(at + 56, count);
  }
  void AddCommunicator(uint64_t address, uint32_t handle, uint16_t context, int32_t rank,
                       const FakeMap& map) {
    memory_.Zero(address, kCommunicatorBytes);
    memory_.Put(address, handle);
    memory_.Put(address + 4, 1);
    memory_.Put(address + 64, context);
    memory_.Put(address + 66, context);
    memory_.Put(address + 68, map.size);
    memory_.Put(address + 72, rank);
    memory_.Put(address + 88, map.size);
    AddMap(address + kMap, map);
    memory_.Put(address + kLastMap, 11);
  }
  void AddMap(uint64_t at, const FakeMap& map) {
    memory_.Put(at, map.mode);
    memory_.Put(at + 4, map.job);
    memory_.Put(at + 8, map.size);
    memory_.Put(at + 12, map.offset);
    memory_.Put(at + 16, map.stride);
    memory_.Put(at + 20, map.block_size);
    memory_.Put(at + 32, map.table);
  }
  // The address of an open request without a record.
  uint64_t AddRequest(uint32_t i, int32_t kind) {
    const uint64_t address = DirectRequest(i);
    memory_.Zero(address, kRequestBytes);
    memory_.Put(address, 0xac000000 + i);
    memory_.Put(address + 4, 2);
    memory_.Put(address + 8, kind);
    memory_.Put(address + 16, address + 24);
    memory_.Put(address + 24, 1);
    memory_.Zero(MpichRecord(i) - 512, 520);
    memory_.Put(address + 176, MpichRecord(i));
    return address;
  }
  uint64_t AddReceive(uint32_t i, uint64_t context, uint64_t source, uint64_t tag) {
    const uint64_t address = AddRequest(i, 2);
    memory_.Put(MpichRecord(i) - 256, address);
    memory_.Put(MpichRecord(i) - 80, context << 48 | source << 32 | tag);
    memory_.Put(MpichRecord(i) - 72, 0xffffffff9fffffff);
    return address;
  }
  void Complete(uint32_t i, int32_t source, int32_t tag) {
    memory_.Put(DirectRequest(i) + 24, 0);
    memory_.Put(DirectRequest(i) + 56, source);
    memory_.Put(DirectRequest(i) + 60, tag);
  }
  // A persistent request whose current round is request `round`.
  void AddPersistent(uint32_t i, uint32_t round) {
    AddRequest(i, 4);
    memory_.Put(DirectRequest(i) + 16, DirectRequest(round) + 24);
  }

  // Adds the next frame, from the innermost one on, with the values of its preserved registers.
  void Frame(std::string_view function, const std::vector<uint64_t>& words = {},
             std::string_view module = "/lib/libmpich.so.12") {
    CallFrame frame{.registers = {}, .function = function, .module = module};
    std::ranges::copy(words, frame.registers.preserved.begin());
    frame.registers.stack_pointer = kMpichStack + 0x100 * frames_.size();
    frames_.push_back(frame);
  }
  void Main(const std::vector<uint64_t>& words = {}) { Frame("main", words, "/app"); }
  void Call(std::string_view function, uint64_t request, uint64_t communicator = kMpichWorld) {
    frames_.clear();
    Frame("", {request});
    Frame(function, {1, communicator});
    Main();
  }
  // The arrays of handles and addresses begin at `handles` and `addresses`.
  void Waitall(uint64_t handles, uint64_t addresses, uint64_t count) {
    frames_.clear();
    Frame("", {addresses + 8, addresses + 8 * count, 7, 7});
    Frame("", {6, 0, addresses + 8 * count, addresses, handles});
    Frame("PMPI_Waitall", {count, 1, handles});
    Main({handles});
  }
  void PutArrays(const std::vector<uint32_t>& requests) {
    for (size_t i = 0; i < requests.size(); ++i) {
      memory_.Put(kMpichArrays + 4 * i, 0xac000000 + requests[i]);
      memory_.Put(kMpichArrays + 0x100 + 8 * i, DirectRequest(requests[i]));
    }
  }
  std::optional<LibraryCall> Read(const char* version = "4.0.2", int32_t world_size = 4) {
    MpichObjects objects(&memory_, version, world_size, kMpichData, kMpichDataEnd);
    return ReadMpichCall(frames_, &objects);
  }
  int32_t Awaited() {
    const auto call = Read();
    return call ? call->awaited : -2;
  }

  FakeMemory memory_;
  std::vector<CallFrame> frames_;
};

TEST_F(MpichCall, CollectiveNamesItsCommunicator) {
  Frame("", {DirectCommunicator(1), 5});  // an object that the library uses
  Frame("PMPI_Allreduce", {DirectCommunicator(0), 0x84000001});
  Main({kMpichWorld, 5});
  for (const int32_t world_size : {4, -1}) {
    const auto call = Read("4.0.2", world_size);
    ASSERT_TRUE(call);
    EXPECT_EQ(call->communicator, "context id 0x1f0");
    EXPECT_THAT(call->member_runs, ElementsAre(0, 3));
    EXPECT_FALSE(call->of_collective);
  }
  EXPECT_FALSE(Read("4.0.2", 5));
}

TEST_F(MpichCall, MembersFollowFromTheMapOfRanks) {
  const uint64_t jobs = kMpichTable + 0x900;
  for (uint64_t i = 0; i < 3; ++i) memory_.Put(jobs + 8 * i, (3 - i) << 32);
  struct Case {
    FakeMap map;
    int32_t rank;
    std::vector<int32_t> runs;
  };
  const Case cases[] = {
      {{.mode = 9, .size = 3, .table = kMpichTable + 0x800}, 2, {1, 3}},
      {{.mode = 8, .size = 3, .table = kMpichTable + 0x800}, 2, {1, 3}},
      {{.mode = 1, .size = 3}, 2, {0, 2}},
      {{.mode = 3, .size = 2, .offset = 2}, 0, {2, 3}},
      {{.mode = 5, .size = 2, .stride = 2}, 1, {0, 0, 2, 2}},
      {{.mode = 7, .size = 3, .stride = 2, .block_size = 1}, 1, {}},  // rank 4
      {{.mode = 7, .size = 3, .stride = 2, .block_size = 2}, 2, {0, 2}},
      {{.mode = 7, .size = 3}, 2, {}},
      {{.mode = 10, .size = 3, .table = jobs}, 1, {1, 3}},
      {{.mode = 0, .job = 1, .size = 3}, 2, {}},
      {{.mode = 11, .size = 3}, 2, {}},
      {{.mode = 3, .size = 3, .offset = -1}, 2, {}},
      {{.mode = 5, .size = 3, .offset = 2}, 2, {}},                   // a rank three times
      {{.mode = 1, .size = 3}, 1, {}},                                // this process is elsewhere
      {{.mode = 9, .size = 3, .table = kMpichTable + 0xf00}, 2, {}},  // unreadable
  };
  Frame("PMPI_Allreduce", {DirectCommunicator(1)});
  Main();
  for (const Case& each : cases) {
    SCOPED_TRACE(&each - cases);
    AddCommunicator(DirectCommunicator(1), 0x84000001, 0x200, each.rank, each.map);
    const auto call = Read();
    ASSERT_TRUE(call);
    EXPECT_EQ(call->communicator, "context id 0x200");
    EXPECT_EQ(call->member_runs, each.runs);
  }
}

TEST_F(MpichCall, ReceiveWaitsForItsSource) {
  const uint64_t request = AddReceive(3, 0x200, 0, 17);
  for (const std::string_view function : {"PMPI_Recv", "MPI_Wait", "PMPI_Wait"}) {
    Call(function, request, function == "PMPI_Recv" ? DirectCommunicator(1) : 0);
    const auto call = Read();
    ASSERT_TRUE(call);
    EXPECT_EQ(call->awaited, 3);
    EXPECT_EQ(call->communicator, "context id 0x200");
    EXPECT_THAT(call->member_runs, ElementsAre(1, 3));
    EXPECT_FALSE(call->of_collective);
    EXPECT_FALSE(call->outside);
  }
  Call("PMPI_Waitany", request, 0);
  EXPECT_FALSE(Read());
  memory_.Put(request + 24, 0);  // complete
  Call("PMPI_Wait", request, 0);
  EXPECT_FALSE(Read());
}

TEST_F(MpichCall, MessageOfACollectiveIsAwaited) {
  AddReceive(0, 0x201, 1, 2);
  Call("PMPI_Bcast", DirectRequest(0), DirectCommunicator(0));
  EXPECT_EQ(Awaited(), 1);
  EXPECT_EQ(Read()->communicator, "context id 0x1f0");
  // Functions of another library do not show what the call waits for.
  frames_[0].module = "/lib/libucp.so.0";
  EXPECT_EQ(Awaited(), -1);
  frames_[0].module = frames_[1].module;
  Call("PMPI_Probe", DirectRequest(0));
  EXPECT_EQ(Awaited(), -1);
}

TEST_F(MpichCall, ReceiveThatCannotBeVerifiedIsUnknown) {
  const uint64_t record = MpichRecord(0);
  struct Damage {
    uint64_t address;
    uint64_t value;
  };
  const Damage damages[] = {
      {record - 72, 0xffff00009fffffff},          // any source, but the tag has a source
      {record - 72, 0xffffffff90000000},          // any tag, but the tag is not 0
      {record - 72, 0xffffffffffffffff},          // another layout
      {record - 80, uint64_t{0x1f8} << 48 | 17},  // no such communicator
      {record - 80, 0x0200000300000011},          // no such rank
      {record - 64, 0xffffffff9fffffff},          // a second pair of a tag and a mask
      {record - 256, 0},                          // does not refer to the request
      {record - 16, DirectRequest(0)},            // refers to the request twice
      {DirectRequest(0) + 176, 0},
      {DirectRequest(0) + 176, record + 4},
      {DirectRequest(0) + 8, 9},                           // another kind
      {DirectRequest(0) + 16, 0},                          // no counter
      {DirectRequest(0) + 24, uint64_t{1} << 31},          // negative
      {DirectRequest(0), uint64_t{2} << 32 | 0xac000001},  // the handle of another object
      {DirectRequest(0), 0xac000000},                      // free
      {DirectRequest(0), uint64_t{2} << 32 | 0x8c000000},  // another kind of object
      {DirectCommunicator(1) + 64, 0x020001f2},            // two contexts
      {DirectCommunicator(1) + kMap, 12},                  // no such map
      {kMpichWorld + kMap, 2},
      {kMpichWorld + kLastMap, 1},
      {kMpichWorld + 72, 4},
      {kRequestPool + 36, 12},
      {kRequestPool + 40, 280},
      {kRequestPool + 48, kMpichDataEnd - 8},
      {kCommunicatorPool + 40, 880},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(&damage - damages);
    const FakeMemory before = memory_;
    AddReceive(0, 0x200, 1, 17);
    Call("PMPI_Recv", DirectRequest(0), DirectCommunicator(1));
    EXPECT_EQ(Awaited(), 1);
    memory_.Put(damage.address, damage.value);
    EXPECT_LT(Awaited(), 0);
    memory_ = before;
  }
}

TEST_F(MpichCall, RecordWithTwoTagsIsUnknown) {
  AddReceive(0, 0x200, 1, 17);
  Call("PMPI_Recv", DirectRequest(0), DirectCommunicator(1));
  EXPECT_EQ(Awaited(), 1);
  memory_.Put(MpichRecord(0) - 40, uint64_t{0x200} << 48 | 17);  // from rank 3
  memory_.Put(MpichRecord(0) - 32, 0xffffffff9fffffff);
  EXPECT_EQ(Awaited(), -1);
}

TEST_F(MpichCall, SourceOfAWildcardReceiveIsUnknown) {
  AddReceive(0, 0x200, 0, 17);
  memory_.Put(MpichRecord(0) - 72, 0xffff00009fffffff);
  Call("PMPI_Wait", DirectRequest(0), 0);
  EXPECT_EQ(Awaited(), -1);
  memory_.Put(MpichRecord(0) - 80, uint64_t{0x200} << 48);
  memory_.Put(MpichRecord(0) - 72, 0xffffffff90000000);
  EXPECT_EQ(Awaited(), 3);  // any tag from rank 0
}

TEST_F(MpichCall, RecordMayBeginAMapping) {
  AddReceive(0, 0x200, 1, 17);
  const uint64_t record = kMpichRecords + 0xf000 + 0x100;
  memory_.Zero(record - 0x100, 0x108);
  memory_.Put(record - 0x100, DirectRequest(0));
  memory_.Put(record - 80, uint64_t{0x200} << 48 | uint64_t{1} << 32);
  memory_.Put(record - 72, 0xffffffff9fffffff);
  memory_.Put(DirectRequest(0) + 176, record);
  Call("PMPI_Wait", DirectRequest(0), 0);
  EXPECT_EQ(Awaited(), 1);
}

TEST_F(MpichCall, ObjectsInBlocksAreFound) {
  memory_.Put(kMpichBlocks, kMpichBlock);
  memory_.Put(kCommunicatorPool + 16, kMpichBlocks);
  memory_.Put(kCommunicatorPool + 24, 1);
  memory_.Put(kCommunicatorPool + 28, 4 + 2);
  AddCommunicator(kMpichBlock + kCommunicatorBytes, 0xc4000001, 0x210, 1,
                  {.mode = 3, .size = 2, .offset = 1});
  AddReceive(0, 0x210, 0, 5);
  Call("PMPI_Recv", DirectRequest(0), kMpichBlock + kCommunicatorBytes);
  auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->communicator, "context id 0x210");
  EXPECT_EQ(call->awaited, 1);
  memory_.Put(kMpichBlock + kCommunicatorBytes, 0xc4001001);  // in a block that does not exist
  EXPECT_FALSE(Read());
}

TEST_F(MpichCall, MessageFromAProcessOutsideTheWorldIsToldApart) {
  AddCommunicator(DirectCommunicator(1), 0x84000001, 0x200, 2, {.mode = 0, .job = 1, .size = 2});
  memory_.Put(DirectCommunicator(1) + 88, 4);  // the size of the group of this process
  memory_.Put(DirectCommunicator(1) + 112, 1);
  AddReceive(0, 0x200, 1, 5);
  Call("PMPI_Wait", DirectRequest(0), 0);
  auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_TRUE(call->outside);
  EXPECT_EQ(call->awaited, -1);
  EXPECT_THAT(call->member_runs, IsEmpty());
  memory_.Put(DirectCommunicator(1) + kMap + 4, 0);  // another part of the job
  call = Read();
  ASSERT_TRUE(call);
  EXPECT_FALSE(call->outside);
  EXPECT_EQ(call->awaited, 1);
}

TEST_F(MpichCall, WaitForACollectiveIsRecognized) {
  AddRequest(0, 10);
  AddRequest(1, 5);
  memory_.Put(DirectRequest(0) + 40, DirectCommunicator(0));
  memory_.Put(DirectRequest(1) + 16, DirectRequest(0) + 24);
  memory_.Put(DirectRequest(1) + 40, DirectCommunicator(0));
  for (const uint32_t i : {0, 1}) {
    Call("PMPI_Wait", DirectRequest(i), 0);
    const auto call = Read("4.0.3");
    ASSERT_TRUE(call);
    EXPECT_TRUE(call->of_collective);
    EXPECT_EQ(call->communicator, "context id 0x1f0");
    EXPECT_EQ(call->awaited, -1);
    // The number of the kind requires a known version.
    EXPECT_FALSE(Read("4.2.1")->of_collective);
  }
  Call("PMPI_Allreduce", DirectRequest(0));
  EXPECT_FALSE(Read()->of_collective);
  memory_.Put(DirectRequest(0) + 8, 2);
  Call("PMPI_Wait", DirectRequest(0), 0);
  EXPECT_FALSE(Read()->of_collective);
}

TEST_F(MpichCall, WaitallWaitsForTheOpenRequestsOfItsArray) {
  AddReceive(0, 0, 0, 5);
  AddReceive(1, 0x200, 1, 5);
  AddReceive(2, 0x200, 0, 5);
  AddReceive(3, 0, 2, 5);  // after the array
  PutArrays({0, 1, 2, 3});
  Waitall(kMpichArrays, kMpichArrays + 0x100, 3);
  auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->awaited, 0);
  EXPECT_THAT(call->also_awaited, ElementsAre(1, 3));
  EXPECT_THAT(call->answered, IsEmpty());
  EXPECT_EQ(call->communicator, "MPI_COMM_WORLD");

  // MPI_REQUEST_NULL, and a complete request of the library's own.
  memory_.Put(kMpichArrays, 0x2c000000);
  memory_.Put(kMpichArrays + 4, 0x6c000001);
  call = Read();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->awaited, 3);
  EXPECT_THAT(call->also_awaited, IsEmpty());
}

// Rank 1 of communicator 1 is rank 1 of the world, and so is that of communicator 0.
TEST_F(MpichCall, SenderOfACompleteReceiveIsKnownIfAllCommunicatorsAgree) {
  AddReceive(0, 0, 0, 5);
  AddReceive(1, 0, 1, 5);
  PutArrays({0, 1});
  Waitall(kMpichArrays, kMpichArrays + 0x100, 2);
  Complete(1, 1, 5);
  EXPECT_THAT(Read()->answered, ElementsAre(1));
  EXPECT_EQ(Awaited(), 0);
  Complete(1, 2, 5);  // rank 2 or rank 2 of communicator 1, the same process
  EXPECT_THAT(Read()->answered, ElementsAre(2));
  Complete(1, 0, 5);  // rank 0, or rank 3 as rank 0 of communicator 1
  EXPECT_THAT(Read()->answered, IsEmpty());
  memory_.Put(DirectCommunicator(1) + 64, 0x01f201f2);  // a communicator of the library
  EXPECT_THAT(Read()->answered, ElementsAre(0));
  memory_.Put(DirectRequest(1) + 52, 1);  // cancelled
  EXPECT_THAT(Read()->answered, IsEmpty());
  memory_.Put(DirectRequest(1) + 52, 0);
  memory_.Put(DirectRequest(1) + 64, 14);  // an error
  EXPECT_THAT(Read()->answered, IsEmpty());
  memory_.Put(DirectRequest(1) + 64, 0);
  memory_.Put(DirectRequest(1) + 8, 1);  // a send
  EXPECT_THAT(Read()->answered, IsEmpty());
}

TEST_F(MpichCall, ArrayThatTheLibraryDoesNotConfirmIsIgnored) {
  AddReceive(0, 0, 0, 5);
  AddReceive(1, 0, 1, 5);
  PutArrays({0, 1});
  Waitall(kMpichArrays, kMpichArrays + 0x100, 2);
  EXPECT_EQ(Awaited(), 0);
  memory_.Put(kMpichArrays + 4, 0xac000003);  // not the request at the same index
  EXPECT_LT(Awaited(), 0);
  memory_.Put(kMpichArrays + 4, 1);  // no handle
  EXPECT_LT(Awaited(), 0);
}

TEST_F(MpichCall, WaitallKnowsAllAwaitedRanksOrNone) {
  AddReceive(0, 0, 0, 5);
  AddRequest(1, 6);  // of partitions
  PutArrays({0, 1});
  Waitall(kMpichArrays, kMpichArrays + 0x100, 2);
  EXPECT_EQ(Awaited(), -1);
  AddRequest(1, 10);  // of a collective
  EXPECT_EQ(Awaited(), -1);
  EXPECT_FALSE(Read()->of_collective);
  Complete(0, 0, 5);
  memory_.Put(DirectRequest(1) + 40, kMpichWorld);
  EXPECT_TRUE(Read()->of_collective);
}

TEST_F(MpichCall, PersistentRequestWaitsForItsRound) {
  AddReceive(4, 0, 3, 5);
  AddPersistent(0, 4);
  Call("PMPI_Wait", DirectRequest(0), 0);
  EXPECT_EQ(Awaited(), 3);
  PutArrays({0});
  Waitall(kMpichArrays, kMpichArrays + 0x100, 1);
  EXPECT_EQ(Awaited(), 3);
  memory_.Put(DirectRequest(4) + 4, 0);  // the request of the round is free
  EXPECT_LT(Awaited(), 0);
}

TEST_F(MpichCall, SendWaitsForItsReceiver) {
  memory_.Put(kTablePointer, kMpichTable);
  memory_.Put(kMpichTable, uint64_t{0});
  memory_.Put(kMpichTable + 8, 4);
  memory_.Put(kMpichTable + 12, 0);
  for (uint64_t rank = 0; rank < 4; ++rank) {
    memory_.Put(kMpichTable + 16 + 16 * rank, MpichEndpoint(rank));
    memory_.Put(kMpichTable + 24 + 16 * rank, uint64_t{1});
    memory_.Put(MpichEndpoint(rank), uint64_t{0x78000});  // the worker
  }
  AddRequest(0, 1);
  memory_.Put(MpichRecord(0), DirectRequest(0));
  memory_.Put(MpichRecord(0) - 248, MpichEndpoint(3));
  Call("PMPI_Ssend", DirectRequest(0));
  EXPECT_EQ(Awaited(), 3);
  struct Damage {
    uint64_t address;
    uint64_t value;
  };
  for (const Damage& damage :
       {Damage{MpichRecord(0), 0}, Damage{MpichRecord(0) - 240, MpichEndpoint(1)},
        Damage{kMpichTable + 8, 5}, Damage{MpichEndpoint(1), 0x78008},
        Damage{kMpichTable + 16, MpichEndpoint(3)}, Damage{kMpichTable + 16, 8},
        Damage{kTablePointer, 0}}) {
    SCOPED_TRACE(damage.address);
    const FakeMemory before = memory_;
    memory_.Put(damage.address, damage.value);
    EXPECT_EQ(Awaited(), -1);
    memory_ = before;
  }
}

// MPI_Sendrecv keeps its requests in memory. The caller's stack has the last arguments.
TEST_F(MpichCall, SendrecvWaitsForTheSourceInItsArguments) {
  AddReceive(0, 0x200, 1, 17);
  AddReceive(1, 0x200, 0, 17);
  AddReceive(2, 0, 0, 17);
  frames_.clear();
  Frame("", {3});
  Frame("PMPI_Sendrecv", {DirectCommunicator(1)});
  Main();
#if defined(__aarch64__)
  const uint64_t arguments = frames_[2].registers.stack_pointer;
#else
  const uint64_t arguments = frames_[2].registers.stack_pointer + 16;
#endif
  constexpr uint64_t kGarbage = uint64_t{7} << 32;
  memory_.Put(arguments, kGarbage | 0);
  memory_.Put(arguments + 8, kGarbage | 17);
  memory_.Put(arguments + 16, kGarbage | 0x84000001);
  EXPECT_EQ(Awaited(), 3);
  Complete(1, 0, 17);  // the call waits for its send
  EXPECT_EQ(Awaited(), -1);
  memory_.Put(arguments, kGarbage | 1);
  EXPECT_EQ(Awaited(), 1);
  memory_.Put(arguments + 16, kGarbage | 0x44000000);  // not the communicator of the call
  EXPECT_EQ(Awaited(), -1);
  memory_.Put(arguments + 16, kGarbage | 0x84000001);
  memory_.Put(arguments + 8, kGarbage | 18);
  EXPECT_EQ(Awaited(), -1);
}

TEST_F(MpichCall, CommunicatorsOfFilesAreTheLibrarysOwn) {
  AddReceive(0, 0x200, 1, 17);
  Call("PMPI_File_close", DirectRequest(0), 0);
  EXPECT_FALSE(Read());
}

TEST_F(MpichCall, WrappersAreSkipped) {
  AddReceive(0, 0x200, 1, 17);
  Frame("", {DirectRequest(0)});
  Frame("PMPI_Recv", {DirectCommunicator(1)});
  Frame("MPI_Recv", {}, "/lib/libwrapper.so");
  Main();
  EXPECT_LT(Awaited(), 0);  // that function may have any objects
  frames_[2].function = "mpi_recv_";
  EXPECT_EQ(Awaited(), 1);
}

TEST_F(MpichCall, RegistersOfTheCallerAreNotUsed) {
  Frame("PMPI_Allreduce", {DirectCommunicator(0)});
  Main({DirectCommunicator(0)});
  EXPECT_FALSE(Read());
}

TEST_F(MpichCall, TwoCommunicatorsOfACallAreIgnored) {
  Frame("PMPI_Allreduce", {DirectCommunicator(0), kMpichWorld});
  Main();
  EXPECT_FALSE(Read());
}

TEST_F(MpichCall, InconsistentObjectIsIgnored) {
  struct Damage {
    uint64_t offset;
    int32_t value;
  };
  for (const Damage& damage : {Damage{0, 0}, Damage{0, 0x48000000}, Damage{4, 0}, Damage{4, -1},
                               Damage{64, 0x1f2}, Damage{68, 5}, Damage{72, 4}, Damage{72, -1},
                               Damage{88, 3}, Damage{80, 3}, Damage{96, 5}, Damage{112, 2}}) {
    SCOPED_TRACE(damage.offset);
    AddCommunicator(DirectCommunicator(0), 0x84000000, 0x1f0, 2, {});
    memory_.Put(DirectCommunicator(0) + damage.offset, damage.value);
    frames_.clear();
    Frame("PMPI_Allreduce", {DirectCommunicator(0)});
    Main();
    EXPECT_FALSE(Read());
  }
}

TEST_F(MpichCall, NothingIsReadIfTheObjectsAreNotFoundOnce) {
  Frame("PMPI_Allreduce", {DirectCommunicator(0)});
  Main();
  EXPECT_TRUE(Read());
  const FakeMemory before = memory_;
  AddCommunicator(0x17000, 0x44000000, 0, 2, {});  // a second MPI_COMM_WORLD
  EXPECT_FALSE(Read());
  memory_ = before;
  AddPool(0x10400, 1, kCommunicatorBytes, kMpichDirect, 4);
  EXPECT_FALSE(Read());
  memory_ = before;
  memory_.Put(DirectCommunicator(3), 0x84000004);
  EXPECT_FALSE(Read());
  memory_ = before;
  memory_.Remove(kMpichDataEnd - 1);
  EXPECT_FALSE(Read());
}

}  // namespace
}  // namespace rollcall
