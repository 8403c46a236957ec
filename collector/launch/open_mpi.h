// SPDX-License-Identifier: Apache-2.0
// Knowledge about Open MPI's launchers (ORTE up to 4.1, PRRTE since 5.0): where their jobs may run,
// and how they find the program that they were given.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_OPEN_MPI_H_
#define ROLLCALL_COLLECTOR_LAUNCH_OPEN_MPI_H_

#include <map>
#include <string>
#include <vector>

namespace rollcall {

// Whether `command`, in that environment, certainly starts its ranks on this node only: it is Open
// MPI's launcher itself, and no option, variable, resource manager or configuration file names a
// host. False if this cannot be determined, for example for a script, and if the command line sets
// another LD_PRELOAD for the ranks. Does not detect processes that the program itself spawns on
// other hosts.
bool StaysOnThisNode(const std::vector<std::string>& command,
                     const std::map<std::string, std::string>& environment);

// In a process started by Open MPI: the file that Open MPI would run for `program`
// (ORTE: orte/util/context_fns.c, opal/util/path.c; PRRTE: src/util/context_fns.c). A name with a
// slash is used as it is; other names are searched for in `--path`'s directories, in PATH, and in
// the working directory if PATH has no ".". Empty if there is none, or if the process was not
// started by Open MPI.
std::string FileOfOpenMpi(const std::string& program);

// `--index-argv-by-rank` appends "-<rank>" to the first word that Open MPI runs. If this program,
// `own`, is the fork agent, that word is its own name. Returns what was appended.
std::string RankIndex(const std::string& own);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_OPEN_MPI_H_
