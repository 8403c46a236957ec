// SPDX-License-Identifier: Apache-2.0
// Which operations on devices a trace shows as open, derived from the marks in the rings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "collector/base/byte_source.h"
#include "collector/import/ring_reader.h"
#include "collector/import/trace_builder.h"
#include "tests/collector/import/read_rings.h"
#include "tests/support/ring_file_builder.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kStream = 0x10;
constexpr uint32_t kUid = 1;

// Rank `rank` of 2 has enqueued `calls` reductions on one stream; its host has seen none complete.
RingFileBuilder Ring(int32_t rank, uint64_t calls) {
  RingFileBuilder builder(rank, 2);
  builder.AddThread(1);
  builder.AddMember(0xfeed, rank, 2, ring::kIsNccl);
  builder.members[0].entered = calls;
  for (uint64_t n = 1; n <= calls; ++n) {
    ring::Record record = RingFileBuilder::MakeRecord(Operation::kNcclAllReduce, 1000 * n, kUid, n);
    record.request = record.detail = n;
    record.detail2 = kStream;
    builder.Append(0, record);
  }
  builder.threads[0].last_end_ticks = 1000 * calls + 500;
  builder.CountCalls();
  builder.gpu.push_back({kUid, 0, kStream, calls, 0, 0, {}});
  return builder;
}

ring::Mark MarkBehind(uint64_t launch, bool written) {
  ring::Mark mark{};
  mark.lock = 2;
  mark.launch = launch;
  mark.stream = kStream;
  mark.member = kUid;
  mark.number = static_cast<uint32_t>(launch);
  mark.written = written ? mark.number : 0;
  return mark;
}

std::vector<uint64_t> Open(const Trace& trace, size_t process) {
  std::vector<uint64_t> open;
  for (const OpenRequest& request : trace.processes[process].open_requests) {
    open.push_back(request.event.sequence);
  }
  return open;
}

TEST(DeviceMarks, WithoutMarksEveryLaunchCountsAsComplete) {
  const Trace trace = TraceOf({Ring(0, 3), Ring(1, 3)});
  EXPECT_THAT(Open(trace, 0), IsEmpty());
  EXPECT_THAT(Open(trace, 1), IsEmpty());
}

TEST(DeviceMarks, OutstandingMarkMeansThatItsLaunchIsOpen) {
  RingFileBuilder fast = Ring(0, 3);
  RingFileBuilder slow = Ring(1, 3);
  fast.marks = {MarkBehind(1, true), MarkBehind(2, true), MarkBehind(3, false)};
  slow.marks = {MarkBehind(1, true), MarkBehind(2, false), MarkBehind(3, false)};
  const Trace trace = TraceOf({fast, slow});
  EXPECT_THAT(Open(trace, 0), ElementsAre(3));
  EXPECT_THAT(Open(trace, 1), ElementsAre(2, 3));
  EXPECT_EQ(trace.members[trace.communicators[0].members[1]].completed, 1u);
}

// The second launch of the other rank has no mark: without evidence it counts as complete.
TEST(DeviceMarks, LaunchWithoutAMarkCountsAsComplete) {
  RingFileBuilder fast = Ring(0, 2);
  RingFileBuilder other = Ring(1, 2);
  fast.marks = {MarkBehind(1, true), MarkBehind(2, true)};
  other.marks = {MarkBehind(1, true)};
  const Trace trace = TraceOf({fast, other});
  EXPECT_THAT(Open(trace, 1), IsEmpty());
}

TEST(DeviceMarks, MarkThatIsBeingWrittenIsIgnored) {
  RingFileBuilder fast = Ring(0, 1);
  RingFileBuilder other = Ring(1, 1);
  fast.marks = {MarkBehind(1, true)};
  other.marks = {MarkBehind(1, false)};
  other.marks[0].lock = 3;
  EXPECT_THAT(Open(TraceOf({fast, other}), 1), IsEmpty());
}

TEST(DeviceMarks, ProgressOfTheDeviceIsMovement) {
  RingFileBuilder ring = Ring(0, 1);
  ring.marks = {MarkBehind(1, false)};
  const uint64_t before = Read(ring.Build()).activity;
  ring.marks = {MarkBehind(1, true)};
  EXPECT_GT(Read(ring.Build()).activity, before);
}

TEST(DeviceMarks, OperationsRecordedInAGraphAreNotOpen) {
  RingFileBuilder graph = Ring(0, 1);
  ring::Record record = RingFileBuilder::MakeRecord(Operation::kNcclAllReduce, 9000, kUid);
  record.flags = ring::kCaptured;
  record.request = record.detail = 2;
  record.detail2 = kStream;
  graph.Append(0, record);
  graph.header.calls_captured = 1;
  graph.CountCalls();
  const Trace trace = TraceOf({graph, Ring(1, 1)});
  EXPECT_THAT(Open(trace, 0), IsEmpty());
  EXPECT_TRUE(trace.processes[0].graphs);
  EXPECT_FALSE(trace.processes[1].graphs);
}

}  // namespace
}  // namespace rollcall
