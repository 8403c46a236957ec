// Whatever a person hands to a command that reads traces: run directories, rings, journals,
// Flight Recorder dumps, bundles; as one Trace with its lines.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOAD_INPUTS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOAD_INPUTS_H_

#include <string>
#include <vector>

#include "collector/bundle/kept_sources.h"
#include "collector/import/flight_recorder/rank_pattern.h"
#include "collector/import/input_format.h"
#include "collector/import/machine.h"
#include "collector/import/stacks_text.h"
#include "collector/model/trace.h"

namespace rollcall {

struct FoundInput {
  InputFile file;
  const InputFormat* format = nullptr;  // never null
};

struct Inputs {
  Trace trace;
  std::vector<StacksText> stacks;  // of jobs that have no trace
  KeptSources sources;             // of bundles; Excerpt() reads the file where none has it
  std::vector<FoundInput> files;   // that hold traces, in the order of `inputs` and of their names
};

// Loads `inputs`: each a directory or a file of any InputFormat. In directories, four levels deep
// and not through links, those that cannot be a trace are passed over in silence. What cannot be
// read is a problem of the trace, and so is a missing rank.
//
// Quiet. A process that is alive is quiet if two looks at it, a moment apart, found no movement.
// One that is gone cannot move any more, but the rings alone do not tell whether it stood still
// before it was killed: it is quiet only if the journal says so of just this state. Process::quiet
// stays false otherwise, which leaves no verdict proven stuck.
//
// A process counts as gone (ProcessEnd::kVanished, unless the journal knows better) when its ring
// was made on this host and its process is not there; nothing is known of one in a pid namespace
// that may not be seen from here.
//
// Files are read by several threads; `machine` is asked by the caller's only. Throws nothing but
// std::bad_alloc. Never writes. Does not block on FIFOs or devices.
Inputs LoadInputs(const std::vector<std::string>& inputs,
                  const flight_recorder::RankPattern& pattern = {},
                  Machine& machine = ThisMachine());

// Gives frames to the codes that have none yet, from the files of this machine. File I/O.
void SymbolizeTrace(Trace* trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOAD_INPUTS_H_
