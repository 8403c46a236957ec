// What a hang left on this machine, into one bundle.
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
  // Keep the lines of source that a report may show: those around the user's frames.
  bool sources = false;
  // Where no rank of the job lives on this machine.
  Variables environment = {};
};

struct Collected {
  bool written = false;
  std::string error;  // why it was not
  size_t rings = 0;
  size_t journals = 0;
  size_t dumps = 0;
  uint64_t trace_bytes = 0;   // of the files that went in
  uint64_t packed_bytes = 0;  // of the bundle
  std::vector<Problem> problems;
};

// Writes `inputs` (as LoadInputs() takes them, bundles too) to `path`, which appears whole. Rings
// go in as their images, without unused parts, and with them what only this machine knows: which
// processes live and stand still, and what the code addresses mean. Inputs of two jobs are
// refused. Waits a moment, as LoadInputs() does, if ranks live. Throws std::bad_alloc only.
Collected Collect(const std::vector<std::string>& inputs, const std::string& path,
                  const CollectOptions& options, Machine& machine = ThisMachine());

}  // namespace rollcall::collect

#endif  // ROLLCALL_COLLECTOR_COLLECT_COLLECT_H_
