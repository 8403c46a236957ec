// SPDX-License-Identifier: Apache-2.0
// Reads from a process's memory the start routines of its threads, without stopping the process.
#ifndef ROLLCALL_COLLECTOR_LIVE_THREAD_STARTS_H_
#define ROLLCALL_COLLECTOR_LIVE_THREAD_STARTS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "collector/live/process_image.h"

namespace rollcall {

// Returns by thread id the address of the start routine passed to pthread_create(); the main thread
// has none. Walks glibc's lists of threads with the layout that glibc exports for debuggers (the
// _thread_db_* symbols of libc.so.6, from 2.34 on, described in glibc's nptl_db/structs.def).
// (libthread_db itself cannot be used: it requires a symbol that stripped libraries lack.) Threads
// that start or end meanwhile may be missing. Empty if the layout is unavailable: another C
// library, a static one, or no permission to read the memory.
std::map<pid_t, uint64_t> ReadThreadStarts(const ProcessImage& image, const std::string& file_root);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_THREAD_STARTS_H_
