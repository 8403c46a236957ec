// SPDX-License-Identifier: Apache-2.0
#include "collector/import/trace_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/import/ring_reader.h"
#include "proto/datatypes.h"
#include "proto/signature.h"
#include "tests/collector/import/read_rings.h"
#include "tests/support/problem_codes.h"
#include "tests/support/ring_file_builder.h"
#include "tests/support/sanitizers.h"
#include "tests/support/trace_checks.h"

namespace rollcall {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Bytes = RingFileBuilder::Bytes;

constexpr int64_t kZero = static_cast<int64_t>(RingFileBuilder::kRealtimeZero);

const Communicator* FindCommunicator(const Trace& trace, const std::string& name) {
  for (const Communicator& communicator : trace.communicators) {
    if (communicator.name == name) return &communicator;
  }
  return nullptr;
}

TEST(RingTraceBuilder, ImportsOneRing) {
  const Trace trace = TraceOf({MakeFullRing(1, 4)});
  ASSERT_THAT(trace.processes, SizeIs(1));
  const Process& process = trace.processes[0];
  EXPECT_EQ(process.rank, 1);
  EXPECT_EQ(process.host, "node1");
  EXPECT_EQ(process.phase, ring::Phase::kRunning);
  EXPECT_EQ(process.thread_level, 0);
  EXPECT_FALSE(process.quiet);
  EXPECT_EQ(process.idle_since_ns, kZero + 5000) << "the barrier was entered last";
  ASSERT_THAT(process.threads, SizeIs(1));
  EXPECT_TRUE(process.threads[0].main);
  EXPECT_EQ(process.threads[0].last_end_ns, kZero + 4600);

  const Member& world = trace.members[0];
  ASSERT_THAT(world.events, SizeIs(4));
  EXPECT_EQ(world.entered, 4u);
  EXPECT_EQ(world.checkpoints.size(), 2u);
  EXPECT_EQ(world.checkpoints[0].sequence, 1u);
  const Event& bcast = world.events[0];
  EXPECT_EQ(bcast.start_ns, kZero + 2000);
  EXPECT_EQ(bcast.end_ns, kZero + 2500) << "as the next record says";
  const Arguments& arguments = trace.arguments[bcast.arguments];
  EXPECT_EQ(arguments.operation, Operation::kBcast);
  EXPECT_EQ(trace.datatypes[arguments.send_datatype].name, "three doubles");
  ASSERT_NE(bcast.call_path, kNoIndex);
  const CallPath& path = trace.call_paths[bcast.call_path];
  ASSERT_THAT(path.codes, SizeIs(3));
  EXPECT_EQ(trace.codes[path.codes[0]].module_path, "/bin/app");
  EXPECT_EQ(trace.codes[path.codes[0]].build_id, "abababab");
  EXPECT_EQ(trace.codes[path.codes[0]].vaddr, 0x1234u);
  EXPECT_EQ(trace.codes[path.codes[2]].module_path, "");
  const Arguments& alltoallv = trace.arguments[world.events[2].arguments];
  EXPECT_THAT(trace.count_arrays[alltoallv.recv_counts], ElementsAre(5, 6, 7, 8));
  EXPECT_EQ(world.events[2].end_ns, kZero + 4200) << "the Irecv came next, in the other ring";

  ASSERT_THAT(process.open_calls, SizeIs(1));
  EXPECT_EQ(process.open_calls[0].event.sequence, 4u);
  EXPECT_EQ(world.events[3].end_ns, kNoTime) << "open, and one event with the record in the ring";
  EXPECT_EQ(world.events[3].start_ns, process.open_calls[0].event.start_ns);
  EXPECT_THAT(process.open_calls[0].requests, IsEmpty()) << "a barrier waits for no request";

  ASSERT_THAT(process.p2p, SizeIs(1));
  EXPECT_EQ(process.p2p[0].end_ns, kZero + 4600);
  ASSERT_THAT(process.open_requests, SizeIs(1));
  EXPECT_EQ(process.open_requests[0].waiter, 0u);
  EXPECT_EQ(process.open_requests[0].event.end_ns, kZero + 4600);
  ASSERT_THAT(process.channels, SizeIs(1));
  EXPECT_EQ(process.channels[0].received, 4u);
  ASSERT_THAT(process.peer_counts, SizeIs(1));
  EXPECT_EQ(process.peer_counts[0].member, process.channels[0].member);
  EXPECT_EQ(process.peer_counts[0].peer, 2);
  EXPECT_EQ(process.peer_counts[0].sent, 30u);
  EXPECT_EQ(process.peer_counts[0].received, 40u);
  EXPECT_FALSE(process.peer_counts[0].receives_unseen);
  EXPECT_FALSE(process.peer_counts_lost);
  ASSERT_THAT(process.lifecycle, SizeIs(1));
  ASSERT_THAT(process.values, SizeIs(1));
  EXPECT_EQ(process.values[0].name, "batches");
  ASSERT_THAT(process.values[0].recent, SizeIs(8));
  for (uint64_t number = 2; number <= 9; ++number) {
    const RecordedValue& value = process.values[0].recent[number - 2];
    EXPECT_EQ(value.number, number);
    EXPECT_EQ(value.Text(), std::to_string(100 * number));
    EXPECT_EQ(value.call_path, bcast.call_path);
  }

  EXPECT_EQ(trace.communicators[0].name, "MPI_COMM_WORLD");
  EXPECT_EQ(trace.communicators[1].name, "MPI_Comm_split #2 of MPI_COMM_WORLD, color 5");
  EXPECT_EQ(trace.communicators[1].parent, 0u);
  EXPECT_THAT(trace.members[1].neighbors_in, ElementsAre(0, 2));
  ASSERT_THAT(Codes(trace.problems), ElementsAre(ProblemCode::kMissing));
  EXPECT_EQ(trace.problems[0].message, "no trace of ranks 0,2,3, of 4 ranks");
}

TEST(RingTraceBuilder, PhaseIsCleanText) {
  RingFileBuilder ring(0, 1);
  const auto phase = [&ring] { return TraceOf({ring}).processes[0].user_phase; };
  EXPECT_EQ(phase(), "");
  std::strcpy(ring.header.user_phase, "test_a\x1b[2J\xff; \xc3\xa4");
  EXPECT_EQ(phase(), "test_a\ufffd[2J\ufffd; \u00e4");
  // Not terminated, and in the section table behind it there is no zero byte either.
  std::memset(ring.header.user_phase, 'x', sizeof(ring.header.user_phase));
  std::memset(ring.header.reserved, 'y', sizeof(ring.header.reserved));
  EXPECT_EQ(phase(), std::string(ring::kUserPhaseBytes - 1, 'x'));
  ring.header.version_minor = 7;  // the bytes were reserved then
  EXPECT_EQ(phase(), "");
}

TEST(RingTraceBuilder, JoinsRanksInAnyOrderOfFiles) {
  const Trace trace = TraceOf({MakeFullRing(2, 3), MakeFullRing(0, 3), MakeFullRing(1, 3)});
  EXPECT_THAT(trace.problems, IsEmpty());
  ASSERT_THAT(trace.worlds, SizeIs(1));
  EXPECT_THAT(trace.worlds[0].processes, ElementsAre(1, 2, 0));
  ASSERT_THAT(trace.communicators, SizeIs(2));
  const Communicator* world = FindCommunicator(trace, "MPI_COMM_WORLD");
  ASSERT_NE(world, nullptr);
  EXPECT_THAT(world->ranks, ElementsAre(0, 1, 2));
  std::vector<int32_t> ranks;
  for (const uint32_t index : world->members) ranks.push_back(trace.members[index].rank);
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2));
  EXPECT_THAT(trace.call_paths, SizeIs(1)) << "one program, one path";
  EXPECT_EQ(trace.members[0].events[1].arguments, trace.members[2].events[1].arguments);
}

