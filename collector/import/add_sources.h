// Reads the loops and branches of the user's sources into a trace.
#ifndef ROLLCALL_COLLECTOR_IMPORT_ADD_SOURCES_H_
#define ROLLCALL_COLLECTOR_IMPORT_ADD_SOURCES_H_

#include "collector/model/trace.h"

namespace rollcall {

// Of the files that the trace's frames name, those of the user's own code that can be read here.
// Does file I/O. Call it once the trace is symbolized.
void AddSources(Trace* trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_ADD_SOURCES_H_
