// The diagnosis engine against the oracle of devices: one program, one run of it, one verdict.
#ifndef ROLLCALL_TESTS_ORACLE_DEVICE_JUDGE_H_
#define ROLLCALL_TESTS_ORACLE_DEVICE_JUDGE_H_

#include <string>

#include "tests/oracle/device/generate.h"
#include "tests/oracle/device/machine.h"
#include "tests/oracle/device/observe.h"
#include "tests/oracle/judgement.h"

namespace rollcall::oracle::device {

// Compares as the other Judge() does:
//  - a hang that is called proven can be resolved by no library, not even if hosts and devices that
//    stand still go on; or calls under one number (or a message's two ends) do not fit;
//  - no hang is found where everything comes to its end anyhow;
//  - only what does not fit is called mismatched, only the dead dead, only a host that stalls
//    stalled, only a device that stalls stalled, only who left a group open is said to have;
//  - something is found where collectives that were made do not fit, and nobody moves any more;
//  - nothing at all is found in a correct program, in the middle of its way and at its end.
Judgement Judge(const Generated& generated, const Machine& machine, const Observation& seen);

// NCCL programs, as case.h takes them.
struct Devices {
  using Generated = device::Generated;
  using Machine = device::Machine;
  using Observation = device::Observation;
  using FaultKind = device::FaultKind;
  static constexpr std::span<const FaultInfo> kFaults = device::kFaults;
  static constexpr bool kNeverInconclusive = false;
  static std::string Smaller(const Generated&) { return ""; }
};

}  // namespace rollcall::oracle::device

#endif  // ROLLCALL_TESTS_ORACLE_DEVICE_JUDGE_H_
