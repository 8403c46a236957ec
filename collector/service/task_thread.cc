// SPDX-License-Identifier: Apache-2.0
#include "collector/service/task_thread.h"

#include <utility>

namespace rollcall::service {

TaskThread::TaskThread(std::function<void()> on_done)
    : on_done_(std::move(on_done)), thread_([this] { Run(); }) {}

TaskThread::~TaskThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TaskThread::Start(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    done_ = false;
    task_ = std::move(task);
  }
  changed_.notify_all();
}

void TaskThread::Run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || task_; });
    if (!task_) return;
    const std::function<void()> task = std::exchange(task_, {});
    lock.unlock();
    task();
    done_ = true;
    on_done_();
  }
}

}  // namespace rollcall::service
