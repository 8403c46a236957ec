// SPDX-License-Identifier: Apache-2.0
// Tests completion marks with a fake driver of a few functions and a ring that is a struct.
// The state under test is global and can be disabled only once, so each test runs in its own child
// process.
#include "shim/nccl/marks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "shim/comms.h"
#include "shim/nccl/driver.h"
#include "shim/nccl/progress.h"
#include "shim/process.h"

namespace rollcall::shim::nccl {
namespace {

using ring::CompletionSource;
using ring::SectionKind;

constexpr uint64_t kStream = 0x100;  // of slot 0; slot 1 has the next number
constexpr uint64_t kDeviceOffset = uint64_t{1} << 40;
constexpr int kRefused = 801;
constexpr int kRelaxed = 2;

struct {
  ring::FileHeader header{};
  ring::GpuProgress progress[8]{};
  ring::Member members[8]{};
  alignas(64) ring::Mark marks[kMarkCells]{};
} g_ring;

// The state of the fake driver, and the calls that it received.
struct {
  bool works = true;          // the device executes what is enqueued on its streams
  int writes = 0;             // that were accepted
  int refuse_from = 1 << 30;  // this write and all later ones fail
  int capture_status = 0;
  int mode = 0;
  bool registered_relaxed = false;
  bool wrote_unrelaxed = false;
  void* current = &g_ring;
  void* of_stream = &g_ring;
  std::vector<uint64_t> streams;  // of the writes
} g_cuda;

int IsCapturing(void*, int* status) {
  *status = g_cuda.capture_status;
  return 0;
}
int CurrentContext(void** context) {
  *context = g_cuda.current;
  return 0;
}
int ContextOf(void*, void** context) {
  *context = g_cuda.of_stream;
  return 0;
}
int ExchangeMode(int* mode) {
  std::swap(*mode, g_cuda.mode);
  return 0;
}
int Register(void*, size_t, unsigned) {
  g_cuda.registered_relaxed = g_cuda.mode == kRelaxed;
  return 0;
}
int DeviceAddress(uint64_t* address, void* memory, unsigned) {
  *address = reinterpret_cast<uint64_t>(memory) + kDeviceOffset;
  return 0;
}
int WriteValue(void* stream, uint64_t address, uint32_t value, unsigned) {
  if (g_cuda.writes >= g_cuda.refuse_from) return kRefused;
  ++g_cuda.writes;
  g_cuda.wrote_unrelaxed |= g_cuda.mode != kRelaxed;
  g_cuda.streams.push_back(reinterpret_cast<uint64_t>(stream));
  if (g_cuda.works) *reinterpret_cast<uint32_t*>(address - kDeviceOffset) = value;
  return 0;
}

template <typename T, size_t n>
void AddSection(SectionKind kind, T (&table)[n], uint64_t used) {
  ring::Section& section = g_ring.header.sections[static_cast<int>(kind)];
  section.offset = static_cast<uint64_t>(reinterpret_cast<char*>(table) -
                                         reinterpret_cast<char*>(&g_ring.header));
  section.capacity = n;
  section.used = used;
  g_process.sections[static_cast<int>(kind)] = &section;
}

void MakeWorld() {
  g_process.header = &g_ring.header;
  g_process.gpu = g_process.marks = true;
  AddSection(SectionKind::kGpuProgress, g_ring.progress, 0);
  AddSection(SectionKind::kMembers, g_ring.members, 0);
  AddSection(SectionKind::kMarks, g_ring.marks, kMarkCells);
  g_driver = {IsCapturing, CurrentContext, ContextOf, ExchangeMode,
              Register,    DeviceAddress,  WriteValue};
  g_driver_found = true;
}

void AddSlots() {
  for (uint32_t i = 0; i < 2; ++i) {
    g_ring.progress[i].member = 1;
    g_ring.progress[i].stream = kStream + i;
  }
  g_process.Of(SectionKind::kGpuProgress)->used = 2;
}

void Start() {
  MakeWorld();
  PrepareDevice();
  AddSlots();
}

void Launch(uint32_t slot, uint64_t first, uint64_t last) {
  for (uint64_t launch = first; launch <= last; ++launch) Launched(slot, launch);
}

bool SetDeviceReports(uint32_t slot) {
  return g_ring.progress[slot].state == static_cast<uint32_t>(CompletionSource::kMarks);
}

int Outstanding() {
  int count = 0;
  for (const ring::Mark& mark : g_ring.marks) {
    if (mark.member != 0 && mark.written != mark.number) ++count;
  }
  return count;
}

uint64_t Completed(uint32_t slot) {
  uint64_t completed = g_ring.progress[slot].completed;
  for (const ring::Mark& mark : g_ring.marks) {
    if (mark.member == 0 || mark.stream != kStream + slot || mark.written != mark.number) continue;
    completed = std::max(completed, mark.launch);
  }
  return completed;
}

// Runs the test's body in its own process.
#define IN_A_CHILD(...)                             \
  EXPECT_EXIT(                                      \
      {                                             \
        __VA_ARGS__;                                \
        _exit(testing::Test::HasFailure() ? 1 : 0); \
      },                                            \
      testing::ExitedWithCode(0), "")

TEST(Marks, DeviceReportsEachLaunch) {
  IN_A_CHILD({
    Start();
    Launch(0, 1, 1000);
    EXPECT_EQ(g_cuda.writes, 1000);
    EXPECT_EQ(Completed(0), 1000u);
    EXPECT_EQ(Outstanding(), 0);
    EXPECT_TRUE(SetDeviceReports(0));
  });
}

TEST(Marks, StalledStreamLeavesMarksToOthers) {
  IN_A_CHILD({
    Start();
    g_cuda.works = false;
    Launch(0, 1, 100);
    EXPECT_EQ(g_cuda.writes, static_cast<int>(kMarksPerStream));
    EXPECT_EQ(Outstanding(), static_cast<int>(kMarksPerStream));
    EXPECT_FALSE(SetDeviceReports(0));  // there is no mark for the last launches
    g_cuda.works = true;
    Launch(1, 101, 200);
    EXPECT_EQ(Completed(1), 200u);
    EXPECT_TRUE(SetDeviceReports(1));
    EXPECT_EQ(Completed(0), 0u);
  });
}

TEST(Marks, DisabledAtTheFirstError) {
  IN_A_CHILD({
    Start();
    g_cuda.refuse_from = 2;
    Launch(0, 1, 3);
    g_cuda.refuse_from = 1 << 30;
    Launch(0, 4, 10);
    EXPECT_EQ(g_cuda.writes, 2);
    EXPECT_EQ(Completed(0), 2u);
    EXPECT_EQ(Outstanding(), 0);  // refused writes are not outstanding
    EXPECT_FALSE(SetDeviceReports(0));
  });
}

TEST(Marks, MarksAreNotAddedToACapturedGraph) {
  IN_A_CHILD({
    Start();
    g_cuda.capture_status = 1;
    Launch(0, 1, 1);
    EXPECT_EQ(g_cuda.writes, 0);
    g_cuda.capture_status = 0;
    Launch(0, 2, 2);
    EXPECT_EQ(g_cuda.writes, 1);
  });
}

TEST(Marks, DoesNotDisturbCapturesOfOthers) {
  IN_A_CHILD({
    Start();
    Launch(0, 1, 3);
    EXPECT_TRUE(g_cuda.registered_relaxed);
    EXPECT_FALSE(g_cuda.wrote_unrelaxed);
    EXPECT_EQ(g_cuda.mode, 0);  // restored
  });
}

TEST(Marks, NotUsedOnDefaultStreams) {
  IN_A_CHILD({
    Start();
    for (const uint64_t stream : {uint64_t{0}, ring::kLegacyStream, ring::OwnStream(0, 0)}) {
      g_ring.progress[0].stream = stream;
      Launch(0, stream + 1, stream + 1);
    }
    EXPECT_EQ(g_cuda.writes, 0);
  });
}

TEST(Marks, DisabledWithASecondContext) {
  IN_A_CHILD({
    Start();
    Launch(0, 1, 1);
    g_cuda.of_stream = &g_cuda;
    Launch(0, 2, 2);
    g_cuda.of_stream = &g_ring;
    Launch(0, 3, 3);
    EXPECT_EQ(g_cuda.writes, 1);
  });
}

TEST(Marks, DisabledWithASecondDevice) {
  IN_A_CHILD({
    Start();
    Library library;
    RegisterWithKey(&library, {}, {1, 0, 2});
    Launch(0, 1, 1);
    RegisterWithKey(&library, {}, {1, 1, 2});
    Launch(0, 2, 2);
    EXPECT_EQ(g_cuda.writes, 1);
  });
}

TEST(Marks, DisabledWithANonBlockingCommunicator) {
  IN_A_CHILD({
    Start();
    StopMarks("a communicator is non-blocking");
    Launch(0, 1, 1);
    EXPECT_EQ(g_cuda.writes, 0);
  });
}

// Operations that were running when the communicator was aborted do not count as complete.
TEST(Marks, MarksOfAnAbortedCommunicatorAreIgnored) {
  IN_A_CHILD({
    Start();
    Launch(0, 1, 1);
    g_cuda.works = false;
    Launch(0, 2, 3);
    ClearMarks(1);
    for (ring::Mark& mark : g_ring.marks) mark.written = mark.number;
    EXPECT_EQ(Completed(0), 1u);
    g_cuda.works = true;
    Launch(1, 4, 200);  // the cells are reused
    EXPECT_EQ(Completed(0), 1u);
    EXPECT_EQ(Completed(1), 200u);
  });
}

TEST(Marks, PagesAreNotRegisteredAfterWork) {
  IN_A_CHILD({
    MakeWorld();
    AddSlots();
    PrepareDevice();
    Launch(0, 1, 1);
    EXPECT_EQ(g_cuda.writes, 0);
  });
}

// Launch 4 began before launch 5, but was enqueued on the stream after it.
TEST(Marks, MarksAreDiscardedIfLaunchesReachTheStreamOutOfOrder) {
  IN_A_CHILD({
    Start();
    Launch(0, 5, 5);
    EXPECT_EQ(Completed(0), 5u);
    Launch(0, 4, 4);
    EXPECT_EQ(g_cuda.writes, 1);
    EXPECT_EQ(Completed(0), 0u);
  });
}

TEST(Marks, NotUsedUnlessRequested) {
  IN_A_CHILD({
    MakeWorld();
    g_process.marks = false;
    PrepareDevice();
    AddSlots();
    Launch(0, 1, 3);
    EXPECT_EQ(g_cuda.writes, 0);
    EXPECT_FALSE(g_cuda.registered_relaxed);
  });
}

}  // namespace
}  // namespace rollcall::shim::nccl
