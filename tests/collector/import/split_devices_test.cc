// SPDX-License-Identifier: Apache-2.0
#include "collector/import/split_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SplitDevicesTest : public ::testing::Test {
 protected:
  SplitDevicesTest() {
    trace_.worlds.emplace_back();
    trace_.arguments.emplace_back().operation = Operation::kcudaStreamSynchronize;
  }

  uint32_t AddProcess(int32_t rank) {
    Process& process = trace_.processes.emplace_back();
    process.rank = rank;
    process.world = 0;
    process.device = true;
    process.threads.resize(2);
    return static_cast<uint32_t>(trace_.processes.size() - 1);
  }

  // A member of the communicator `key`, which has four members.
  uint32_t AddMember(uint32_t process, uint64_t key, int32_t rank, int32_t device) {
    MemberDraft draft;
    draft.key = key;
    draft.flags = ring::kIsNccl;
    draft.device = device;
    draft.size = 4;
    drafts_.push_back(draft);
    Member& member = trace_.members.emplace_back();
    member.process = process;
    member.rank = rank;
    member.uid = static_cast<uint32_t>(trace_.members.size());
    return member.uid - 1;
  }

  void AddCall(uint32_t member, uint64_t stream, uint32_t thread) {
    DeviceCall call;
    call.process = trace_.members[member].process;
    call.stream = stream;
    call.event.member = member;
    call.event.thread = thread;
    call.event.start_ns = ++now_ns_;
    calls_.push_back(call);
  }

  void AddWait(uint32_t process, uint64_t stream, uint32_t thread) {
    HostWait wait;
    wait.process = process;
    wait.stream = stream;
    wait.thread = thread;
    waits_.push_back(wait);
    OpenCall open;
    open.event.arguments = 0;
    open.event.thread = thread;
    trace_.processes[process].open_calls.push_back(open);
  }

  void Split() { SplitByDevice(drafts_, &trace_, &calls_, &waits_); }

  std::vector<uint32_t> ProcessesOfMembers() const {
    std::vector<uint32_t> processes;
    for (const Member& member : trace_.members) {
      processes.push_back(member.process);
    }
    return processes;
  }

  Trace trace_;
  std::vector<MemberDraft> drafts_;
  std::vector<DeviceCall> calls_;
  std::vector<HostWait> waits_;
  int64_t now_ns_ = 0;
};

