// SPDX-License-Identifier: Apache-2.0
// Checks whether the calls of a communicator's members with one sequence number match, by MPI's
// rules for each argument (MPI 4.0, chapter 6; intercommunicator roots 6.2.3, type signatures 6.1
// and 3.3.1).
#ifndef ROLLCALL_COLLECTOR_MATCHING_MATCH_RULES_H_
#define ROLLCALL_COLLECTOR_MATCHING_MATCH_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// One member's call, with `rank` and `arguments` as recorded. Absent members have no entry.
struct MemberCall {
  uint32_t member = 0;  // the index that the caller uses for the member
  int32_t rank = -1;    // in the communicator (its local group)
  const Arguments* arguments = nullptr;
  const Member* topology = nullptr;  // only its topology is used
  // The number of members that made this call, including members without a record. Those members
  // passed the same operation, root and reduction, but may have passed other data.
  size_t weight = 1;
};

enum class MismatchKind : uint8_t { kNone, kOperation, kRoot, kReduceOp, kDatatype, kCount };

// A member sends another member data that the other member does not expect.
struct DisagreeingPair {
  uint32_t sender = 0;  // indices into the given calls; in an incident, processes
  uint32_t receiver = 0;
  int32_t send_entry = -1;   // in the sender's array; -1: the sender passed no array
  int32_t recv_entry = -1;   // in the receiver's
  size_t others = 0;         // number of further pairs that disagree
  const char* pattern = "";  // what holds in all pairs that agree; the deviating member breaks it
};

// The vectors of members hold indices into the given calls.
struct Mismatch {
  MismatchKind kind = MismatchKind::kNone;
  // The members that differ from the majority, and the majority. Without a majority, `deviating` is
  // empty, `agreeing` has one side and `others` has the other side.
  std::vector<uint32_t> deviating;
  std::vector<uint32_t> agreeing;
  std::vector<uint32_t> others;
  // One pair disagrees, and no other member shows which of the two is right. Both are deviating.
  bool pair = false;
  std::optional<DisagreeingPair> between;  // if pairs of members are compared
  bool cut_off = false;                    // the message is longer than the receive buffer
  std::string deviating_value;             // "root 1", "MPI_MAX", "2 x MPI_INT"
  std::string agreeing_value;

  explicit operator bool() const { return kind != MismatchKind::kNone; }
};

// Bounds the work of one diagnosis for rules that compare every pair.
struct MatchBudget {
  uint64_t pairs_left = 50'000'000;
  bool exceeded = false;
};

// Returns the first violated rule, in the order operation, root, reduction, datatype, count. Data
// that cannot be compared (an unknown datatype, truncated counts) violates no rule. `notes`
// receives notes on calls that work although the standard forbids them: MPI_BYTE for another type
// with the same number of bytes.
Mismatch MatchCalls(const Trace& trace, const std::vector<MemberCall>& calls,
                    bool intercommunicator, MatchBudget* budget, std::vector<std::string>* notes);

// Texts for reports: "MPI_Allreduce", "4 x MPI_INT, MPI_SUM", "root 0".
std::string OperationName(Operation operation);
std::string ArgumentsText(const Trace& trace, const Arguments& arguments);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_MATCH_RULES_H_
