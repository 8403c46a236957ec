// SPDX-License-Identifier: Apache-2.0
// The records of c10d's calls, without PyTorch: functions that call what the wrappers call, with
// addresses for backends and Works. Each test records into a ring of its own, in a child process.
#include "shim/torch/call.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "proto/environment.h"
#include "shim/call_inline.h"
#include "shim/requests.h"
#include "shim/stack/stack.h"
#include "shim/thread_log.h"
#include "shim/torch/binding.h"
#include "shim/torch/groups.h"

namespace rollcall::shim::torch {
namespace {

const void* At(uintptr_t address) { return reinterpret_cast<const void*>(address); }
const void* const kStore = At(0x1000);
const void* const kBackend = At(0x2000);
const void* const kWork = At(0x3000);
const void* const kOtherWork = At(0x4000);

const OperationInfo& Info(Operation operation) {
  return FindOperation(static_cast<uint16_t>(operation));
}

// A wrapper: what it is for happens in `inside`, as PyTorch's function.
template <typename Inside>
[[gnu::noinline]] void Operate(Operation operation, Inside inside) {
  Call call = MakeCall(Info(operation), false, ROLLCALL_CALLER_FRAME(), __builtin_return_address(0),
                       TorchLibrary());
  Arguments arguments;
  arguments.backend = kBackend;
  arguments.peer = 1;
  arguments.tag = 5;
  BeginOperation(&call, arguments);
  inside();
  EndOperation(&call);
}
[[gnu::noinline]] void Make(const void* work) {
  WorkMade(work, ROLLCALL_CALLER_FRAME());
  asm volatile("" ::: "memory");  // keeps the frame
}
// A recorded call of another library, which has a request.
template <typename Inside>
[[gnu::noinline]] void CallMpi(Inside inside) {
  Call call = MakeCall(Info(Operation::kIallreduce), false, ROLLCALL_CALLER_FRAME(),
                       __builtin_return_address(0), TorchLibrary());
  ASSERT_TRUE(calls::OpenBracket(&call));
  calls::StartRecord(&call);
  call.record.request = NextRequestUid();
  calls::WriteRecord(&call, ring::kCollectiveRing);
  calls::CloseBracket();
  inside();
  if (calls::ReopenBracket(&call, 0)) calls::FinishCall(&call);
}
template <typename Inside>
[[gnu::noinline]] void WaitFor(const void* work, Inside inside) {
  Call call = MakeCall(Info(Operation::kC10dWait), false, ROLLCALL_CALLER_FRAME(),
                       __builtin_return_address(0), TorchLibrary());
  BeginWait(&call, work);
  inside();
  EndWait(&call);
}
template <typename Inside>
[[gnu::noinline]] void WaitForReducer(const void* reducer, Inside inside) {
  Call call = MakeCall(Info(Operation::kC10dWaitForGradients), false, ROLLCALL_CALLER_FRAME(),
                       __builtin_return_address(0), TorchLibrary());
  BeginReducerWait(&call, reducer);
  inside(call);
  EndReducerWait(&call, reducer);
}
[[gnu::noinline]] void Connect(const void* store, int size) {
  Call call = MakeCall(Info(Operation::kC10dInitGroup), false, ROLLCALL_CALLER_FRAME(),
                       __builtin_return_address(0), TorchLibrary());
  BeginGroup(&call, {.backend = kBackend, .name = NameOfGroup(store), .rank = 0, .size = size});
  EndGroup(&call);
}

uint32_t SlotOf(const void* work) {
  return FindRequest(*TorchLibrary(), reinterpret_cast<uint64_t>(work));
}
bool IsOpen(uint32_t slot) {
  return RequestAt(slot).state != static_cast<uint32_t>(ring::RequestState::kFree);
}
uint64_t Records(ring::RingKind kind) { return t_block.log->rings[kind].head(); }
const ring::Member& Group() { return *FindByHandle(reinterpret_cast<uint64_t>(kBackend))->entry; }
uint64_t Depth() { return t_block.log->entry->depth; }

// Runs the test's body in its own process, which records a group of two ranks.
#define IN_A_JOB(...)                                            \
  EXPECT_EXIT(                                                   \
      {                                                          \
        char directory[] = "/dev/shm/rollcall-call-test-XXXXXX"; \
        if (mkdtemp(directory) == nullptr) _exit(1);             \
        setenv(env::kRunDirectory, directory, 1);                \
        SetTorchVersion(0);                                      \
        Start();                                                 \
        EXPECT_TRUE(Recording());                                \
        NoteStore(kStore, "default_pg", 10, At(0x500));          \
        if (Recording()) {                                       \
          Connect(kStore, 2);                                    \
          __VA_ARGS__;                                           \
        }                                                        \
        std::filesystem::remove_all(directory);                  \
        _exit(testing::Test::HasFailure() ? 1 : 0);              \
      },                                                         \
      testing::ExitedWithCode(0), "")

TEST(TorchCall, GroupHasItsNameAndSize) {
  IN_A_JOB({
    EXPECT_EQ(Group().size, 2);
    EXPECT_EQ(Group().flags & ring::kIsC10d, ring::kIsC10d);
    EXPECT_EQ(Group().flags & ring::kWeakIdentity, 0u);
    EXPECT_EQ(Group().in_flight, 0u);
    Connect(At(0x600), 2);  // of a store that nobody has seen
    EXPECT_EQ(Group().flags & ring::kWeakIdentity, ring::kWeakIdentity);
  });
}

TEST(TorchCall, WorkIsTheRequestOfTheOperationThatMadeIt) {
  IN_A_JOB({
    Operate(Operation::kC10dAllReduce, [] {
      EXPECT_EQ(Depth(), 1u);
      Make(kWork);
    });
    EXPECT_EQ(Depth(), 0u);
    const uint32_t slot = SlotOf(kWork);
    ASSERT_LT(slot, kMaxRequests);
    EXPECT_TRUE(IsOpen(slot));
    EXPECT_EQ(RequestAt(slot).record.operation, static_cast<uint16_t>(Operation::kC10dAllReduce));
    EXPECT_EQ(RequestAt(slot).record.sequence, 1u);
    EXPECT_EQ(Group().completed, 0u);  // the call has returned, the operation is not complete
    WorkDone(kWork, false);
    EXPECT_EQ(SlotOf(kWork), kNoRequest);
    EXPECT_FALSE(IsOpen(slot));
    EXPECT_EQ(Group().completed, 1u);
    WorkGone(kWork);  // afterwards; without effect
    EXPECT_EQ(Group().completed, 1u);
  });
}

TEST(TorchCall, WorkMayBeCompleteBeforeTheCallReturns) {
  IN_A_JOB({
    Operate(Operation::kC10dAllReduce, [] {
      Make(kWork);
      std::thread([] { WorkDone(kWork, false); }).join();
    });
    EXPECT_EQ(SlotOf(kWork), kNoRequest);
    EXPECT_EQ(Group().completed, 1u);
  });
}

TEST(TorchCall, WorkThatIsDestroyedIsNoRequestAnyMore) {
  IN_A_JOB({
    Operate(Operation::kC10dAllReduce, [] { Make(kWork); });
    const uint32_t slot = SlotOf(kWork);
    WorkGone(kWork);
    EXPECT_EQ(SlotOf(kWork), kNoRequest);
    EXPECT_EQ(RequestAt(slot).state, static_cast<uint32_t>(ring::RequestState::kFree));
    // Another Work at the same address.
    Operate(Operation::kC10dBroadcast, [] { Make(kWork); });
    EXPECT_EQ(RequestAt(SlotOf(kWork)).record.sequence, 2u);
  });
}

TEST(TorchCall, WorkOutsideOfAnOperationIsNoRequest) {
  IN_A_JOB({
    Make(kWork);
    EXPECT_EQ(SlotOf(kWork), kNoRequest);
    CallMpi([] { Make(kWork); });
    EXPECT_EQ(SlotOf(kWork), kNoRequest);
    Operate(Operation::kC10dAllReduce, [] {
      Make(kWork);
      Make(kOtherWork);  // only the first is the operation's
      std::thread([] { Make(At(0x5000)); }).join();
    });
    EXPECT_LT(SlotOf(kWork), kMaxRequests);
    EXPECT_EQ(SlotOf(kOtherWork), kNoRequest);
    EXPECT_EQ(SlotOf(At(0x5000)), kNoRequest);
  });
}

TEST(TorchCall, NestedOperationsAreOneRecord) {
  IN_A_JOB({
    const uint64_t before = Records(ring::kCollectiveRing);
    Operate(Operation::kC10dAllGather, [] {
      Operate(Operation::kC10dAllGather,
              [] { Operate(Operation::kC10dBroadcast, [] { Make(kWork); }); });
    });
    EXPECT_EQ(Records(ring::kCollectiveRing), before + 1);
    EXPECT_EQ(Group().entered, 1u);
    EXPECT_EQ(RequestAt(SlotOf(kWork)).record.operation,
              static_cast<uint16_t>(Operation::kC10dAllGather));
    EXPECT_EQ(Depth(), 0u);
  });
}

TEST(TorchCall, MonitoredBarrierIsOneRecordWithItsMessages) {
  IN_A_JOB({
    const uint64_t messages = Records(ring::kP2pRing);
    Operate(Operation::kC10dMonitoredBarrier, [] {
      Operate(Operation::kC10dSend, [] { Make(kWork); });
      WaitFor(kWork, [] {});
    });
    EXPECT_EQ(Records(ring::kP2pRing), messages);
    EXPECT_EQ(SlotOf(kWork), kNoRequest);
    EXPECT_EQ(Group().completed, 1u);  // it blocks: it is complete when it returns
  });
}

TEST(TorchCall, MessageHasNoNumber) {
  IN_A_JOB({
    const uint64_t messages = Records(ring::kP2pRing);
    Operate(Operation::kC10dSend, [] { Make(kWork); });
    EXPECT_EQ(Records(ring::kP2pRing), messages + 1);
    EXPECT_EQ(Group().entered, 0u);
    EXPECT_EQ(RequestAt(SlotOf(kWork)).record.root_or_peer, 1);
    EXPECT_EQ(RequestAt(SlotOf(kWork)).record.tag, 5);
  });
}

// PyTorch throws out of an operation: of wrong arguments, or in a barrier whose time is over.
TEST(TorchCall, OperationThatThrewLeavesNothingBehind) {
  IN_A_JOB({
    EXPECT_THROW(Operate(Operation::kC10dAllReduce, [] { throw 1; }), int);
    EXPECT_EQ(Depth(), 1u);  // until the next call
    Operate(Operation::kC10dBroadcast, [] {
      EXPECT_EQ(Depth(), 1u);
      Make(kWork);
    });
    EXPECT_EQ(Depth(), 0u);
    EXPECT_EQ(RequestAt(SlotOf(kWork)).record.operation,
              static_cast<uint16_t>(Operation::kC10dBroadcast));
    EXPECT_EQ(Group().in_flight, 0u);
  });
}

TEST(TorchCall, WaitShowsItsThreadUntilItReturns) {
  IN_A_JOB({
    Operate(Operation::kC10dAllReduce, [] { Make(kWork); });
    const uint32_t slot = SlotOf(kWork);
    const uint64_t records = Records(ring::kP2pRing);
    WaitFor(kWork, [=] {
      EXPECT_EQ(RequestAt(slot).waiter, t_block.log->index + 1);
      EXPECT_EQ(Depth(), 1u);
    });
    EXPECT_EQ(RequestAt(slot).waiter, 0u);
    EXPECT_EQ(Records(ring::kP2pRing), records + 1);
    WorkDone(kWork, false);
    WaitFor(kWork, [] { EXPECT_EQ(Depth(), 0u); });  // of a Work that is complete: not recorded
    EXPECT_EQ(Records(ring::kP2pRing), records + 1);
  });
}

// A callback of the user's, which runs in the thread that waits.
TEST(TorchCall, OperationInsideAWaitIsAnOperation) {
  IN_A_JOB({
    Operate(Operation::kC10dAllReduce, [] { Make(kWork); });
    WaitFor(kWork, [] {
      Make(At(0x5000));  // not the wait's
      EXPECT_EQ(SlotOf(At(0x5000)), kNoRequest);
      Operate(Operation::kC10dBroadcast, [] { EXPECT_EQ(Depth(), 2u); });
    });
    EXPECT_EQ(Group().entered, 2u);
    EXPECT_EQ(Depth(), 0u);
  });
}

TEST(TorchCall, BackwardPassForgetsOneThatThrew) {
  IN_A_JOB({
    const void* const reducer = At(0x9000);
    PrepareForBackward(reducer);
    EnterReducer(reducer);
    Operate(Operation::kC10dAllReduce, [] { Make(kWork); });  // and neither leaves nor waits
    PrepareForBackward(reducer);
    Operate(Operation::kC10dAllReduce, [] { Make(kOtherWork); });
    EXPECT_EQ(RequestAt(SlotOf(kOtherWork)).record.detail, ring::kDuringUnreducedBackward);
    EnterReducer(reducer);
    Operate(Operation::kC10dAllReduce, [] { Make(At(0x5000)); });
    EXPECT_EQ(RequestAt(SlotOf(At(0x5000))).record.detail, 1u);
  });
}

// While a thread waits, the slot of the Work may get another request.
TEST(TorchCall, WaitDoesNotTouchTheSlotsNextRequest) {
  IN_A_JOB({
    Operate(Operation::kC10dAllReduce, [] { Make(kWork); });
    const uint32_t slot = SlotOf(kWork);
    WaitFor(kWork, [=] {
      std::thread([=] {
        WorkDone(kWork, false);
        Operate(Operation::kC10dAllReduce, [] { Make(kOtherWork); });
        EXPECT_EQ(SlotOf(kOtherWork), slot);
        SetWaiter(slot, 77);
      }).join();
    });
    EXPECT_EQ(RequestAt(slot).waiter, 77u);
  });
}

TEST(TorchCall, ReducerWaitsForItsBuckets) {
  IN_A_JOB({
    const void* const reducer = At(0x9000);
    PrepareForBackward(reducer);
    for (const void* work : {kWork, kOtherWork}) {
      EnterReducer(reducer);
      Operate(Operation::kC10dAllReduce, [=] { Make(work); });
      LeaveReducer();
    }
    EXPECT_EQ(RequestAt(SlotOf(kWork)).record.detail, 1u);
    EXPECT_EQ(RequestAt(SlotOf(kOtherWork)).record.detail, 2u);
    // The program's own, while the reducer has not reduced all gradients.
    Operate(Operation::kC10dAllReduce, [] { Make(At(0x6000)); });
    EXPECT_EQ(RequestAt(SlotOf(At(0x6000))).record.detail, ring::kDuringUnreducedBackward);
    WaitForReducer(reducer, [](const Call& call) {
      EXPECT_EQ(call.record.detail, 2u);
      Make(At(0x5000));  // not the wait's
      EXPECT_EQ(SlotOf(At(0x5000)), kNoRequest);
      EXPECT_EQ(RequestAt(SlotOf(kOtherWork)).waiter, t_block.log->index + 1);
    });
    // The next backward pass begins with its first bucket.
    EnterReducer(reducer);
    Operate(Operation::kC10dAllReduce, [] { Make(At(0x7000)); });
    LeaveReducer();
    EXPECT_EQ(RequestAt(SlotOf(At(0x7000))).record.detail, 1u);
    Operate(Operation::kC10dAllReduce, [] { Make(At(0x8000)); });
    EXPECT_EQ(RequestAt(SlotOf(At(0x8000))).record.detail, 0u);
  });
}

TEST(TorchCall, GroupThatIsGoneIsNotFound) {
  IN_A_JOB({
    GroupGone(kBackend);
    EXPECT_EQ(FindByHandle(reinterpret_cast<uint64_t>(kBackend)), nullptr);
    Operate(Operation::kC10dAllReduce, [] { Make(kWork); });
    EXPECT_EQ(RequestAt(SlotOf(kWork)).record.flags & ring::kUnknownComm, ring::kUnknownComm);
  });
}

}  // namespace
}  // namespace rollcall::shim::torch