TEST(RingTraceBuilder, SecondTraceOfARankBeginsAnotherWorld) {
  std::vector<RingFileBuilder> rings;
  for (const uint64_t start : {5000, 100}) {  // the later one is read first
    for (int32_t rank = 0; rank < 2; ++rank) {
      RingFileBuilder ring = MakeFullRing(rank, 2);
      ring.header.process_id_random[1] = start;
      ring.header.first_anchor.realtime_ns += start;
      rings.push_back(ring);
    }
  }
  const Trace trace = TraceOf(rings);
  ASSERT_THAT(trace.worlds, SizeIs(2));
  EXPECT_THAT(trace.worlds[0].processes, ElementsAre(2, 3));
  EXPECT_THAT(trace.worlds[1].processes, ElementsAre(0, 1));
  EXPECT_THAT(trace.communicators, SizeIs(4)) << "nothing is joined over worlds";
}

TEST(RingTraceBuilder, OneProcessGivenTwiceIsOneProcess) {
  const Trace trace = TraceOf({MakeFullRing(0, 1), MakeFullRing(0, 1)});
  EXPECT_THAT(trace.processes, SizeIs(1));
  EXPECT_THAT(Codes(trace.problems), ElementsAre(ProblemCode::kDuplicate));
}

TEST(RingTraceBuilder, ProcessWithoutWorldSizeJoinsItsJob) {
  RingFileBuilder early(1, -1);
  early.header.phase = static_cast<uint64_t>(ring::Phase::kStarting);
  const Trace trace = TraceOf({early, MakeFullRing(0, 2)});
  ASSERT_THAT(trace.worlds, SizeIs(1));
  EXPECT_THAT(trace.worlds[0].processes, ElementsAre(1, 0));
}

