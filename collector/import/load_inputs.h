// SPDX-License-Identifier: Apache-2.0
// Loads any input of the commands that read traces (run directories, rings, journals, Flight
// Recorder dumps, bundles) into one Trace, and symbolizes it.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOAD_INPUTS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOAD_INPUTS_H_

#include <string>
#include <vector>

#include "collector/base/file.h"
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
  std::vector<StacksText> stacks;  // of jobs without a trace
  KeptSources sources;             // of bundles; Excerpt() reads the file if none has it
  std::vector<FoundInput> files;   // that hold traces, in the order of `inputs` and of their names
  std::vector<UniqueFd> held;  // of `files` that have no name; InputFile::PathToOpen() needs them
};

// An input of this name is a log that is read from standard input.
inline constexpr char kStandardInput[] = "-";

// Loads `inputs`: each is a directory or a file of any InputFormat. In directories (four levels
// deep, without following links), files that cannot be traces are ignored. Unreadable files are
// problems of the trace, and so is a missing rank.
//
// Memory rings. If rings of a run directory are not files, they are read from the processes of the
// directory's owner on this machine that hold them (FindMemoryRings()). If no process holds a ring,
// the agent's copy (kRingCopySuffix) is read. A copy does not make a live process quiet. A copy of
// a process that is gone does not make it quiet either while other processes live: they are newer
// than the copy.
//
// Quiet. A live process is quiet if two samples, a moment apart, found no movement. A process that
// is gone cannot move, but the rings alone do not show whether it was still before it was killed.
// It is quiet only if the journal reports it as quiet in this very state. Otherwise Process::quiet
// stays false, and no verdict is proven to hang.
//
// A process counts as gone (ProcessEnd::kVanished, unless the journal knows better) if its ring was
// made on this host and its process does not exist. A process in a pid namespace that cannot be
// seen from here has an unknown state.
//
// Files are read by several threads; only the caller's thread uses `machine`. Throws std::bad_alloc
// only. Never writes. Does not block on FIFOs or devices.
Inputs LoadInputs(const std::vector<std::string>& inputs,
                  const flight_recorder::RankPattern& pattern = {},
                  Machine& machine = ThisMachine());

// Symbolizes codes that have no frames yet, from the files of this machine. File I/O.
void SymbolizeTrace(Trace* trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOAD_INPUTS_H_
