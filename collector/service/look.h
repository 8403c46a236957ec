// One look at the job: a trace of the rings, journals and digests that the collector has.
#ifndef ROLLCALL_COLLECTOR_SERVICE_LOOK_H_
#define ROLLCALL_COLLECTOR_SERVICE_LOOK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/collect/evidence.h"
#include "collector/model/trace.h"
#include "collector/service/agent_queries.h"
#include "collector/service/agent_table.h"
#include "collector/service/job_state.h"
#include "collector/service/standing_findings.h"

namespace rollcall::service {

struct Look {
  Trace trace;
  std::vector<Observed> observed;  // by process of the trace, as far as it goes
  std::set<uint64_t> agents;       // whose rings are in the trace
  // Worlds of which a process ended after its ring was read: the picture is of two moments.
  std::set<uint32_t> ended_meanwhile;
  // With keep_evidence: what the trace was made of.
  collect::Evidence evidence;
  std::map<uint64_t, size_t> evidence_nodes;  // by agent, in `evidence`
};

// Keeps the processes' CPU times from one look to the next. Not thread-safe.
class LookBuilder {
 public:
  // `keep_evidence`: the images go into the look, and out of the queries' rings. `run_apart` runs a
  // task, perhaps on another thread, and returns when it is done; agents and state may change
  // meanwhile, the rings must not.
  using RunApart = std::function<void(const std::function<void()>& task)>;
  LookBuilder(bool keep_evidence, AgentTable* agents, const JobState* state, AgentQueries* queries,
              RunApart run_apart)
      : keep_evidence_(keep_evidence),
        agents_(agents),
        state_(state),
        queries_(queries),
        run_apart_(std::move(run_apart)) {}

  // `settle`: the job is over, and its journals are believed. `time_is_up`: it was ended for its
  // time, so that who was killed says nothing about who stood still.
  Look Build(bool settle, bool time_is_up);

 private:
  using Images = std::map<uint64_t, std::vector<uint8_t>>;                  // by ring id
  using Journals = std::map<uint64_t, std::shared_ptr<const NodeJournal>>;  // by agent
  struct Draft;

  // By process whose digest says that it stands still: its activity.
  std::unordered_map<uint64_t, uint64_t> QuietProcesses() const;
  Observed Observe(uint64_t id, const IncomingRing& image);
  void AddRings(const Journals& journals, const std::unordered_map<uint64_t, uint64_t>& quiet,
                bool time_is_up, Draft* draft);
  void AddEnds(const Journals& journals, bool settle, bool time_is_up, Draft* draft);
  void AddEvidence(const std::unordered_map<uint64_t, uint32_t>& processes, Images* images,
                   Look* look);

  const bool keep_evidence_;
  AgentTable* const agents_;
  const JobState* const state_;
  AgentQueries* const queries_;
  const RunApart run_apart_;
  // By process: CPU time, and when.
  std::unordered_map<uint64_t, std::pair<int64_t, int64_t>> cpu_;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_LOOK_H_
