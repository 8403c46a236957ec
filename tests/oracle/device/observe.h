// Runs a program once, with some order of steps and a library that decides as it likes; and makes
// of it what the ring importer makes of such a job's recorders: calls as hosts made them, how far
// each host knows its device to be, and the rest settled by collector/import/device_work.h.
#ifndef ROLLCALL_TESTS_ORACLE_DEVICE_OBSERVE_H_
#define ROLLCALL_TESTS_ORACLE_DEVICE_OBSERVE_H_

#include <string>

#include "collector/model/trace.h"
#include "tests/oracle/device/generate.h"
#include "tests/oracle/device/machine.h"

namespace rollcall::oracle::device {

struct Observation {
  State state;        // when somebody looked
  bool ended = true;  // nothing could move any more; else it was a look in passing
  ring::GpuKnowledge knowledge = ring::GpuKnowledge::kMarks;
  std::string text;  // for a person
  Trace trace;
};

Observation Observe(const Program& program, const Machine& machine, Random* random);

}  // namespace rollcall::oracle::device

#endif  // ROLLCALL_TESTS_ORACLE_DEVICE_OBSERVE_H_
