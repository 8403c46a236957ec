// SPDX-License-Identifier: Apache-2.0
#include "collector/live/open_mpi_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/collector/live/fake_python.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using testing::FakeMemory;
using ::testing::IsEmpty;

constexpr std::array<uint64_t, OpenMpiObjects::kExports> kExported = {0x100, 0x1000, 0x1100, 0x1200,
                                                                      0x1300};
constexpr uint64_t kReceiveClass = 0x1400, kLibnbcClass = 0x1500, kOtherClass = 0x1600;
constexpr uint64_t kWorldObject = 0x2000, kHalf = 0x3000, kReceive = 0x4000, kLibnbc = 0x5000,
                   kAlwaysComplete = 0x6000, kUsers = 0x7770;
constexpr uint64_t kWorldGroup = 0x8000, kHalfGroup = 0x8100, kOtherGroup = 0x8200;

uint64_t ProcessOf(uint64_t rank) { return 0xa000 + 0x100 * rank; }

// The job has four ranks; "half" consists of ranks 3, 0 and 1.
class OpenMpiCall : public ::testing::Test {
 protected:
  OpenMpiCall() {
    memory_.Put(kExported[OpenMpiObjects::kWorld], kWorldObject);
    AddClass(kExported[OpenMpiObjects::kCommunicatorClass], kOtherClass);
    AddClass(kExported[OpenMpiObjects::kGroupClass], kOtherClass);
    AddClass(kExported[OpenMpiObjects::kRequestClass], kOtherClass);
    AddClass(kExported[OpenMpiObjects::kCollectiveClass], kExported[OpenMpiObjects::kRequestClass]);
    AddClass(kReceiveClass, kExported[OpenMpiObjects::kRequestClass]);
    AddClass(kLibnbcClass, kExported[OpenMpiObjects::kCollectiveClass]);
    AddClass(kOtherClass, 0);
    AddGroup(kWorldGroup, {0, 1, 2, 3});
    AddGroup(kHalfGroup, {3, 0, 1});
    AddGroup(kOtherGroup, {2});
    AddCommunicator(kWorldObject, "MPI_COMM_WORLD", kWorldGroup, kWorldGroup);
    AddCommunicator(kHalf, "MPI COMMUNICATOR 3 SPLIT FROM 0", kHalfGroup, kHalfGroup);
    AddRequest(kReceive, kReceiveClass, kHalf);
    AddRequest(kLibnbc, kLibnbcClass, kHalf);
    AddRequest(kAlwaysComplete, kExported[OpenMpiObjects::kRequestClass], kWorldObject);
    // The receive is from rank 0 of "half", with tag -16, and refers to the entry of rank 3.
    memory_.Put(kReceive + 472, uint64_t{0xfffffff000000000});
    memory_.Put(kReceive + 480, ProcessOf(3));
  }

  void AddClass(uint64_t address, uint64_t parent) {
    memory_.Put(address, uint64_t{0x10});
    memory_.Put(address + 8, parent);
  }
  void AddGroup(uint64_t address, const std::vector<uint64_t>& ranks) {
    memory_.Zero(address, 48);
    memory_.Put(address, kExported[OpenMpiObjects::kGroupClass]);
    memory_.Put(address + 16, static_cast<int32_t>(ranks.size()));
    memory_.Put(address + 32, address + 0x40);
    for (size_t i = 0; i < ranks.size(); ++i) {
      memory_.Put(address + 0x40 + 8 * i, ProcessOf(ranks[i]));
    }
  }
  void AddCommunicator(uint64_t address, const std::string& name, uint64_t own, uint64_t peers) {
    memory_.Zero(address, 512);
    memory_.Put(address, kExported[OpenMpiObjects::kCommunicatorClass]);
    for (size_t i = 0; i < name.size(); ++i) memory_.Put(address + 160 + i, name[i]);
    memory_.Put(address + 248, own);
    memory_.Put(address + 256, peers);
  }
  void AddRequest(uint64_t address, uint64_t type, uint64_t communicator) {
    memory_.Zero(address, 768);
    memory_.Put(address, type);
    memory_.Put(address + 176, communicator);
  }

