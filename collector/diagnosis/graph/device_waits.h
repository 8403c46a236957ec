// SPDX-License-Identifier: Apache-2.0
// Which ranks wait for which on devices: operations that are enqueued on streams and run there
// (NCCL, from Flight Recorder dumps). No call blocks, so a rank's current call shows little.
//
// The trace of a rank lists the operations that it enqueued, and which of them have not completed.
// The *oldest* open operation of a rank waits for no other operation of the rank. It waits only for
// members that have not enqueued it (their host lags) and for members with an older open operation
// (their device is busy with that operation first). Younger operations may wait for the oldest,
// through streams or the host, and show no causes. So the graph has one edge from each rank to its
// oldest open operation, and edges from there to the members that delay it. In
//   0: enqueues all_reduce 4xMPI_FLOAT @ main:20
//   1: computes @ main:18
// the oldest open operation of rank 0 waits for rank 1. If others wait for a rank with nothing
// open, as for rank 1, the cause is in its host. If a rank has not completed what another member
// has completed, the cause is in its device: completing an all_reduce requires the contributions of
// all ranks, so the operation can only wait for that rank's own device.
//
// `started` is not used, because dumps often lack it (FlightRecorder records it only with timing
// enabled).
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEVICE_WAITS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEVICE_WAITS_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/graph/wait_graph.h"
#include "collector/matching/communicator_history.h"
#include "collector/model/trace.h"

namespace rollcall {

// An operation that is the oldest open one of some rank. All lists are of processes.
struct DeviceOperation {
  uint32_t communicator = kNoIndex;
  uint64_t sequence = 0;       // of a collective; 0: a message
  uint32_t sender = kNoIndex;  // of a message; kNoIndex if its trace is missing
  uint32_t receiver = kNoIndex;
  uint64_t nth = 0;               // index among the recorded messages between the two
  const Event* event = nullptr;   // the call of a process that has it open
  std::vector<uint32_t> first;    // have it open, and nothing older
  std::vector<uint32_t> behind;   // have queued it after other work
  std::vector<uint32_t> missing;  // members that have not enqueued it
  std::vector<uint32_t> unknown;  // members whose trace does not show it
  std::vector<uint32_t> done;     // have completed it
  std::vector<uint32_t> idle;     // of `first`: have not started it, but others have
  std::vector<int32_t> absent;    // world ranks of members without a trace
  bool judged = true;             // false: its other side is not known (a receive from any rank)

  bool IsMessage() const { return sequence == 0; }
};

// A rank that has not completed an operation that another member has completed.
struct DeviceLag {
  uint32_t process = kNoIndex;
  uint32_t communicator = kNoIndex;
  uint64_t sequence = 0;  // the first such number; 0: a message
  const Event* event = nullptr;
};

// The first message between two ranks whose two sides do not describe the same data. Messages are
// compared only if every message between the two ranks is recorded.
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
  std::vector<DeviceLag> lags;   // by increasing process
  std::vector<DeviceUneven> uneven;
  bool any = false;  // there are device processes
};

// Linear in open requests and in the members of their communicators.
DeviceWaits BuildDeviceWaits(const Trace& trace, const std::vector<CommunicatorHistory>& histories);

// Whether no member can complete the operation before every member has begun it. False for the list
// forms of torch.distributed whose parts differ: a part may be empty and then needs no message.
bool NeedsAll(const Arguments& call);

// Whether the member aborted or revoked the communicator while this operation was on it, so that
// the member does not take part. Not meaningful while the operation is open.
bool HasStopped(const Member& member, const Event* event);

// The oldest open operation that was launched on the device; nullptr if there is none. Operations
// in an open group have not been launched. Requests of MPI and of Gloo do not run on the device.
const OpenRequest* OldestHandedOver(const Trace& trace, const Process& process);
bool IsHeld(const Process& process, uint32_t member, uint64_t sequence);
bool IsHeldMessage(const Process& process, const Event& event);

// Operations of one group complete together. Whether an operation of the same launch as the open
// `event` of `process` is also open on a process that does not have `event` open. If true, that
// operation may be the one that hangs.
bool MayBeHeldByItsGroup(const Trace& trace, const std::vector<CommunicatorHistory>& histories,
                         uint32_t process, const Event& event);

// Marks device processes with an open operation as waiting, for code that needs no more than that.
void MarkDeviceWaiters(const Trace& trace, WaitGraph* graph);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEVICE_WAITS_H_
