// Whatever a person hands to a command that reads traces: run directories, rings, journals,
// Flight Recorder dumps, bundles; as one Trace with its lines.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOAD_INPUTS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOAD_INPUTS_H_

#include <string>
#include <vector>

#include "collector/import/bundle/sources.h"
#include "collector/import/flight_recorder/dump_files.h"
#include "collector/import/run_directory.h"
#include "collector/model/trace.h"

namespace rollcall {

struct Inputs {
  Trace trace;
  KeptSources sources;  // of bundles; Excerpt() reads the file where none has it
};

// Reads `inputs`, each recognised by its content, as LoadTrace() and FindDumpFiles() do; dumps in
// bundles, too. What cannot be read is a problem of the trace. Throws nothing but std::bad_alloc.
Inputs LoadInputs(const std::vector<std::string>& inputs,
                  const flight_recorder::RankPattern& pattern = {},
                  Machine& machine = ThisMachine());

// Gives frames to the codes that have none yet, from the files of this machine. File I/O.
void SymbolizeTrace(Trace* trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOAD_INPUTS_H_
