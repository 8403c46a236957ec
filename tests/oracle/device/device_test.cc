// The rules of device/machine.h, each on a program of a few words; that the order of steps decides
// nothing; and a sample of what tests/oracle/run compares with the diagnosis engine.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/oracle/agreement.h"
#include "tests/oracle/device/generate.h"
#include "tests/oracle/device/judge.h"
#include "tests/oracle/device/machine.h"
#include "tests/support/sanitizers.h"

namespace rollcall::oracle::device {
namespace {

// One rank a line: "A" an ncclAllReduce on the first communicator, "B" on the second; "b" and "r"
// an ncclBroadcast and an ncclReduce with root 0; ">1" sends to rank 1, "<1" receives; "[" and "]"
// are a group, "|" waits for the device.
Op Parse(const std::string& word) {
  Op op;
  if (word[0] == 'B') op.comm = 1;
  if (word[0] == 'b') op.what = Do::kBroadcast;
  if (word[0] == 'r') op.what = Do::kReduce;
  if (word[0] == '>') op.what = Do::kSend;
  if (word[0] == '<') op.what = Do::kRecv;
  if (word[0] == '[') op.what = Do::kGroupStart;
  if (word[0] == ']') op.what = Do::kGroupEnd;
  if (word[0] == '|') op.what = Do::kSyncAll;
  if (IsMessage(op.what)) op.peer = std::stoi(word.substr(1));
  if (IsRooted(op.what)) op.peer = 0;
  return op;
}

// "SP": may it complete with a Synchronous library, with a Permissive one?
std::string Ends(const std::vector<std::string>& lines, const std::vector<int>& streams = {0, 0}) {
  Program program;
  program.ranks = static_cast<int>(lines.size());
  program.comms.resize(2);
  program.streams = streams;
  for (int r = 0; r < program.ranks; ++r) {
    for (std::vector<int>& members : program.comms) members.push_back(r);
    std::istringstream words(lines[static_cast<size_t>(r)] + " |");
    std::vector<Op>& ops = program.code.emplace_back();
    for (std::string word; words >> word;) ops.push_back(Parse(word));
    ops.emplace_back().what = Do::kEnd;
  }
  const Machine machine(program);
  std::string result;
  for (const Library library : {Library::kSynchronous, Library::kPermissive}) {
    result += machine.Run(machine.Start(), library, false).complete ? "yes " : "no ";
  }
  return result;
}

constexpr char kAlways[] = "yes yes ";
constexpr char kByLuck[] = "no yes ";
constexpr char kNever[] = "no no ";

TEST(DeviceRules, StreamRunsOperationsInOrder) {
  EXPECT_EQ(Ends({"A B", "A B"}), kAlways);
  EXPECT_EQ(Ends({"A B", "B A"}), kNever);
  EXPECT_EQ(Ends({"A B", "B A"}, {0, 1}), kAlways);
}

TEST(DeviceRules, WaitingHostEnqueuesNothing) {
  EXPECT_EQ(Ends({"A | B", "B A"}, {0, 1}), kAlways);
  EXPECT_EQ(Ends({"A | B", "B | A"}, {0, 1}), kNever);
}

TEST(DeviceRules, GroupIsEnqueuedAtItsEndAsAWhole) {
  EXPECT_EQ(Ends({">1 <1", ">0 <0"}), kByLuck);
  EXPECT_EQ(Ends({"<1 >1", "<0 >0"}), kNever);
  EXPECT_EQ(Ends({"[ <1 >1 ]", "[ <0 >0 ]"}), kAlways);
  EXPECT_EQ(Ends({"[ [ <1 ] >1 ]", "[ <0 >0 ]"}), kAlways);
  EXPECT_EQ(Ends({"[ A", "A"}), kNever);
}

TEST(DeviceRules, AllMembersMustCall) {
  EXPECT_EQ(Ends({"A A", "A"}), kNever);
  EXPECT_EQ(Ends({">1", ""}), kByLuck);
  EXPECT_EQ(Ends({"", "<0"}), kNever);
}

TEST(DeviceRules, RankThatReceivesNothingMayLeaveEarly) {
  EXPECT_EQ(Ends({"b B", "B b"}), kByLuck);
  EXPECT_EQ(Ends({"B b", "b B"}), kNever);
  EXPECT_EQ(Ends({"r B", "B r"}), kNever);
  EXPECT_EQ(Ends({"B r", "r B"}), kByLuck);
}

TEST(DeviceRules, CallsMustMatch) { EXPECT_EQ(Ends({"b", "A"}), kNever); }

// Steps stay possible, whatever else is done first: one order leads where every other does. But for
// deaths: who comes too late for them gets less.
TEST(DeviceMachine, OrderOfStepsDoesNotChangeTheResult) {
  for (uint64_t number = 0; number < Rounds(20) * kFaultKinds; ++number) {
    const auto one = MakeCase<Devices>(3, number);
    const FaultKind kind = one.generated.planted.kind;
    if (kind == FaultKind::kDied || kind == FaultKind::kExited) continue;
    const Machine machine(one.generated.program);
    Random random(number);
    for (const Library library : {Library::kSynchronous, Library::kPermissive}) {
      State state = machine.Start();
      for (std::vector<Step> steps = machine.Steps(state, library, false); !steps.empty();
           steps = machine.Steps(state, library, false)) {
        machine.Take(steps[static_cast<size_t>(Below(&random, static_cast<int>(steps.size())))],
                     &state);
      }
      ASSERT_EQ(machine.OutcomeOf(state).ends, machine.Run(machine.Start(), library, false).ends)
          << Text(one.generated.program);
    }
  }
}

TEST(DeviceGenerate, CorrectProgramsComplete) {
  for (uint64_t number = 0; number < Rounds(100); ++number) {
    const auto one = MakeCase<Devices>(4, number * kFaultKinds);
    const Machine machine(one.generated.program);
    ASSERT_TRUE(machine.Run(machine.Start(), Library::kSynchronous, false).complete)
        << Text(one.generated.program);
  }
}

// Each broke a rule once: a group's other operation stood still, with a device or a death
// elsewhere.
TEST(DeviceEngine, OperationsOfOneGroupAreJudgedAsAWhole) {
  for (const uint64_t number : {29350, 38945, 76281}) {
    const auto one = MakeCase<Devices>(3, number);
    Observation seen;
    const Judgement judgement = RunCase<Devices>(one, &seen);
    EXPECT_EQ(judgement.violations, std::vector<std::string>{})
        << ShowCase<Devices>(one, seen, judgement);
  }
}

TEST(DeviceEngine, AgreesWithTheOracleOnASample) { ExpectAgreement<Devices>("--of devices "); }

}  // namespace
}  // namespace rollcall::oracle::device
