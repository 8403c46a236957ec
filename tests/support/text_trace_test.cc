// SPDX-License-Identifier: Apache-2.0
#include "tests/support/text_trace.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

std::string Error(std::string_view text) {
  const TextTraceResult result = ParseTextTrace(text);
  return result.errors.empty() ? "none" : result.errors[0];
}

TEST(TextTrace, NumbersCollectivesPerCommunicator) {
  const TextTraceResult result = ParseTextTrace(R"(
ranks 3
comm pair 0,2
0,2: Barrier on=pair
0-2: Barrier
0: waits in Bcast root=1 2xMPI_INT @ main:3 > f(lib.c:9)
)");
  ASSERT_EQ(result.errors, std::vector<std::string>{});
  const Trace& trace = result.trace;
  ASSERT_EQ(trace.communicators.size(), 2u);
  EXPECT_EQ(trace.communicators[1].ranks, (std::vector<int32_t>{0, 2}));
  const Member& world = trace.members[trace.communicators[0].members[0]];
  ASSERT_EQ(world.events.size(), 2u);
  EXPECT_EQ(world.events[1].sequence, 2u);
  EXPECT_EQ(world.events[1].end_ns, kNoTime);
  const Arguments& arguments = trace.arguments[world.events[1].arguments];
  EXPECT_EQ(arguments.operation, Operation::kBcast);
  EXPECT_EQ(arguments.root_or_peer, 1);
  EXPECT_EQ(arguments.send_count, 2u);
  const CallPath& path = trace.call_paths[world.events[1].call_path];
  ASSERT_EQ(path.codes.size(), 2u);
  EXPECT_EQ(trace.codes[path.codes[0]].frames[0].function, "f");
  EXPECT_EQ(trace.codes[path.codes[0]].frames[0].file, "lib.c");
  EXPECT_EQ(trace.codes[path.codes[0]].frames[0].line, 9);
  ASSERT_EQ(trace.processes[0].open_calls.size(), 1u);
}

TEST(TextTrace, RepeatsLinesAndLosesRecords) {
  const TextTraceResult result = ParseTextTrace(R"(
ranks 2
repeat 3
  repeat 2
    0,1: Barrier
  end
  0,1: Bcast root=0 1xMPI_INT
end
1: loses 4
)");
  ASSERT_EQ(result.errors, std::vector<std::string>{});
  EXPECT_EQ(result.trace.members[0].events.size(), 9u);
  ASSERT_EQ(result.trace.members[1].events.size(), 5u);
  EXPECT_EQ(result.trace.members[1].events[0].sequence, 5u);
  EXPECT_EQ(result.trace.members[1].entered, 9u);
}

TEST(TextTrace, KeepsTheLastRecordsAndAllCounts) {
  const TextTraceResult result = ParseTextTrace(R"(
ranks 2
comm pair 0-1
repeat 3
  0: Send 1xMPI_INT peer=1 tag=7
  1: Recv 1xMPI_INT peer=0 tag=7
  0-1: Barrier
  0-1: Barrier on=pair
end
0: keeps 1
)");
  ASSERT_EQ(result.errors, std::vector<std::string>{});
  const Process& process = result.trace.processes[0];
  EXPECT_EQ(process.p2p.size(), 1u);
  EXPECT_EQ(process.threads[0].lost_p2p, 2u);
  EXPECT_EQ(process.threads[0].lost_collectives, 5u);
  EXPECT_EQ(process.channels.at(0).sent, 3u);
  const auto member = [&](size_t communicator, size_t rank) -> const Member& {
    return result.trace.members[result.trace.communicators[communicator].members[rank]];
  };
  EXPECT_EQ(member(0, 0).events.size(), 0u);
  ASSERT_EQ(member(1, 0).events.size(), 1u);
  EXPECT_EQ(member(1, 0).events[0].sequence, 3u);
  EXPECT_EQ(member(0, 0).entered, 3u);
  EXPECT_EQ(member(0, 1).events.size(), 3u);
  EXPECT_EQ(result.trace.processes[1].p2p.size(), 3u);
}

TEST(TextTrace, OneEndMayListAnEdge) {
  const TextTraceResult result = ParseTextTrace(R"(
ranks 2
dist-graph world 0>1 1|>0 0>|1
)");
  ASSERT_EQ(result.errors, std::vector<std::string>{});
  EXPECT_EQ(result.trace.members[0].neighbors_out, (std::vector<int32_t>{1, 1}));
  EXPECT_EQ(result.trace.members[0].neighbors_in, std::vector<int32_t>{1});
  EXPECT_EQ(result.trace.members[1].neighbors_out, std::vector<int32_t>{});
  EXPECT_EQ(result.trace.members[1].neighbors_in, std::vector<int32_t>{0});
}

