// SPDX-License-Identifier: Apache-2.0
// Derives a verdict from a trace. Pure: no I/O, clock, threads or state; the same trace gives the
// same report live, post-mortem and in CI. Safe to call from several threads on one trace.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DIAGNOSE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DIAGNOSE_H_

#include "collector/diagnosis/graph/options.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// Never throws for a trace whose indices are in range (importers ensure that). Nearly linear in the
// number of records. Symbolize the trace first to get lines. Without lines, call paths are compared
// by address.
Report Diagnose(const Trace& trace, const DiagnoseOptions& options = {});

// Compares the values and variables of the trace again, for variables that were read after the
// verdict. `report` is of this trace.
void UpdateValues(const Trace& trace, Report* report);

// Whether the job is over: no process is known to be alive. For traces that a job left.
bool HasEnded(const Trace& trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DIAGNOSE_H_
