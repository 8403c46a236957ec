// SPDX-License-Identifier: Apache-2.0
// The input that the report is based on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "collector/model/rank_set.h"
#include "collector/page/panels.h"

namespace rollcall::page {
namespace {

constexpr size_t kMaxHosts = 300;
constexpr size_t kMaxTexts = 64;

std::string_view LibraryName(ring::Flavor flavor) {
  switch (flavor) {
    case ring::Flavor::kOpenMpi:
      return "Open MPI";
    case ring::Flavor::kMpich:
      return "MPICH";
    case ring::Flavor::kMpiStandardAbi:
      return "MPI with the standard's ABI";
    case ring::Flavor::kUnknown:
      break;
  }
  return "";
}

Json Hosts(const Trace& trace) {
  struct Host {
    std::vector<int32_t> ranks;
    std::optional<NodeClock> clock;
  };
  std::map<std::string, Host> hosts;
  for (const Process& process : trace.processes) {
    Host& host = hosts[process.host];
    host.ranks.push_back(process.rank);
    if (process.clock) host.clock = process.clock;
  }
  std::vector<std::pair<int32_t, const std::pair<const std::string, Host>*>> order;
  for (auto& host : hosts) {
    Normalize(&host.second.ranks);
    order.emplace_back(host.second.ranks.front(), &host);
  }
  std::ranges::sort(order);
  if (order.size() > kMaxHosts) order.resize(kMaxHosts);
  Json json = Json::array();
  for (const auto& [rank, host] : order) {
    if (host->first.empty()) continue;
    const std::optional<NodeClock>& clock = host->second.clock;
    json.push_back(
        {{"name", Text(host->first)},
         {"ranks", Ranks(host->second.ranks)},
         {"clock_offset_ms",
          clock ? Json(std::round(static_cast<double>(clock->offset_ns) * 1e-3) * 1e-3) : Json()}});
  }
  return json;
}

std::vector<int32_t> Missing(const Trace& trace) {
  std::vector<int32_t> missing;
  for (const World& world : trace.worlds) {
    for (int32_t rank = 0; rank < world.size; ++rank) {
      const auto index = static_cast<size_t>(rank);
      if (index >= world.processes.size() || world.processes[index] == kNoIndex) {
        missing.push_back(rank);
      }
    }
  }
  Normalize(&missing);
  return missing;
}

// The first texts, each once.
Json Some(const std::vector<std::string>& texts) {
  Json json = Json::array();
  std::set<std::string> known;
  for (const std::string& text : texts) {
    if (text.empty() || !known.insert(text).second || json.size() == kMaxTexts) continue;
    json.push_back(Text(text));
  }
  return json;
}

}  // namespace

Json LookedAt(const AlignedTrace& analysis, const Report& report) {
  const Trace& trace = analysis.trace;
  std::vector<std::string> problems;
  std::vector<std::string> sources;
  std::vector<std::string> programs;
  std::vector<std::string> libraries;
  for (const Problem& problem : trace.problems) {
    std::string text = problem.source;
    if (problem.offset >= 0) text += fmt::format(", byte {}", problem.offset);
    problems.push_back(text.empty() ? problem.message : text + ": " + problem.message);
  }
  for (const Process& process : trace.processes) {
    sources.push_back(std::filesystem::path(process.source).parent_path().string());
    programs.push_back(process.executable);
    libraries.emplace_back(LibraryName(process.flavor));
  }
  Json facts = Json::array();
  const auto add = [&facts](std::string_view name, const std::string& text) {
    if (!text.empty()) facts.push_back(Json::array({name, Text(text)}));
  };
  const auto joined = [](const std::vector<std::string>& texts) {
    return fmt::format("{}", fmt::join(Some(texts).get<std::vector<std::string>>(), ", "));
  };
  add("program", joined(programs));
  add("MPI library", joined(libraries));
  add("ranks", report.ranks_expected > report.ranks
                   ? fmt::format("{} of {}", report.ranks, report.ranks_expected)
                   : std::to_string(report.ranks));
  if (!trace.communicators.empty())
    add("communicators", std::to_string(trace.communicators.size()));
  if (report.data) {
    add("buffers of collectives",
        fmt::format("{} read, {} not read", report.data->read, report.data->unread));
  }
  add("the job", analysis.options.job_ended ? "had ended" : "was running");
  add("a rank is called stalled after",
      fmt::format("{:g} s", static_cast<double>(analysis.options.stall_after_ns) * 1e-9));
  return {{"hosts", Hosts(trace)},
          {"missing", Ranks(Missing(trace))},
          {"problems", Some(problems)},
          {"sources", Some(sources)},
          {"facts", std::move(facts)}};
}

}  // namespace rollcall::page
