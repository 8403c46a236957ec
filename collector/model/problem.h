// SPDX-License-Identifier: Apache-2.0
// A fact about the input that the user must know: a damaged file, a missing rank.
#ifndef ROLLCALL_COLLECTOR_MODEL_PROBLEM_H_
#define ROLLCALL_COLLECTOR_MODEL_PROBLEM_H_

#include <cstdint>
#include <string>

namespace rollcall {

// For programs. The message is for people.
enum class ProblemCode : uint8_t {
  kUnreadable,      // the operating system cannot read it
  kTruncated,       // cut off, empty, or never finished
  kDamaged,         // inconsistent, or against its format
  kForeign,         // has an unsupported format or byte order
  kUnknownVersion,  // an unsupported version of a supported format
  kOverLimit,       // larger than a limit
  kRefused,         // unsafe: a link in a bundle, an opcode that calls something
  kDuplicate,       // its process or name already exists
  kUnnamed,         // does not contain the rank that it belongs to
  kMissing,         // ranks, or a whole input, without traces
  kMissingNode,     // the collector did not get the rings of a node
  kMissingCalls,    // not all calls were recorded, or some cannot be distinguished
};

struct Problem {
  ProblemCode code = ProblemCode::kDamaged;
  std::string message = {};
  std::string source = {};  // file; empty: the whole input
  int64_t offset = -1;      // in the file; -1: unknown
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_PROBLEM_H_
