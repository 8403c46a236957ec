// SPDX-License-Identifier: Apache-2.0
// Runs a program once, like a job, with ranks of different speeds and a library that decides at
// random, and writes the records that the ranks would contain at the time of the observation.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_OBSERVE_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_OBSERVE_H_

#include <string>

#include "collector/model/trace.h"
#include "tests/oracle/generate.h"
#include "tests/oracle/loops/machine.h"

namespace rollcall::oracle::loops {

struct Observation {
  State state;               // at the time of the observation
  Library library;           // how it decided
  bool ended = true;         // no rank could move any more; otherwise the job was still running
  bool overwritten = false;  // rings may have lost their first records
  std::string text;          // the trace (tests/support/text_trace.md)
  // With the loops and branches of the source in two of three traces, as the importer finds them.
  Trace trace;
};

Observation Observe(const Program& program, const Machine& machine, Random* random);

}  // namespace rollcall::oracle::loops

#endif  // ROLLCALL_TESTS_ORACLE_LOOPS_OBSERVE_H_
