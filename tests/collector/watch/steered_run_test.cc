// SPDX-License-Identifier: Apache-2.0
#include "collector/watch/steered_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "collector/base/file.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;

// The state as a rank maps it.
class Steered : public ::testing::Test {
 protected:
  void Create(const std::string& lines) {
    auto run = SteeredRun::Create(directory_.path(), "rollcall-steer 1\n" + lines);
    ASSERT_TRUE(run) << run.error();
    run_ = std::move(*run);
    const UniqueFd fd(open((run_->path() + steer::kStateSuffix).c_str(), O_RDWR));
    void* map =
        mmap(nullptr, sizeof(steer::State), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(map, MAP_FAILED);
    state_ = static_cast<steer::State*>(map);
  }
  void JoinAll(uint32_t size) { state_->world_size = state_->joined = size; }
  void TearDown() override {
    if (state_ != nullptr) munmap(state_, sizeof(steer::State));
  }

  TemporaryDirectory directory_;
  std::unique_ptr<SteeredRun> run_;
  steer::State* state_ = nullptr;
};

TEST_F(Steered, SaysWhoWasNotSteered) {
  Create("synchronous\n");
  EXPECT_THAT(run_->NotExplored(), HasSubstr("no rank was steered"));
  JoinAll(4);
  state_->joined = 3;
  EXPECT_EQ(run_->NotExplored(), "only 3 of 4 ranks were steered");
  state_->joined = 4;
  state_->strangers = 1;
  EXPECT_THAT(run_->NotExplored(), HasSubstr("beyond one MPI_COMM_WORLD"));
}

TEST_F(Steered, SaysWhatDidNotComeAbout) {
  Create("bound 70\nfirst 0 1:1 before 2:1\n");
  JoinAll(3);
  EXPECT_EQ(run_->NotExplored(), "the message was not sent");
  state_->received[0] = 1;
  EXPECT_EQ(run_->NotExplored(), "the other messages were not sent");
  state_->held[0] = 1;
  EXPECT_EQ(run_->NotExplored(), "");
  state_->given_up = 1;
  EXPECT_EQ(run_->NotExplored(), "the order did not come about within 70 ms");
}

TEST_F(Steered, SaysThatNothingWasSteered) {
  Create("synchronous\nbarriers\nslow 1 10\n");
  JoinAll(2);
  EXPECT_EQ(run_->NotExplored(), "no standard send was made");
  state_->sends = 1;
  EXPECT_EQ(run_->NotExplored(), "no such collective was made");
  state_->barriers = 1;
  EXPECT_EQ(run_->NotExplored(), "the call was not made");
  state_->delays = 1;
  EXPECT_EQ(run_->NotExplored(), "");
}

TEST_F(Steered, DoubtsBarriersBesideOtherProcesses) {
  Create("barriers\n");
  JoinAll(2);
  state_->strangers = 1;
  EXPECT_FALSE(run_->BarriersMayHang());
  state_->barriers = 1;
  EXPECT_TRUE(run_->BarriersMayHang());
  state_->strangers = 0;
  EXPECT_FALSE(run_->BarriersMayHang());
}

TEST_F(Steered, KnowsThatACallIsHeld) {
  Create("first 0 1:1 before 2:1\n");
  EXPECT_FALSE(run_->Holds());
  state_->holding = 1;
  EXPECT_TRUE(run_->Holds());
}

TEST(SteeredRun, RejectsAPlanByItsLine) {
  const TemporaryDirectory directory;
  const auto run = SteeredRun::Create(directory.path(), "rollcall-steer 1\nrebind\n");
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error(), HasSubstr("steer.plan:2: unknown word"));
}

}  // namespace
}  // namespace rollcall
