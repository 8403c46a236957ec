// The evidence itself, aligned: what `rollcall show` prints.
#ifndef ROLLCALL_COLLECTOR_REPORT_SHOW_H_
#define ROLLCALL_COLLECTOR_REPORT_SHOW_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/diagnosis/graph/aligned_trace.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// UTF-8 that ends in a line break; or, if what was asked for is not there, why.
struct Shown {
  std::string text;
  std::string error;
};

struct TableOptions {
  std::string communicator;  // a name, or part of one; empty: those that tell something
  uint64_t sequence = 0;     // 0: of the report's findings, else where the ranks are
  uint64_t around = 3;       // numbers before and after it
};

// What each rank called under each number of a communicator; ranks that did the same are folded.
Shown ShowTable(const AlignedTrace& analysis, const Report& report, const TableOptions& options);

// The last calls of a rank, in the order in which it made them; of every process of that rank, if
// there are several worlds.
Shown ShowRank(const AlignedTrace& analysis, int32_t rank, size_t last);

// Where the threads of a rank were when they were looked at from outside.
Shown ShowThreads(const Trace& trace, int32_t rank);

// The calls of two ranks side by side, from where both are recorded: up to their first difference,
// `around` calls before it and twice as many behind it. The order of each is its own; numbers of
// communicators that both are in say what belongs together.
Shown ShowDifference(const AlignedTrace& analysis, int32_t left, int32_t right, size_t around);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_SHOW_H_
