// Ring files that outlast what made them: copies, and what they need not take.
#ifndef ROLLCALL_COLLECTOR_AGENT_RING_COPY_H_
#define ROLLCALL_COLLECTOR_AGENT_RING_COPY_H_

#include <string>

namespace rollcall::agent {

// Writes what is used of the ring `fd` to `directory`/`name`, mode 0600, whole or not at all; the
// directory is made again (0700) if somebody removed it. False if it could not.
bool CopyRing(int fd, const std::string& directory, const std::string& name);

// Gives the pages of `fd` that hold nothing but zeros back to the system; what is read stays the
// same. For a ring that nobody writes any more: rings are allocated whole, so that no write fails,
// and a short program uses little of its own.
void FreeUnusedPages(int fd);

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_RING_COPY_H_
