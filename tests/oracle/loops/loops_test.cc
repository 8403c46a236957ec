// SPDX-License-Identifier: Apache-2.0
// Tests each rule of loops/machine.h with a short program, what is executed of a source, that the
// speed of ranks does not change the result, and repeats a sample of the comparisons with the
// diagnosis engine that tests/oracle/run makes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/oracle/agreement.h"
#include "tests/oracle/loops/fold.h"
#include "tests/oracle/loops/judge.h"
#include "tests/support/sanitizers.h"

namespace rollcall::oracle::loops {
namespace {

using What = Call::What;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

Call CollectiveOf(std::string operation, Call::Needs needs, int comm = 0) {
  Call call{.what = What::kCollective, .comm = comm};
  call.operation = std::move(operation);
  call.needs = needs;
  if (needs == Call::Needs::kRoot || needs == Call::Needs::kAllAtRoot) call.root = 0;
  return call;
}

// "A" is an MPI_Allreduce, "B" an MPI_Barrier, "b" and "r" an MPI_Bcast and an MPI_Reduce with root
// 0, "C" an MPI_Barrier on another communicator, "N" a neighborhood collective; ">1" sends to rank
// 1, "<1" receives from it, "x1" does both in one call; "i>1" and "i<1" are nonblocking; "|" waits
// for these.
Call Parse(const std::string& word, std::vector<int>* pending) {
  using Needs = Call::Needs;
  if (word == "A") return CollectiveOf("Allreduce", Needs::kAll);
  if (word == "B") return CollectiveOf("Barrier", Needs::kAll);
  if (word == "b") return CollectiveOf("Bcast", Needs::kRoot);
  if (word == "r") return CollectiveOf("Reduce", Needs::kAllAtRoot);
  if (word == "C") return CollectiveOf("Barrier", Needs::kAll, 1);
  if (word == "N") return CollectiveOf("Neighbor_alltoall", Needs::kNeighbors);
  Call call;
  if (word == "|") {
    call.what = What::kWaitall;
    call.requests = std::exchange(*pending, {});
    return call;
  }
  const bool nonblocking = word[0] == 'i';
  const char what = word[nonblocking ? 1 : 0];
  const int peer = word.back() - '0';
  if (what != '<') call.to = peer;
  if (what != '>') call.from = peer;
  call.what = what == 'x' ? What::kSendrecv : what == '>' ? What::kSend : What::kRecv;
  if (nonblocking) {
    call.what = what == '>' ? What::kIsend : What::kIrecv;
    pending->push_back(static_cast<int>(pending->size()));
    call.requests = {pending->back()};
  }
  return call;
}

Node CallOf(size_t ranks, size_t rank, Call call) {
  Node node;
  node.calls.resize(ranks);
  node.calls[rank] = std::move(call);
  return node;
}

// Returns whether the program, one line a rank, completes with a synchronous and with a permissive
// library.
std::string Ends(const std::vector<std::string>& lines, std::vector<Edge> graph = {}) {
  Program program;
  program.comms.resize(2);
  program.comms[0].graph = std::move(graph);
  Block main;
  for (size_t rank = 0; rank < lines.size(); ++rank) {
    for (Comm& comm : program.comms) comm.members.push_back(static_cast<int>(rank));
    std::istringstream words(lines[rank]);
    std::vector<int> pending;
    for (std::string word; words >> word;) {
      main.push_back(CallOf(lines.size(), rank, Parse(word, &pending)));
    }
    main.push_back(CallOf(lines.size(), rank, {.what = What::kFinalize}));
  }
  program.functions.push_back({"main", std::move(main)});
  const Machine machine(program);
  std::string result;
  for (const Library library : {kSynchronous, kPermissive}) {
    State state = machine.Start();
    machine.Run(library, machine.Plain(), kNoLimit, &state);
    result += machine.AllLeft(state) ? "yes " : "no ";
  }
  return result;
}

constexpr char kAlways[] = "yes yes ";
constexpr char kByLuck[] = "no yes ";
constexpr char kNever[] = "no no ";

TEST(LoopRules, StandardSendMayBeBuffered) {
  EXPECT_EQ(Ends({">1 <1", ">0 <0"}), kByLuck);
  EXPECT_EQ(Ends({">1 <1", "<0 >0"}), kAlways);
  EXPECT_EQ(Ends({"<1 >1", "<0 >0"}), kNever);
  EXPECT_EQ(Ends({">1", ""}), kByLuck);
}

TEST(LoopRules, BothHalvesOfAnExchangeAreUnderWay) {
  EXPECT_EQ(Ends({"x1", "x0"}), kAlways);
  EXPECT_EQ(Ends({"x1", "<0 >0"}), kAlways);
  EXPECT_EQ(Ends({"x1", ">0"}), kByLuck);
}

TEST(LoopRules, WaitallNeedsAllRequests) {
  EXPECT_EQ(Ends({"i<1 i>1 |", "i>0 i<0 |"}), kAlways);
  EXPECT_EQ(Ends({"i>1 | <1", "i>0 | <0"}), kByLuck);
  EXPECT_EQ(Ends({"i<1 | >1", "i<0 | >0"}), kNever);
}

TEST(LoopRules, SendsAndReceivesMatchInTheirOrder) {
  EXPECT_EQ(Ends({">1 >1", "<0 <0"}), kAlways);
  EXPECT_EQ(Ends({">1", "<0 <0"}), kNever);
}

TEST(LoopRules, RankThatReceivesNothingMayReturnEarly) {
  EXPECT_EQ(Ends({"b C", "C b"}), kByLuck);
  EXPECT_EQ(Ends({"C b", "b C"}), kNever);
  EXPECT_EQ(Ends({"C r", "r C"}), kByLuck);
  EXPECT_EQ(Ends({"r C", "C r"}), kNever);
  EXPECT_EQ(Ends({"A", "A", ""}), kNever);
}

TEST(LoopRules, CallsThatDoNotMatchMayHang) { EXPECT_EQ(Ends({"A", "B"}), kByLuck); }

TEST(LoopRules, NeighborhoodNeedsBothEnds) {
  EXPECT_EQ(Ends({"N", "N", ""}, {{.from = 0, .to = 1}}), kAlways);
  EXPECT_EQ(Ends({"N", "N", ""}, {{.from = 2, .to = 1}}), kNever);
  EXPECT_EQ(Ends({"N", "N", ""}, {{.from = 0, .to = 1, .from_lists = false}}), kNever);
  EXPECT_EQ(Ends({"N", "N", ""}, {{.from = 0, .to = 1, .to_lists = false}}), kAlways);
}

Node Of(Node::Kind kind, Block body = {}) {
  Node node;
  node.kind = kind;
  node.body = std::move(body);
  return node;
}

Node In(int function, Node node) {
  node.function = function;
  return node;
}

Node InRound(int round, Node::Kind then) {
  Node node = Of(Node::Kind::kIf, {Of(then)});
  node.condition.first_round = round;
  node.condition.rounds = 1;
  return node;
}

Node Loop(int rounds, Block body) {
  Node node = Of(Node::Kind::kLoop, std::move(body));
  node.rounds = rounds;
  return node;
}

// Returns where rank 0 makes its calls; the functions before the last are called by their indices.
std::string Places(std::vector<Function> functions) {
  Program program;
  program.comms.resize(1);
  program.comms[0].members = {0};
  program.functions = std::move(functions);
  SetLines(&program);
  const Code code = Unroll(program)[0];
  std::vector<std::string> places;
  for (const int made : code.order) places.push_back(code.made[static_cast<size_t>(made)].place);
  return fmt::format("{}", fmt::join(places, ", "));
}

Node Barrier() { return CallOf(1, 0, CollectiveOf("Barrier", Call::Needs::kAll)); }

TEST(LoopUnroll, RoundsAreLeftByBreakAndContinue) {
  EXPECT_EQ(Places({{"main", {Loop(2, {Barrier()})}}}), "main:3, main:3");
  EXPECT_EQ(Places({{"main", {Loop(3, {Barrier(), InRound(1, Node::Kind::kBreak), Barrier()})}}}),
            "main:3, main:7, main:3");
  EXPECT_EQ(
      Places({{"main", {Loop(2, {InRound(0, Node::Kind::kContinue), Barrier()}), Barrier()}}}),
      "main:6, main:8");
}

TEST(LoopUnroll, ReturnLeavesOneFunction) {
  EXPECT_EQ(Places({{"f", {Barrier(), Of(Node::Kind::kReturn), Barrier()}},
                    {"main", {In(0, Of(Node::Kind::kInvoke)), Barrier()}}}),
            "main:7 > f:2, main:8");
}

TEST(LoopUnroll, ExceptionRunsDestructorsUpToItsHandler) {
  const Node throws = Of(Node::Kind::kThrow);
  EXPECT_EQ(
      Places({{"~Guard", {Barrier()}},
              {"f", {In(0, Of(Node::Kind::kScope, {Barrier(), throws, Barrier()})), Barrier()}},
              {"main",
               {Of(Node::Kind::kTry, {In(1, Of(Node::Kind::kInvoke)), Barrier()}), Barrier()}}}),
      "main:14 > f:6, main:14 > f:9 > ~Guard:2, main:19");
}

TEST(LoopFold, RepeatsAreWrittenOnce) {
  EXPECT_EQ(Fold({"a", "b", "c"}, {2, 0, 1, 0, 1, 0}), "c\nrepeat 2\n  a\n  b\nend\na\n");
  EXPECT_EQ(Fold({"a"}, {}), "");
}

TEST(LoopMachine, SpeedOfRanksDoesNotChangeTheResult) {
  for (uint64_t number = 0; number < Rounds(10) * KindsOf<Loops>(); ++number) {
    const auto one = MakeCase<Loops>(3, number);
    const Machine machine(one.generated.program);
    Pace fast = machine.Plain();
    std::swap(fast.order.front(), fast.order.back());
    fast.calls[0] = 7;
    for (const Library library : {kSynchronous, kPermissive}) {
      State plain = machine.Start();
      State other = machine.Start();
      machine.Run(library, machine.Plain(), kNoLimit, &plain);
      machine.Run(library, fast, kNoLimit, &other);
      for (size_t rank = 0; rank < plain.ranks.size(); ++rank) {
        ASSERT_EQ(plain.ranks[rank].at, other.ranks[rank].at) << Text(one.generated.program);
      }
    }
  }
}

TEST(LoopRuns, DependOnTheSeedOnly) {
  const auto show = [](uint64_t seed, uint64_t number) {
    const auto one = MakeCase<Loops>(seed, number);
    Observation seen;
    const Judgement judgement = RunCase<Loops>(one, &seen);
    return ShowCase<Loops>(one, seen, judgement);
  };
  for (uint64_t number = 0; number < KindsOf<Loops>(); ++number) {
    EXPECT_EQ(show(3, number), show(3, number));
  }
  EXPECT_NE(show(3, 1), show(4, 1));
}

// Traces are a hundred times as long as those of the other families.
TEST(LoopEngine, AgreesWithTheOracleOnASample) { ExpectAgreement<Loops, 50>("--of loops "); }

}  // namespace
}  // namespace rollcall::oracle::loops
