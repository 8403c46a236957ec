// SPDX-License-Identifier: Apache-2.0
// Steers the calls of this rank as the plan of the run says (proto/steer_plan.h).
//
// Below the recorder: the recorder's next function is this library's, so the records show the
// program's own calls. Thread-safe. While a call waits here, it lets MPI make progress.
#ifndef ROLLCALL_SHIM_STEER_STEERING_H_
#define ROLLCALL_SHIM_STEER_STEERING_H_

#include <cstdint>

#include "proto/operations.h"
#include "proto/steer_plan.h"
#include "shim/arguments.h"
#include "shim/library.h"

namespace rollcall::shim {

// Joins the run that this process belongs to. Called after MPI_Init and by the first steered call;
// later calls do nothing.
void JoinSteeredRun(const Library& library);

// One call of the program, from before the real function until after it.
class SteeredCall {
 public:
  // Waits as long as the plan says. `library` may be nullptr: then nothing is steered.
  SteeredCall(const OperationInfo& info, const Library* library, const Arguments& arguments);
  ~SteeredCall();
  SteeredCall(const SteeredCall&) = delete;
  SteeredCall& operator=(const SteeredCall&) = delete;

  // Whether the call must be replaced by its synchronous form.
  bool synchronous() const { return synchronous_; }
  // Called once after the real function.
  void Finish(int returned, const Arguments& arguments);

 private:
  void SteerSend(const Arguments& arguments);

  const OperationInfo& info_;
  const Library* library_;  // nullptr: nothing is steered
  bool synchronous_ = false;
  uint64_t chosen_ = 0;  // the lines of Plan::first whose chosen message this call sends, as bits
};

// Around a call inside which the calls of the MPI library are not those of the program.
class CoveredCall {
 public:
  CoveredCall();
  ~CoveredCall();
  CoveredCall(const CoveredCall&) = delete;
  CoveredCall& operator=(const CoveredCall&) = delete;
};

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STEER_STEERING_H_
