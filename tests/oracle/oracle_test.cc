// SPDX-License-Identifier: Apache-2.0
// Tests each rule of the oracle with a short program, tests its shortcut, and repeats a sample of
// the comparisons with the diagnosis engine that tests/oracle/run makes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/oracle/agreement.h"
#include "tests/oracle/explore.h"
#include "tests/oracle/generate.h"
#include "tests/oracle/judge.h"
#include "tests/oracle/machine.h"
#include "tests/support/sanitizers.h"

namespace rollcall::oracle {
namespace {

Op Make(Do what, int peer = kNone, int tag = 0) {
  Op op;
  op.what = what;
  op.peer = peer;
  op.tag = tag;
  return op;
}
Op Starts(Op op, int request) {
  op.request = request;
  return op;
}
Op Waits(Do what, std::vector<int> requests) {
  Op op = Make(what);
  op.requests = std::move(requests);
  return op;
}
Op On(Op op, int comm) {
  op.comm = comm;
  return op;
}
Op Counts(Op op, int count) {
  op.count = count;
  return op;
}

Op Handled(Op op, int handle) {
  op.handle = handle;
  return op;
}
Op Inits(Op op, int handle) {
  op = Handled(op, handle);
  op.init = true;
  return op;
}
// Starts a handle. Each start has its own request.
Op StartsHandle(Op op, int handle, int request) { return Starts(Handled(op, handle), request); }
Op Ready(int handle, int partitions) {
  Op op = Handled(Make(Do::kPready), handle);
  op.partitions = partitions;
  return op;
}
Op Arrived(int handle, int partition) {
  Op op = Handled(Make(Do::kParrived), handle);
  op.partition = partition;
  return op;
}
Op Partitions(Op op, int partitions) {
  op.partitions = partitions;
  return op;
}
Op InPlace(Op op) {
  op.in_place = true;
  return op;
}
std::vector<Op> Sendrecv(int to, int from, int tag, int request) {
  std::vector<Op> ops = {Starts(Make(Do::kRecv, from, tag), request),
                         Starts(Make(Do::kSend, to, tag), request + 1)};
  for (Op& op : ops) op.fused = true;
  ops.push_back(Waits(Do::kWaitall, {request, request + 1}));
  return ops;
}
Op Counted(Do what, int count, std::vector<int> sends, std::vector<int> recvs) {
  Op op = Make(what);
  op.count = count;
  op.sends = std::move(sends);
  op.recvs = std::move(recvs);
  return op;
}

// Returns the results with a synchronous and with a permissive library. `topology` is that of the
// world communicator. The last lines of `code` are those of `threads`.
std::string Ends(std::vector<std::vector<Op>> code, std::vector<std::vector<int>> comms = {},
                 std::vector<int> split = {}, const Topology& topology = {},
                 std::vector<ThreadOfRank> threads = {}) {
  Program program;
  program.topologies = {topology};
  program.ranks = static_cast<int>(code.size() - threads.size());
  program.threads = std::move(threads);
  program.code = std::move(code);
  for (int line = 0; line < program.lines(); ++line) {
    program.code[static_cast<size_t>(line)].push_back(
        Make(line < program.ranks ? Do::kFinalize : Do::kEnd));
  }
  std::vector<int> world;
  world.reserve(program.code.size());
  for (int r = 0; r < program.ranks; ++r) world.push_back(r);
  comms.insert(comms.begin(), world);
  program.comms = std::move(comms);
  program.split = std::move(split);
  const Machine machine(program);
  std::string result;
  for (const Library library : {Library::kSynchronous, Library::kPermissive}) {
    const Outcome outcome = Explore(machine, machine.Start(), library, false);
    result += outcome.every_complete ? "every " : outcome.some_complete ? "some " : "none ";
  }
  return result;
}

constexpr char kAlways[] = "every every ";
constexpr char kByLuck[] = "none every ";  // only if the library buffers
constexpr char kNever[] = "none none ";
constexpr char kByOrder[] = "some some ";  // depends on what the wildcards match

TEST(Rules, StandardSendsMayBeBuffered) {
  const Op send = Make(Do::kSend, 1);
  const Op back = Make(Do::kSend, 0);
  EXPECT_EQ(Ends({{send, Make(Do::kRecv, 1)}, {back, Make(Do::kRecv, 0)}}), kByLuck);
  EXPECT_EQ(Ends({{Make(Do::kSsend, 1), Make(Do::kRecv, 1)}, {back, Make(Do::kRecv, 0)}}),
            "none every ");  // one buffer is enough
  EXPECT_EQ(
      Ends({{Make(Do::kSsend, 1), Make(Do::kRecv, 1)}, {Make(Do::kSsend, 0), Make(Do::kRecv, 0)}}),
      kNever);
  EXPECT_EQ(Ends({{Make(Do::kRecv, 1), send}, {Make(Do::kRecv, 0), back}}), kNever);
}

TEST(Rules, PostedReceivesLetSendsProceed) {
  const Op send = Make(Do::kSsend, 1);
  EXPECT_EQ(Ends({{send, Make(Do::kBarrier)},
                  {Starts(Make(Do::kRecv, 0), 1), Make(Do::kBarrier), Waits(Do::kWaitall, {1})}}),
            kAlways);
  EXPECT_EQ(Ends({{send, Make(Do::kBarrier)}, {Make(Do::kBarrier), Make(Do::kRecv, 0)}}), kNever);
}

TEST(Rules, MessagesDoNotOvertake) {
  // The message with tag 1 comes first, and the first receive accepts any tag and takes it.
  const std::vector<Op> sends = {Make(Do::kSend, 1, 1), Make(Do::kSend, 1, 2)};
  EXPECT_EQ(Ends({sends, {Make(Do::kRecv, 0, kAny), Make(Do::kRecv, 0, 2)}}), kAlways);
  EXPECT_EQ(Ends({sends, {Make(Do::kRecv, 0, kAny), Make(Do::kRecv, 0, 1)}}), kNever);
  // A message with another tag may be received first if the first send does not block.
  EXPECT_EQ(Ends({sends, {Make(Do::kRecv, 0, 2), Make(Do::kRecv, 0, 1)}}), kByLuck);
}

TEST(Rules, WildcardMayTakeTheMessageOfAnotherReceive) {
  const Op send = Make(Do::kSend, 0);
  EXPECT_EQ(Ends({{Make(Do::kRecv, kAny), Make(Do::kRecv, 1)}, {send}, {send}}), kByOrder);
  EXPECT_EQ(Ends({{Make(Do::kRecv, kAny), Make(Do::kRecv, kAny)}, {send}, {send}}), kAlways);
  EXPECT_EQ(Ends({{Make(Do::kRecv, 1), Make(Do::kRecv, kAny)}, {send}, {send}}), kAlways);
}

TEST(Rules, TagsPeersAndCommunicatorsMustMatch) {
  const Op recv = Make(Do::kRecv, 0, 7);
  EXPECT_EQ(Ends({{Make(Do::kSend, 1, 7)}, {recv}}), kAlways);
  EXPECT_EQ(Ends({{Make(Do::kSend, 1, 8)}, {recv}}), kNever);
  EXPECT_EQ(Ends({{On(Make(Do::kSend, 1, 7), 1)}, {recv}}, {{0, 1}}), kNever);
  EXPECT_EQ(Ends({{}, {On(Make(Do::kSend, 1, 7), 1)}, {On(recv, 1)}}, {{1, 2}}), kAlways);
}

TEST(Rules, WaitsHaveAndAndOrSemantics) {
  const auto program = [](Do wait) {
    return Ends({{Make(Do::kSend, 1, 1)},
                 {Starts(Make(Do::kRecv, 0, 1), 1), Starts(Make(Do::kRecv, 0, 2), 2),
                  Waits(wait, {1, 2})}});
  };
  EXPECT_EQ(program(Do::kWaitall), kNever);
  EXPECT_EQ(program(Do::kWaitany), kAlways);
  EXPECT_EQ(program(Do::kWaitsome), kAlways);
}

TEST(Rules, CollectivesMaySynchronise) {
  // Rank 1 waits for the message of rank 0 before it calls the collective.
  const auto program = [](const Op& op) {
    return Ends({{op, Make(Do::kSend, 1)}, {Make(Do::kRecv, 0), op}});
  };
  EXPECT_EQ(program(Make(Do::kBarrier)), kNever);
  EXPECT_EQ(program(Make(Do::kSplit)), kNever);
  EXPECT_EQ(program(Make(Do::kAllreduce)), kNever);
  EXPECT_EQ(program(Make(Do::kAlltoall)), kNever);
  EXPECT_EQ(program(Counts(Make(Do::kAllreduce), 0)), kByLuck);
  EXPECT_EQ(program(Make(Do::kDup)), kByLuck);
  EXPECT_EQ(program(Make(Do::kBcast, 0)), kByLuck);
  EXPECT_EQ(program(Make(Do::kBcast, 1)), kNever);
  EXPECT_EQ(program(Make(Do::kScatter, 0)), kByLuck);
  EXPECT_EQ(program(Make(Do::kReduce, 0)), kNever);
  EXPECT_EQ(program(Make(Do::kReduce, 1)), kByLuck);
  EXPECT_EQ(program(Make(Do::kGather, 1)), kByLuck);
  EXPECT_EQ(program(Make(Do::kScan)), kByLuck);  // rank 0 needs no other rank
}

TEST(Rules, CollectivesMatchInTheOrderOfTheirCalls) {
  const Op a = Make(Do::kBarrier);
  const Op b = On(Make(Do::kBarrier), 1);
  EXPECT_EQ(Ends({{a, b}, {b, a}}, {{0, 1}}), kNever);
  EXPECT_EQ(Ends({{Starts(a, 1), b, Waits(Do::kWaitall, {1})},
                  {Starts(b, 1), a, Waits(Do::kWaitall, {1})}},
                 {{0, 1}}),
            kNever);  // nonblocking collectives do not match blocking ones
  EXPECT_EQ(Ends({{Starts(a, 1), Starts(b, 2), Waits(Do::kWaitall, {1, 2})},
                  {Starts(b, 1), Starts(a, 2), Waits(Do::kWaitall, {1, 2})}},
                 {{0, 1}}),
            kAlways);
}

TEST(Rules, ArgumentsMustMatch) {
  const auto two = [](const Op& a, const Op& b) { return Ends({{a}, {b}}); };
  EXPECT_EQ(two(Make(Do::kBarrier), Make(Do::kAllreduce)), kNever);
  EXPECT_EQ(two(Make(Do::kBcast, 0), Make(Do::kBcast, 1)), kNever);
  EXPECT_EQ(two(Counts(Make(Do::kAllreduce), 2), Counts(Make(Do::kAllreduce), 3)), kNever);
  Op max = Make(Do::kAllreduce);
  max.reduction = 1;
  EXPECT_EQ(two(max, Make(Do::kAllreduce)), kNever);
}

TEST(Rules, EndedAndFinalizedRanksMakeNoCalls) {
  EXPECT_EQ(Ends({{Make(Do::kBarrier)}, {}}), kNever);
  EXPECT_EQ(Ends({{Make(Do::kBarrier)}, {Make(Do::kDie), Make(Do::kBarrier)}}), kNever);
  EXPECT_EQ(Ends({{Make(Do::kBarrier)}, {Make(Do::kStall), Make(Do::kBarrier)}}), kNever);
}

TEST(Rules, SendrecvSendsAndReceivesConcurrently) {
  EXPECT_EQ(Ends({Sendrecv(1, 1, 0, 1), Sendrecv(0, 0, 0, 1)}), kAlways);
  EXPECT_EQ(Ends({Sendrecv(1, 1, 0, 1), Sendrecv(0, 0, 7, 1)}), kNever);
  // Its receive completes while its send waits.
  EXPECT_EQ(Ends({Sendrecv(1, 1, 0, 1), {Make(Do::kSsend, 0), Make(Do::kRecv, 0)}}), kAlways);
}

TEST(Rules, ProbeDoesNotConsumeTheMessage) {
  const std::vector<Op> send = {Make(Do::kSsend, 1)};
  EXPECT_EQ(Ends({send, {Make(Do::kProbe, 0), Make(Do::kRecv, 0)}}), kAlways);
  EXPECT_EQ(Ends({send, {Make(Do::kProbe, 0)}}), kNever);  // no rank receives it
  EXPECT_EQ(Ends({send, {Make(Do::kProbe, 0, 7), Make(Do::kRecv, 0)}}), kNever);
  // The receive that was posted before matches the message, so the probe does not find it.
  EXPECT_EQ(
      Ends({send, {Starts(Make(Do::kRecv, 0), 1), Make(Do::kProbe, 0), Waits(Do::kWaitall, {1})}}),
      kNever);
  EXPECT_EQ(Ends({{Make(Do::kBarrier)}, {Make(Do::kIprobe, 0), Make(Do::kBarrier)}}),
            kByLuck);  // a rank that polls may stop polling
}

TEST(Rules, MatchedMessageIsReceivedByItsMrecvOnly) {
  Op probe = Make(Do::kMprobe, 0);
  Op recv = Make(Do::kMrecv, 0);
  probe.message = recv.message = 1;
  EXPECT_EQ(Ends({{Make(Do::kSsend, 1)}, {probe, recv}}), kAlways);
  EXPECT_EQ(Ends({{Make(Do::kSsend, 1)}, {probe, Make(Do::kRecv, 0)}}), kNever);
  // The sender waits until the message is received.
  EXPECT_EQ(Ends({{Make(Do::kSsend, 1), Make(Do::kBarrier)}, {probe, Make(Do::kBarrier), recv}}),
            kNever);
}

TEST(Rules, EachStartOfAPersistentRequestNeedsAMatch) {
  const Op send = Make(Do::kSsend, 1);
  const Op recv = Make(Do::kRecv, 0);
  const auto sends = [&](int times) {
    std::vector<Op> ops = {Inits(send, 1)};
    for (int i = 1; i <= times; ++i) {
      ops.push_back(StartsHandle(send, 1, i));
      ops.push_back(Waits(Do::kWaitall, {i}));
    }
    return ops;
  };
  const std::vector<Op> twice = {Inits(recv, 1), StartsHandle(recv, 1, 1), Waits(Do::kWaitall, {1}),
                                 StartsHandle(recv, 1, 2), Waits(Do::kWaitall, {2})};
  EXPECT_EQ(Ends({sends(2), twice}), kAlways);
  EXPECT_EQ(Ends({sends(1), twice}), kNever);
  EXPECT_EQ(Ends({sends(0), {Inits(recv, 1)}}), kAlways);
}

TEST(Rules, PersistentCollectiveWaitsForItsStarts) {
  const Op barrier = Make(Do::kBarrier);
  const std::vector<Op> started = {Inits(barrier, 1), StartsHandle(barrier, 1, 1),
                                   Waits(Do::kWaitall, {1})};
  EXPECT_EQ(Ends({started, started}), kAlways);
  EXPECT_EQ(Ends({started, {Inits(barrier, 1)}}), kNever);
  // The initialisation is a collective that may synchronise and transfers no data.
  EXPECT_EQ(Ends({{Inits(barrier, 1)}, {}}), kByLuck);
  EXPECT_EQ(Ends({{Inits(barrier, 1)}, {barrier}}), kNever);
}

TEST(Rules, ZeroCountsNeedNoPeer) {
  const auto from_zero = [](int count) {
    const Op zero = Counted(Do::kAllgatherv, count, {}, {count, 1});
    const Op one = Counted(Do::kAllgatherv, 1, {}, {count, 1});
    // Rank 0 sends a message after the collective; rank 1 receives it before the collective.
    return Ends({{zero, Make(Do::kSend, 1)}, {Make(Do::kRecv, 0), one}});
  };
  EXPECT_EQ(from_zero(1), kNever);
  const auto alltoallv = [](int there, int back) {
    return Ends({{Counted(Do::kAlltoallv, 1, {0, there}, {0, back}), Make(Do::kSend, 1)},
                 {Make(Do::kRecv, 0), Counted(Do::kAlltoallv, 1, {back, 0}, {there, 0})}});
  };
  EXPECT_EQ(alltoallv(1, 0), kByLuck);  // rank 0 receives nothing
  EXPECT_EQ(alltoallv(1, 1), kNever);
  EXPECT_EQ(Ends({{Counted(Do::kAlltoallv, 1, {0, 1}, {0, 0})},
                  {Counted(Do::kAlltoallv, 1, {0, 0}, {2, 0})}}),
            kNever);  // the counts do not match
}

TEST(Rules, GroupsOfAnIntercommunicatorWaitForEachOther) {
  const Op barrier = On(Make(Do::kBarrier), 1);
  const std::vector<std::vector<int>> groups = {{0, 1, 2}};
  EXPECT_EQ(Ends({{barrier}, {barrier}, {barrier}}, groups, {0, 2}), kAlways);
  EXPECT_EQ(Ends({{barrier}, {barrier}, {}}, groups, {0, 2}), kNever);
  // Rank 0 needs rank 2; rank 2 needs rank 0 and rank 1.
  EXPECT_EQ(Ends({{barrier, Make(Do::kSend, 1)}, {Make(Do::kRecv, 0), barrier}, {barrier}}, groups,
                 {0, 2}),
            kByLuck);
  // Peers are ranks of the other group.
  EXPECT_EQ(Ends({{On(Make(Do::kSend, 0), 1)}, {}, {On(Make(Do::kRecv, 0), 1)}}, groups, {0, 2}),
            kAlways);
  EXPECT_EQ(Ends({{On(Make(Do::kSend, 1), 1)}, {On(Make(Do::kRecv, 0), 1)}, {}}, groups, {0, 2}),
            kNever);
  const auto bcast = [](int root) { return On(Make(Do::kBcast, root), 1); };
  EXPECT_EQ(Ends({{bcast(kRootSelf)}, {bcast(kRootNone)}, {bcast(0)}}, groups, {0, 2}), kAlways);
}

Topology Grid(std::vector<int> dims, bool periodic) {
  Topology topology;
  topology.dims = std::move(dims);
  topology.periodic = periodic;
  return topology;
}
Topology Graph(std::vector<std::pair<int, int>> edges) {
  Topology topology;
  topology.graph = std::move(edges);
  return topology;
}

std::string Over(const Topology& topology, std::vector<std::vector<Op>> code) {
  return Ends(std::move(code), {}, {}, topology);
}

TEST(Rules, NeighborCollectivesWaitOnlyForNeighbors) {
  const Op gather = Make(Do::kNeighborAllgather);
  const Op send = Make(Do::kSend, 2);
  const Op recv = Make(Do::kRecv, 0);
  const Topology line = Grid({3}, false);
  // Rank 2 calls late. It is a neighbor of rank 1, but not of rank 0.
  EXPECT_EQ(Over(line, {{gather, send}, {gather}, {recv, gather}}), kByLuck);
  const Topology ring = Grid({3}, true);
  EXPECT_EQ(Over(ring, {{gather, send}, {gather}, {recv, gather}}), kNever);
  // Data flows only in the direction of the edges.
  const Topology from_zero = Graph({{0, 1}, {0, 2}});
  EXPECT_EQ(Over(from_zero, {{gather, send}, {gather}, {recv, gather}}), kByLuck);
  const Topology to_zero = Graph({{1, 0}, {2, 0}});
  EXPECT_EQ(Over(to_zero, {{gather, send}, {gather}, {recv, gather}}), kNever);
  EXPECT_EQ(
      Over(to_zero, {{Counts(gather, 0), send}, {Counts(gather, 0)}, {recv, Counts(gather, 0)}}),
      kByLuck);
}

TEST(Rules, NeighborMessagesMatchPerEdge) {
  const auto call = [](std::vector<int> sends, std::vector<int> recvs) {
    return Counted(Do::kNeighborAlltoallv, 1, std::move(sends), std::move(recvs));
  };
  // Data sent downwards is received from above, even if both neighbors are the same rank.
  const Topology ring = Grid({2}, true);
  EXPECT_EQ(Over(ring, {{call({1, 2}, {3, 4})}, {call({4, 3}, {2, 1})}}), kAlways);
  EXPECT_EQ(Over(ring, {{call({1, 2}, {3, 4})}, {call({3, 4}, {1, 2})}}), kNever);
  // A rank at a border has no neighbor beyond it.
  const Topology line = Grid({2}, false);
  EXPECT_EQ(Over(line, {{call({9, 2}, {9, 3})}, {call({3, 9}, {2, 9})}}), kAlways);
  // The first of two equal edges matches the first.
  const Topology twice = Graph({{0, 1}, {0, 1}});
  EXPECT_EQ(Over(twice, {{call({1, 2}, {})}, {call({}, {1, 2})}}), kAlways);
  EXPECT_EQ(Over(twice, {{call({1, 2}, {})}, {call({}, {2, 1})}}), kNever);
}

TEST(Rules, AllPartitionsMustBeMarked) {
  const Op send = Partitions(Make(Do::kPsend, 1), 2);
  const Op recv = Partitions(Make(Do::kPrecv, 0), 1);
  const auto ends = [&](std::vector<Op> ready, std::vector<Op> behind) {
    std::vector<Op> sender = {Inits(send, 1), StartsHandle(send, 1, 1)};
    sender.insert(sender.end(), ready.begin(), ready.end());
    sender.push_back(Waits(Do::kWaitall, {1}));
    std::vector<Op> receiver = {Inits(recv, 1), StartsHandle(recv, 1, 1)};
    receiver.insert(receiver.end(), behind.begin(), behind.end());
    return Ends({sender, receiver});
  };
  const Op wait = Waits(Do::kWaitall, {1});
  EXPECT_EQ(ends({Ready(1, 2)}, {wait}), kAlways);
  EXPECT_EQ(ends({Ready(1, 1), Ready(1, 1)}, {Arrived(1, 0), wait}), kAlways);
  EXPECT_EQ(ends({Ready(1, 1)}, {}), kNever);
  EXPECT_EQ(ends({Ready(1, 1)}, {wait}), kNever);
  // A send that was matched may return whether or not the receiver waits.
  EXPECT_EQ(ends({Ready(1, 2)}, {}), kAlways);
  // A receive that is not partitioned does not match a partitioned send.
  EXPECT_EQ(
      Ends({{Inits(send, 1), StartsHandle(send, 1, 1), Ready(1, 2), wait}, {Make(Do::kRecv, 0)}}),
      kNever);
}

TEST(Rules, PartitionedMessagesMatchByHandle) {
  const Op send = Make(Do::kPsend, 1);
  const Op recv = Make(Do::kPrecv, 0);
  const auto second_to = [&](int handle) {
    return Ends({{Inits(send, 1), Inits(send, 2), StartsHandle(send, 2, 1), Ready(2, 1)},
                 {Inits(recv, 1), Inits(recv, 2), StartsHandle(recv, handle, 1),
                  Waits(Do::kWaitall, {1})}});
  };
  EXPECT_EQ(second_to(2), kAlways);
  EXPECT_EQ(second_to(1), kNever);
}

TEST(Rules, StartallEqualsItsStarts) {
  const Op send = Make(Do::kSsend, 1);
  const Op recv = Make(Do::kRecv, 0);
  Op first = StartsHandle(recv, 1, 1);
  first.fused = true;
  EXPECT_EQ(Ends({{send, send},
                  {Inits(recv, 1), Inits(recv, 2), first, StartsHandle(recv, 2, 2),
                   Waits(Do::kWaitall, {1, 2})}}),
            kAlways);
}

TEST(Rules, InPlaceSendsWhatItReceives) {
  const auto two = [](const Op& a, const Op& b) { return Ends({{a}, {b}}); };
  const auto gatherv = [](std::vector<int> recvs) {
    return InPlace(Counted(Do::kAllgatherv, 9, {}, std::move(recvs)));
  };
  EXPECT_EQ(two(gatherv({1, 2}), gatherv({1, 2})), kAlways);
  EXPECT_EQ(two(gatherv({1, 2}), gatherv({1, 3})), kNever);
  const auto alltoallv = [](std::vector<int> recvs) {
    return InPlace(Counted(Do::kAlltoallv, 9, {}, std::move(recvs)));
  };
  EXPECT_EQ(two(alltoallv({5, 1}), alltoallv({1, 6})), kAlways);
  EXPECT_EQ(two(alltoallv({5, 1}), alltoallv({2, 6})), kNever);
  EXPECT_EQ(two(InPlace(Make(Do::kGather, 0)), Make(Do::kGather, 0)), kAlways);
}

TEST(Rules, RejectedCallsHaveNoEffect) {
  const auto rejected = [](Op op) {
    op.rejected = true;
    return op;
  };
  const Op barrier = Make(Do::kBarrier);
  EXPECT_EQ(Ends({{rejected(barrier), barrier}, {barrier}}), kAlways);
  EXPECT_EQ(Ends({{rejected(barrier)}, {barrier}}), kNever);
  const Op send = Make(Do::kSend, 1);
  const Op recv = Make(Do::kRecv, 0);
  EXPECT_EQ(Ends({{rejected(send), send}, {rejected(recv), recv}}), kAlways);
  EXPECT_EQ(Ends({{rejected(send)}, {recv}}), kNever);
  EXPECT_EQ(Ends({{Make(Do::kSsend, 1)}, {rejected(recv)}}), kNever);
}

std::string EndsWithThread(std::vector<Op> of_zero, std::vector<Op> main_thread,
                           std::vector<Op> other_rank, bool spawned = false) {
  return Ends({std::move(main_thread), std::move(other_rank), std::move(of_zero)}, {}, {}, {},
              {{.rank = 0, .called = false, .spawned = spawned}});
}

TEST(Rules, ThreadsOfARankDoNotWaitForEachOther) {
  const Op first = Make(Do::kRecv, 1, 1);
  const Op second = Make(Do::kRecv, 1, 2);
  const std::vector<Op> sends = {Make(Do::kSsend, 0, 1), Make(Do::kSsend, 0, 2)};
  EXPECT_EQ(Ends({{second, first}, sends}), kNever);
  EXPECT_EQ(EndsWithThread({first}, {second}, sends), kAlways);
  EXPECT_EQ(EndsWithThread({second}, {first}, sends), kAlways);
  // One of two receives takes the message; the other waits, and its rank does not finish.
  EXPECT_EQ(EndsWithThread({first}, {}, {}), kNever);
  EXPECT_EQ(EndsWithThread({first}, {first}, {sends[0]}), kNever);
  // The collectives of another thread come after those of the main thread.
  const Op barrier = Make(Do::kBarrier);
  EXPECT_EQ(EndsWithThread({barrier}, {barrier}, {barrier, barrier}), kAlways);
}

TEST(Rules, ThreadsActOnlyAfterTheyAreStarted) {
  const Op sleep = Make(Do::kSleep);
  const Op send = Make(Do::kSend, 1, 2);
  Op spawn = Make(Do::kSpawn);
  spawn.thread = 2;
  const std::vector<Op> other = {Make(Do::kRecv, 0, 2), Make(Do::kSend, 0, 1)};
  const Op recv = Make(Do::kRecv, 1, 1);
  EXPECT_EQ(EndsWithThread({sleep, send}, {spawn, recv}, other, true), kAlways);
  EXPECT_EQ(EndsWithThread({sleep, send}, {recv, spawn}, other, true), kNever);
  EXPECT_EQ(EndsWithThread({sleep, send}, {recv}, other, false), kAlways);
  EXPECT_EQ(EndsWithThread({sleep, send}, {recv}, other, true), kNever);
}

// Ranks receive in a cycle. A rank that waits for a rank which may do anything can continue.
TEST(Explore, RankThatWaitsForAFreeRankCanContinue) {
  Program program;
  program.ranks = 3;
  program.comms = {{0, 1, 2}};
  program.split = {0};
  for (int r = 0; r < 3; ++r) {
    program.code.push_back({Make(Do::kRecv, (r + 1) % 3), Make(Do::kFinalize)});
  }
  const Machine machine(program);
  State state = machine.Start();
  for (const Step& step : machine.Steps(state, Library::kSynchronous, false)) {
    machine.Take(step, Library::kSynchronous, &state);
  }
  const auto can_move = [&](std::vector<bool> free) {
    state.free = std::move(free);
    return Explore(machine, state, Library::kSynchronous, false).can_move;
  };
  EXPECT_EQ(can_move({}), (std::vector{false, false, false}));
  EXPECT_EQ(can_move({true, false, false}), (std::vector{true, false, true}));
}

Generated GenerateOne(uint64_t number) {
  Random random(number);
  return Generate(static_cast<FaultKind>(number % kFaultKinds), &random);
}

// These two tests run no code of the product, and under a sanitizer they take half a minute.
constexpr const char* kSimulatorAlone = "not under a sanitizer: the simulator against itself";

// The shortcut takes steps without an alternative at once; this must not miss any result.
TEST(Explore, ShortcutDoesNotChangeTheResult) {
  if (kSanitized) GTEST_SKIP() << kSimulatorAlone;
  size_t compared = 0;
  for (uint64_t number = 0; number < 60 * kFaultKinds; ++number) {
    const Generated generated = GenerateOne(number);
    size_t ops = 0;
    for (const std::vector<Op>& code : generated.program.code) ops += code.size();
    if (ops > 24) continue;
    const Machine machine(generated.program);
    for (const Library library : {Library::kSynchronous, Library::kPermissive}) {
      const Outcome all = Explore(machine, machine.Start(), library, false, true);
      if (all.bounded) continue;
      const Outcome some = Explore(machine, machine.Start(), library, false, false);
      ++compared;
      ASSERT_EQ(all.some_complete, some.some_complete) << Text(generated.program);
      ASSERT_EQ(all.every_complete, some.every_complete) << Text(generated.program);
      ASSERT_EQ(all.can_move, some.can_move) << Text(generated.program);
      ASSERT_EQ(all.must_move, some.must_move) << Text(generated.program);
    }
  }
  EXPECT_GT(compared, 100u);
}

// Without wildcards and without Test loops that may stop, more buffering never prevents completion:
// the results of a library that decides for each operation lie between those of the two libraries
// that always decide the same way.
TEST(Explore, LibrariesLieBetweenTheTwoExtremes) {
  if (kSanitized) GTEST_SKIP() << kSimulatorAlone;
  size_t compared = 0;
  for (uint64_t number = 0; number < 60 * kFaultKinds; ++number) {
    const Generated generated = GenerateOne(number);
    bool skip = !generated.program.threads.empty();  // threads may receive each other's messages
    for (const std::vector<Op>& code : generated.program.code) {
      for (const Op& op : code) {
        skip |= op.what == Do::kPoll || op.what == Do::kIprobe || op.what == Do::kParrived ||
                (op.what == Do::kRecv && op.peer == kAny);
      }
    }
    if (skip) continue;
    const Machine machine(generated.program);
    const Outcome every = ExploreLibraries(machine, machine.Start());
    if (every.bounded) continue;
    ++compared;
    const Outcome least = Explore(machine, machine.Start(), Library::kSynchronous, false);
    const Outcome most = Explore(machine, machine.Start(), Library::kPermissive, false);
    ASSERT_EQ(every.every_complete, least.every_complete) << Text(generated.program);
    ASSERT_EQ(every.some_complete, most.some_complete) << Text(generated.program);
  }
  EXPECT_GT(compared, 100u);
}

TEST(Engine, AgreesWithTheOracleOnASample) { ExpectAgreement<Mpi>(""); }

}  // namespace
}  // namespace rollcall::oracle
