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

constexpr uint64_t kMpichWorld = 0x2000, kMpichPlanes = 0x3000, kMpichHalf = 0x3800,
                   kMpichRequest = 0x4000, kMpichUsers = 0x7778;

// Objects in the layout of MPICH 4.0. The job has four ranks, and this process is rank 2.
class MpichCall : public ::testing::Test {
 protected:
  MpichCall() {
    AddCommunicator(kMpichWorld, 0x44000000, 0, 4);
    AddCommunicator(kMpichPlanes, 0x84000001, 0x1f0, 4);
    AddCommunicator(kMpichHalf, 0x84000002, 0x1f2, 3);
    memory_.Zero(kMpichRequest, 128);
    memory_.Put(kMpichRequest, 0xac000000);
    memory_.Put(kMpichRequest + 4, 2);
    memory_.Put(kMpichRequest + 8, 10);
    memory_.Put(kMpichRequest + 16, kMpichRequest + 24);
    memory_.Put(kMpichRequest + 24, 1);
  }
  void AddCommunicator(uint64_t address, uint32_t handle, uint16_t context, int32_t size) {
    memory_.Zero(address, 256);
    memory_.Put(address, handle);
    memory_.Put(address + 4, 1);
    memory_.Put(address + 64, context);
    memory_.Put(address + 66, context);
    memory_.Put(address + 68, size);
    memory_.Put(address + 72, 2);
    memory_.Put(address + 88, size);
  }

  // See open_mpi_call_test.cc.
  void Frame(std::string_view function, uint64_t a = 0, uint64_t b = 0) {
    CallFrame frame{.registers = {}, .function = function, .module = "/lib/libmpich.so.12"};
    frame.registers.preserved[0] = a;
    frame.registers.preserved[1] = b;
    frames_.push_back(frame);
  }
  void Wait(std::string_view function = "PMPI_Wait") {
    frames_.clear();
    Frame("", kMpichRequest);
    Frame(function, 1, kMpichWorld);
    Frame("main", 0, kMpichUsers);
  }
  std::optional<LibraryCall> Read(const char* version = "4.0.2") {
    return MpichObjects(&memory_, version, 4).Read(frames_);
  }

  FakeMemory memory_;
  std::vector<CallFrame> frames_;
};

TEST_F(MpichCall, CollectiveNamesItsCommunicator) {
  Frame("", kMpichHalf, kMpichRequest);  // objects that the library created
  Frame("PMPI_Allreduce", kMpichPlanes, 0x84000001);
  Frame("main", kMpichWorld, kMpichUsers);
  const auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->communicator, "context id 0x1f0");
  EXPECT_THAT(call->member_runs, ElementsAre(0, 3));
  EXPECT_FALSE(call->of_collective);
}

TEST_F(MpichCall, MembersOfASmallerCommunicatorAreUnknown) {
  Frame("PMPI_Allreduce", kMpichHalf);
  Frame("main");
  const auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->communicator, "context id 0x1f2");
  EXPECT_THAT(call->member_runs, IsEmpty());
}

TEST_F(MpichCall, WaitForACollectiveIsRecognized) {
  Wait();
  auto call = Read();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->communicator, "MPI_COMM_WORLD");
  EXPECT_TRUE(call->of_collective);

  memory_.Put(kMpichRequest + 24, 0);  // complete
  EXPECT_FALSE(Read()->of_collective);
  memory_.Put(kMpichRequest + 24, 1);
  memory_.Put(kMpichRequest + 8, 2);  // a receive
  EXPECT_FALSE(Read()->of_collective);
}

TEST_F(MpichCall, VariableWithAHandleIsNotARequest) {
  Wait();
  memory_.Put(kMpichUsers, 0xac000000);
  memory_.Put(kMpichUsers + 4, 4);
  memory_.Put(kMpichUsers + 8, uint64_t{2});
  frames_[0].registers.preserved[1] = kMpichUsers;
  EXPECT_TRUE(Read()->of_collective);
}

TEST_F(MpichCall, RequestKindsRequireAKnownVersion) {
  Wait();
  EXPECT_TRUE(Read("4.0.3")->of_collective);
  EXPECT_FALSE(Read("4.2.1")->of_collective);
}

TEST_F(MpichCall, OpenRequestAmongSeveralIsUnknown) {
  Wait("PMPI_Waitall");
  EXPECT_FALSE(Read()->of_collective);
}

TEST_F(MpichCall, RegistersOfTheCallerAreNotUsed) {
  Frame("PMPI_Allreduce", kMpichPlanes);
  Frame("main", kMpichPlanes);
  EXPECT_FALSE(Read());
}

TEST_F(MpichCall, InconsistentObjectIsIgnored) {
  struct Damage {
    uint64_t offset;
    int32_t value;
  };
  for (const Damage& damage : {Damage{0, 0}, Damage{0, 0x48000000}, Damage{4, 0}, Damage{4, -1},
                               Damage{64, 0x1f2}, Damage{68, 5}, Damage{72, 4}, Damage{72, -1},
                               Damage{88, 3}, Damage{80, 3}, Damage{96, 5}, Damage{112, 1}}) {
    SCOPED_TRACE(damage.offset);
    AddCommunicator(kMpichPlanes, 0x84000001, 0x1f0, 4);
    memory_.Put(kMpichPlanes + damage.offset, damage.value);
    frames_.clear();
    Frame("PMPI_Allreduce", kMpichPlanes);
    Frame("main");
    EXPECT_FALSE(Read());
  }
}

}  // namespace
}  // namespace rollcall
