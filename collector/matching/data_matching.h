// SPDX-License-Identifier: Apache-2.0
// The matching rules for data: the type signatures that must be equal.
#ifndef ROLLCALL_COLLECTOR_MATCHING_DATA_MATCHING_H_
#define ROLLCALL_COLLECTOR_MATCHING_DATA_MATCHING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/matching/match_rules.h"

namespace rollcall {

// "4 × MPI_INT".
std::string DataText(const Trace& trace, uint32_t datatype, uint64_t count);

// Compares datatypes and counts by `rule`. All members call the same operation with the same root.
Mismatch MatchData(const Trace& trace, const std::vector<MemberCall>& calls, Rule rule,
                   bool intercommunicator, MatchBudget* budget, std::vector<std::string>* notes);

// Compares the two ends of one message (MPI 4.0, 3.3.1). The receive buffer may be larger than the
// message. MPI_PACKED matches any type, and so does MPI_BYTE with the same number of bytes. Returns
// no mismatch if the records do not decide.
Mismatch MatchMessage(const Trace& trace, const Arguments& sent, const Arguments& received);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_DATA_MATCHING_H_
