// SPDX-License-Identifier: Apache-2.0
// An agent's connection to a collector; the test takes the part of the collector.
#ifndef ROLLCALL_TESTS_SUPPORT_FAKE_TRANSPORT_H_
#define ROLLCALL_TESTS_SUPPORT_FAKE_TRANSPORT_H_

#include <sys/eventfd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "collector/agent/transport.h"
#include "collector/base/file.h"

namespace rollcall::agent {

// Connected from the start, as connection 1. Thread-safe. A request does not wake the agent, which
// reads it in its next iteration.
class FakeTransport : public Transport {
 public:
  uint64_t connection() const override {
    const std::lock_guard lock(mutex_);
    return connection_;
  }
  void Send(uint64_t connection, rpc::AgentMessage message) override {
    const std::lock_guard lock(mutex_);
    if (connection != connection_) return;
    sent_.push_back(std::move(message));
    changed_.notify_all();
  }
  bool HasRoom() const override {
    const std::lock_guard lock(mutex_);
    if (!has_room_) ++refusals_;
    changed_.notify_all();
    return has_room_;
  }
  std::vector<rpc::CollectorMessage> Receive() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(received_, {});
  }
  int wake_fd() const override { return wake_fd_.get(); }

  // The collector's side.
  void Ask(rpc::CollectorMessage message) {
    const std::lock_guard lock(mutex_);
    received_.push_back(std::move(message));
  }
  void Connect() {
    const std::lock_guard lock(mutex_);
    ++connection_;
  }
  void Disconnect() {
    const std::lock_guard lock(mutex_);
    connection_ = 0;
  }
  void SetRoom(bool has_room) {
    const std::lock_guard lock(mutex_);
    has_room_ = has_room;
  }
  std::vector<rpc::AgentMessage> Sent() const {
    const std::lock_guard lock(mutex_);
    return sent_;
  }
  // Returns the messages sent since the last call of Take() or Clear().
  std::vector<rpc::AgentMessage> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(sent_, {});
  }
  void Clear() { Take(); }
  // Waits until the messages sent satisfy `is_wanted`; false after a time limit.
  bool WaitFor(const std::function<bool(const std::vector<rpc::AgentMessage>&)>& is_wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return is_wanted(sent_); });
  }
  // Waits until HasRoom() has returned false `count` times; false after a time limit.
  bool WaitForRefusals(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return refusals_ >= count; });
  }

 private:
  static constexpr auto kPatience = std::chrono::seconds(20);

  const UniqueFd wake_fd_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  uint64_t connection_ = 1;
  bool has_room_ = true;
  mutable int refusals_ = 0;
  std::vector<rpc::AgentMessage> sent_;
  std::vector<rpc::CollectorMessage> received_;
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_TESTS_SUPPORT_FAKE_TRANSPORT_H_
