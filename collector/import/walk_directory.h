// SPDX-License-Identifier: Apache-2.0
// Walks the files below an input directory, for all importers.
#ifndef ROLLCALL_COLLECTOR_IMPORT_WALK_DIRECTORY_H_
#define ROLLCALL_COLLECTOR_IMPORT_WALK_DIRECTORY_H_

#include <functional>
#include <string>

namespace rollcall {

// Calls visit(file, its directory) for every regular file until a call returns false, in the order
// of names: the order in a directory depends on the file system, and a report must not. Links are
// not followed: an input has no links, and a link could lead anywhere. Visits at most four levels
// (<dir>/rings/x.ring, and a directory of run directories), and a million entries in each
// directory. Calls add_problem(directory, why) for directories that cannot be listed.
void WalkDirectory(const std::string& path,
                   const std::function<bool(const std::string&, const std::string&)>& visit,
                   const std::function<void(const std::string&, const std::string&)>& add_problem);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_WALK_DIRECTORY_H_
