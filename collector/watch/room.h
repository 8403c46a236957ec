// Whether a process may have what a watched job takes.
#ifndef ROLLCALL_COLLECTOR_WATCH_ROOM_H_
#define ROLLCALL_COLLECTOR_WATCH_ROOM_H_

#include <string>

namespace rollcall {

// Takes the threads, memory and descriptors that a watched job needs, and gives them back. Returns
// what could not be had, as a text for the user; empty: nothing is missing. Call it before gRPC is
// used, which goes on without a thread that it cannot start, and then waits for it forever.
//
// The limit of processes counts threads, and holds for the user, not for one process: the job needs
// some of what is left, so twice as many threads are taken as are used.
std::string LackOfRoom();

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_WATCH_ROOM_H_
