// Copies of ring files that outlast what made them.
#ifndef ROLLCALL_COLLECTOR_AGENT_RING_COPY_H_
#define ROLLCALL_COLLECTOR_AGENT_RING_COPY_H_

#include <string>

namespace rollcall::agent {

// Writes what is used of the ring `fd` to `directory`/`name`, mode 0600, whole or not at all; the
// directory is made again (0700) if somebody removed it. False if it could not.
bool CopyRing(int fd, const std::string& directory, const std::string& name);

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_RING_COPY_H_
