// SPDX-License-Identifier: Apache-2.0
// Operations on devices, one line per rank: "A1 B1" calls collective 1 on A, then collective 1 on
// B, on one stream; brackets enclose a group; ">2" sends to rank 2, "<2" receives from it; "/"
// continues on another stream.
#include "collector/import/device_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace rollcall {
namespace {

using ::testing::ElementsAre;

class DeviceWorkTest : public ::testing::Test {
 protected:
  explicit DeviceWorkTest() {
    AddArguments(Operation::kNcclAllReduce, ring::kNoPeer);
    for (uint32_t c = 0; c < 2; ++c) trace_.communicators.emplace_back().flags = ring::kIsNccl;
  }

  void Rank(const std::string& line) {
    const auto p = static_cast<uint32_t>(trace_.processes.size());
    Process& process = trace_.processes.emplace_back();
    process.rank = static_cast<int32_t>(p);
    process.device = true;
    for (uint32_t c = 0; c < 2; ++c) {
      trace_.communicators[c].members.push_back(static_cast<uint32_t>(trace_.members.size()));
      Member& member = trace_.members.emplace_back();
      member.process = p;
      member.communicator = c;
      member.rank = process.rank;
    }
    uint64_t launch = 0;
    uint64_t stream = 1;
    bool group = false;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word == "[") ++launch;
      if (word == "[" || word == "]") group = word == "[";
      if (word == "/") ++stream;
      if (word == "[" || word == "]" || word == "/") continue;
      if (!group) ++launch;
      Add(p, word, launch, stream);
    }
  }

  std::vector<std::string> Open(uint32_t p) const {
    std::vector<std::string> open;
    for (const OpenRequest& request : trace_.processes[p].open_requests) {
      open.push_back(words_.at(request.uid) + (request.held ? " held" : ""));
    }
    return open;
  }

  void Analyze() { SimulateStreams(calls_, waits_, &trace_); }

  Trace trace_;
  std::vector<DeviceCall> calls_;
  std::vector<HostWait> waits_;

 private:
  uint32_t AddArguments(Operation operation, int32_t peer) {
    Arguments arguments;
    arguments.operation = operation;
    arguments.root_or_peer = peer;
    trace_.arguments.push_back(arguments);
    return static_cast<uint32_t>(trace_.arguments.size() - 1);
  }

  void Add(uint32_t p, const std::string& word, uint64_t launch, uint64_t stream) {
    const bool message = word[0] == '>' || word[0] == '<';
    DeviceCall call;
    call.process = p;
    call.launch = launch;
    call.stream = stream;
    call.event.request = words_.size();
    call.event.start_ns = static_cast<int64_t>(words_.size());
    call.event.member = 2 * p + (word[0] == 'B' ? 1 : 0);
    call.event.arguments = 0;
    if (message) {
      call.event.arguments = AddArguments(
          word[0] == '>' ? Operation::kNcclSend : Operation::kNcclRecv, std::stoi(word.substr(1)));
    } else {
      call.event.sequence = std::stoull(word.substr(1));
      Member& member = trace_.members[call.event.member];
      member.entered = call.event.sequence;
      member.events.push_back(call.event);
    }
    words_.push_back(word);
    calls_.push_back(call);
  }

  std::vector<std::string> words_;  // by uid
};

TEST_F(DeviceWorkTest, OperationsEnqueuedByAllMembersCountAsComplete) {
  Rank("A1 A2");
  Rank("A1 A2");
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre());
  EXPECT_EQ(trace_.members[0].completed, 2u);
}

TEST_F(DeviceWorkTest, StreamStopsAtTheFirstOperationThatAMemberLacks) {
  Rank("A1 A2 A3 B1");
  Rank("A1 A2 B1");
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("A3", "B1"));
  EXPECT_THAT(Open(1), ElementsAre("B1"));
  EXPECT_EQ(trace_.members[0].completed, 2u);
  EXPECT_EQ(trace_.members[0].events[2].end_ns, kNoTime);
  EXPECT_NE(trace_.members[0].events[1].end_ns, kNoTime);
}

TEST_F(DeviceWorkTest, OppositeOrderOnOneStreamStopsIt) {
  Rank("A1 B1");
  Rank("B1 A1");
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("A1", "B1"));
  EXPECT_THAT(Open(1), ElementsAre("B1", "A1"));
}

TEST_F(DeviceWorkTest, OppositeOrderOnTwoStreamsCompletes) {
  Rank("A1 / B1");
  Rank("B1 / A1");
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre());
  EXPECT_THAT(Open(1), ElementsAre());
}

// The devices are slow in one operation; their order is the same.
TEST_F(DeviceWorkTest, WaitingHostsHaveTheSameOperationOpen) {
  Rank("A1 / B1");
  Rank("B1 / A1");
  waits_ = {{.process = 0, .any_stream = true, .launch = 2},
            {.process = 1, .any_stream = true, .launch = 2}};
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("B1"));
  EXPECT_THAT(Open(1), ElementsAre("B1"));
}

TEST_F(DeviceWorkTest, CompleteOperationsOnTwoStreamsHaveOneOrderOnAllRanks) {
  Rank("A1 / B1");
  Rank("B1 / A1");
  waits_ = {{.process = 0, .stream = 1, .launch = 2}, {.process = 1, .stream = 1, .launch = 2}};
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("A1", "B1"));
  EXPECT_THAT(Open(1), ElementsAre("A1", "B1"));
}