TEST(RingTraceBuilder, CommunicatorsOfOneRankAreNotJoined) {
  std::vector<RingFileBuilder> rings;
  for (int32_t rank = 0; rank < 3; ++rank) {
    RingFileBuilder ring(rank, 3);
    ring.AddMember(1, rank, 3, ring::kIsWorld);
    ring.AddMember(2, 0, 1, ring::kIsSelf);
    ring.AddMember(3, 0, 1);
    rings.push_back(ring);
  }
  const Trace trace = TraceOf(rings);
  EXPECT_THAT(trace.communicators, SizeIs(1 + 3 + 3));
  for (const Communicator& communicator : trace.communicators) {
    EXPECT_EQ(communicator.members.size(), communicator.name == "MPI_COMM_WORLD" ? 3u : 1u);
  }
}

TEST(RingTraceBuilder, NamesCommunicators) {
  RingFileBuilder ring(0, 2);
  ring.AddMember(1, 0, 2, ring::kIsWorld);
  const auto child = [&](uint64_t key, uint64_t parent, uint64_t sequence, Operation by) {
    const uint32_t uid = ring.AddMember(key, 0, 2);
    ring::Member& member = ring.members[uid - 1];
    member.parent_key = parent;
    member.parent_sequence = sequence;
    member.creating_operation = static_cast<uint16_t>(by);
    return uid;
  };
  child(2, 3, 7, Operation::kComm_dup);
  child(3, 1, 6, Operation::kComm_split);  // its record is lost
  const uint32_t named = child(4, 1, 8, Operation::kComm_dup);
  ring.members[named - 1].name = ring.AddString("halo\x1b[31m");
  child(5, 4, 9, Operation::kCart_create);
  child(6, 77, 2, Operation::kComm_dup);  // the parent is not in the trace
  child(7, 8, 1, Operation::kComm_dup);   // a cycle, which is damage
  child(8, 7, 1, Operation::kComm_dup);
  child(9, 0, 0, static_cast<Operation>(0));
  const Trace trace = TraceOf({ring});
  std::vector<std::string> names;
  for (const Communicator& communicator : trace.communicators) names.push_back(communicator.name);
  EXPECT_EQ(names[1], "MPI_Comm_dup #7 of MPI_Comm_split #6 of MPI_COMM_WORLD");
  EXPECT_EQ(names[2], "MPI_Comm_split #6 of MPI_COMM_WORLD");
  EXPECT_THAT(names[3], HasSubstr("halo"));
  EXPECT_EQ(names[3].find('\x1b'), std::string::npos);
  EXPECT_EQ(names[4], "MPI_Cart_create #9 of " + names[3]);
  EXPECT_EQ(names[5], "MPI_Comm_dup #2");
  EXPECT_THAT(names[6], HasSubstr("another communicator"));
  EXPECT_EQ(names[8], "communicator 0x9");
}

TEST(RingTraceBuilder, OpenCallWithoutItsRecordIsKnown) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1, 4, 4);
  const uint32_t world = ring.AddMember(1, 0, 2, ring::kIsWorld);
  const ring::Record barrier = ring.Append(0, ring.MakeRecord(Operation::kBarrier, 100, world, 1));
  ring.Open(0, barrier);
  // A callback inside the barrier makes many calls on another communicator.
  for (uint64_t i = 0; i < 6; ++i) {
    ring::Record nested = ring.MakeRecord(Operation::kBcast, 200 + i, 99, i + 1);
    nested.flags = ring::kNested;
    ring.Append(0, nested);
  }
  const Trace trace = TraceOf({ring});
  ASSERT_THAT(trace.members[0].events, SizeIs(1));
  EXPECT_EQ(trace.members[0].events[0].sequence, 1u);
  EXPECT_EQ(trace.members[0].events[0].end_ns, kNoTime);
  ASSERT_THAT(trace.processes[0].open_calls, SizeIs(1));
  EXPECT_EQ(trace.processes[0].threads[0].lost_collectives, 3u);
  EXPECT_THAT(trace.processes[0].lifecycle, SizeIs(4)) << "member 99 is not known any more";
}

TEST(RingTraceBuilder, OpenRequestKeepsItsCollective) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1, 2, 4);
  const uint32_t world = ring.AddMember(1, 0, 2, ring::kIsWorld);
  ring::Record record = ring.MakeRecord(Operation::kIallreduce, 100, world, 1);
  record.request = 5;
  ring.open_requests.push_back(
      {2, 5, static_cast<uint32_t>(ring::RequestState::kActive), 0, 0, ring.Append(0, record)});
  for (uint64_t i = 2; i < 6; ++i) {
    ring.Append(0, ring.MakeRecord(Operation::kBarrier, 100 * i, world, i));
  }
  const Trace trace = TraceOf({ring});
  std::vector<uint64_t> sequences;
  for (const Event& event : trace.members[0].events) sequences.push_back(event.sequence);
  EXPECT_THAT(sequences, ElementsAre(1, 4, 5));
  EXPECT_EQ(trace.processes[0].open_requests[0].waiter, kNoIndex);
}