  // Adds the next frame, from the innermost one on, with the values of its first two preserved
  // registers.
  void Frame(std::string_view function, uint64_t a = 0, uint64_t b = 0,
             std::string_view module = "/lib/libmpi.so.40") {
    CallFrame frame{.registers = {}, .function = function, .module = module};
    frame.registers.preserved[0] = a;
    frame.registers.preserved[1] = b;
    frames_.push_back(frame);
  }
  std::optional<LibraryCall> Read() { return OpenMpiObjects(&memory_, kExported).Read(frames_); }

  FakeMemory memory_;
  std::vector<CallFrame> frames_;
};

TEST_F(OpenMpiCall, CollectiveNamesItsCommunicatorAndItsPeer) {
  Frame("sched_yield", kReceive, 0, "/lib/libc.so.6");
  Frame("mca_pml_ob1_recv", kReceive, kUsers);
  Frame("ompi_coll_base_barrier_intra_basic_linear", 5, kUsers);
  Frame("PMPI_Barrier", 0, kUsers);
  Frame("main", kWorldObject, kUsers, "/app");
  const auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->communicator, "MPI COMMUNICATOR 3 SPLIT FROM 0");
  EXPECT_THAT(call->member_runs, ElementsAre(0, 1, 3, 3));
  EXPECT_EQ(call->awaited, 3);
  EXPECT_FALSE(call->of_collective);
  EXPECT_TRUE(call->HasMember(3));
  EXPECT_FALSE(call->HasMember(2));
}

TEST_F(OpenMpiCall, WaitForACollectiveIsRecognized) {
  Frame("ompi_request_default_wait", kLibnbc);
  Frame("PMPI_Wait");
  Frame("main", 0, 0, "/app");
  const auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_TRUE(call->of_collective);
  EXPECT_EQ(call->awaited, -1);
  EXPECT_EQ(call->communicator, "MPI COMMUNICATOR 3 SPLIT FROM 0");
}

TEST_F(OpenMpiCall, OpenRequestAmongSeveralIsUnknown) {
  for (const uint64_t request : {kLibnbc, kReceive}) {
    frames_.clear();
    Frame("ompi_request_default_wait_all", request);
    Frame("PMPI_Waitall");
    Frame("main", 0, 0, "/app");
    const auto call = Read();
    ASSERT_TRUE(call);
    EXPECT_FALSE(call->of_collective);
    EXPECT_EQ(call->awaited, -1);
  }
}

// An open request refers to the stack of the function that waits for it.
TEST_F(OpenMpiCall, OpenRequestsOfWaitallAreKnown) {
  constexpr uint64_t kArray = 0x9000, kComplete = 0x7000, kSync = 0xf040;
  AddRequest(kComplete, kReceiveClass, kWorldObject);
  const std::vector<uint64_t> array = {kComplete, kAlwaysComplete, kReceive, 0};
  for (size_t i = 0; i < array.size(); ++i) memory_.Put(kArray + 8 * i, array[i]);
  for (const bool open : {false, true}) {
    memory_.Put(kReceive + 96, open ? kSync : uint64_t{1});
    for (const bool outer : {false, true}) {  // which function keeps the array in a register
      frames_.clear();
      Frame("opal_progress", 3, 0, "/lib/libopen-pal.so.40");
      Frame("ompi_request_default_wait_all", outer ? 5 : kArray, 7);
      Frame("PMPI_Waitall", 5, outer ? kArray : 8);
      Frame("main", 0, 0, "/app");
      for (size_t i = 0; i < frames_.size(); ++i) {
        frames_[i].registers.stack_pointer = 0xf000 + 0x20 * i * i;
      }
      const auto call = Read();
      ASSERT_EQ(call.has_value(), open);
      if (!call) continue;
      EXPECT_EQ(call->awaited, 3);
      EXPECT_EQ(call->communicator, "MPI COMMUNICATOR 3 SPLIT FROM 0");
    }
  }
}

