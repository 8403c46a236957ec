// The functions that a process' threads were started with, from its memory: nothing is stopped.
#ifndef ROLLCALL_COLLECTOR_LIVE_THREAD_STARTS_H_
#define ROLLCALL_COLLECTOR_LIVE_THREAD_STARTS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "collector/live/process_image.h"

namespace rollcall {

// By thread id, the address of the start routine that pthread_create() got; the main thread has
// none. Walks glibc's lists of threads with the layout that glibc exports for debuggers (the
// _thread_db_* symbols of libc.so.6, from 2.34 on, which nptl_db/structs.def of glibc describes).
// (libthread_db itself cannot be asked: it wants a symbol that stripped libraries lack.) Threads
// that begin or end meanwhile may be missing. Empty if the layout is not to be had: another C
// library, a static one, no right to read the memory.
std::map<pid_t, uint64_t> ReadThreadStarts(const ProcessImage& image, const std::string& file_root);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_THREAD_STARTS_H_
