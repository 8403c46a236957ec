// SPDX-License-Identifier: Apache-2.0
#include "collector/base/worker.h"

#include <utility>

namespace rollcall {

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::Add(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (tasks_.size() >= most_) return;
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void Worker::Run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
    if (stop_) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }
}

}  // namespace rollcall
