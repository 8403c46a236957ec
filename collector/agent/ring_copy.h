// SPDX-License-Identifier: Apache-2.0
// Copies rings so that they outlast their process, and frees memory that they do not need.
#ifndef ROLLCALL_COLLECTOR_AGENT_RING_COPY_H_
#define ROLLCALL_COLLECTOR_AGENT_RING_COPY_H_

#include <string>

namespace rollcall::agent {

// Writes the used parts of the ring `fd` to `directory`/`name`, mode 0600, completely or not at
// all. Creates the directory (0700) if it was removed. Returns false on failure.
bool CopyRing(int fd, const std::string& directory, const std::string& name);

// Releases the pages of `fd` that contain only zeros; reads still return the same data. Use it for
// rings that are no longer written: a ring is allocated completely, so that no write fails, but a
// short program uses little of it.
void FreeUnusedPages(int fd);

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_RING_COPY_H_
