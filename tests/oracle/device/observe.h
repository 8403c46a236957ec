// SPDX-License-Identifier: Apache-2.0
// Runs a program once, with a random order of steps and a library that decides at random, and
// builds the trace that the ring importer would build of such a job: the calls of the hosts, the
// recorded progress of each device, and the rest as determined by collector/import/device_work.h.
#ifndef ROLLCALL_TESTS_ORACLE_DEVICE_OBSERVE_H_
#define ROLLCALL_TESTS_ORACLE_DEVICE_OBSERVE_H_

#include <string>

#include "collector/model/trace.h"
#include "tests/oracle/device/generate.h"
#include "tests/oracle/device/machine.h"

namespace rollcall::oracle::device {

struct Observation {
  State state;        // at the time of the observation
  bool ended = true;  // no step was possible any more; otherwise the job was still running
  ring::CompletionSource knowledge = ring::CompletionSource::kMarks;
  std::string text;  // readable text
  Trace trace;
};

Observation Observe(const Program& program, const Machine& machine, Random* random);

}  // namespace rollcall::oracle::device

#endif  // ROLLCALL_TESTS_ORACLE_DEVICE_OBSERVE_H_
