// A host process that is several ranks of one NCCL communicator (ncclCommInitAll, a thread for each
// GPU) into as many processes of the trace: what is judged is judged by ranks, and a rank is a
// process there.
//
// A rank of such a process is one of its devices: of every communicator it has the member that is
// on this device, with the calls made for it. Which device that is, NCCL said; where it did not,
// members of one communicator are told apart by their order, and that order is taken for the same
// in the next one. What is not a device's own (ends, threads, stacks) they all have.
//
// A process that knows MPI, too, is left as it is: its rank is MPI's.
#ifndef ROLLCALL_COLLECTOR_IMPORT_SPLIT_DEVICES_H_
#define ROLLCALL_COLLECTOR_IMPORT_SPLIT_DEVICES_H_

#include <cstdint>
#include <vector>

#include "collector/import/device_work.h"
#include "collector/import/ring_import.h"
#include "collector/model/trace.h"

namespace rollcall {

// Appends the processes to the trace; the first device of a process keeps its index. `drafts` is by
// index in Trace::members. Before processes are joined.
void SplitByDevice(const std::vector<MemberDraft>& drafts, Trace* trace,
                   std::vector<DeviceCall>* calls, std::vector<HostWait>* waits);

// The ranks of a world in which a process was split: those of the NCCL communicator that has all of
// its devices, if there is one. True then; else nothing is changed.
bool NumberByCommunicator(const std::vector<MemberDraft>& drafts, uint32_t world, Trace* trace);
// Otherwise the devices of the first process come first, and so on.
void NumberInOrder(uint32_t world, Trace* trace);
// By world: whether a process of it was split.
std::vector<bool> SplitWorlds(const Trace& trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_SPLIT_DEVICES_H_
