// Who waits for whom on devices: operations that are enqueued on streams and run there (NCCL, from
// Flight Recorder dumps), where no call blocks and a rank's calls say little.
//
// What is known of a rank is the list of what it enqueued and what of it has not completed. Its
// *oldest* open operation waits for nothing of its own: only for members that have not enqueued it
// (their host is behind) and for members that have something older open (their device is busy with
// that first). Everything younger may wait for the oldest, through streams or through the host, and
// says nothing about causes. So the graph has one edge from each rank to its oldest open operation,
// and edges from there to the members that hold it up. A rank without anything open, for which
// others wait, has the cause in its host; one that lacks what another member has completed, in its
// device: whoever completed an all_reduce had the contribution of all, so that nothing but that
// rank's own device is left to wait for.
//
// `started` is not relied on: dumps often lack it (FlightRecorder records it only with timing on).
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEVICE_WAITS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEVICE_WAITS_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/graph/wait_graph.h"
#include "collector/matching/communicator_history.h"
#include "collector/model/trace.h"

namespace rollcall {

// An operation that is some rank's oldest open one. All lists are of processes.
struct DeviceOperation {
  uint32_t communicator = kNoIndex;
  uint64_t sequence = 0;       // of a collective; 0: a message
  uint32_t sender = kNoIndex;  // of a message; kNoIndex if its trace is absent
  uint32_t receiver = kNoIndex;
  uint64_t nth = 0;               // of the messages between the two that are on record
  const Event* event = nullptr;   // of one that has it open
  std::vector<uint32_t> first;    // have it open, and nothing older
  std::vector<uint32_t> behind;   // have enqueued it behind something else
  std::vector<uint32_t> missing;  // have not enqueued it
  std::vector<uint32_t> unknown;  // members with a trace that does not tell
  std::vector<uint32_t> done;     // have completed it
  std::vector<uint32_t> idle;     // of `first`: not started, although others have
  std::vector<int32_t> absent;    // world ranks of members without a trace
  bool judged = true;             // false: its other side is not known (a receive from any rank)

  bool IsMessage() const { return sequence == 0; }
};

// A rank that lacks what another member has completed.
struct DeviceLag {
  uint32_t process = kNoIndex;
  uint32_t communicator = kNoIndex;
  uint64_t sequence = 0;  // the first such number; 0: a message
  const Event* event = nullptr;
};

// The first message between two ranks whose two sides do not describe the same data; judged only
// where every message between them is on record.
struct DeviceUneven {
  uint32_t communicator = kNoIndex;
  uint32_t sender = kNoIndex;
  uint32_t receiver = kNoIndex;
  uint64_t nth = 0;  // as DeviceOperation's
  const Event* send = nullptr;
  const Event* recv = nullptr;
};

struct DeviceWaits {
  std::vector<DeviceOperation> operations;
  std::vector<uint32_t> oldest;  // by process: index into operations; kNoIndex if nothing is open
  std::vector<DeviceLag> lags;   // by rising process
  std::vector<DeviceUneven> uneven;
  bool any = false;  // there are device processes at all
};

// Linear in open requests and in the members of their communicators.
DeviceWaits BuildDeviceWaits(const Trace& trace, const std::vector<CommunicatorHistory>& histories);

// Nobody can complete one of these before every member has begun it.
bool NeedsAll(Operation operation);

// Its member aborted or revoked the communicator with this operation on it: it takes no part in it.
// Where the operation is open, the answer is not asked for.
bool HasStopped(const Member& member, const Event* event);

// The oldest open operation that its device knows of; nullptr if there is none. What stands in an
// open group is not handed over.
const OpenRequest* OldestHandedOver(const Process& process);
bool IsHeld(const Process& process, uint32_t member, uint64_t sequence);
bool IsHeldMessage(const Process& process, const Event& event);

// What one group handed over completes as a whole. Holds somebody who has no part in the open
// `event` another operation of its launch up on this process? Then that may be what stands still.
bool MayBeHeldByItsGroup(const Trace& trace, const std::vector<CommunicatorHistory>& histories,
                         uint32_t process, const Event& event);

// Marks device processes with something open as waiting, for what asks only that.
void MarkDeviceWaiters(const Trace& trace, WaitGraph* graph);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEVICE_WAITS_H_
