// Runs a program once, as a job runs: with some order of steps and a library that decides as it
// likes; and writes down what the ranks' recorders would hold when somebody looks.
#ifndef ROLLCALL_TESTS_ORACLE_OBSERVE_H_
#define ROLLCALL_TESTS_ORACLE_OBSERVE_H_

#include <string>

#include "collector/model/trace.h"
#include "tests/oracle/generate.h"
#include "tests/oracle/machine.h"

namespace rollcall::oracle {

// What keeps a rank's wait from being a certain one, as it looks from outside.
struct Doubt {
  bool polls = false;
  bool tightly = false;
  int seconds = 0;  // for so long
  OtherThreads threads = OtherThreads::kWait;
};

struct Observation {
  State state;                // when somebody looked
  bool ended = true;          // nothing could move any more; else it was a look in passing
  int idle = 0;               // so many seconds nobody had moved
  std::vector<Doubt> doubts;  // by rank
  std::string text;           // the trace (tests/support/text_trace.md)
  Trace trace;
};

Observation Observe(const Program& program, const Machine& machine, Random* random);

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_OBSERVE_H_
