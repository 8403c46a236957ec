// Something about the input that the person must know: a damaged file, a missing rank.
#ifndef ROLLCALL_COLLECTOR_MODEL_PROBLEM_H_
#define ROLLCALL_COLLECTOR_MODEL_PROBLEM_H_

#include <cstdint>
#include <string>

namespace rollcall {

// What a program decides by; the message is for people.
enum class ProblemCode : uint8_t {
  kUnreadable,      // the system refuses it
  kTruncated,       // ends before its end, is empty, or was never finished
  kDamaged,         // contradicts itself or its format
  kForeign,         // of no format or byte order that is read
  kUnknownVersion,  // of a format that is read
  kOverLimit,       // more than is read or believed
  kRefused,         // might do harm: a link in a bundle, an opcode that calls something
  kDuplicate,       // of a process, or with a name, that is there already
  kUnnamed,         // does not say of which rank it is
  kMissing,         // ranks, or a whole input, without traces
  kMissingNode,     // a node whose rings the collector did not get
  kMissingCalls,    // calls were not all recorded, or cannot be told apart
};

struct Problem {
  ProblemCode code = ProblemCode::kDamaged;
  std::string message = {};
  std::string source = {};  // file; empty: the input as a whole
  int64_t offset = -1;      // in the file; -1: not known
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_PROBLEM_H_