TEST(TextTrace, NamesOfRequestsAreUsedAgain) {
  const TextTraceResult result = ParseTextTrace(R"(
ranks 2
repeat 2
  0: Isend 1xMPI_INT peer=1 tag=1 request=a
  0: Irecv 1xMPI_INT peer=1 tag=1 request=b
  0: Waitall for=a,b
end
0: Isend 1xMPI_INT peer=1 tag=1 request=a
0: Irecv 1xMPI_INT peer=1 tag=1 request=b
0: Wait for=a
)");
  ASSERT_EQ(result.errors, std::vector<std::string>{});
  const std::vector<OpenRequest>& open = result.trace.processes[0].open_requests;
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(result.trace.arguments[open[0].event.arguments].operation, Operation::kIrecv);
}

TEST(TextTrace, ParsesPythonFramesAndContext) {
  const TextTraceResult result = ParseTextTrace(R"(
ranks 2
0: waits in Barrier @ <module>(<ipython-input-3>:4) > hook[/home/u/loop.so] > step(train.py:9)
1: waits in Barrier @ thread_main(engine.cpp:40) context <module>(train.py:20)
1: python-off version
)");
  ASSERT_EQ(result.errors, std::vector<std::string>{});
  const Trace& trace = result.trace;
  const auto frame = [&](const CallPath& path, size_t i) {
    return trace.codes[path.codes.at(i)].frames.at(0);
  };
  const CallPath& whole = trace.call_paths[trace.processes[0].open_calls.at(0).event.call_path];
  ASSERT_EQ(whole.codes.size(), 3u);
  EXPECT_EQ(frame(whole, 0).language, Language::kPython);
  EXPECT_EQ(frame(whole, 0).function, "step");
  EXPECT_EQ(frame(whole, 1).language, Language::kNative);
  EXPECT_EQ(frame(whole, 1).module, "/home/u/loop.so");
  EXPECT_EQ(frame(whole, 1).line, 0);
  EXPECT_EQ(frame(whole, 2).language, Language::kPython);
  EXPECT_EQ(frame(whole, 2).file, "<ipython-input-3>");
  EXPECT_EQ(whole.context, kNoIndex);
  const CallPath& thread = trace.call_paths[trace.processes[1].open_calls.at(0).event.call_path];
  EXPECT_EQ(thread.python_end, ring::PythonEnd::kNoFrames);
  ASSERT_EQ(thread.codes.size(), 1u);
  ASSERT_NE(thread.context, kNoIndex);
  EXPECT_EQ(frame(trace.call_paths[thread.context], 0).line, 20);
  EXPECT_EQ(trace.processes[1].python_state, ring::PythonState::kOff);
  EXPECT_EQ(trace.processes[1].python_off, ring::PythonOff::kVersion);
  EXPECT_EQ(Error("ranks 2\n0: python-off so"), "line 2: 'so' is no reason");
}

TEST(TextTrace, ParsesDevicesGroupsAndInitialisations) {
  const TextTraceResult result = ParseTextTrace(R"(
ranks 3 devices
0,1: nccl-init id=a @ main:3
2: waits in nccl-init id=a size=4 rank=3 @ main:3
0: all_reduce 2xMPI_FLOAT @ main:5
0: group-start @ main:6
0: group-start @ main:7
0: enqueues ncclAllReduce 2xMPI_FLOAT @ main:8
0: group-end @ main:9
1: group-start @ main:6
1: runs all_reduce 2xMPI_FLOAT @ main:8
1: group-end @ main:9
1: group-end @ main:10
)");
  ASSERT_EQ(result.errors, std::vector<std::string>{});
  const Trace& trace = result.trace;
  ASSERT_EQ(trace.creations.size(), 3u);
  EXPECT_EQ(trace.creations[2].key, trace.creations[0].key);
  EXPECT_EQ(trace.creations[2].rank, 3);
  EXPECT_EQ(trace.creations[2].size, 4);
  EXPECT_EQ(trace.creations[2].event.end_ns, kNoTime);
  EXPECT_NE(trace.creations[0].event.end_ns, kNoTime);
  const Process& open = trace.processes[0];
  EXPECT_TRUE(open.device);
  EXPECT_EQ(open.threads[0].group.depth, 1u);
  ASSERT_EQ(open.open_requests.size(), 1u);
  EXPECT_TRUE(open.open_requests[0].held);
  EXPECT_EQ(trace.members[0].entered, 2u);
  EXPECT_EQ(trace.members[0].completed, 1u);
  const Process& closed = trace.processes[1];
  EXPECT_EQ(closed.threads[0].group.depth, 0u);
  EXPECT_EQ(closed.threads[0].group.stray_ends, 1u);
  EXPECT_FALSE(closed.open_requests.at(0).held);
  EXPECT_TRUE(closed.open_requests.at(0).running);
}

