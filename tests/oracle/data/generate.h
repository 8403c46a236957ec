// SPDX-License-Identifier: Apache-2.0
// Generates programs whose collectives carry data: those of the other oracle, with further steps,
// and with one fault in the data of one rank, or none.
#ifndef ROLLCALL_TESTS_ORACLE_DATA_GENERATE_H_
#define ROLLCALL_TESTS_ORACLE_DATA_GENERATE_H_

#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "tests/oracle/generate.h"
#include "tests/oracle/program.h"

namespace rollcall::oracle::data {

// FAULT(identifier, text, named, others): of the programs in which the fault took effect and all
// data was read, at least `named` percent must have a finding that names exactly the planted rank,
// and at most `others` percent of all may have one that names only other ranks.
#define ROLLCALL_ORACLE_DATA_FAULTS(FAULT)                              \
  FAULT(None, "none", 0, 0)                                             \
  FAULT(Reordered, "sums in another order on each rank", 0, 2)          \
  FAULT(NonFinite, "NaN or Inf in an input", 85, 1)                     \
  FAULT(MovedNonFinite, "NaN or Inf, also moved by other calls", 85, 1) \
  FAULT(Flip, "one bit of a result", 60, 1)                             \
  FAULT(Overwrite, "several elements of a result", 60, 2)               \
  FAULT(LastBit, "last bit of a sum", 50, 1)                            \
  FAULT(Same, "the same inputs on all ranks", 95, 1)                    \
  FAULT(Drift, "an input that was equal drifts", 50, 1)                 \
  FAULT(Replica, "a replica drifts", 55, 1)

ROLLCALL_DEFINE_FAULTS(ROLLCALL_ORACLE_DATA_FAULTS);

// What is peculiar in the data of the calls of one line, in a correct program.
enum class Style {
  kPlain,      // each rank has other data in each call
  kSame,       // all ranks have the same data, other data in each call
  kConstant,   // all ranks have the same data in all calls
  kFew,        // all ranks have the same data, of a few different values
  kPadding,    // the last element is NaN on all ranks
  kNoValue,    // some ranks pass an infinity to a minimum or maximum; there is no value on them
  kMoved,      // the root sends NaN
  kNegative,   // -0.0 and 0.0
  kReordered,  // the library adds in another order on each rank
};

// What is missing in the records.
enum class Variation { kNone, kSampled, kOverwritten, kUnread, kMissing };
inline constexpr std::string_view kVariations[] = {
    "everything is read", "sampled", "the first reads are overwritten", "a rank's data is not read",
    "a rank has no trace"};
inline constexpr int kVariationKinds = static_cast<int>(std::size(kVariations));

struct Fault {
  FaultKind kind = FaultKind::kNone;
  int rank = kNone;  // in the world; kNone for faults of nobody
  // The call of the rank, except for kReplica.
  int line = kNone;
  int at = kNone;
  uint64_t element = 0;  // modulo their number
  uint64_t bits = 0;     // a random number for the kind
};

// Calls of rollcall_replica() by every rank.
struct Replicas {
  int calls = 0;
  int elements = 0;
  int drifts_at = kNone;  // the first call in which the rank of the fault has other data
};

struct DataProgram {
  Program program;
  std::map<int, Style> styles;  // by line of code; others are plain
  Fault fault;
  Replicas replicas;
  Variation variation = Variation::kNone;
  int incomplete_rank = kNone;  // the rank of the variation; kNone: all
  int lost_percent = 0;         // of the reads of a rank, if they are overwritten
  // After a rank got a NaN or an infinity, so many percent of its inputs contain one.
  int spread_percent = 0;
  uint64_t seed = 0;  // of the data
};

DataProgram Generate(FaultKind kind, Random* random);

}  // namespace rollcall::oracle::data

#endif  // ROLLCALL_TESTS_ORACLE_DATA_GENERATE_H_