TEST_F(OpenMpiCall, AllRanksThatWaitallWaitsForAreKnown) {
  constexpr uint64_t kArray = 0x9000, kAnother = 0x7000, kSync = 0xf008;
  AddRequest(kAnother, kReceiveClass, kWorldObject);
  for (const bool known : {false, true}) {
    memory_.Put(kAnother + 472, uint64_t{0});
    memory_.Put(kAnother + 480, known ? ProcessOf(0) : uint64_t{0});
    const std::vector<uint64_t> array = {kReceive, kLibnbc, kAnother, 0};
    for (size_t i = 0; i < array.size(); ++i) memory_.Put(kArray + 8 * i, array[i]);
    for (const uint64_t request : {kReceive, kAnother}) memory_.Put(request + 96, kSync);
    frames_.clear();
    Frame("ompi_request_default_wait_all", kArray);
    Frame("PMPI_Waitall");
    Frame("main", 0, 0, "/app");
    frames_[0].registers.stack_pointer = 0xf000;
    frames_[1].registers.stack_pointer = 0xf040;
    const auto call = Read();
    ASSERT_TRUE(call);
    EXPECT_EQ(call->awaited, known ? 0 : -1);
    if (known) {
      EXPECT_THAT(call->also_awaited, ElementsAre(3));
    }
    EXPECT_FALSE(call->of_collective);
    // A collective that it waits for, too.
    memory_.Put(kLibnbc + 96, kSync);
    EXPECT_EQ(Read()->awaited, -1);
    memory_.Put(kLibnbc + 96, uint64_t{0});
  }
}

// A complete receive that the call waited for as well; a send or a foreign process tells nothing.
TEST_F(OpenMpiCall, RanksThatAnsweredInWaitallAreKnown) {
  constexpr uint64_t kArray = 0x9000, kComplete = 0x7000, kSync = 0xf008, kName = 0x6800;
  AddRequest(kComplete, kReceiveClass, kWorldObject);
  memory_.Put(kReceive + 96, kSync);
  const std::vector<uint64_t> array = {kComplete, kReceive, 0};
  for (size_t i = 0; i < array.size(); ++i) memory_.Put(kArray + 8 * i, array[i]);
  Frame("ompi_request_default_wait_all", kArray);
  Frame("PMPI_Waitall");
  Frame("main", 0, 0, "/app");
  frames_[0].registers.stack_pointer = 0xf000;
  frames_[1].registers.stack_pointer = 0xf040;
  for (const bool receives : {true, false}) {
    for (const uint64_t peer : {ProcessOf(2), ProcessOf(7)}) {
      const std::string name =
          receives ? "mca_pml_ob1_recv_request_t" : "mca_pml_ob1_send_request_t";
      memory_.Put(kReceiveClass, kName);
      for (size_t i = 0; i <= name.size(); ++i) memory_.Put(kName + i, name.c_str()[i]);
      memory_.Put(kComplete + 472, uint64_t{0xfffffff000000002});
      memory_.Put(kComplete + 480, peer);
      const auto call = Read();
      ASSERT_TRUE(call);
      EXPECT_EQ(call->awaited, 3);
      const bool known = receives && peer == ProcessOf(2);
      EXPECT_EQ(call->answered, known ? std::vector<int32_t>{2} : std::vector<int32_t>());
    }
  }
}

TEST_F(OpenMpiCall, MessageFromAProcessOutsideTheWorldIsToldApart) {
  constexpr uint64_t kSpawnedGroup = 0x8300;
  AddGroup(kSpawnedGroup, {9});
  AddCommunicator(kHalf, "joined", kHalfGroup, kSpawnedGroup);
  memory_.Put(kReceive + 480, ProcessOf(9));
  for (const bool outside : {true, false}) {
    memory_.Put(kReceive + 480, ProcessOf(outside ? 9 : 8));
    frames_.clear();
    Frame("mca_pml_ob1_recv", kReceive);
    Frame("PMPI_Recv");
    Frame("main", 0, 0, "/app");
    const auto call = Read();
    ASSERT_TRUE(call);
    EXPECT_EQ(call->outside, outside);
    EXPECT_EQ(call->awaited, -1);
  }
}

