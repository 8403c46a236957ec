// SPDX-License-Identifier: Apache-2.0
#ifndef ROLLCALL_TESTS_SUPPORT_FAKE_MACHINE_H_
#define ROLLCALL_TESTS_SUPPORT_FAKE_MACHINE_H_

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "collector/import/machine.h"

namespace rollcall {

// A machine on which only the listed processes exist.
class FakeMachine : public Machine {
 public:
  std::string Hostname() override { return host; }
  Life LifeOf(const ring::FileHeader& header) override {
    if (header.pid_namespace == kHiddenNamespace) return Life::kUnknown;
    const auto it = processes.find(header.pid);
    const bool alive = it != processes.end() && it->second == header.process_start_ticks;
    return alive ? Life::kAlive : Life::kGone;
  }
  MemoryRings FindMemoryRings(uid_t user) override {
    return user == memory_rings_user ? std::move(memory_rings) : MemoryRings();
  }
  int64_t NowNs() override { return 1'700'000'100'000'000'000; }
  void Wait(std::chrono::milliseconds) override {
    ++waits;
    if (meanwhile) meanwhile();
  }

  static constexpr uint64_t kHiddenNamespace = 77;
  std::string host = "node1";
  std::map<uint32_t, uint64_t> processes;  // start ticks by pid
  MemoryRings memory_rings;                // for one load
  uid_t memory_rings_user = geteuid();
  std::function<void()> meanwhile;
  int waits = 0;
};

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_FAKE_MACHINE_H_
