// What of the work that processes enqueued on devices is still open: from their own records of what
// completed, and from what all records together leave possible.
//
// A ring says up to which launch a stream is known to be complete, and that is exact where the
// device itself tells (ring::Mark). A host that only waits now and then knows less: of
// what it enqueued since, the beginning may be long done. So the streams are run in thought: an
// operation is taken to complete as soon as all its members have it at the head of their streams.
// Where a host still waits for what would have completed so, that has completed nowhere but where
// it is known to. What remains cannot have completed, or waits for what cannot. This never makes a
// rank late that is not, and says which operation stands first in each stream, which no host knows.
#ifndef ROLLCALL_COLLECTOR_IMPORT_DEVICE_WORK_H_
#define ROLLCALL_COLLECTOR_IMPORT_DEVICE_WORK_H_

#include <cstdint>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// One operation as it was enqueued: a copy of its event, and where the event itself stands.
struct DeviceCall {
  uint32_t process = kNoIndex;
  uint64_t launch = 0;  // ring::Record::detail
  uint64_t stream = 0;
  bool done = false;   // known to be complete
  bool held = false;   // in an open group: no device knows of it
  bool exact = false;  // not `done` means not complete
  // Aborted or revoked: neither complete nor open any more, so that no other member completes it.
  bool stopped = false;
  Event event;
};

// A host inside a call that waits for a stream, or for all (`any_stream`), as far as `launch`.
struct HostWait {
  uint32_t process = kNoIndex;
  uint64_t stream = 0;
  bool any_stream = false;
  uint64_t launch = 0;
  uint32_t thread = 0;  // index into Process::threads
};

// Fills in, for processes with `device`: open_requests (oldest first; of those at the heads of
// several streams that lack nobody, the same first everywhere), the end of operations that are
// taken to be complete (end_ns; kNoTime of the others), and Member::completed.
// Communicators are joined already. Linear in the calls.
void SimulateStreams(std::vector<DeviceCall> calls, const std::vector<HostWait>& waits,
                     Trace* trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_DEVICE_WORK_H_