// The second stream may wait for the first through an event that is not recorded.
TEST_F(DeviceWorkTest, EarliestIncompleteCallOfTwoStreamsIsFirst) {
  Rank("B1 / A1");
  Rank("A1");
  waits_ = {{.process = 0, .stream = 2, .launch = 2}};
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("B1", "A1"));
}

TEST_F(DeviceWorkTest, OneGroupIsOneLaunch) {
  Rank("[ >1 <1 ] A1");
  Rank("[ >0 <0 ] A1");
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre());
}

TEST_F(DeviceWorkTest, WithoutAGroupTwoSendsWaitForEachOther) {
  Rank(">1 <1");
  Rank(">0 <0");
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre(">1", "<1"));
  EXPECT_THAT(Open(1), ElementsAre(">0", "<0"));
}

TEST_F(DeviceWorkTest, MessagesMatchInOrder) {
  Rank(">1 >1");
  Rank("<0");
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre(">1"));
  EXPECT_THAT(Open(1), ElementsAre());
}

TEST_F(DeviceWorkTest, OperationsInAnOpenGroupAreNotEnqueued) {
  Rank("A1");
  Rank("A1");
  calls_[1].held = true;
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("A1"));
  EXPECT_THAT(Open(1), ElementsAre("A1 held"));
}

TEST_F(DeviceWorkTest, DeviceMarksDetermineCompletion) {
  Rank("A1 A2");
  Rank("A1 A2");
  calls_[0].done = calls_[2].done = calls_[3].done = true;
  calls_[1].exact = true;
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("A2"));
  EXPECT_THAT(Open(1), ElementsAre());
}

TEST_F(DeviceWorkTest, OpenGroupWaitsForItsOperationThatLacksAMember) {
  Rank("[ >1 <2 ]");
  Rank("<0");
  Rank("");
  for (DeviceCall& call : calls_) call.exact = true;
  calls_[2].done = true;
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("<2"));
}

// The launch of rank 1 is known to be open, and the receive is its only operation.
TEST_F(DeviceWorkTest, OpenGroupHasNoOperationCompleteThatAnotherHasOpenAlone) {
  Rank("[ >1 <2 ]");
  Rank("<0");
  Rank("");
  for (DeviceCall& call : calls_) call.exact = true;
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre(">1", "<2"));
  EXPECT_THAT(Open(1), ElementsAre("<0"));
}

// Each rank sends to the next one, and the device of rank 1 does not complete its send.
TEST_F(DeviceWorkTest, OpenGroupWaitsForTheOperationThatAnotherHasOpen) {
  Rank("[ >1 <2 ]");
  Rank("[ >2 <0 ]");
  Rank("[ >0 <1 ]");
  for (DeviceCall& call : calls_) call.exact = true;
  calls_[0].done = calls_[1].done = true;
  Analyze();
  EXPECT_THAT(Open(1), ElementsAre(">2"));
  EXPECT_THAT(Open(2), ElementsAre("<1"));
}

TEST_F(DeviceWorkTest, WaitingHostMeansThatTheLastOperationIsNotComplete) {
  Rank("A1 A2");
  Rank("A1 A2");
  waits_.push_back({.process = 0, .stream = 1, .any_stream = false, .launch = 2});
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("A2"));
  EXPECT_THAT(Open(1), ElementsAre("A2"));  // nothing shows that it is complete there
}

TEST_F(DeviceWorkTest, WaitingHostDoesNotContradictKnownCompletions) {
  Rank("A1 A2");
  Rank("A1 A2");
  calls_[2].done = calls_[3].done = true;
  waits_.push_back({.process = 0, .stream = 1, .any_stream = false, .launch = 2});
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("A2"));
  EXPECT_THAT(Open(1), ElementsAre());
}

TEST_F(DeviceWorkTest, WaitForTwoStreamsIsForTheOneThatIsNotComplete) {
  Rank("A1 / B1");
  Rank("A1 / B1");
  calls_[3].done = true;
  waits_.push_back({.process = 0, .stream = 0, .any_stream = true, .launch = 2});
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("A1"));
  EXPECT_THAT(Open(1), ElementsAre("A1"));
}

TEST_F(DeviceWorkTest, LaterOperationsOfTheStreamAreNotComplete) {
  Rank("A1 A2");
  Rank("A1 A2");
  waits_.push_back({.process = 0, .stream = 1, .any_stream = false, .launch = 1});
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("A1", "A2"));
}

// The record of rank 1's call is lost, but its member has counted the call: the rank is not late.
TEST_F(DeviceWorkTest, CallWithALostRecordIsNotMissing) {
  Rank("A1 A2");
  Rank("A1 A2");
  calls_.erase(calls_.begin() + 2);
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre());
}

// The abort ends the operation only in the stream of its own rank.
TEST_F(DeviceWorkTest, AbortedOperationIsNeitherOpenNorComplete) {
  Rank("A1 B1");
  Rank("A1 B1");
  calls_[0].stopped = true;
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("B1"));
  EXPECT_THAT(Open(1), ElementsAre("A1", "B1"));
  EXPECT_EQ(trace_.members[0].completed, 0u);
}

TEST_F(DeviceWorkTest, OperationsWithOtherArgumentsDoNotMatch) {
  Rank("A1");
  Rank("A1");
  trace_.arguments.push_back(trace_.arguments[0]);
  trace_.arguments.back().semantic_hash = 7;
  calls_[1].event.arguments = static_cast<uint32_t>(trace_.arguments.size() - 1);
  Analyze();
  EXPECT_THAT(Open(0), ElementsAre("A1"));
  EXPECT_THAT(Open(1), ElementsAre("A1"));
}

}  // namespace
}  // namespace rollcall
