// SPDX-License-Identifier: Apache-2.0
// A thread that runs tasks for other threads, which continue meanwhile.
#ifndef ROLLCALL_COLLECTOR_BASE_WORKER_H_
#define ROLLCALL_COLLECTOR_BASE_WORKER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace rollcall {

// Thread-safe. Tasks run one after another, in their order, and must not throw.
class Worker {
 public:
  // Refuses a task if `most` wait.
  explicit Worker(size_t most = SIZE_MAX) : most_(most), thread_([this] { Run(); }) {}
  // Waits for the running task, and drops the others.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Add(std::function<void()> task);

 private:
  void Run();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_WORKER_H_
