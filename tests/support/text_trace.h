// SPDX-License-Identifier: Apache-2.0
// A trace as text, for tests and discussion: the calls of a job, in lines that are easy to read.
//
//   ranks 4                                     # all in MPI_COMM_WORLD, called "world" here
//   comm group 0-2                              # a sub-communicator
//   repeat 3
//     0-3: Barrier @ main:20 > exchange:88      # the call path, outermost first: function:line
//     0-3: Allreduce sum 1xMPI_DOUBLE @ main:20 > exchange:97
//   end
//   1-3: waits in Barrier @ main:20 > exchange:88
//   0: waits in Allreduce sum 1xMPI_DOUBLE @ main:20 > exchange:97
//
// A line is RANKS: WHAT. Lines are in the order of events, and nothing moves after the last one.
// text_trace.md is the complete reference. Sequence numbers, requests, checkpoints, channels and
// times follow from the lines.
#ifndef ROLLCALL_TESTS_SUPPORT_TEXT_TRACE_H_
#define ROLLCALL_TESTS_SUPPORT_TEXT_TRACE_H_

#include <string>
#include <string_view>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

struct TextTraceResult {
  Trace trace;                      // of the lines before the first error
  std::vector<std::string> errors;  // "line 7: no operation is called 'Barier'"; empty if none
};

// Pure; bounded by the text's size times its repeat counts (at most 10 million events).
TextTraceResult ParseTextTrace(std::string_view text);

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_TEXT_TRACE_H_
