// The oracle's own rules, each on a program of a few lines; its shortcut; and a sample of what
// tests/oracle/run compares with the diagnosis engine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/oracle/explore.h"
#include "tests/oracle/generate.h"
#include "tests/oracle/judge.h"
#include "tests/oracle/machine.h"
#include "tests/sanitizers.h"

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
// The n-th request of a handle.
Op StartsHandle(Op op, int handle, int request) { return Starts(Handled(op, handle), request); }
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

// "SBPB": S may complete with a Synchronous library in some way (s: in every way, -: in none), P
// with a Permissive one.
std::string Ends(std::vector<std::vector<Op>> code, std::vector<std::vector<int>> comms = {},
                 std::vector<int> split = {}) {
  Program program;
  program.ranks = static_cast<int>(code.size());
  for (std::vector<Op>& ops : code) ops.push_back(Make(Do::kFinalize));
  program.code = std::move(code);
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
constexpr char kByLuck[] = "none every ";  // if the library is kind
constexpr char kNever[] = "none none ";
constexpr char kByOrder[] = "some some ";  // if the wildcards are lucky

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
  // Tag 1 comes first, and the first receive takes any: none is left for the second.
  const std::vector<Op> sends = {Make(Do::kSend, 1, 1), Make(Do::kSend, 1, 2)};
  EXPECT_EQ(Ends({sends, {Make(Do::kRecv, 0, kAny), Make(Do::kRecv, 0, 2)}}), kAlways);
  EXPECT_EQ(Ends({sends, {Make(Do::kRecv, 0, kAny), Make(Do::kRecv, 0, 1)}}), kNever);
  // Another tag may overtake, if the first message need not wait.
  EXPECT_EQ(Ends({sends, {Make(Do::kRecv, 0, 2), Make(Do::kRecv, 0, 1)}}), kByLuck);
}

