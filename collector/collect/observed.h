// SPDX-License-Identifier: Apache-2.0
// A machine's observations on a job besides its files, as members of a bundle.
#ifndef ROLLCALL_COLLECTOR_COLLECT_OBSERVED_H_
#define ROLLCALL_COLLECTOR_COLLECT_OBSERVED_H_

#include <cstdint>
#include <string>

#include "collector/base/byte_source.h"
#include "collector/base/process_table.h"
#include "collector/model/trace.h"

namespace rollcall::collect {

// Whether a member of a bundle is read as a ring.
bool IsRing(const std::string& name, ByteSource* bytes);

// Identifies a process in a journal, with its state.
struct RingState {
  uint64_t id = 0;        // RingId()
  uint64_t activity = 0;  // RingActivity()
  RingWriter writer = {};
};

// Lines of observed.jsonl: whether the process was alive or had vanished, and whether it was still.
// A reader applies them before the journals of the job, which know better how a process ended.
std::string DescribeProcess(const Process& process, const RingState& ring);

// Lines of observed.jsonl: the symbols of the trace's code addresses.
std::string DescribeCodes(const Trace& trace);

// sources.jsonl: the source lines that a report may show, read from this machine.
std::string DescribeSources(const Trace& trace);

}  // namespace rollcall::collect

#endif  // ROLLCALL_COLLECTOR_COLLECT_OBSERVED_H_
