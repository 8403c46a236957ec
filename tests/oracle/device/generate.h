// SPDX-License-Identifier: Apache-2.0
// Generates random NCCL programs: correct ones, built from one global order of steps that every
// rank follows, and the same programs with a planted fault, whose culprits are therefore known.
#ifndef ROLLCALL_TESTS_ORACLE_DEVICE_GENERATE_H_
#define ROLLCALL_TESTS_ORACLE_DEVICE_GENERATE_H_

#include <string_view>
#include <vector>

#include "tests/oracle/device/program.h"
#include "tests/oracle/generate.h"

namespace rollcall::oracle::device {

// FAULT(identifier, text, named, others): as ROLLCALL_ORACLE_FAULTS.
#define ROLLCALL_ORACLE_DEVICE_FAULTS(FAULT)                         \
  FAULT(None, "none", 0, 0)                                          \
  FAULT(Skipped, "collective skipped under a rank condition", 92, 2) \
  FAULT(Extra, "extra collective under a rank condition", 90, 5)     \
  FAULT(OtherOperation, "another operation", 98, 1)                  \
  FAULT(Root, "another root", 98, 1)                                 \
  FAULT(Reduction, "another reduction", 98, 1)                       \
  FAULT(Type, "another datatype", 98, 1)                             \
  FAULT(Count, "another count", 98, 1)                               \
  FAULT(Inversion, "two communicators in opposite order", 93, 3)     \
  FAULT(FaceToFace, "ring of sends without a group", 96, 1)          \
  FAULT(LostMessage, "send or receive left out", 90, 1)              \
  FAULT(OpenGroup, "group left open", 92, 1)                         \
  FAULT(Uneven, "uneven iterations", 75, 5)                          \
  FAULT(HostStalled, "host stalled", 97, 1)                          \
  FAULT(DeviceStalled, "device stalled", 20, 5)                      \
  FAULT(Died, "rank died", 95, 1)                                    \
  FAULT(Exited, "rank exited", 95, 1)                                \
  FAULT(LeftEarly, "rank ended early", 95, 1)                        \
  FAULT(Frozen, "network dead", 78, 9)

ROLLCALL_DEFINE_FAULTS(ROLLCALL_ORACLE_DEVICE_FAULTS);

struct Planted {
  FaultKind kind = FaultKind::kNone;
  std::vector<int> ranks;  // the culprits, in ascending order
  bool tie = false;        // as many culprits as other ranks
};

struct Generated {
  Program program;
  Planted planted;
};

Generated Generate(FaultKind kind, Random* random);

}  // namespace rollcall::oracle::device

#endif  // ROLLCALL_TESTS_ORACLE_DEVICE_GENERATE_H_
