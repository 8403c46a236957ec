// SPDX-License-Identifier: Apache-2.0
// What `rollcall --version` prints.
#ifndef ROLLCALL_CLI_VERSION_H_
#define ROLLCALL_CLI_VERSION_H_

#include <string>

namespace rollcall {

// The commit that was built; it ends in "-dirty" if tracked files were changed. "unknown" if the
// sources are no clone. cmake/commit.cmake generates the definition at each build.
extern const char* const kCommit;

// Three lines: the version, the commit, and the version of each format that is written.
std::string VersionText();

}  // namespace rollcall

#endif  // ROLLCALL_CLI_VERSION_H_
