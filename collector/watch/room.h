// SPDX-License-Identifier: Apache-2.0
// Checks that a process can have the resources that a watched job takes.
#ifndef ROLLCALL_COLLECTOR_WATCH_ROOM_H_
#define ROLLCALL_COLLECTOR_WATCH_ROOM_H_

#include <string>

namespace rollcall {

// Takes the threads, memory and descriptors that a watched job needs, and gives them back. Returns
// the missing resource as a text for the user; empty: nothing is missing. Call it before gRPC is
// used: if gRPC cannot start a thread, it continues without that thread and later waits for it
// forever.
//
// The limit of processes counts threads, and applies to all processes of the user together. The job
// needs a part of what is left, so twice as many threads are taken as rollcall uses.
std::string MissingResource();

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_WATCH_ROOM_H_
