// SPDX-License-Identifier: Apache-2.0
// A thread that runs one task at a time for another thread, which continues meanwhile.
#ifndef ROLLCALL_COLLECTOR_SERVICE_TASK_THREAD_H_
#define ROLLCALL_COLLECTOR_SERVICE_TASK_THREAD_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace rollcall::service {

// One thread starts tasks; any thread may call done().
class TaskThread {
 public:
  // `on_done` is called on the task's thread after each task, when done() holds: the owner may wait
  // for other events as well. Neither it nor a task may throw.
  explicit TaskThread(std::function<void()> on_done);
  // Waits for the running task.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Requires done().
  void Start(std::function<void()> task);
  // What the task wrote is visible to a thread that reads true.
  bool done() const { return done_; }

 private:
  void Run();

  const std::function<void()> on_done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;  // empty: no task to start
  bool stop_ = false;
  std::atomic<bool> done_ = true;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_TASK_THREAD_H_