TEST(RingTraceBuilder, StartedPersistentCollectiveIsNotASecondOne) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1);
  const uint32_t world = ring.AddMember(1, 0, 2, ring::kIsWorld);
  ring::Record made = ring.MakeRecord(Operation::kAllreduce_init, 100, world, 1);
  made.request = 5;
  // MPI_Start stores its own time and call site in the table.
  ring::Record started = ring.Append(0, made);
  started.start_ticks = 300;
  ring.open_requests.push_back(
      {2, 5, static_cast<uint32_t>(ring::RequestState::kActive), 0, 1, started});
  const Trace trace = TraceOf({ring});
  EXPECT_THAT(trace.members[0].events, SizeIs(1));
  EXPECT_EQ(trace.processes[0].records_unreadable, 0u);
  ASSERT_THAT(trace.processes[0].open_requests, SizeIs(1));
  EXPECT_GT(trace.processes[0].open_requests[0].event.start_ns,
            trace.members[0].events[0].start_ns);
}

TEST(RingTraceBuilder, CountsUnmarkedPartitions) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1);
  const uint32_t world = ring.AddMember(1, 0, 2, ring::kIsWorld);
  for (const Operation operation : {Operation::kPsend_init, Operation::kIsend}) {
    ring::Record record = ring.MakeRecord(operation, 100, world);
    record.request = ring.open_requests.size() + 1;
    record.detail2 = uint64_t{3} << 32 | 4;
    record = ring.Append(0, record, ring::kP2pRing);
    ring.open_requests.push_back(
        {2, record.request, static_cast<uint32_t>(ring::RequestState::kActive), 0, 1, record});
  }
  const Trace trace = TraceOf({ring});
  ASSERT_THAT(trace.processes[0].open_requests, SizeIs(2));
  EXPECT_EQ(trace.processes[0].open_requests[0].Unmarked(), 1u);
  EXPECT_EQ(trace.processes[0].open_requests[1].Unmarked(), 0u) << "the word means nothing there";
}

TEST(RingTraceBuilder, CancelledRequestHasTheArgumentsOfItsCall) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1);
  const uint32_t world = ring.AddMember(1, 0, 2, ring::kIsWorld);
  for (const uint16_t flags : {uint16_t{0}, static_cast<uint16_t>(ring::kCancelled)}) {
    ring::Record record = ring.MakeRecord(Operation::kIrecv, 100, world);
    record.request = ring.open_requests.size() + 1;
    record = ring.Append(0, record, ring::kP2pRing);
    record.flags |= flags;
    ring.open_requests.push_back(
        {2, record.request, static_cast<uint32_t>(ring::RequestState::kActive), 0, 0, record});
  }
  const Trace trace = TraceOf({ring});
  const std::vector<OpenRequest>& requests = trace.processes[0].open_requests;
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_FALSE(requests[0].cancelled);
  EXPECT_TRUE(requests[1].cancelled);
  EXPECT_EQ(requests[0].event.arguments, requests[1].event.arguments);
}

TEST(RingTraceBuilder, WaitRefersToItsRequests) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1);
  const uint32_t world = ring.AddMember(1, 0, 2, ring::kIsWorld);
  for (const uint64_t uid : {7, 8, 9}) {
    ring::Record record = ring.MakeRecord(Operation::kIrecv, uid, world);
    record.request = uid;
    record = ring.Append(0, record, ring::kP2pRing);
    ring.open_requests.push_back({2, uid, static_cast<uint32_t>(ring::RequestState::kActive),
                                  uid == 8 ? 0u : 1u, 0, record});
  }
  ring::Record wait = ring.MakeRecord(Operation::kWaitall, 50);
  wait.detail = 2;
  ring.Open(0, ring.Append(0, wait, ring::kP2pRing));
  const Trace trace = TraceOf({ring});
  ASSERT_THAT(trace.processes[0].open_calls, SizeIs(1));
  EXPECT_THAT(trace.processes[0].open_calls[0].requests, ElementsAre(7, 9));
}

TEST(RingTraceBuilder, EndsAreUnknownWhereCallsMayBeMissing) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1, 8, 2);
  const uint32_t world = ring.AddMember(1, 0, 2, ring::kIsWorld);
  const auto add = [&](Operation operation, uint64_t start, uint64_t previous_end,
                       uint64_t sequence) {
    ring::Record record = ring.MakeRecord(operation, start, world, sequence);
    record.prev_end_ticks = previous_end;
    ring.Append(0, record, sequence != 0 ? ring::kCollectiveRing : ring::kP2pRing);
  };
  add(Operation::kBarrier, 100, 0, 1);
  for (uint64_t i = 0; i < 5; ++i) add(Operation::kSend, 200 + 10 * i, 105, 0);  // three are lost
  add(Operation::kBarrier, 300, 245, 2);
  add(Operation::kBarrier, 400, 305, 3);
  ring.threads[0].last_end_ticks = 405;
  const Trace trace = TraceOf({ring});
  const std::vector<Event>& events = trace.members[0].events;
  EXPECT_EQ(events[0].end_ns, kNoTime) << "the next record belongs to a later call";
  EXPECT_EQ(events[1].end_ns, kZero + 305);
  EXPECT_EQ(events[2].end_ns, kZero + 405);
}

