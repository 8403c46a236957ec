// SPDX-License-Identifier: Apache-2.0
// Makes one Trace of the rings of any number of processes, hosts and jobs.
//
//   RingTraceBuilder builder;
//   for (…) builder.Add(ReadRing(file, path));
//   Trace trace = builder.Finish();
//
// Worlds. Processes with the same job key and the same world size form a world. If a rank occurs
// twice (the launcher restarted it, or the program called exec), the later start begins another
// world of that key. Communicators are joined by key within a world. A communicator with a single
// member is never joined.
//
// Events. A collective with a number, on a communicator that the ring still has, goes to its
// Member. Calls in the point-to-point ring go to Process::p2p. All other calls go to
// Process::lifecycle, including errors (with the sequence number of the failed call) and
// collectives on communicators that were freed and forgotten. A call in flight, or a request, is
// still known if the ring has lost its record, and is added. Ends come from the thread's next
// record, which describes the previous call: they are not later than the real end, or unknown.
// Channels are left empty if the ring had no room for all of them, because an incomplete count
// proves nothing.
//
// Times: CLOCK_REALTIME, one clock for all processes of a host; CorrectTimes() converts them to one
// clock for all. Cost: linear in records, even for malicious input. Not thread-safe.
#ifndef ROLLCALL_COLLECTOR_IMPORT_TRACE_BUILDER_H_
#define ROLLCALL_COLLECTOR_IMPORT_TRACE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collector/import/ring_import.h"
#include "collector/import/ring_reader.h"
#include "collector/model/trace.h"

namespace rollcall {

// A larger number of ranks is damage.
inline constexpr uint32_t kMaxRanks = 1u << 22;

// Determines the world of a process.
struct JobIdentity {
  uint64_t job_key;
  int32_t world_size;  // negative: unknown
  uint64_t start_ns;
};

class RingTraceBuilder {
 public:
  RingTraceBuilder() : importer_(&trace_) {}
  RingTraceBuilder(const RingTraceBuilder&) = delete;
  RingTraceBuilder& operator=(const RingTraceBuilder&) = delete;

  // About this many processes will be added.
  void Reserve(size_t processes);

  // Adds a process and the snapshot's problems. For an unusable snapshot only the problems are
  // added; a duplicate process is a problem. Returns the index of the process, which is also its
  // index in the finished trace.
  std::optional<uint32_t> Add(const RingSnapshot& snapshot);

  // For data besides rings: problems, how processes ended.
  Trace* trace() { return &trace_; }

  // The process with this RingId(); the newest if there are several.
  std::optional<uint32_t> FindProcess(uint64_t ring_id) const;

  // RingActivity() of the snapshot that was added as `process`.
  uint64_t Activity(uint32_t process) const { return activity_[process]; }
  // When recording of that process began; CLOCK_REALTIME.
  int64_t StartNs(uint32_t process) const { return static_cast<int64_t>(jobs_[process].start_ns); }

  // Joins the processes. Call once; the builder is empty afterwards.
  Trace Finish();

 private:
  void ReserveMembers(size_t more);
  void LinkGrown();
  void ForgetHandledExceptions();

  Trace trace_;
  RingImporter importer_;
  std::vector<uint64_t> activity_;  // by process
  std::vector<JobIdentity> jobs_;
  std::unordered_map<uint64_t, uint32_t> by_ring_id_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_TRACE_BUILDER_H_
