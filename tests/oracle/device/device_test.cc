// SPDX-License-Identifier: Apache-2.0
// Tests each rule of device/machine.h with a short program, tests that the order of steps does not
// change the result, and repeats a sample of the comparisons with the diagnosis engine that
// tests/oracle/run makes.
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

// A program has one line per rank. "A" is an ncclAllReduce on the first communicator, "B" one on
// the second; "b" and "r" are an ncclBroadcast and an ncclReduce with root 0; ">1" sends to rank 1,
// "<1" receives from it; "[" and "]" start and end a group; "|" waits for the device.
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

// Returns whether the program may complete with a synchronous and with a permissive library.
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

TEST(DeviceRules, GroupIsEnqueuedAsAWholeAtItsEnd) {
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

TEST(DeviceRules, RankThatReceivesNothingMayReturnEarly) {
  EXPECT_EQ(Ends({"b B", "B b"}), kByLuck);
  EXPECT_EQ(Ends({"B b", "b B"}), kNever);
  EXPECT_EQ(Ends({"r B", "B r"}), kNever);
  EXPECT_EQ(Ends({"B r", "r B"}), kByLuck);
}

TEST(DeviceRules, CallsMustMatch) { EXPECT_EQ(Ends({"b", "A"}), kNever); }

// A step that is possible stays possible whatever other steps are taken first, so every order of
// steps has the same result. Deaths are an exception: a step may come too late after one.
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

TEST(DeviceGenerate, CorrectProgramsFinish) {
  for (uint64_t number = 0; number < Rounds(100); ++number) {
    const auto one = MakeCase<Devices>(4, number * kFaultKinds);
    const Machine machine(one.generated.program);
    ASSERT_TRUE(machine.Run(machine.Start(), Library::kSynchronous, false).complete)
        << Text(one.generated.program);
  }
}

// Each of these programs once violated a rule: another operation of a group was blocked by a
// device, or by a death elsewhere.
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