TEST(RingTraceBuilder, FailedCallIsNotACall) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1);
  const uint32_t world = ring.AddMember(1, 0, 2, ring::kIsWorld);
  const ring::Record call = ring.Append(0, ring.MakeRecord(Operation::kBcast, 100, world, 1));
  ring::Record error = call;
  error.operation = static_cast<uint16_t>(Operation::kCallError);
  error.start_ticks = 150;
  error.detail = 15;
  ring.Append(0, error);
  ring::Record next = ring.MakeRecord(Operation::kBarrier, 200, world, 2);
  next.prev_end_ticks = 160;
  ring.Append(0, next);
  const Trace trace = TraceOf({ring});
  ASSERT_THAT(trace.members[0].events, SizeIs(2));
  EXPECT_EQ(trace.members[0].events[0].end_ns, kZero + 160);
  ASSERT_THAT(trace.processes[0].lifecycle, SizeIs(1));
  EXPECT_EQ(trace.processes[0].lifecycle[0].detail, 15u);
  EXPECT_EQ(trace.processes[0].lifecycle[0].sequence, 1u);
  EXPECT_EQ(trace.processes[0].records_unreadable, 0u);
}

// The next call has the sequence number of the rejected call. If the ring has wrapped, the error
// may be the only record of a rejected call.
TEST(RingTraceBuilder, RejectedCallIsKeptSeparately) {
  RingFileBuilder ring(0, 1);
  ring.header.flavor = static_cast<uint32_t>(ring::Flavor::kMpich);
  ring.AddThread(1);
  const uint32_t world = ring.AddMember(1, 0, 2, ring::kIsWorld);
  const auto error_of = [&](ring::Record call, uint64_t error_class, uint64_t at) {
    call.detail2 = call.operation;
    call.operation = static_cast<uint16_t>(Operation::kCallError);
    call.flags |= ring::kRejected;
    call.start_ticks = at;
    call.detail = error_class;
    return call;
  };
  ring.Append(0, error_of(ring.MakeRecord(Operation::kBarrier, 50, world, 1), 5, 60));
  const ring::Record first = ring.Append(0, ring.MakeRecord(Operation::kBcast, 100, world, 1));
  ring.Append(0, error_of(first, 7, 110));
  ring.Append(0, ring.MakeRecord(Operation::kBcast, 200, world, 1));
  const ring::Record send =
      ring.Append(0, ring.MakeRecord(Operation::kSend, 300, world), ring::kP2pRing);
  ring.Append(0, error_of(send, 4, 310), ring::kP2pRing);
  ring.Append(0, ring.MakeRecord(Operation::kSend, 400, world), ring::kP2pRing);
  const Trace trace = TraceOf({ring});
  const Process& process = trace.processes[0];
  ASSERT_THAT(trace.members[0].events, SizeIs(1));
  EXPECT_EQ(trace.members[0].events[0].start_ns, kZero + 200);
  ASSERT_THAT(process.p2p, SizeIs(1));
  EXPECT_EQ(process.p2p[0].start_ns, kZero + 400);
  ASSERT_THAT(process.rejected, SizeIs(2));
  EXPECT_EQ(process.rejected[0].event.start_ns, kZero + 100);
  EXPECT_EQ(process.rejected[0].error, ErrorClass::kROOT);
  EXPECT_EQ(process.rejected[1].event.start_ns, kZero + 300);
  EXPECT_EQ(process.rejected[1].error, ErrorClass::kTAG);
  EXPECT_EQ(process.records_unreadable, 0u);
}

TEST(RingTraceBuilder, BasicTypesHaveTheirSignature) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1);
  ring::Record record = ring.MakeRecord(Operation::kAllreduce, 1);
  record.send_datatype = static_cast<uint16_t>(BasicType::kMPI_DOUBLE);
  record.recv_datatype = 300;  // not in the table
  ring.Append(0, record);
  const Trace trace = TraceOf({ring});
  const Arguments& arguments = trace.arguments[trace.processes[0].lifecycle[0].arguments];
  const DatatypeInfo& type = trace.datatypes[arguments.send_datatype];
  EXPECT_EQ(type.name, "MPI_DOUBLE");
  EXPECT_EQ(type.bytes, 8u);
  EXPECT_EQ(type.signature, BasicSignature(static_cast<uint32_t>(TypeClass::kF64)).hash);
  EXPECT_EQ(arguments.recv_datatype, kNoIndex);
}

