// SPDX-License-Identifier: Apache-2.0
// Process groups of torch.distributed on NCCL: what the rings of PyTorch's calls, with NCCL's calls
// inside them, become in a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "collector/diagnosis/graph/device_waits.h"
#include "collector/diagnosis/graph/wait_graph.h"
#include "tests/collector/import/read_rings.h"
#include "tests/support/ring_file_builder.h"

namespace rollcall {
namespace {

using ::testing::IsEmpty;

constexpr uint64_t kStream = 0x10;
constexpr uint32_t kOnDevice = ring::kIsC10d | ring::kIsNccl;

// A rank that uses PyTorch.
class TorchRing : public RingFileBuilder {
 public:
  explicit TorchRing(int32_t rank, int32_t size = 2) : RingFileBuilder(rank, size) {
    header.flavor = static_cast<uint32_t>(ring::Flavor::kUnknown);
    header.thread_level = -1;
    AddThread(1, 32, 16);
  }

  // A group's call that makes one of NCCL. Returns the first record.
  ring::Record Call(Operation operation, uint32_t group, Operation of_nccl, uint32_t carrier) {
    const ring::Record outer = Call(operation, group);
    ring::Record inner = Next(of_nccl, carrier);
    inner.flags = ring::kNested;
    inner.request = inner.detail = ++launches_;
    inner.detail2 = kStream;
    Append(0, inner);
    End();
    return outer;
  }
  ring::Record Call(Operation operation, uint32_t group) {
    ring::Record record = Next(operation, group);
    record.request = ++requests_;
    record.prev_end_ticks = threads[0].last_end_ticks;
    record = Append(0, record);
    End();
    return record;
  }
  void Mark(uint32_t carrier, uint64_t launch, bool written) {
    ring::Mark mark{};
    mark.lock = 2;
    mark.launch = launch;
    mark.stream = kStream;
    mark.member = carrier;
    mark.number = static_cast<uint32_t>(launch);
    mark.written = written ? mark.number : 0;
    marks.push_back(mark);
  }
  void Launched(uint32_t carrier) { gpu.push_back({carrier, 0, kStream, launches_, 0, 0, {}}); }

 private:
  ring::Record Next(Operation operation, uint32_t member) {
    return MakeRecord(operation, now_ += 100, member, ++members[member - 1].entered);
  }
  void End() { threads[0].last_end_ticks = now_ += 10; }

