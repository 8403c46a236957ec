// Random NCCL programs: correct ones, built along one global order of steps that every rank
// follows, and the same with a fault planted whose culprits are therefore known.
#ifndef ROLLCALL_TESTS_ORACLE_DEVICE_GENERATE_H_
#define ROLLCALL_TESTS_ORACLE_DEVICE_GENERATE_H_

#include <iterator>
#include <string_view>
#include <vector>

#include "tests/oracle/device/program.h"
#include "tests/oracle/generate.h"

namespace rollcall::oracle::device {

// FAULT(identifier, text, named): as ROLLCALL_ORACLE_FAULTS.
#define ROLLCALL_ORACLE_DEVICE_FAULTS(FAULT)                      \
  FAULT(None, "none", 0)                                          \
  FAULT(Skipped, "collective skipped under a rank condition", 92) \
  FAULT(Extra, "extra collective under a rank condition", 90)     \
  FAULT(OtherOperation, "another operation", 98)                  \
  FAULT(Root, "another root", 98)                                 \
  FAULT(Reduction, "another reduction", 98)                       \
  FAULT(Type, "another datatype", 98)                             \
  FAULT(Count, "another count", 98)                               \
  FAULT(Inversion, "two communicators in opposite order", 93)     \
  FAULT(FaceToFace, "ring of sends without a group", 96)          \
  FAULT(LostMessage, "send or receive left out", 90)              \
  FAULT(OpenGroup, "group left open", 92)                         \
  FAULT(Uneven, "uneven iterations", 75)                          \
  FAULT(HostStalled, "host stalled", 97)                          \
  FAULT(DeviceStalled, "device stalled", 20)                      \
  FAULT(Died, "rank died", 95)                                    \
  FAULT(Exited, "rank exited", 95)                                \
  FAULT(LeftEarly, "rank came to its end early", 95)              \
  FAULT(Frozen, "network dead", 78)

enum class FaultKind {
#define FAULT(identifier, text, named) k##identifier,
  ROLLCALL_ORACLE_DEVICE_FAULTS(FAULT)
#undef FAULT
};

constexpr std::string_view kFaultTexts[] = {
#define FAULT(identifier, text, named) text,
    ROLLCALL_ORACLE_DEVICE_FAULTS(FAULT)
#undef FAULT
};
constexpr int kNamedAtLeast[] = {
#define FAULT(identifier, text, named) named,
    ROLLCALL_ORACLE_DEVICE_FAULTS(FAULT)
#undef FAULT
};
inline constexpr int kFaultKinds = static_cast<int>(std::size(kFaultTexts));

struct Planted {
  FaultKind kind = FaultKind::kNone;
  std::vector<int> ranks;  // who does it; rising
  bool tie = false;        // as many do it as do not
};

struct Generated {
  Program program;
  Planted planted;
};

Generated Generate(FaultKind kind, Random* random);

}  // namespace rollcall::oracle::device

#endif  // ROLLCALL_TESTS_ORACLE_DEVICE_GENERATE_H_
