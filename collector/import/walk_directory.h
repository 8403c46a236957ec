// The files below a directory of input, for every importer alike.
#ifndef ROLLCALL_COLLECTOR_IMPORT_WALK_DIRECTORY_H_
#define ROLLCALL_COLLECTOR_IMPORT_WALK_DIRECTORY_H_

#include <functional>
#include <string>

namespace rollcall {

// Calls visit(file, its directory) for every regular file, in the order of names: directory order
// is the file system's, and a report must not depend on it. Links are not followed: input has none,
// and one could lead anywhere. Four levels deep (<dir>/rings/x.ring, and a directory of run
// directories), at most a million entries each. complain(directory, why) hears of what cannot be
// listed.
void WalkDirectory(const std::string& path,
                   const std::function<void(const std::string&, const std::string&)>& visit,
                   const std::function<void(const std::string&, const std::string&)>& add_problem);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_WALK_DIRECTORY_H_