TEST(Rules, AWildcardMayTakeWhatAnotherReceiveNeeds) {
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

TEST(Rules, WaitsAreAndAndOr) {
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
  // Whoever waits for rank 0's message cannot come to the collective.
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
  EXPECT_EQ(program(Make(Do::kScan)), kByLuck);  // rank 0 needs nobody
}

TEST(Rules, CollectivesMatchInTheOrderOfTheirCalls) {
  const Op a = Make(Do::kBarrier);
  const Op b = On(Make(Do::kBarrier), 1);
  EXPECT_EQ(Ends({{a, b}, {b, a}}, {{0, 1}}), kNever);
  EXPECT_EQ(Ends({{Starts(a, 1), b, Waits(Do::kWaitall, {1})},
                  {Starts(b, 1), a, Waits(Do::kWaitall, {1})}},
                 {{0, 1}}),
            kNever);  // a nonblocking one does not match a blocking one
  EXPECT_EQ(Ends({{Starts(a, 1), Starts(b, 2), Waits(Do::kWaitall, {1, 2})},
                  {Starts(b, 1), Starts(a, 2), Waits(Do::kWaitall, {1, 2})}},
                 {{0, 1}}),
            kAlways);
}

TEST(Rules, ArgumentsMustFit) {
  const auto two = [](const Op& a, const Op& b) { return Ends({{a}, {b}}); };
  EXPECT_EQ(two(Make(Do::kBarrier), Make(Do::kAllreduce)), kNever);
  EXPECT_EQ(two(Make(Do::kBcast, 0), Make(Do::kBcast, 1)), kNever);
  EXPECT_EQ(two(Counts(Make(Do::kAllreduce), 2), Counts(Make(Do::kAllreduce), 3)), kNever);
  Op max = Make(Do::kAllreduce);
  max.reduction = 1;
  EXPECT_EQ(two(max, Make(Do::kAllreduce)), kNever);
}

TEST(Rules, TheDeadAndThoseWhoLeftCallNothing) {
  EXPECT_EQ(Ends({{Make(Do::kBarrier)}, {}}), kNever);
  EXPECT_EQ(Ends({{Make(Do::kBarrier)}, {Make(Do::kDie), Make(Do::kBarrier)}}), kNever);
  EXPECT_EQ(Ends({{Make(Do::kBarrier)}, {Make(Do::kStall), Make(Do::kBarrier)}}), kNever);
}

TEST(Rules, ASendrecvSendsAndReceivesAtOnce) {
  EXPECT_EQ(Ends({Sendrecv(1, 1, 0, 1), Sendrecv(0, 0, 0, 1)}), kAlways);
  EXPECT_EQ(Ends({Sendrecv(1, 1, 0, 1), Sendrecv(0, 0, 7, 1)}), kNever);
  // Its receiving half takes a message while its sending half waits.
  EXPECT_EQ(Ends({Sendrecv(1, 1, 0, 1), {Make(Do::kSsend, 0), Make(Do::kRecv, 0)}}), kAlways);
}

TEST(Rules, AProbeLeavesTheMessage) {
  const std::vector<Op> send = {Make(Do::kSsend, 1)};
  EXPECT_EQ(Ends({send, {Make(Do::kProbe, 0), Make(Do::kRecv, 0)}}), kAlways);
  EXPECT_EQ(Ends({send, {Make(Do::kProbe, 0)}}), kNever);  // nobody receives it
  EXPECT_EQ(Ends({send, {Make(Do::kProbe, 0, 7), Make(Do::kRecv, 0)}}), kNever);
  // The receive that was posted before takes it: the probe finds nothing.
  EXPECT_EQ(
      Ends({send, {Starts(Make(Do::kRecv, 0), 1), Make(Do::kProbe, 0), Waits(Do::kWaitall, {1})}}),
      kNever);
  EXPECT_EQ(Ends({{Make(Do::kBarrier)}, {Make(Do::kIprobe, 0), Make(Do::kBarrier)}}),
            kByLuck);  // who polls may give up
}

TEST(Rules, AMatchedMessageIsTakenByItsReceiveOnly) {
  Op probe = Make(Do::kMprobe, 0);
  Op recv = Make(Do::kMrecv, 0);
  probe.message = recv.message = 1;
  EXPECT_EQ(Ends({{Make(Do::kSsend, 1)}, {probe, recv}}), kAlways);
  EXPECT_EQ(Ends({{Make(Do::kSsend, 1)}, {probe, Make(Do::kRecv, 0)}}), kNever);
  // The sender waits until it is received.
  EXPECT_EQ(Ends({{Make(Do::kSsend, 1), Make(Do::kBarrier)}, {probe, Make(Do::kBarrier), recv}}),
            kNever);
}

TEST(Rules, EachStartOfAPersistentRequestCounts) {
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

TEST(Rules, APersistentCollectiveIsWaitedForByItsStarts) {
  const Op barrier = Make(Do::kBarrier);
  const std::vector<Op> started = {Inits(barrier, 1), StartsHandle(barrier, 1, 1),
                                   Waits(Do::kWaitall, {1})};
  EXPECT_EQ(Ends({started, started}), kAlways);
  EXPECT_EQ(Ends({started, {Inits(barrier, 1)}}), kNever);
  // The initialisation is a collective, which may synchronise and moves no data.
  EXPECT_EQ(Ends({{Inits(barrier, 1)}, {}}), kByLuck);
  EXPECT_EQ(Ends({{Inits(barrier, 1)}, {barrier}}), kNever);
}

TEST(Rules, CountsOfNothingNeedNobody) {
  const auto from_zero = [](int count) {
    const Op zero = Counted(Do::kAllgatherv, count, {}, {count, 1});
    const Op one = Counted(Do::kAllgatherv, 1, {}, {count, 1});
    // Rank 0 sends a message behind it, for which rank 1 waits before.
    return Ends({{zero, Make(Do::kSend, 1)}, {Make(Do::kRecv, 0), one}});
  };
  EXPECT_EQ(from_zero(1), kNever);
  const auto alltoallv = [](int there, int back) {
    return Ends({{Counted(Do::kAlltoallv, 1, {0, there}, {0, back}), Make(Do::kSend, 1)},
                 {Make(Do::kRecv, 0), Counted(Do::kAlltoallv, 1, {back, 0}, {there, 0})}});
  };
  EXPECT_EQ(alltoallv(1, 0), kByLuck);  // nothing comes to rank 0
  EXPECT_EQ(alltoallv(1, 1), kNever);
  EXPECT_EQ(Ends({{Counted(Do::kAlltoallv, 1, {0, 1}, {0, 0})},
                  {Counted(Do::kAlltoallv, 1, {0, 0}, {2, 0})}}),
            kNever);  // it does not fit
}

TEST(Rules, GroupsOfAnIntercommunicatorNeedEachOther) {
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

Generated GenerateOne(uint64_t number) {
  Random random(number);
  return Generate(static_cast<FaultKind>(number % kFaultKinds), &random);
}

// Taking what is no choice at once leaves nothing out.
TEST(Explore, ItsShortcutChangesNothing) {
  size_t compared = 0;
  for (uint64_t number = 0; number < Rounds(60) * kFaultKinds; ++number) {
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
  EXPECT_GT(compared, kSanitized ? 25u : 100u);
}

// Without wildcards, and Test loops that are given up, more buffering never hurts: what a library
// decides operation by operation lies between the two that decide all one way.
TEST(Explore, LibrariesLieBetweenTheTwoExtremes) {
  size_t compared = 0;
  for (uint64_t number = 0; number < Rounds(60) * kFaultKinds; ++number) {
    const Generated generated = GenerateOne(number);
    bool skip = false;
    for (const std::vector<Op>& code : generated.program.code) {
      for (const Op& op : code) {
        skip |= op.what == Do::kPoll || op.what == Do::kIprobe ||
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
  EXPECT_GT(compared, kSanitized ? 25u : 100u);
}

TEST(Engine, AgreesWithTheOracleOnASample) {
  constexpr uint64_t kSeed = 20;
  constexpr uint64_t kTraces = Rounds(100) * kFaultKinds;
  Tally tallies[kFaultKinds];
  Tally all;
  for (uint64_t number = 0; number < kTraces; ++number) {
    const Case one = MakeCase(kSeed, number);
    Observation seen;
    const Judgement judgement = RunCase(one, &seen);
    all.Add(judgement);
    tallies[number % kFaultKinds].Add(judgement);
    ASSERT_EQ(judgement.violations, std::vector<std::string>{})
        << "tests/oracle/run --one " << kSeed << ":" << number << "\n"
        << Shrink(one.generated);
  }
  EXPECT_GT(all.stuck * 10, kTraces * 3) << "too few deadlocks to say anything";
  EXPECT_GT(all.proven * 10, kTraces * 2);
  if (!kSanitized) {
    EXPECT_EQ(Shortfalls(tallies, kFaultTexts, kNamedAtLeast), "")
        << "the culprits are named less often than before";
  }
  EXPECT_EQ(all.hits[static_cast<int>(Hit::kInconclusive)], 0u) << "on complete traces";
}

}  // namespace
}  // namespace rollcall::oracle
