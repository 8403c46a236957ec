// SPDX-License-Identifier: Apache-2.0
// One diagnosis: fetches rings from the agents, makes the trace and the report, and repeats with
// more data where the report needs them.
#ifndef ROLLCALL_COLLECTOR_SERVICE_DIAGNOSIS_PASS_H_
#define ROLLCALL_COLLECTOR_SERVICE_DIAGNOSIS_PASS_H_

#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/service/agent_queries.h"
#include "collector/service/agent_table.h"
#include "collector/service/job_state.h"
#include "collector/service/live_trace.h"
#include "collector/service/progress_times.h"

namespace rollcall::service {

// A job with more processes is large: the newest records of each ring are read first, and whole
// rings of few processes.
inline bool IsLarge(const JobState& state) {
  constexpr size_t kWholeProcesses = 64;
  return state.processes().size() > kWholeProcesses;
}

inline bool EndedWell(const Report& report) {
  return report.findings.empty() && report.status == Report::Status::kFinished;
}

// The diagnosis of a job that runs. It leaves out findings about processes that were not quiet in
// two samples, and findings that rest on snapshots of two moments.
Report DiagnoseRunning(const LiveTrace& live, const ProgressTimes& times, bool time_is_up);

// Runs on the monitor's thread, which handles events of agents meanwhile. Not thread-safe.
class DiagnosisPass {
 public:
  // What the passes of a monitor share. All must outlive the pass.
  struct Shared {
    AgentTable* agents;
    const JobState* state;
    AgentQueries* queries;
    LiveTraceBuilder* builder;
    LiveTraceBuilder::RunTask run_task;
    const ProgressTimes* times;
    std::function<void(Trace*, bool job_ended)> add_to_trace;  // of MonitorOptions
  };
  // `diagnose` uses its argument alone: it runs on another thread.
  DiagnosisPass(const Shared& shared, const LiveTraceBuilder::Options& options,
                std::function<Report(const LiveTrace&)> diagnose)
      : shared_(shared), options_(options), diagnose_(std::move(diagnose)) {}

  // How much of each ring is fetched.
  enum class Amount : uint8_t {
    kBrief,  // in a large job, what each process does and where it is
    kMore,   // the cause may lie further back
    kWhole,  // in a large job as kMore
  };
  // Fetches rings of all processes, and diagnoses.
  void Fetch(Amount amount);
  // As the last Fetch(): time has passed.
  void FetchAgain();
  // Fetches the counts and the whole rings that may add to the findings, and diagnoses, until the
  // findings do not change. `complete`: the traces of these diagnoses are completed.
  void AddHistory(bool complete);
  // Adds to the trace what only a report needs, and diagnoses it again, if this has not been done.
  // Reading debug information takes far longer than everything else here.
  void Complete();

  // Fetches the variables of the frames of ranks that a hang involves, and diagnoses again
  // if there are any.
  void AddVariables();

  LiveTrace& live() { return live_; }
  Report& report() { return report_; }
  // When the trace was made (CLOCK_MONOTONIC).
  int64_t collected_ns() const { return collected_ns_; }

 private:
  void Diagnose();
  void CompleteTrace();
  // The number of newest records of each ring buffer that is requested; 0: all.
  uint64_t Records(Amount amount) const;
  // The ids of these processes, by index, without those whose whole rings were fetched.
  std::set<uint64_t> IdsNotFetchedWhole(const std::set<uint32_t>& processes) const;
  // These request what is needed and return false if nothing is.
  bool FetchCounts();
  bool FetchHistory();

  const Shared shared_;
  const LiveTraceBuilder::Options options_;
  const std::function<Report(const LiveTrace&)> diagnose_;
  AgentQueries::Rings rings_;  // of the last Fetch()
  bool complete_ = false;
  LiveTrace live_;
  Report report_;
  int64_t collected_ns_ = 0;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_DIAGNOSIS_PASS_H_
