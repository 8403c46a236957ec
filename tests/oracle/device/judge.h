// SPDX-License-Identifier: Apache-2.0
// Compares the verdict of the diagnosis engine on one run of a program with the device oracle.
#ifndef ROLLCALL_TESTS_ORACLE_DEVICE_JUDGE_H_
#define ROLLCALL_TESTS_ORACLE_DEVICE_JUDGE_H_

#include <string>

#include "tests/oracle/device/generate.h"
#include "tests/oracle/device/machine.h"
#include "tests/oracle/device/observe.h"
#include "tests/oracle/judgement.h"

namespace rollcall::oracle::device {

// Compares the diagnosis as the other Judge() does:
//  - A proven hang cannot be resolved by any library, even if stalled hosts and devices
//    continue; or calls with one number (or the two ends of a message) do not match.
//  - No hang is found if all ranks complete in any case.
//  - Only mismatched calls are reported as mismatched, only dead ranks as dead, only stalled hosts
//    and devices as stalled, and only ranks that left a group open as such.
//  - Something is found if collectives that were made do not match and no rank moves any more.
//  - Nothing is found in a correct program, neither in its middle nor at its end.
Judgement Judge(const Generated& generated, const Machine& machine, const Observation& seen);

// The family of NCCL programs for case.h.
struct Devices {
  using Generated = device::Generated;
  using Machine = device::Machine;
  using Observation = device::Observation;
  using FaultKind = device::FaultKind;
  static constexpr std::span<const FaultInfo> kFaults = device::kFaults;
  static constexpr bool kNeverInconclusive = false;
  static constexpr bool kHasSources = false;
  static std::string Smaller(const Generated&) { return ""; }
};

}  // namespace rollcall::oracle::device

#endif  // ROLLCALL_TESTS_ORACLE_DEVICE_JUDGE_H_
