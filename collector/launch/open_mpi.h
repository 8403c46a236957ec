// What rollcall has to know of Open MPI 4.1's launcher (ORTE): where its jobs may run, and how it
// finds the program that it was given.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_OPEN_MPI_H_
#define ROLLCALL_COLLECTOR_LAUNCH_OPEN_MPI_H_

#include <map>
#include <string>
#include <vector>

namespace rollcall {

// Whether `command`, in that environment, certainly starts its ranks on this node alone: it is
// Open MPI's launcher itself, and nothing names a host: no option, no variable, no resource
// manager, no configuration file. False where that cannot be seen, for a script, say. False, too,
// where the line gives the ranks another LD_PRELOAD. What the program spawns onto hosts that it
// names itself is not seen.
bool StaysOnThisNode(const std::vector<std::string>& command,
                     const std::map<std::string, std::string>& environment);

// In a process that Open MPI started: the file that it would run for `program`
// (orte/util/context_fns.c, opal/util/path.c): as it is if it has a slash; otherwise searched for
// in
// `--path`'s directories, in PATH, and in the working directory if PATH has no ".". Empty if there
// is none, or if this is no process of Open MPI's.
std::string FileOfOpenMpi(const std::string& program);

// `--index-argv-by-rank` adds "-<rank>" to the first word that Open MPI runs, and that is this
// program, `own`, where it is the fork agent. Returns what was added.
std::string RankIndex(const std::string& own);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_OPEN_MPI_H_