TEST_F(SplitDevicesTest, MembersOnOneDeviceAreOneProcess) {
  const uint32_t p = AddProcess(0);
  AddMember(p, 7, 0, 1);
  AddMember(p, 7, 1, 0);
  AddMember(p, 8, 0, 0);
  AddMember(p, 8, 1, 1);
  Split();
  EXPECT_THAT(ProcessesOfMembers(), ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(trace_.processes[0].device_number, 1);
  EXPECT_EQ(trace_.processes[1].device_number, 0);
  EXPECT_TRUE(ShareProcess(trace_.processes[0], trace_.processes[1]));
}

TEST_F(SplitDevicesTest, WithoutDevicesTheOrderDecides) {
  const uint32_t p = AddProcess(0);
  AddMember(p, 7, 0, -1);
  AddMember(p, 7, 1, -1);
  AddMember(p, 8, 3, -1);
  AddMember(p, 8, 2, -1);
  Split();
  EXPECT_THAT(ProcessesOfMembers(), ElementsAre(0, 1, 0, 1));
}

TEST_F(SplitDevicesTest, TwoRanksOfOneDeviceStaySeparate) {
  const uint32_t p = AddProcess(0);
  AddMember(p, 7, 0, 0);
  AddMember(p, 7, 1, 0);
  Split();
  EXPECT_THAT(ProcessesOfMembers(), ElementsAre(0, 1));
}

TEST_F(SplitDevicesTest, OneRankPerCommunicatorIsNotSplit) {
  const uint32_t p = AddProcess(0);
  AddMember(p, 7, 0, 0);
  AddMember(p, 8, 0, 1);
  Split();
  EXPECT_EQ(trace_.processes.size(), 1u);
  EXPECT_EQ(trace_.processes[0].host_process, kNoIndex);
}

TEST_F(SplitDevicesTest, MpiProcessIsNotSplit) {
  const uint32_t p = AddProcess(0);
  trace_.processes[p].thread_level = 0;
  AddMember(p, 7, 0, 0);
  AddMember(p, 7, 1, 1);
  Split();
  EXPECT_EQ(trace_.processes.size(), 1u);
}

TEST_F(SplitDevicesTest, CallsOfAnMpiProcessOnSeveralDevicesAreNotJudged) {
  const uint32_t p = AddProcess(0);
  const uint32_t q = AddProcess(1);
  trace_.processes[p].thread_level = trace_.processes[q].thread_level = 0;
  const uint32_t a = AddMember(p, 7, 0, 0);
  AddMember(p, 7, 1, 1);
  const uint32_t b = AddMember(q, 7, 2, 0);
  const uint32_t other = AddMember(q, 8, 0, 0);
  for (const uint32_t m : {a, b, other}) AddCall(m, 100, 0);
  trace_.members[b].entered = 1;
  Split();
  ASSERT_EQ(calls_.size(), 1u);
  EXPECT_EQ(calls_[0].event.member, other);
  EXPECT_FALSE(trace_.members[a].counted);
  EXPECT_EQ(trace_.members[b].entered, 0u);
  EXPECT_TRUE(trace_.members[other].counted);
  EXPECT_EQ(trace_.problems.size(), 1u);
}

TEST_F(SplitDevicesTest, CallsThatOneRecorderCouldNotCountAreNotJudged) {
  const uint32_t p = AddProcess(0);
  const uint32_t q = AddProcess(1);
  const uint32_t a = AddMember(p, 7, 0, 0);
  const uint32_t b = AddMember(q, 7, 1, 0);
  for (const uint32_t m : {a, b}) AddCall(m, 100, 0);
  drafts_[a].flags |= ring::kWeakIdentity;
  Split();
  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_FALSE(trace_.members[b].counted);
  EXPECT_TRUE(trace_.processes[q].graphs);
}

TEST_F(SplitDevicesTest, NothingIsMissingIfAProcessGroupHasTheCalls) {
  const uint32_t p = AddProcess(0);
  const uint32_t a = AddMember(p, 7, 0, 0);
  drafts_[a].flags |= ring::kWeakIdentity;
  drafts_[a].carries = true;
  Split();
  EXPECT_THAT(trace_.problems, IsEmpty());
  EXPECT_FALSE(trace_.processes[p].graphs);
}

TEST_F(SplitDevicesTest, ThreadThatWaitsForOneDeviceDelaysItsOthers) {
  const uint32_t p = AddProcess(0);
  const uint32_t a = AddMember(p, 7, 0, 0);
  const uint32_t b = AddMember(p, 7, 1, 1);
  const uint32_t c = AddMember(p, 7, 2, 2);
  AddCall(a, 100, 0);
  AddCall(b, 101, 0);
  AddCall(c, 102, 1);
  AddWait(p, 101, 0);
  Split();
  EXPECT_THAT(trace_.processes[0].held_up_by, ElementsAre(1));
  EXPECT_THAT(trace_.processes[0].open_calls, IsEmpty());
  EXPECT_THAT(trace_.processes[1].held_up_by, IsEmpty());
  EXPECT_EQ(trace_.processes[1].open_calls.size(), 1u);
  EXPECT_THAT(trace_.processes[2].held_up_by, IsEmpty());
  EXPECT_THAT(trace_.processes[2].open_calls, IsEmpty());
  ASSERT_EQ(waits_.size(), 1u);
  EXPECT_EQ(waits_[0].process, 1u);
}

TEST_F(SplitDevicesTest, DefaultStreamBelongsToTheOnlyDeviceOfItsThread) {
  const uint32_t p = AddProcess(0);
  const uint32_t a = AddMember(p, 7, 0, 0);
  const uint32_t b = AddMember(p, 7, 1, 1);
  AddCall(a, 0, 0);
  AddCall(b, 0, 1);
  AddWait(p, 0, 1);
  Split();
  ASSERT_EQ(waits_.size(), 1u);
  EXPECT_EQ(waits_[0].process, 1u);
  EXPECT_THAT(trace_.processes[0].held_up_by, IsEmpty());
}

TEST_F(SplitDevicesTest, DefaultStreamIsUnknownForAThreadWithSeveralDevices) {
  const uint32_t p = AddProcess(0);
  const uint32_t a = AddMember(p, 7, 0, 0);
  const uint32_t b = AddMember(p, 7, 1, 1);
  AddCall(a, 0, 0);
  AddCall(b, 0, 0);
  AddWait(p, 0, 0);
  Split();
  EXPECT_THAT(waits_, IsEmpty());
  // The thread may wait for either device, and this delays the other one.
  EXPECT_THAT(trace_.processes[0].held_up_by, ElementsAre(1));
  EXPECT_THAT(trace_.processes[1].held_up_by, ElementsAre(0));
}

TEST_F(SplitDevicesTest, RanksComeFromTheCommunicatorOfAllDevices) {
  const uint32_t first = AddProcess(0);
  const uint32_t second = AddProcess(1);
  AddMember(first, 7, 2, 0);
  AddMember(first, 7, 3, 1);
  AddMember(second, 7, 0, 0);
  Split();
  ASSERT_TRUE(NumberByCommunicator(drafts_, 0, &trace_));
  EXPECT_THAT(trace_.worlds[0].processes, ElementsAre(1, kNoIndex, 0, 2));
  EXPECT_EQ(trace_.processes[2].rank, 3);
}

TEST_F(SplitDevicesTest, WithoutSuchACommunicatorDevicesFollowTheirProcesses) {
  const uint32_t first = AddProcess(1);
  const uint32_t second = AddProcess(0);
  AddMember(first, 7, 0, 0);
  AddMember(first, 7, 1, 1);
  AddMember(second, 8, 0, 0);
  AddMember(second, 8, 1, 1);
  Split();
  EXPECT_FALSE(NumberByCommunicator(drafts_, 0, &trace_));
  NumberInOrder(0, &trace_);
  EXPECT_THAT(trace_.worlds[0].processes, ElementsAre(1, 3, 0, 2));
}

}  // namespace
}  // namespace rollcall
