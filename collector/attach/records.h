// What the ranks of a job recorded of their calls themselves: with rollcall, or with PyTorch's
// Flight Recorder.
#ifndef ROLLCALL_COLLECTOR_ATTACH_RECORDS_H_
#define ROLLCALL_COLLECTOR_ATTACH_RECORDS_H_

#include <chrono>
#include <string>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/base/proc_source.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/import/load_inputs.h"

namespace rollcall::attach {

// The run directories of the ring files that ranks on this machine have mapped, each once. Only
// reads /proc.
std::vector<std::string> RunDirectories(const ProcSource& proc, const FoundJob& job);

// Has the Flight Recorder of each rank on this machine write a dump, by the pipe that
// TORCH_NCCL_DEBUG_INFO_PIPE_FILE names (torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp), and
// copies the dumps into `directory`. Waits for them, `patience` at most: PyTorch looks at the pipe
// once a second. `notes`: of which ranks there is none, and why.
void CopyFlightRecorderDumps(const ProcSource& proc, const FoundJob& job,
                             const std::string& directory, std::chrono::milliseconds patience,
                             std::vector<std::string>* notes);

struct Recorded {
  Inputs inputs;
  DiagnoseOptions options;  // those of the report
  Report report;
};

// The verdict on `inputs` as LoadInputs() takes them, with lines.
Recorded DiagnoseRecords(const std::vector<std::string>& inputs);

// Whether the report of what was recorded tells more than that of the stacks, which lack the
// history: unless it found nothing, or is less certain.
bool TellsMore(const Report& recorded, const Report& stacks);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_RECORDS_H_
