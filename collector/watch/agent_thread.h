// SPDX-License-Identifier: Apache-2.0
// An agent with a thread of its own, for `rollcall run`.
#ifndef ROLLCALL_COLLECTOR_WATCH_AGENT_THREAD_H_
#define ROLLCALL_COLLECTOR_WATCH_AGENT_THREAD_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "collector/agent/agent.h"

namespace rollcall {

class AgentThread {
 public:
  AgentThread(agent::AgentOptions options, std::unique_ptr<agent::Transport> transport)
      : transport_(std::move(transport)),
        agent_(std::move(options), transport_.get()),
        thread_([this] { Run(); }) {}

  ~AgentThread() { Stop(); }

  // Makes the agent's thread call `work` soon; calls run in the order in which they were posted.
  void Post(std::function<void(agent::Agent&)> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    agent_.Wake();
  }

  // Ends the thread after it has run all posted work. The agent remains, for the caller's exclusive
  // use.
  agent::Agent& Stop() {
    stop_ = true;
    agent_.Wake();
    if (thread_.joinable()) thread_.join();
    return agent_;
  }

 private:
  static constexpr int kTimeoutMs = 1000;

  void Run() {
    for (bool last = false; !last;) {
      last = stop_;
      std::vector<std::function<void(agent::Agent&)>> work;
      {
        const std::lock_guard lock(mutex_);
        work.swap(work_);
      }
      for (const auto& item : work) item(agent_);
      if (!last) agent_.RunOnce(kTimeoutMs);
    }
  }

  std::unique_ptr<agent::Transport> transport_;
  agent::Agent agent_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<std::function<void(agent::Agent&)>> work_;
  std::thread thread_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_WATCH_AGENT_THREAD_H_