TEST(TextTrace, SetsClocksAndRemovesRecords) {
  const TextTraceResult result = ParseTextTrace(R"(
ranks 2
repeat 9
  0,1: Barrier took-us=20
end
1: runs-on far
1: clock-ahead 60
1: loses 2 from 4
)");
  ASSERT_EQ(result.errors, std::vector<std::string>{});
  const Member& near = result.trace.members[0];
  const Member& far = result.trace.members[1];
  EXPECT_EQ(near.events[0].end_ns - near.events[0].start_ns, 20'000);
  EXPECT_GT(far.events[0].start_ns - near.events[0].start_ns, 59'000'000'000);
  ASSERT_EQ(far.events.size(), 7u);
  EXPECT_EQ(far.events[3].sequence, 6u);
  EXPECT_EQ(result.trace.processes[1].host, "far");
  EXPECT_EQ(result.trace.processes[1].records_unreadable, 2u);
}

TEST(TextTrace, RemovesRanksWithoutATrace) {
  const TextTraceResult result = ParseTextTrace("ranks 3\n0-2: Barrier\n1: has no trace\n");
  ASSERT_EQ(result.trace.processes.size(), 2u);
  EXPECT_EQ(result.trace.worlds[0].processes, (std::vector<uint32_t>{0, kNoIndex, 1}));
  EXPECT_EQ(result.trace.communicators[0].members.size(), 2u);
}

TEST(TextTrace, ErrorsNameTheLine) {
  EXPECT_EQ(Error(""), "no 'ranks' line");
  EXPECT_EQ(Error("0: Barrier"), "line 1: the first line must be 'ranks N'");
  EXPECT_EQ(Error("ranks 2\n\n0: Barier"), "line 3: no operation is called 'Barier'");
  EXPECT_EQ(Error("ranks 2\n2: Barrier"), "line 2: no rank 2");
  EXPECT_EQ(Error("ranks 2\n0: Bcast 1xINT"), "line 2: no datatype 'INT'");
  EXPECT_EQ(Error("ranks 2\nrepeat 3\n0: Barrier"), "line 2: 'repeat' without 'end'");
  EXPECT_EQ(Error("ranks 2\nend"), "line 2: 'end' without 'repeat'");
  EXPECT_EQ(Error("ranks 2\n0: Barrier @ main"), "line 2: 'main' is no place");
  EXPECT_EQ(Error("ranks x"), "line 1: 'x' is not a number");
  EXPECT_EQ(Error("ranks 2\ncomm a 0\n1: Barrier on=a"),
            "line 3: rank 1 is not in this communicator");
  EXPECT_EQ(Error("ranks 2\n0: enqueues all_reduce"),
            "line 2: only 'devices' have operations enqueued");
  EXPECT_EQ(Error("ranks 2\n0: Barrier on=b"), "line 2: no communicator 'b'");
  EXPECT_EQ(Error("ranks 2\n0: Bcast 1xMPI_INT input=1,a"),
            "line 2: '1,a' are no values of its type");
}

TEST(TextTrace, DataIsReadAsTheShimReadsIt) {
  const TextTraceResult parsed = ParseTextTrace(
      "ranks 2\n"
      "0: Allreduce sum 5xMPI_FLOAT input=1,nan,x7f800000,0x2 result=2,nan,inf,0x2 @ main:3\n"
      "0: Allreduce sum 100xMPI_DOUBLE sampled-data varies input=1..100 @ main:4\n"
      "0: Allreduce sum 1xMPI_INT data-unread @ main:5\n");
  ASSERT_EQ(parsed.errors, std::vector<std::string>{});
  const MemberData& data = parsed.trace.data[parsed.trace.members[0].data];
  ASSERT_EQ(data.reads.size(), 3u);
  const DataRead& input = data.reads[0];
  EXPECT_EQ(input.bytes, 20u);
  EXPECT_EQ(input.words.words, 3u);
  EXPECT_EQ(input.pieces[0], 0x7fc000003f800000u);
  EXPECT_EQ(input.nans, 1u);
  EXPECT_EQ(input.infinities, 1u);
  EXPECT_EQ(input.non_finite, 1u);
  EXPECT_EQ(data.reads[2].reading, ring::DataReading::kSampled);
  EXPECT_EQ(data.reads[2].words.words, ring::kSampledWords);
  EXPECT_EQ(data.reads[2].distinct, ring::kMaxDistinct);
  EXPECT_EQ(data.unread, 1u);
  ASSERT_TRUE(data.input.has_value());
  EXPECT_EQ(data.input->operation, Operation::kAllreduce);
}

// The importer stores MPI_Init in the same place.
TEST(TextTrace, ReturnedInitIsAnEventOfTheLifecycle) {
  const TextTraceResult parsed = ParseTextTrace("ranks 1\n0: Init @ main:3\n");
  ASSERT_EQ(parsed.errors, std::vector<std::string>{});
  EXPECT_EQ(parsed.trace.processes[0].lifecycle.size(), 1u);
  EXPECT_TRUE(parsed.trace.processes[0].p2p.empty());
}

TEST(RankSet, FoldsIntoRanges) {
  EXPECT_EQ(FoldRanks({}), "none");
  EXPECT_EQ(FoldRanks({4}), "4");
  EXPECT_EQ(FoldRanks({0, 1}), "0,1");
  EXPECT_EQ(FoldRanks({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(RanksPhrase({7}), "rank 7");
  EXPECT_EQ(RanksPhrase({1, 2, 3}), "ranks 1-3");
}

}  // namespace
}  // namespace rollcall