  uint64_t now_ = 1000;
  uint64_t launches_ = 0;
  uint64_t requests_ = 0;
};

std::vector<CommunicatorHistory> HistoriesOf(const Trace& trace) {
  std::vector<CommunicatorHistory> histories;
  for (uint32_t c = 0; c < trace.communicators.size(); ++c) {
    histories.push_back(BuildHistory(trace, c));
  }
  return histories;
}

// {0,1} and {2,3} are groups of PyTorch with libstdc++'s old ABI, whose names are not known.
TEST(TorchDevices, GroupsThatCannotBeToldApartAreJudgedByNcclsCalls) {
  std::vector<TorchRing> rings;
  for (int32_t rank = 0; rank < 4; ++rank) {
    TorchRing ring(rank, 4);
    const uint32_t group = ring.AddMember(0xabc, rank % 2, 2, kOnDevice | ring::kWeakIdentity);
    const uint32_t carrier = ring.AddMember(rank < 2 ? 0x1 : 0x2, rank % 2, 2, ring::kIsNccl);
    for (int n = 0; n < (rank < 2 ? 3 : 1); ++n) {
      ring.Call(Operation::kC10dAllReduce, group, Operation::kNcclAllReduce, carrier);
    }
    ring.Launched(carrier);
    rings.push_back(ring);
  }
  std::vector<RingFileBuilder> files(rings.begin(), rings.end());
  const Trace trace = TraceOf(files);
  for (const Member& member : trace.members) {
    const Communicator& communicator = trace.communicators[member.communicator];
    const bool carrier = IsNcclAlone(communicator.flags);
    EXPECT_EQ(member.counted, carrier);
    EXPECT_EQ(member.events.size(), !carrier ? 0u : communicator.key == 1 ? 3u : 1u);
  }
  EXPECT_EQ(trace.problems.size(), 1u);
}

// A device completes an all_to_all that sends nothing to a member before that member calls it.
TEST(TorchDevices, AllToAllNeedsNotAllMembers) {
  std::vector<RingFileBuilder> files;
  for (int32_t rank = 0; rank < 3; ++rank) {
    TorchRing ring(rank, 3);
    const uint32_t group = ring.AddMember(0xabc, rank, 3, kOnDevice);
    const uint32_t carrier = ring.AddMember(0x1, rank, 3, ring::kIsNccl);
    if (rank < 2) {
      ring.Call(Operation::kC10dAllToAll, group, Operation::kNcclAlltoAll, carrier);
      ring.Launched(carrier);
      ring.Mark(carrier, 1, rank == 0);
    }
    files.push_back(ring);
  }
  const Trace trace = TraceOf(files);
  EXPECT_THAT(BuildDeviceWaits(trace, HistoriesOf(trace)).lags, IsEmpty());
}

TEST(TorchDevices, GroupOfDevicesThatIsNeverUsedMakesNoDevice) {
  TorchRing ring(0);
  const uint32_t gloo = ring.AddMember(0xabc, 0, 2, ring::kIsC10d);
  ring.AddMember(0xdef, 0, 2, kOnDevice);
  ring.Call(Operation::kC10dAllReduce, gloo);
  EXPECT_FALSE(TraceOf(std::vector<RingFileBuilder>{ring}).processes[0].device);
}

TEST(TorchDevices, RequestOfGlooIsNotTheOldestOfTheDevice) {
  std::vector<RingFileBuilder> files;
  for (int32_t rank = 0; rank < 2; ++rank) {
    TorchRing ring(rank);
    const uint32_t gloo = ring.AddMember(0xabc, rank, 2, ring::kIsC10d);
    const uint32_t group = ring.AddMember(0xdef, rank, 2, kOnDevice);
    const uint32_t carrier = ring.AddMember(0x1, rank, 2, ring::kIsNccl);
    const ring::Record request = ring.Call(Operation::kC10dAllReduce, gloo);
    ring.open_requests.push_back(
        {2, request.request, static_cast<uint32_t>(ring::RequestState::kActive), 0, 0, request});
    if (rank == 0) {
      ring.Call(Operation::kC10dAllReduce, group, Operation::kNcclAllReduce, carrier);
      ring.Launched(carrier);
    }
    files.push_back(ring);
  }
  const Trace trace = TraceOf(files);
  const OpenRequest* oldest = OldestHandedOver(trace, trace.processes[0]);
  ASSERT_NE(oldest, nullptr);
  EXPECT_EQ(trace.arguments[oldest->event.arguments].operation, Operation::kC10dDeviceAllReduce);
}

// Both ranks have called it. Work.wait is inside cudaStreamSynchronize on the caller's stream.
TEST(TorchDevices, HostInsideTheWaitOfABarrierWaitsForTheBarrier) {
  std::vector<RingFileBuilder> files;
  for (int32_t rank = 0; rank < 2; ++rank) {
    TorchRing ring(rank);
    const uint32_t group = ring.AddMember(0xabc, rank, 2, kOnDevice);
    const uint32_t carrier = ring.AddMember(0x1, rank, 2, ring::kIsNccl);
    const ring::Record barrier =
        ring.Call(Operation::kC10dBarrier, group, Operation::kNcclAllReduce, carrier);
    ring.Launched(carrier);
    ring.open_requests.push_back(
        {2, barrier.request, static_cast<uint32_t>(ring::RequestState::kActive), 1, 0, barrier});
    ring::Record wait = RingFileBuilder::MakeRecord(Operation::kC10dWait, 5000);
    wait.request = barrier.request;
    wait.prev_end_ticks = ring.threads[0].last_end_ticks;
    ring.Open(0, ring.Append(0, wait, ring::kP2pRing));
    ring::Record inner = RingFileBuilder::MakeRecord(Operation::kcudaStreamSynchronize, 5010);
    inner.flags = ring::kNested;
    inner.detail = 1;
    ring.Open(0, ring.Append(0, inner, ring::kP2pRing));
    files.push_back(ring);
  }
  const Trace trace = TraceOf(files);
  for (const Process& process : trace.processes) {
    ASSERT_EQ(process.open_requests.size(), 1u);
    EXPECT_EQ(trace.arguments[process.open_requests[0].event.arguments].operation,
              Operation::kC10dDeviceBarrier);
  }
}

// NCCL's calls number their requests themselves.
TEST(TorchDevices, WaitForAWorkIsNoWaitForACallOfNcclWithItsNumber) {
  std::vector<RingFileBuilder> files;
  for (int32_t rank = 0; rank < 2; ++rank) {
    TorchRing ring(rank);
    const uint32_t group = ring.AddMember(0xabc, rank, 2, kOnDevice);
    const uint32_t alone = ring.AddMember(0x1, rank, 2, ring::kIsNccl);
    ring::Record own = RingFileBuilder::MakeRecord(Operation::kNcclAllReduce, 900, alone, 1);
    own.request = own.detail = 7;
    own.detail2 = kStream;
    ring.members[alone - 1].entered = 1;
    ring.Append(0, own);
    ring.gpu.push_back({alone, 0, kStream, 7, 0, 0, {}});
    ring::Record request = ring.Call(Operation::kC10dAllReduce, group);
    request.request = 7;
    ring.open_requests.push_back(
        {2, 7, static_cast<uint32_t>(ring::RequestState::kActive), 1, 0, request});
    ring::Record wait = RingFileBuilder::MakeRecord(Operation::kC10dWait, 5000);
    wait.request = 7;
    ring.Open(0, ring.Append(0, wait, ring::kP2pRing));
    files.push_back(ring);
  }
  const Trace trace = TraceOf(files);
  for (const Process& process : trace.processes) EXPECT_THAT(process.open_requests, IsEmpty());
}

// The host of rank 0 is inside the call: NCCL connects. Without PyTorch it waits for the others.
TEST(TorchDevices, HostInsideACallOfNcclNeedsTheOthers) {
  for (const bool torch : {false, true}) {
    std::vector<RingFileBuilder> files;
    for (int32_t rank = 0; rank < 2; ++rank) {
      TorchRing ring(rank);
      const uint32_t member = ring.AddMember(0x1, rank, 2, torch ? kOnDevice : ring::kIsNccl);
      if (rank == 0) {
        const ring::Record call =
            ring.Call(torch ? Operation::kC10dAllReduce : Operation::kNcclAllReduce, member);
        ring.Open(0, call);
      }
      files.push_back(ring);
    }
    const Trace trace = TraceOf(files);
    const WaitGraph graph = BuildWaitGraph(trace, {}, HistoriesOf(trace));
    EXPECT_EQ(graph.processes[0].dependencies.size(), torch ? 0u : 1u);
  }
}

// isend, all_reduce on one rank and all_reduce, recv on the other: NCCL gives messages that are not
// batched a communicator and a stream of their own.
TEST(TorchDevices, MessagesAndCollectivesOfWhichNoLaunchIsSeenMayCross) {
  std::vector<RingFileBuilder> files;
  for (int32_t rank = 0; rank < 2; ++rank) {
    TorchRing ring(rank);
    const uint32_t group = ring.AddMember(0xabc, rank, 2, kOnDevice);
    ring::Record message = RingFileBuilder::MakeRecord(
        rank == 0 ? Operation::kC10dSend : Operation::kC10dRecv, rank == 0 ? 500 : 5000, group);
    message.request = 9;
    message.root_or_peer = 1 - rank;
    ring.Append(0, message, ring::kP2pRing);
    ring.Call(Operation::kC10dAllReduce, group);
    files.push_back(ring);
  }
  const Trace trace = TraceOf(files);
  for (const Process& process : trace.processes) EXPECT_THAT(process.open_requests, IsEmpty());
}

// The type, the number of elements and the reduction are not read from some versions of PyTorch.
TEST(TorchDevices, CallHasTheArgumentsOfNcclsThatAreNotKnownAbove) {
  TorchRing ring(0, 1);
  const uint32_t group = ring.AddMember(0xabc, 0, 1, kOnDevice);
  const uint32_t carrier = ring.AddMember(0x1, 0, 1, ring::kIsNccl);
  ring.Call(Operation::kC10dAllReduce, group, Operation::kNcclAllReduce, carrier);
  ring::Record& inner = ring.records[1];
  inner.send_count = inner.recv_count = 5;
  inner.reduce_op = static_cast<uint16_t>(ReduceOp::kNcclMax);
  const Trace trace = TraceOf(std::vector<RingFileBuilder>{ring});
  const Arguments& arguments = trace.arguments[trace.members[0].events.at(0).arguments];
  EXPECT_EQ(arguments.operation, Operation::kC10dDeviceAllReduce);
  EXPECT_EQ(arguments.send_count, 5u);
  EXPECT_EQ(arguments.reduce_op, static_cast<uint16_t>(ReduceOp::kNcclMax));
}

}  // namespace
}  // namespace rollcall
