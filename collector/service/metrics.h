// SPDX-License-Identifier: Apache-2.0
// The metrics of the jobs that a collector watches, in Prometheus' text format
// (https://prometheus.io/docs/instrumenting/exposition_formats/). Series are per job and
// communicator, never per rank, so their number does not grow with the ranks. docs/metrics.md
// explains each metric.
#ifndef ROLLCALL_COLLECTOR_SERVICE_METRICS_H_
#define ROLLCALL_COLLECTOR_SERVICE_METRICS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/service/job_state.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

// Text() may be called from any thread, the other methods from one. Times are of one monotonic
// clock.
class Metrics {
 public:
  static constexpr int64_t kPeriodNs = 1'000'000'000;
  // Publishing takes at most a fiftieth of the time.
  static constexpr int64_t kCostFactor = 50;
  // Beyond this number the smallest communicators are left out and counted in
  // rollcall_communicators_left_out.
  static constexpr size_t kMaxCommunicators = 1000;

  // State that the monitor adds.
  struct MonitorState {
    size_t agents = 0;          // connected
    size_t relayed_agents = 0;  // of `agents`: attached to an aggregator
    bool suspected = false;
    std::map<std::pair<VerdictKind, Certainty>, size_t> findings;
  };

  void OnMessage(const rpc::AgentMessage& message) { received_bytes_ += message.ByteSizeLong(); }
  void OnDiagnosis(int64_t begin_ns, int64_t end_ns) {
    ++diagnoses_;
    diagnosis_ns_ += end_ns - begin_ns;
  }
  bool IsDue(int64_t now_ns) const {
    return now_ns - published_ns_ >= std::max(kPeriodNs, kCostFactor * cost_ns_);
  }
  // Makes the text of the current state.
  void Publish(const JobState& state, const MonitorState& now, int64_t now_ns);
  // How long the newest Publish() took.
  void OnPublished(int64_t cost_ns) { cost_ns_ = cost_ns; }

  // The newest published text; empty before the first.
  std::string Text() const;

 private:
  void AppendRanks(const JobState& state, int64_t passed_ns, std::string* text);
  void AppendCollector(const JobState& state, const MonitorState& now, std::string* text) const;

  std::map<uint64_t, double> waited_s_;  // by job
  uint64_t received_bytes_ = 0;
  uint64_t diagnoses_ = 0;
  int64_t diagnosis_ns_ = 0;
  int64_t published_ns_ = 0;
  int64_t cost_ns_ = 0;

  mutable std::mutex mutex_;
  std::string text_;  // guarded by mutex_
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_METRICS_H_
