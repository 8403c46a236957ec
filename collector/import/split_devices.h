// SPDX-License-Identifier: Apache-2.0
// Splits a host process that is several ranks of one NCCL communicator (ncclCommInitAll, one thread
// for each GPU) into as many processes of the trace. Findings are about ranks, and a rank is a
// process of the trace.
//
// A rank of such a process is one of its devices. It has the members of all communicators that are
// on this device, with the calls made for them. NCCL reports the device of a member. If it does
// not, the members of one communicator are distinguished by their order, which is assumed to be the
// same in the next communicator. Data that does not belong to a device (ends, threads, stacks)
// belongs to all devices of the process.
//
// A process that also uses MPI is not split: its rank is MPI's.
#ifndef ROLLCALL_COLLECTOR_IMPORT_SPLIT_DEVICES_H_
#define ROLLCALL_COLLECTOR_IMPORT_SPLIT_DEVICES_H_

#include <cstdint>
#include <vector>

#include "collector/import/device_work.h"
#include "collector/import/ring_import.h"
#include "collector/model/trace.h"

namespace rollcall {

// Appends the processes to the trace; the first device of a process keeps its index. `drafts` is by
// index in Trace::members. Call it before processes are joined.
void SplitByDevice(const std::vector<MemberDraft>& drafts, Trace* trace,
                   std::vector<DeviceCall>* calls, std::vector<HostWait>* waits);

// Numbers the ranks of a world in which a process was split like those of the NCCL communicator
// that has all of its devices. False, without a change, if there is none.
bool NumberByCommunicator(const std::vector<MemberDraft>& drafts, uint32_t world, Trace* trace);
// Otherwise: the devices of the first process come first, and so on.
void NumberInOrder(uint32_t world, Trace* trace);
// By world: whether a process of it was split.
std::vector<bool> SplitWorlds(const Trace& trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_SPLIT_DEVICES_H_
