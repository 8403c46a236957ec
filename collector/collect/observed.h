// What a machine knew of a job besides its files, as the members of a bundle have it.
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

// What names a process in a journal, and its state there.
struct RingState {
  uint64_t id = 0;        // RingId()
  uint64_t activity = 0;  // RingActivity()
  RingWriter writer = {};
};

// Lines of observed.jsonl: that the process lived, or was gone without a word, and that it stood
// still. A reader takes them before the journals of the job, which know better how a process ended.
std::string DescribeProcess(const Process& process, const RingState& ring);

// Lines of observed.jsonl: what the code addresses of the trace mean.
std::string DescribeCodes(const Trace& trace);

// sources.jsonl: the lines of source that a report may show, read from this machine.
std::string DescribeSources(const Trace& trace);

}  // namespace rollcall::collect

#endif  // ROLLCALL_COLLECTOR_COLLECT_OBSERVED_H_
