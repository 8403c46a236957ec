// SPDX-License-Identifier: Apache-2.0
// Builds a live trace of the job from the rings, journals and digests that the collector has.
#ifndef ROLLCALL_COLLECTOR_SERVICE_LIVE_TRACE_H_
#define ROLLCALL_COLLECTOR_SERVICE_LIVE_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/collect/evidence.h"
#include "collector/model/trace.h"
#include "collector/service/active_findings.h"
#include "collector/service/agent_queries.h"
#include "collector/service/agent_table.h"
#include "collector/service/job_state.h"

namespace rollcall::service {

struct LiveTrace {
  Trace trace;
  std::vector<Observed> observed;  // by process of the trace; may be shorter
  std::set<uint64_t> agents;       // whose rings are in the trace
  // Worlds in which a process ended after its ring was read: the trace is of two moments.
  std::set<uint32_t> ended_meanwhile;
  // Only if it is kept: the data that the trace was made of. Its own trace is empty.
  collect::Evidence evidence;
  std::map<uint64_t, size_t> evidence_nodes;  // by agent, in `evidence`
};

// Keeps the processes' CPU times from one live trace to the next. Not thread-safe.
class LiveTraceBuilder {
 public:
  // `run_task` runs a task, possibly on another thread, and returns when it is done. Agents and
  // state may change meanwhile; the rings must not.
  using RunTask = std::function<void(const std::function<void()>& task)>;
  LiveTraceBuilder(AgentTable* agents, const JobState* state, AgentQueries* queries,
                   RunTask run_task)
      : agents_(agents), state_(state), queries_(queries), run_task_(std::move(run_task)) {}

  struct Options {
    bool settle = false;  // the job is over, and its journals are used
    // The job was ended because its time was up, so the death of a process is no evidence that it
    // was still.
    bool time_is_up = false;
    // The images are moved from the queries' rings into the evidence, as far as memory permits.
    // Their CPU times are not recorded.
    bool keep_evidence = false;
  };
  LiveTrace Build(const Options& options);

 private:
  using Journals = std::map<uint64_t, std::shared_ptr<const NodeJournal>>;  // by agent
  struct Draft;

  // The activity of each process that is quiet by its digest.
  std::unordered_map<uint64_t, uint64_t> QuietProcesses() const;
  Observed Observe(uint64_t id, const IncomingRing& image);
  void AddRings(const Journals& journals, const std::unordered_map<uint64_t, uint64_t>& quiet,
                const Options& options, Draft* draft);
  void AddEnds(const Journals& journals, const Options& options, Draft* draft);
  void AddEvidence(Draft* draft);

  AgentTable* const agents_;
  const JobState* const state_;
  AgentQueries* const queries_;
  const RunTask run_task_;
  struct CpuSample {
    int64_t cpu_ns = 0;
    int64_t at_ns = 0;
    std::optional<double> share{};  // since the sample before
  };
  std::unordered_map<uint64_t, CpuSample> cpu_;  // by process
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_LIVE_TRACE_H_
