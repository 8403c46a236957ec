// SPDX-License-Identifier: Apache-2.0
// Packs the traces of a job on this machine into one bundle.
#ifndef ROLLCALL_COLLECTOR_COLLECT_COLLECT_H_
#define ROLLCALL_COLLECTOR_COLLECT_COLLECT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/collect/environment.h"
#include "collector/import/machine.h"
#include "collector/model/trace.h"

namespace rollcall::collect {

struct CollectOptions {
  std::string rollcall_version;
  // Keep the source lines that a report may show: the lines around the user's frames.
  bool sources = false;
  // Used if no rank of the job is alive on this machine.
  Variables environment = {};
};

struct Collected {
  bool written = false;
  std::string error;  // why it was not written
  size_t rings = 0;
  size_t journals = 0;
  size_t dumps = 0;
  uint64_t trace_bytes = 0;   // of the files that went in
  uint64_t packed_bytes = 0;  // of the bundle
  std::vector<Problem> problems;
};

// Writes `inputs` (as for LoadInputs(), including bundles) to `path`, which appears complete. Rings
// are stored as images without unused parts. The bundle also gets the facts that only this machine
// can observe: which processes are alive and still, and the symbols of code addresses. Inputs of
// two jobs are refused. Waits a moment, like LoadInputs(), if ranks are alive. Throws
// std::bad_alloc only.
Collected Collect(const std::vector<std::string>& inputs, const std::string& path,
                  const CollectOptions& options, Machine& machine = ThisMachine());

}  // namespace rollcall::collect

#endif  // ROLLCALL_COLLECTOR_COLLECT_COLLECT_H_
