// From a trace to a verdict. Pure: no I/O, no clock, no thread, no state; the same trace gives the
// same report, live, after the fact and in CI. Safe to call from several threads on one trace.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DIAGNOSE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DIAGNOSE_H_

#include "collector/diagnosis/graph/options.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// Never throws on any trace whose indices are in range (importers see to that); near linear in the
// number of records. Symbolize the trace first for lines; without them, call paths are still
// compared.
Report Diagnose(const Trace& trace, const DiagnoseOptions& options = {});

// Of traces that were left behind: no process of it is known to live, so that the job is over.
bool HasEnded(const Trace& trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DIAGNOSE_H_
