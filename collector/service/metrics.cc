// SPDX-License-Identifier: Apache-2.0
#include "collector/service/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

namespace rollcall::service {
namespace {

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

void Describe(std::string_view name, std::string_view type, std::string_view help,
              std::string* text) {
  fmt::format_to(std::back_inserter(*text), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

template <typename Value>
void AppendOne(std::string_view name, std::string_view type, std::string_view help, Value value,
               std::string* text) {
  Describe(name, type, help, text);
  fmt::format_to(std::back_inserter(*text), "{} {}\n", name, value);
}

uint64_t ResidentBytes() {
  uint64_t size = 0;
  uint64_t resident = 0;
  if (FILE* file = fopen("/proc/self/statm", "re")) {
    if (fscanf(file, "%lu %lu", &size, &resident) != 2) resident = 0;
    fclose(file);
  }
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void Metrics::AppendRanks(const JobState& state, int64_t passed_ns, std::string* text) {
  std::map<uint64_t, std::map<std::string_view, size_t>> jobs;
  for (const auto& [id, process] : state.processes())
    ++jobs[process.job_key][JobState::ActivityOf(process)];
  std::erase_if(waited_s_, [&](const auto& entry) { return !jobs.contains(entry.first); });
  Describe("rollcall_ranks", "gauge", "Ranks by activity.", text);
  for (const auto& [job, states] : jobs) {
    for (const std::string_view name : {"computing", "in_call", "waiting", "polling", "ended"}) {
      const auto found = states.find(name);
      const size_t ranks = found == states.end() ? 0 : found->second;
      fmt::format_to(std::back_inserter(*text),
                     "rollcall_ranks{{job_key=\"{:016x}\",state=\"{}\"}} {}\n", job, name, ranks);
      if (name == "waiting") waited_s_[job] += static_cast<double>(ranks) * Seconds(passed_ns);
    }
  }
  Describe("rollcall_waiting_rank_seconds_total", "counter",
           "Time that ranks stood still inside MPI or NCCL, summed over ranks.", text);
  for (const auto& [job, seconds] : waited_s_) {
    fmt::format_to(std::back_inserter(*text),
                   "rollcall_waiting_rank_seconds_total{{job_key=\"{:016x}\"}} {}\n", job, seconds);
  }
}

void Metrics::AppendCollector(const JobState& state, const MonitorState& now,
                              std::string* text) const {
  AppendOne("rollcall_agents", "gauge", "Connected agents.", now.agents, text);
  AppendOne("rollcall_relayed_agents", "gauge", "Connected agents that attach to an aggregator.",
            now.relayed_agents, text);
  AppendOne("rollcall_processes", "gauge",
            "Processes known to the collector, including those that ended.",
            state.processes().size(), text);
  AppendOne("rollcall_suspected", "gauge", "1 if the newest digests look like a hang.",
            now.suspected ? 1 : 0, text);
  Describe("rollcall_findings", "gauge", "Findings that are not withdrawn.", text);
  for (const auto& [what, count] : now.findings) {
    fmt::format_to(std::back_inserter(*text),
                   "rollcall_findings{{kind=\"{}\",certainty=\"{}\"}} {}\n", KindName(what.first),
                   CertaintyName(what.second), count);
  }
  AppendOne("rollcall_received_bytes_total", "counter", "Bytes of agents' messages, uncompressed.",
            received_bytes_, text);
  AppendOne("rollcall_diagnoses_total", "counter", "Diagnoses of the traces.", diagnoses_, text);
  AppendOne("rollcall_diagnosis_seconds_total", "counter", "Time that diagnoses took.",
            Seconds(diagnosis_ns_), text);
  AppendOne("process_resident_memory_bytes", "gauge", "Memory of the collector.", ResidentBytes(),
            text);
  AppendOne("process_cpu_seconds_total", "counter", "CPU time of the collector.", CpuSeconds(),
            text);
}

void Metrics::Publish(const JobState& state, const MonitorState& now, int64_t now_ns) {
  std::string text;
  AppendCollector(state, now, &text);
  AppendRanks(state, published_ns_ == 0 ? 0 : now_ns - published_ns_, &text);
  published_ns_ = now_ns;
  std::vector<JobState::Progress> all = state.Communicators(now_ns);
  const size_t left_out = all.size() - std::min(all.size(), kMaxCommunicators);
  all.resize(all.size() - left_out);
  AppendOne("rollcall_communicators_left_out", "gauge",
            "Communicators beyond the largest, for which no series is kept.", left_out, &text);
  const auto append = [&](std::string_view name, std::string_view type, std::string_view help,
                          auto value) {
    Describe(name, type, help, &text);
    for (const JobState::Progress& one : all) {
      fmt::format_to(std::back_inserter(text),
                     "{}{{job_key=\"{:016x}\",communicator=\"{:016x}\",size=\"{}\"}} {}\n", name,
                     one.job, one.key, one.size, std::invoke(value, one));
    }
  };
  append("rollcall_collectives_entered_by_first_total", "counter",
         "Collectives called by the member that is furthest ahead.",
         &JobState::Progress::entered_by_first);
  append("rollcall_collectives_entered_by_last_total", "counter",
         "Collectives called by every member.", &JobState::Progress::entered_by_last);
  append("rollcall_collectives_completed_total", "counter",
         "Collectives that have returned in every member.", &JobState::Progress::completed_by_all);
  append("rollcall_communicator_waiting_ranks", "gauge", "Members that wait in a call on it.",
         &JobState::Progress::waiting);
  append("rollcall_communicator_longest_wait_seconds", "gauge",
         "How long the member that arrived first has waited.",
         [](const JobState::Progress& one) { return Seconds(one.longest_wait_ns); });
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

std::string Metrics::Text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

}  // namespace rollcall::service
