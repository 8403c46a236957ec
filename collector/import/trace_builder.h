// From the rings of any number of processes, hosts and jobs to one Trace.
//
//   RingTraceBuilder builder;
//   for (…) builder.Add(ReadRing(file, path));
//   Trace trace = builder.Finish();
//
// Worlds. Processes with one job key and one world size form a world; when a rank is there twice
// (the launcher restarted it, the program ran exec), the later start begins another world of that
// key. Communicators are joined by key within a world. One with a single member is never joined.
//
// Events. A collective with a number on a communicator that the ring still knows goes to its
// Member; calls in the point-to-point ring to Process::p2p; the rest to Process::lifecycle,
// also errors (with the sequence number of the call that failed) and collectives on communicators
// that have been freed and forgotten. A call in flight, or a request, whose record the ring has
// lost is known all the same, and added. Ends come from what the thread's next record says of the
// previous call, so they are at the latest when the call really ended, or unknown. Channels are
// left empty when the ring had no room for all of them, as a count that may be missing proves
// nothing.
//
// Times: CLOCK_REALTIME, one clock for all processes of a host; CorrectTimes() makes it one for
// all. Cost: linear in records; hostile input included. Not thread-safe.
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

// More ranks than this come from damage.
inline constexpr uint32_t kMaxRanks = 1u << 22;

// What decides in which world a process belongs.
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

  // So many processes will be added, or about as many.
  void Reserve(size_t processes);

  // Adds a process and the snapshot's problems. An unusable snapshot adds the problems only,
  // and one of a process that is already there is a problem.
  // Returns the index of the process, which is also its index in the finished trace.
  std::optional<uint32_t> Add(const RingSnapshot& snapshot);

  // For what is known about the input besides rings: problems, how processes ended.
  Trace* trace() { return &trace_; }

  // The process with this RingId(), the newest if there are several.
  std::optional<uint32_t> FindProcess(uint64_t ring_id) const;

  // RingActivity() of the snapshot that was added as `process`.
  uint64_t Activity(uint32_t process) const { return activity_[process]; }
  // When that process began to be recorded; CLOCK_REALTIME.
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
