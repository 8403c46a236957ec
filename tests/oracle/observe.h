// SPDX-License-Identifier: Apache-2.0
// Runs a program once, like a job, with a random order of steps and a library that decides at
// random, and writes the records that the ranks would contain at the time of the observation.
#ifndef ROLLCALL_TESTS_ORACLE_OBSERVE_H_
#define ROLLCALL_TESTS_ORACLE_OBSERVE_H_

#include <string>

#include "collector/model/trace.h"
#include "tests/oracle/generate.h"
#include "tests/oracle/machine.h"

namespace rollcall::oracle {

// A reason why the wait of a rank is uncertain for an observer.
struct Doubt {
  bool polls = false;
  bool tightly = false;
  int seconds = 0;  // the duration
  OtherThreads threads = OtherThreads::kWait;
};

struct Observation {
  State state;                // at the time of the observation
  bool ended = true;          // no step was possible any more; otherwise the job was still running
  int idle = 0;               // seconds since the last movement
  std::vector<Doubt> doubts;  // by rank
  std::string text;           // the trace (tests/support/text_trace.md)
  Trace trace;
};

// Is told what happens to collectives with data, in the order of the run. Calls that MPI rejects
// and initialisations of persistent ones have none.
class CollectiveWatcher {
 public:
  virtual ~CollectiveWatcher() = default;
  virtual void Entered(int line, int at) = 0;  // a persistent one: is started
  virtual void Completed(int line, int at) = 0;
  // Further lines of the trace's text, at its end.
  virtual std::string LastLines() = 0;
};

Observation Observe(const Program& program, const Machine& machine, Random* random,
                    CollectiveWatcher* watcher = nullptr);

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_OBSERVE_H_
