// Whether the calls of a communicator's members under one sequence number match. MPI's rules,
// argument by argument (MPI 4.0, chapter 6; roots of intercommunicators 6.2.3, type signatures 6.1
// and 3.3.1).
#ifndef ROLLCALL_COLLECTOR_MATCHING_MATCH_RULES_H_
#define ROLLCALL_COLLECTOR_MATCHING_MATCH_RULES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// One member's call. `rank` and `arguments` as recorded; absent members are left out.
struct MemberCall {
  uint32_t member = 0;  // the caller's index for it
  int32_t rank = -1;    // in the communicator (its local group)
  const Arguments* arguments = nullptr;
  const Member* topology = nullptr;  // only its topology is used
  // The number of members that made it, including those whose record is missing: those had the same
  // operation, root and reduction, and possibly other data.
  size_t weight = 1;
};

enum class MismatchKind : uint8_t { kNone, kOperation, kRoot, kReduceOp, kDatatype, kCount };

// Indices into the given parties.
struct Mismatch {
  MismatchKind kind = MismatchKind::kNone;
  // The parties that differ from the majority, and the majority. Without a majority, `deviating` is
  // empty, `agreeing` has the first side and `others` the second.
  std::vector<uint32_t> deviating;
  std::vector<uint32_t> agreeing;
  std::vector<uint32_t> others;
  // One pair disagrees, and no other party shows which of the two is right: both are deviating.
  bool pair = false;
  bool cut_off = false;         // of a message: it is longer than its receive
  std::string deviating_value;  // "root 1", "MPI_MAX", "2 x MPI_INT"
  std::string agreeing_value;

  explicit operator bool() const { return kind != MismatchKind::kNone; }
};

// Bounds the work of one diagnosis on rules that compare every pair.
struct MatchBudget {
  uint64_t pairs_left = 50'000'000;
  bool exceeded = false;
};

// The first broken rule, in the order operation, root, reduction, datatype, count. Data that cannot
// be compared (an unknown datatype, truncated counts) breaks no rule. `notes` collects what works
// but the standard forbids: MPI_BYTE for another type with the same number of bytes.
Mismatch MatchCalls(const Trace& trace, const std::vector<MemberCall>& calls,
                    bool intercommunicator, MatchBudget* budget, std::vector<std::string>* notes);

// "MPI_Allreduce", "4 x MPI_INT, MPI_SUM", "root 0": for titles and lines.
std::string OperationName(Operation operation);
std::string ArgumentsText(const Trace& trace, const Arguments& arguments);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_MATCH_RULES_H_
