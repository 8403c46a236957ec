// SPDX-License-Identifier: Apache-2.0
#include "collector/base/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace rollcall {
namespace {

using ::testing::ElementsAre;

TEST(WorkerTest, OwnerContinuesWhileATaskRuns) {
  std::promise<void> may_end;
  std::promise<int> result;
  Worker worker;
  worker.Add([&, ended = may_end.get_future().share()] {
    ended.wait();
    result.set_value(7);
  });
  may_end.set_value();
  EXPECT_EQ(result.get_future().get(), 7);
}

TEST(WorkerTest, RunsTasksInTheirOrder) {
  std::vector<int> ran;
  std::promise<void> done;
  Worker worker;
  for (int i = 0; i < 3; ++i) worker.Add([&ran, i] { ran.push_back(i); });
  worker.Add([&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_THAT(ran, ElementsAre(0, 1, 2));
}

TEST(WorkerTest, RefusesTasksIfTooManyWait) {
  std::promise<void> begun;
  std::promise<void> may_end;
  std::promise<void> done;
  std::vector<int> ran;
  Worker worker(2);
  worker.Add([&, ended = may_end.get_future().share()] {
    begun.set_value();
    ended.wait();
  });
  begun.get_future().wait();  // it waits no longer
  worker.Add([&] { ran.push_back(1); });
  worker.Add([&] {
    ran.push_back(2);
    done.set_value();
  });
  worker.Add([&] { ran.push_back(3); });
  may_end.set_value();
  done.get_future().wait();
  EXPECT_THAT(ran, ElementsAre(1, 2));
}

TEST(WorkerTest, DestructorWaitsForTheRunningTask) {
  std::promise<void> begun;
  bool ran = false;
  {
    Worker worker;
    worker.Add([&] {
      begun.set_value();
      ran = true;
    });
    begun.get_future().wait();
  }
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace rollcall
