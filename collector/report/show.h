// SPDX-License-Identifier: Apache-2.0
// The output of `rollcall show`: the recorded calls, aligned across ranks.
#ifndef ROLLCALL_COLLECTOR_REPORT_SHOW_H_
#define ROLLCALL_COLLECTOR_REPORT_SHOW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/diagnosis/graph/aligned_trace.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// UTF-8 text that ends with a newline, or an error that says why the requested data is missing.
struct Shown {
  std::string text;
  std::string error;
};

struct TableOptions {
  std::string communicator;  // a name, or a part of a name; empty: the relevant communicators
  uint64_t sequence = 0;     // 0: the number of the findings, or the position of the ranks
  uint64_t around = 3;       // sequence numbers before and after it
};

// Shows the call of each rank at each sequence number of a communicator. Ranks that did the same
// share a row.
Shown ShowTable(const AlignedTrace& analysis, const Report& report, const TableOptions& options);

// Shows the last calls of a rank, in the order in which it made them. If there are several worlds,
// shows every process with that rank.
Shown ShowRank(const AlignedTrace& analysis, int32_t rank, size_t last);

// Shows how many messages were sent, were received and are on their way, by pair of ranks and tag.
// `communicator` is as in TableOptions, but empty means all. `rank` -1: all ranks.
Shown ShowMessages(const AlignedTrace& analysis, const std::string& communicator, int32_t rank);

// Shows the values that were passed to rollcall_value(), by name and number. Ranks that passed the
// same value at the same line share a row. `rank` -1: all ranks.
Shown ShowValues(const AlignedTrace& analysis, int32_t rank);

// Shows the live stacks of a rank's threads.
Shown ShowThreads(const Trace& trace, int32_t rank);

// The calls of two processes side by side, beginning where both are recorded: `around` calls before
// the first difference and twice as many after it. Each side keeps its own order. Sequence numbers
// on shared communicators show which calls correspond.
struct CallDifference {
  static constexpr char kSame[] = "=";
  std::string left;  // "rank 0 on node1, pid 4711"
  std::string right;
  std::vector<std::string> notes;  // what was compared, and the result
  // Left call, sign (kSame or another), right call. If one side lacks the call, its cell is empty.
  std::vector<std::vector<std::string>> rows;
  size_t first = 0;  // the row of the first difference; rows.size() if there is none
};
CallDifference CompareCalls(const AlignedTrace& analysis, uint32_t left, uint32_t right,
                            size_t around);

// Shows CompareCalls() of two ranks.
Shown ShowDifference(const AlignedTrace& analysis, int32_t left, int32_t right, size_t around);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_SHOW_H_
