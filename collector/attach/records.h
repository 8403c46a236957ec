// SPDX-License-Identifier: Apache-2.0
// Records that the ranks of a job made of their own calls, with rollcall or with PyTorch's Flight
// Recorder.
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

// The run directories of the rings that ranks on this machine have mapped, each once. The rings may
// be files or memory files. Only reads /proc.
std::vector<std::string> RunDirectories(const ProcSource& proc, const FoundJob& job);

// Requests a dump from the Flight Recorder of each rank on this machine, by the pipe that
// TORCH_NCCL_DEBUG_INFO_PIPE_FILE names (torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp), and
// copies the dumps into `directory`. Waits for at most `timeout`: PyTorch checks the pipe once a
// second. `notes`: ranks without a dump, and the reason.
void CopyFlightRecorderDumps(const ProcSource& proc, const FoundJob& job,
                             const std::string& directory, std::chrono::milliseconds timeout,
                             std::vector<std::string>* notes);

struct Recorded {
  Inputs inputs;
  DiagnoseOptions options;  // of the report
  Report report;
};

// Diagnoses `inputs`, which are as for LoadInputs(), with source lines.
Recorded DiagnoseRecords(const std::vector<std::string>& inputs);

// Whether the report of the records is preferable to the report of the stacks. Stacks have no
// history, so the report of the records is preferable unless it found nothing or is less certain.
bool IsMoreInformative(const Report& recorded, const Report& stacks);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_RECORDS_H_
