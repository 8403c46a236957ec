// A thread that does one task at a time for another one, which goes on meanwhile.
#ifndef ROLLCALL_COLLECTOR_SERVICE_TASK_THREAD_H_
#define ROLLCALL_COLLECTOR_SERVICE_TASK_THREAD_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace rollcall::service {

// One thread starts tasks; done() may be asked by any.
class TaskThread {
 public:
  // `on_done` is called on the thread after each task, when done() holds: its owner may wait for
  // other things as well. Must not throw; neither must a task.
  explicit TaskThread(std::function<void()> on_done);
  // Waits for the task that was started.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Only while done().
  void Start(std::function<void()> task);
  // What the task wrote is visible to who sees true.
  bool done() const { return done_; }

 private:
  void Run();

  const std::function<void()> on_done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;  // empty: there is none to begin
  bool stop_ = false;
  std::atomic<bool> done_ = true;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_TASK_THREAD_H_
