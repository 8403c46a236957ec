// SPDX-License-Identifier: Apache-2.0
// The files by which a run is steered: the plan and its state, in the run directory
// (proto/steer_plan.h).
#ifndef ROLLCALL_COLLECTOR_WATCH_STEERED_RUN_H_
#define ROLLCALL_COLLECTOR_WATCH_STEERED_RUN_H_

#include <memory>
#include <string>

#include "collector/base/result.h"
#include "proto/steer_plan.h"

namespace rollcall {

// Thread-safe after Create().
class SteeredRun {
 public:
  // Writes both files. `plan`: the text, which must be valid.
  static Result<std::unique_ptr<SteeredRun>> Create(const std::string& run_directory,
                                                    const std::string& plan);
  ~SteeredRun();
  SteeredRun(const SteeredRun&) = delete;
  SteeredRun& operator=(const SteeredRun&) = delete;

  const std::string& path() const { return path_; }           // of the plan
  bool Steers() const { return state_->joined.load() != 0; }  // any rank
  // Whether the steering library makes a call wait now.
  bool Holds() const { return state_->holding.load() != 0; }
  // Whether a wait for an order was given up.
  bool GaveUp() const { return state_->given_up.load() != 0; }
  // Whether added barriers may wait for processes that are not steered.
  bool BarriersMayHang() const {
    return state_->barriers.load() != 0 && state_->strangers.load() != 0;
  }
  // Why the run did not follow the plan; empty: it did.
  std::string NotExplored() const;

 private:
  SteeredRun(std::string path, const steer::Plan& plan, steer::State* state)
      : path_(std::move(path)), plan_(plan), state_(state) {}

  const std::string path_;
  const steer::Plan plan_;
  steer::State* const state_;  // in shared memory
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_WATCH_STEERED_RUN_H_