TEST(RingTraceBuilder, BothSidesOfAnIntercommunicatorAgree) {
  std::vector<RingFileBuilder> rings;
  for (int32_t rank = 0; rank < 4; ++rank) {
    RingFileBuilder ring(rank, 4);
    const uint32_t even = ring.AddRanks({{0, 2, 2}});
    const uint32_t odd = ring.AddRanks({{1, 2, 2}});
    const uint32_t uid = ring.AddMember(9, rank / 2, 2, ring::kIsInter);
    ring.members[uid - 1].remote_size = 2;
    ring.members[uid - 1].ranks = rank % 2 == 0 ? even : odd;
    ring.members[uid - 1].remote_ranks = rank % 2 == 0 ? odd : even;
    rings.push_back(ring);
  }
  std::swap(rings[0], rings[3]);
  rings.pop_back();  // rank 0 is missing, and an odd rank is read first
  const Trace trace = TraceOf(rings);
  ASSERT_THAT(trace.communicators, SizeIs(1));
  EXPECT_THAT(trace.communicators[0].ranks, ElementsAre(0, 2));
  EXPECT_THAT(trace.communicators[0].remote_ranks, ElementsAre(1, 3));
}

TEST(RingTraceBuilder, ConvertsTicksByTheAnchors) {
  RingFileBuilder ring(0, 1);
  ring.header.clock = static_cast<uint64_t>(ring::Clock::kTsc);
  ring.header.first_anchor = {1'000, 500, RingFileBuilder::kRealtimeZero};
  ring.header.last_anchor = {3'001'000, 1'000'500, RingFileBuilder::kRealtimeZero + 1'000'000};
  ring.AddThread(1);
  ring.Append(0, ring.MakeRecord(Operation::kInit, 1'501'000));
  Trace trace = TraceOf({ring});
  EXPECT_EQ(trace.processes[0].lifecycle[0].start_ns, kZero + 500'000);

  ring.header.last_anchor = ring.header.first_anchor;  // equal anchors give no rate
  ring.Append(0, ring.MakeRecord(Operation::kFinalize, 1'601'000));
  trace = TraceOf({ring});
  EXPECT_EQ(trace.processes[0].lifecycle[0].start_ns, kNoTime);
  EXPECT_EQ(trace.arguments[trace.processes[0].lifecycle[1].arguments].operation,
            Operation::kFinalize)
      << "ticks still give the order";
}

TEST(RingTraceBuilder, ProcessesOfAHostShareOneClock) {
  RingFileBuilder first(0, 2);
  RingFileBuilder second(1, 2);
  second.header.last_anchor.realtime_ns += 700;  // measured a little later
  for (RingFileBuilder* ring : {&first, &second}) {
    ring->AddThread(1);
    ring->Append(0, ring->MakeRecord(Operation::kInit, 5000));
  }
  Trace trace = TraceOf({first, second});
  EXPECT_EQ(trace.processes[0].lifecycle[0].start_ns, trace.processes[1].lifecycle[0].start_ns);
  RingFileBuilder::SetText(second.header.host, "node2");
  trace = TraceOf({first, second});
  EXPECT_EQ(trace.processes[0].lifecycle[0].start_ns + 700,
            trace.processes[1].lifecycle[0].start_ns);
}

TEST(RingTraceBuilder, TicksOfAHostHaveOneRate) {
  std::vector<RingFileBuilder> rings;
  for (const uint64_t error_ns : {0, 90}) {  // of the second anchor's measurement
    RingFileBuilder ring(static_cast<int32_t>(rings.size()), 2);
    ring.header.clock = static_cast<uint64_t>(ring::Clock::kTsc);
    ring.header.first_anchor = {1'000, 1'000, RingFileBuilder::kRealtimeZero + 1'000};
    ring.header.last_anchor = {10'001'000, 10'001'000 + error_ns,
                               RingFileBuilder::kRealtimeZero + 10'001'000 + error_ns};
    ring.AddThread(1);
    ring.Append(0, ring.MakeRecord(Operation::kInit, 60'000'000'000));
    rings.push_back(ring);
  }
  const Trace trace = TraceOf(rings);
  EXPECT_EQ(trace.processes[0].lifecycle[0].start_ns, trace.processes[1].lifecycle[0].start_ns);
  EXPECT_EQ(trace.processes[0].lifecycle[0].start_ns, kZero + 60'000'000'000);
}

TEST(RingTraceBuilder, ThreadWhoseLastCallWasAPollIsPolling) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1);
  ring.threads[0].last_end_ticks = 100;
  EXPECT_FALSE(TraceOf({ring}).processes[0].threads[0].polling);
  ring.threads[0].polling.lock = 2;
  ring.threads[0].polling.since_ticks = 150;
  EXPECT_TRUE(TraceOf({ring}).processes[0].threads[0].polling);
  ring.threads[0].last_end_ticks = 200;
  EXPECT_FALSE(TraceOf({ring}).processes[0].threads[0].polling) << "it did something else since";
  ring.threads[0].last_end_ticks = 100;
  ring.threads[0].polling.lock = 3;
  EXPECT_FALSE(TraceOf({ring}).processes[0].threads[0].polling) << "being written";
  ring.threads[0].last_end_ticks = 0;
  ring.threads[0].polling.lock = 4;
  EXPECT_TRUE(TraceOf({ring}).processes[0].threads[0].polling) << "it made no other call";
  ring.threads[0].polling.since_ticks = 0;
  EXPECT_FALSE(TraceOf({ring}).processes[0].threads[0].polling) << "its last poll was successful";
}

// A thread that polls with Iprobe waits for a message as in Probe. Test polls requests, which have
// entries of their own: only its call site is used.
TEST(RingTraceBuilder, UnsuccessfulPollIsKept) {
  RingFileBuilder ring(0, 2);
  const uint32_t path = ring.AddPath({{ring.AddModule("/bin/app"), 0x1234}});
  const uint32_t world = ring.AddMember(0xfeed, 0, 2, ring::kIsWorld);
  ring.AddThread(1);
  ring.threads[0].last_end_ticks = 100;
  ring::Polling& polling = ring.threads[0].polling;
  polling.lock = 2;
  polling.since_ticks = 150;
  polling.operation = static_cast<uint16_t>(Operation::kIprobe);
  polling.member = world;
  polling.peer = 1;
  polling.tag = 7;
  polling.call_path = path;
  {
    const Trace trace = TraceOf({ring});
    const Event& asks = trace.processes[0].threads[0].asks;
    ASSERT_NE(asks.arguments, kNoIndex);
    const Arguments& arguments = trace.arguments[asks.arguments];
    EXPECT_EQ(arguments.operation, Operation::kIprobe);
    EXPECT_EQ(arguments.root_or_peer, 1);
    EXPECT_EQ(arguments.tag, 7);
    ASSERT_NE(asks.member, kNoIndex);
    EXPECT_EQ(trace.communicators[trace.members[asks.member].communicator].flags & ring::kIsWorld,
              ring::kIsWorld);
    EXPECT_EQ(asks.start_ns, kZero + 150);
    EXPECT_EQ(asks.end_ns, kNoTime) << "it goes on";
    EXPECT_EQ(asks.thread, 0u);
    ASSERT_NE(asks.call_path, kNoIndex);
    EXPECT_EQ(trace.codes[trace.call_paths[asks.call_path].codes[0]].vaddr, 0x1234u);
  }
  polling.operation = static_cast<uint16_t>(Operation::kTest);
  {
    const Trace trace = TraceOf({ring});
    const Event& asks = trace.processes[0].threads[0].asks;
    ASSERT_NE(asks.arguments, kNoIndex);
    EXPECT_EQ(trace.arguments[asks.arguments].operation, Operation::kTest);
    EXPECT_EQ(trace.codes[trace.call_paths[asks.call_path].codes[0]].vaddr, 0x1234u);
  }
  polling.operation = static_cast<uint16_t>(Operation::kIprobe);
  polling.lock = 3;
  EXPECT_EQ(TraceOf({ring}).processes[0].threads[0].asks.arguments, kNoIndex) << "being written";
}

TEST(RingTraceBuilder, RecordsThatChannelsMayBeMissing) {
  RingFileBuilder ring = MakeFullRing();
  ring.lost[static_cast<uint32_t>(ring::SectionKind::kChannels)] = 1;
  const Trace trace = TraceOf({ring});
  EXPECT_TRUE(trace.processes[0].channels_lost);
  EXPECT_THAT(trace.processes[0].channels, SizeIs(1));
}

TEST(RingTraceBuilder, RecordsThatSumsMayBeMissing) {
  RingFileBuilder ring = MakeFullRing();
  ring.lost[static_cast<uint32_t>(ring::SectionKind::kPeerCounts)] = 1;
  ring.peer_counts[0].flags = ring::kReceivesUnseen;
  const Trace trace = TraceOf({ring});
  EXPECT_TRUE(trace.processes[0].peer_counts_lost);
  EXPECT_FALSE(trace.processes[0].channels_lost);
  ASSERT_THAT(trace.processes[0].peer_counts, SizeIs(1));
  EXPECT_TRUE(trace.processes[0].peer_counts[0].receives_unseen);
}

TEST(RingTraceBuilder, LeavesOutSumsOfUnknownCommunicators) {
  RingFileBuilder ring = MakeFullRing();
  ring.peer_counts.push_back({4711, 2, 0, 0, 1, 1});
  EXPECT_THAT(TraceOf({ring}).processes[0].peer_counts, SizeIs(1));
}

// Before version 1.11, there is no table of sums.
TEST(RingTraceBuilder, OlderRingsHaveTheSumsOfTheirChannels) {
  RingFileBuilder ring = MakeFullRing();
  ring.header.version_minor = 10;
  ring.channels.push_back({1, 2, 9, ring::kReceivesUnseen, 5, 6});
  ring.channels.push_back({1, 3, 9, 0, 7, 0});
  {
    const Trace trace = TraceOf({ring});
    EXPECT_THAT(trace.problems, SizeIs(1)) << "only the missing ranks";
    const Process& process = trace.processes[0];
    EXPECT_FALSE(process.peer_counts_lost);
    ASSERT_THAT(process.peer_counts, SizeIs(2));
    EXPECT_EQ(process.peer_counts[0].peer, 2);
    EXPECT_EQ(process.peer_counts[0].sent, 8u);
    EXPECT_EQ(process.peer_counts[0].received, 10u);
    EXPECT_TRUE(process.peer_counts[0].receives_unseen);
    EXPECT_EQ(process.peer_counts[1].sent, 7u);
  }
  // Some messages may be in no channel.
  ring.lost[static_cast<uint32_t>(ring::SectionKind::kChannels)] = 1;
  const Trace trace = TraceOf({ring});
  EXPECT_TRUE(trace.processes[0].peer_counts_lost);
  EXPECT_THAT(trace.processes[0].peer_counts, IsEmpty());
}

TEST(RingTraceBuilder, FullTablesAreCounted) {
  RingFileBuilder ring = MakeFullRing();
  ring.lost[static_cast<uint32_t>(ring::SectionKind::kOpenRequests)] = 3;
  ring.header.threads_unrecorded = 2;
  EXPECT_EQ(TraceOf({ring}).processes[0].table_overflows, 5u);
  EXPECT_EQ(TraceOf({ring}).processes[0].calls_unrecorded, 2u);
}

TEST(RingTraceBuilder, RejectsImpossibleSizes) {
  RingFileBuilder huge = MakeFullRing();
  huge.header.world_size = 0x7fffffff;
  huge.header.world_rank = 0x7ffffffe;
  huge.members[0].ranks = huge.AddRanks({{0, 1, 0xffffffff}});
  huge.members[1].ranks = huge.AddRanks({{-5, 1, 3}});
  const Trace trace = TraceOf({huge});
  EXPECT_EQ(trace.worlds[0].size, -1);
  EXPECT_THAT(trace.worlds[0].processes, IsEmpty());
  EXPECT_EQ(trace.processes[0].rank, -1);
  for (const Communicator& communicator : trace.communicators) {
    EXPECT_THAT(communicator.ranks, IsEmpty());
  }
  EXPECT_THAT(Codes(trace.problems), Contains(ProblemCode::kOverLimit));
}

// Whatever bits are flipped, the resulting trace must be consistent.
TEST(RingTraceBuilder, SurvivesFlippedBits) {
  const Bytes whole = MakePythonRing(0, 2).Build();
  const Bytes other = MakeFullRing(1, 2).Build();
  std::mt19937_64 random(20240607);
  for (int round = 0; round < Rounds(1500); ++round) {
    Bytes bytes = whole;
    const uint64_t flips = 1 + random() % 8;
    for (uint64_t k = 0; k < flips; ++k) {
      bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    RingTraceBuilder builder;
    builder.Add(Read(other));
    builder.Add(Read(bytes));
    const Trace trace = builder.Finish();
    ASSERT_EQ(FindInconsistency(trace), "") << round;
    ASSERT_GE(trace.processes.size(), 1u);
  }
}

TEST(RingTraceBuilder, SurvivesOverwrittenWords) {
  const Bytes whole = MakePythonRing(0, 2).Build();
  constexpr uint64_t kWords[] = {0, 0xffffffff, uint64_t{1} << 63, ~uint64_t{0}};
  for (size_t at = 16; at + 8 <= whole.size(); at += kSanitized ? 40 : 8) {
    for (const uint64_t word : kWords) {
      Bytes bytes = whole;
      PutAt(&bytes, at, word);
      RingTraceBuilder builder;
      builder.Add(Read(bytes));
      ASSERT_EQ(FindInconsistency(builder.Finish()), "") << at << " " << word;
    }
  }
}

TEST(RingTraceBuilder, RanksShareRepeatedData) {
  constexpr int32_t kRanks = 1024;
  RingTraceBuilder builder;
  for (int32_t rank = 0; rank < kRanks; ++rank)
    builder.Add(Read(MakeFullRing(rank, kRanks).Build()));
  const Trace trace = builder.Finish();
  EXPECT_THAT(trace.problems, IsEmpty());
  EXPECT_THAT(trace.codes, SizeIs(3));
  EXPECT_THAT(trace.call_paths, SizeIs(1));
  EXPECT_LE(trace.arguments.size(), 6u);
  EXPECT_THAT(trace.count_arrays, SizeIs(2));
  EXPECT_THAT(trace.communicators, SizeIs(2));
}

}  // namespace
}  // namespace rollcall
