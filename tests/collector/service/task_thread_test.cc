// SPDX-License-Identifier: Apache-2.0
#include "collector/service/task_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

namespace rollcall::service {
namespace {

TEST(TaskThreadTest, OwnerContinuesWhileATaskRuns) {
  std::promise<void> may_end;
  std::promise<void> told;
  int result = 0;
  TaskThread tasks([&] { told.set_value(); });
  EXPECT_TRUE(tasks.done());
  tasks.Start([&, ended = may_end.get_future().share()] {
    ended.wait();
    result = 7;
  });
  EXPECT_FALSE(tasks.done());
  may_end.set_value();
  told.get_future().wait();
  EXPECT_TRUE(tasks.done());
  EXPECT_EQ(result, 7);
}

TEST(TaskThreadTest, RunsTasksOneAfterAnother) {
  std::mutex mutex;
  std::condition_variable changed;
  TaskThread tasks([&] {
    { const std::lock_guard lock(mutex); }
    changed.notify_all();
  });
  int count = 0;
  for (int i = 0; i < 1000; ++i) {
    tasks.Start([&] { ++count; });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return tasks.done(); });
  }
  EXPECT_EQ(count, 1000);
}

TEST(TaskThreadTest, DestructorWaitsForTheTask) {
  std::atomic<bool> ran = false;
  TaskThread([] {}).Start([&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace rollcall::service