TEST_F(OpenMpiCall, RegistersOfTheCallerAreNotUsed) {
  Frame("mca_pml_ob1_recv", kReceive);
  Frame("PMPI_Recv", kReceive);
  Frame("main", kReceive, 0, "/app");
  EXPECT_FALSE(Read());
}

TEST_F(OpenMpiCall, TwoRequestsInOneFrameAreIgnored) {
  Frame("mca_pml_ob1_recv", kReceive);
  Frame("ompi_request_default_wait", kReceive, kLibnbc);
  Frame("PMPI_Wait");
  Frame("main", 0, 0, "/app");
  EXPECT_FALSE(Read());
}

TEST_F(OpenMpiCall, RequestThatIsAlwaysCompleteIsIgnored) {
  Frame("mca_pml_ob1_recv", kReceive, kAlwaysComplete);
  Frame("PMPI_Barrier", 0, kAlwaysComplete);
  Frame("main", 0, 0, "/app");
  const auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->communicator, "MPI COMMUNICATOR 3 SPLIT FROM 0");
}

TEST_F(OpenMpiCall, CollectiveMadeOfOthersIsIgnored) {
  Frame("mca_pml_ob1_recv", kReceive);
  Frame("mca_coll_han_allreduce_intra", 1, 2, "/lib/openmpi/mca_coll_han.so");
  Frame("PMPI_Allreduce", 3, 4);
  Frame("main", 0, 0, "/app");
  EXPECT_FALSE(Read());
}

TEST_F(OpenMpiCall, PeersInAnIntercommunicatorAreOfTheRemoteGroup) {
  AddCommunicator(kHalf, "joined", kHalfGroup, kOtherGroup);
  memory_.Put(kReceive + 480, ProcessOf(2));
  Frame("mca_pml_ob1_recv", kReceive);
  Frame("PMPI_Recv");
  Frame("main", 0, 0, "/app");
  const auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->awaited, 2);
  EXPECT_THAT(call->member_runs, IsEmpty());
}

TEST_F(OpenMpiCall, RankThatContradictsTheProcessIsIgnored) {
  memory_.Put(kReceive + 480, ProcessOf(1));
  Frame("mca_pml_ob1_recv", kReceive);
  Frame("PMPI_Recv");
  Frame("main", 0, 0, "/app");
  const auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->awaited, -1);
}

TEST_F(OpenMpiCall, RenamedWorldIsIgnored) {
  AddCommunicator(kWorldObject, "everybody", kWorldGroup, kWorldGroup);
  Frame("mca_pml_ob1_recv", kReceive);
  Frame("PMPI_Recv");
  Frame("main", 0, 0, "/app");
  EXPECT_FALSE(Read());
}

TEST_F(OpenMpiCall, ListWithOtherObjectsHasNoMembers) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{0x77}, kHalfGroup + 0x40}) {
    memory_.Put(kWorldGroup + 32, value);  // fits no known layout
    frames_.clear();
    Frame("mca_pml_ob1_recv", kReceive);
    Frame("PMPI_Recv");
    Frame("main", 0, 0, "/app");
    const auto call = Read();
    ASSERT_TRUE(call);
    EXPECT_THAT(call->member_runs, IsEmpty());
    EXPECT_EQ(call->awaited, -1);
  }
}

TEST_F(OpenMpiCall, DamagedObjectsAreIgnored) {
  for (const uint64_t address : {kWorldObject, kHalf + 248, kHalfGroup + 32, kReceive + 176,
                                 kExported[OpenMpiObjects::kWorld], kReceiveClass}) {
    SCOPED_TRACE(address);
    for (const uint64_t value : {uint64_t{0}, uint64_t{0x77}, UINT64_MAX - 7}) {
      memory_.Put(address, value);
      frames_.clear();
      Frame("mca_pml_ob1_recv", kReceive);
      Frame("PMPI_Recv");
      Frame("main", 0, 0, "/app");
      const auto call = Read();
      if (call) {
        EXPECT_EQ(call->awaited, -1);
      }
    }
  }
}

}  // namespace
}  // namespace rollcall
