// SPDX-License-Identifier: Apache-2.0
// Determines which operations on devices are still open, from the processes' records of completion
// and from the conclusions that all records together allow.
//
// A ring contains the newest launch of a stream that is known to be complete. This is exact if the
// device itself reports completion (ring::Mark). A host that waits only now and then knows less:
// operations that it enqueued since may have completed. Stream execution is therefore simulated: an
// operation completes as soon as all its members have it at the head of their streams. For example,
// with one stream on each rank and no known completion:
//
//   rank 0: AllReduce #1, AllReduce #2
//   rank 1: AllReduce #1
//
// #1 is at the head of both streams and completes. #2 is then at the head of rank 0's stream and
// lacks rank 1, so #2 is open on rank 0.
//
// If a host still waits for an operation that would have completed this way, the operation has
// completed only where it is known to have. Operations that remain cannot have completed, or wait
// for an operation that cannot. The simulation never makes a rank late that is not late. It also
// determines the first open operation of each stream, which no host knows.
#ifndef ROLLCALL_COLLECTOR_IMPORT_DEVICE_WORK_H_
#define ROLLCALL_COLLECTOR_IMPORT_DEVICE_WORK_H_

#include <cstdint>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// One enqueued operation: a copy of its event, and the event's place.
struct DeviceCall {
  uint32_t process = kNoIndex;
  uint64_t launch = 0;  // ring::Record::detail, or a number between two of them
  uint64_t stream = 0;
  bool done = false;   // known to be complete
  bool held = false;   // in an open group: no device knows of it
  bool exact = false;  // if not `done`, it is not complete
  // Aborted or revoked: neither complete nor open, so that no other member completes it.
  bool stopped = false;
  Event event;
};

// A host inside a call that waits for a stream, or for all (`any_stream`), up to `launch`.
struct HostWait {
  uint32_t process = kNoIndex;
  uint64_t stream = 0;
  bool any_stream = false;
  uint64_t launch = 0;
  uint32_t thread = 0;  // index into Process::threads
};

// Sets, for processes with `device`: open_requests, the end of operations that count as complete
// (end_ns; kNoTime for the others), and Member::completed. open_requests are sorted by age, the
// oldest first. Launches at the heads of several streams that lack no member are the exception: the
// same launch comes first on all processes. Requires joined communicators. Linear in the calls.
void SimulateStreams(std::vector<DeviceCall> calls, const std::vector<HostWait>& waits,
                     Trace* trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_DEVICE_WORK_H_
