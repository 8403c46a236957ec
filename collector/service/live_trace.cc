// SPDX-License-Identifier: Apache-2.0
#include "collector/service/live_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/base/clock.h"
#include "collector/import/journal.h"
#include "collector/import/node_clock.h"
#include "collector/import/ring_reader.h"
#include "collector/import/trace_builder.h"
#include "collector/model/rank_set.h"

namespace rollcall::service {
namespace {

// Whether records are missing because only the newest ones were requested.
bool IsCut(const Trace& trace) {
  return std::ranges::any_of(trace.processes, &Process::HasLostRecords);
}

}  // namespace

struct LiveTraceBuilder::Draft {
  LiveTrace live;
  RingTraceBuilder builder;
  // processes of the trace that were alive when their images were taken
  std::vector<uint32_t> alive;
  std::vector<uint32_t> ended;  // of `alive`: processes that have ended since
  // Only if evidence is kept:
  uint64_t bytes_left = 0;                           // for images
  std::map<uint64_t, std::vector<uint8_t>> images;   // by ring id
  std::unordered_map<uint64_t, uint32_t> processes;  // of the trace, by ring id
  std::set<uint64_t> without_room;                   // agents
};

Observed LiveTraceBuilder::Observe(uint64_t id, const IncomingRing& image) {
  // One diagnosis may build several live traces, of the same images.
  constexpr int64_t kShortestNs = 1'000'000'000;
  const int64_t now = Now(CLOCK_MONOTONIC);
  const auto [entry, is_first] = cpu_.try_emplace(id, CpuSample{image.cpu_ns, now});
  CpuSample& last = entry->second;
  if (!is_first && image.cpu_ns != 0 && now - last.at_ns >= kShortestNs) {
    const double share =
        static_cast<double>(image.cpu_ns - last.cpu_ns) / static_cast<double>(now - last.at_ns);
    last = {image.cpu_ns, now, share};
  }
  return {.id = id,
          .activity = image.activity,
          .still_since_ns = now - image.idle_ns,
          .cpu_share = last.share};
}

void LiveTraceBuilder::AddEvidence(Draft* draft) {
  LiveTrace& live = draft->live;
  collect::Evidence& evidence = live.evidence;
  for (const auto& [number, agent] : agents_->all()) {
    if (!agent.hello_received) continue;
    live.evidence_nodes[number] = evidence.nodes.size();
    collect::NodeEvidence& node = evidence.nodes.emplace_back();
    node.host = agent.host;
    node.run_directory = agent.run_directory;
    node.journal = agent.journal;
    if (draft->without_room.contains(number)) {
      node.absent = "the collector has no memory for it";
    } else if (!queries_->rings()->Answered(number)) {
      node.absent = agent.left || !queries_->WasRequested(number)
                        ? "its agent was not connected"
                        : "its agent did not answer in time";
    }
  }
  for (const auto& [host, run_directory] : agents_->lost()) {
    collect::NodeEvidence& node = evidence.nodes.emplace_back();
    node.host = host;
    node.run_directory = run_directory;
    node.absent = "its agent stopped reporting";
  }
  for (auto& [id, bytes] : draft->images) {
    const IncomingRing& image = queries_->rings()->images().at(id);
    const auto node = live.evidence_nodes.find(image.agent);
    if (node == live.evidence_nodes.end()) continue;
    const auto process = draft->processes.find(id);
    evidence.rings.push_back(
        {.node = node->second,
         .name = image.name,
         .image = std::move(bytes),
         .process = process == draft->processes.end() ? kNoIndex : process->second});
  }
  queries_->rings()->Clear();  // there is no memory for two copies
}

std::unordered_map<uint64_t, uint64_t> LiveTraceBuilder::QuietProcesses() const {
  std::unordered_map<uint64_t, uint64_t> quiet;
  for (const auto& [id, digest] : state_->processes()) {
    if (digest.quiet) quiet.emplace(id, digest.activity);
  }
  return quiet;
}

void LiveTraceBuilder::AddRings(const Journals& journals,
                                const std::unordered_map<uint64_t, uint64_t>& quiet,
                                const Options& options, Draft* draft) {
  RingTraceBuilder& builder = draft->builder;
  SnapshotSet::Reader reader(*queries_->rings());
  auto journal = journals.end();  // of the newest image's agent; images come agent by agent
  while (const auto read = reader.Next()) {
    const uint64_t id = read->id;
    const IncomingRing& image = *read->ring;
    if (read->damaged) {
      builder.trace()->problems.push_back(
          {ProblemCode::kDamaged, "the data that its agent sent is damaged", image.name});
      continue;
    }
    if (options.keep_evidence && read->bytes.size() <= draft->bytes_left) {
      draft->bytes_left -= read->bytes.size();
      draft->images[id].assign(read->bytes.begin(), read->bytes.end());
    } else if (options.keep_evidence) {
      draft->without_room.insert(image.agent);
    }
    MemorySource source(read->bytes);
    RingSnapshot snapshot = ReadRing(source, image.name);
    if (journal == journals.end() || journal->first != image.agent) {
      journal = journals.find(image.agent);
    }
    if (journal != journals.end() && journal->second->clock) {
      CorrectTimes(*journal->second->clock, &snapshot);
    }
    snapshot.taken_at_ns = image.arrived_realtime_ns;
    const std::optional<uint32_t> index = builder.Add(snapshot);
    if (!index.has_value()) continue;
    if (options.keep_evidence) draft->processes[id] = *index;
    LiveTrace& live = draft->live;
    live.agents.insert(image.agent);
    Process& process = builder.trace()->processes[*index];
    live.observed.resize(std::max<size_t>(live.observed.size(), *index + 1));
    if (!options.keep_evidence) live.observed[*index] = Observe(id, image);
    // Quiet requires two samples, the second begun after the first ended. The digest that reported
    // quiet is the first sample: it arrived before this request was sent. The image is the second
    // one, and the activity is unchanged.
    const auto digest = quiet.find(id);
    const bool quiet_before = digest != quiet.end() && digest->second == image.activity;
    process.quiet =
        image.quiet && !(options.time_is_up && !image.alive) && (!image.alive || quiet_before);
    process.idle_since_ns = image.arrived_realtime_ns - image.idle_ns;
    if (image.alive) {
      process.end.how = ProcessEnd::How::kAlive;
      draft->alive.push_back(*index);
    }
  }
}

void LiveTraceBuilder::AddEnds(const Journals& journals, const Options& options, Draft* draft) {
  RingTraceBuilder& builder = draft->builder;
  std::vector<const Journal*> said;
  said.reserve(journals.size());
  for (const auto& [agent, journal] : journals) said.push_back(&journal->journal);
  ApplyJournals(said, &builder);
  // Only processes that ended by themselves are known to have been still at that time. For other
  // processes the journal must show it.
  for (Process& process : builder.trace()->processes) {
    process.quiet |= options.time_is_up && HasEnded(process.end) && !process.end.by_launcher;
  }
  // The journal is newer than the images. A process that ended in between may first have done much:
  // it may even have finalized, or reported why it ends. The next live trace has both the end and
  // these records, so the process counts as alive in this one. The last live trace (`settle`) uses
  // the journal.
  for (const uint32_t index : draft->alive) {
    ProcessEnd& end = builder.trace()->processes[index].end;
    if (end.how != ProcessEnd::How::kAlive) draft->ended.push_back(index);
    if (!options.settle) end = {.how = ProcessEnd::How::kAlive};
  }
}

LiveTrace LiveTraceBuilder::Build(const Options& options) {
  Draft draft;
  if (options.keep_evidence) draft.bytes_left = agents_->bytes_for_rings();
  const Journals journals = agents_->ReadJournals();
  const std::unordered_map<uint64_t, uint64_t> quiet = QuietProcesses();
  const SnapshotSet& rings = *queries_->rings();
  std::vector<Problem>& problems = draft.builder.trace()->problems;
  for (const std::string& name : rings.Incomplete()) {
    problems.push_back({ProblemCode::kTruncated, "its agent sent only a part of it", name});
  }
  if (const size_t n = rings.dropped(); n != 0) {
    problems.push_back(agents_->OverLimit(
        fmt::format("records of {} were not fetched", CountText(n, "rank")), ""));
  }
  draft.builder.Reserve(rings.images().size());
  run_task_([&] {
    AddRings(journals, quiet, options, &draft);
    AddEnds(journals, options, &draft);
  });
  LiveTrace& live = draft.live;
  if (options.keep_evidence) AddEvidence(&draft);
  run_task_([&] {
    live.trace = draft.builder.Finish();
    for (const uint32_t index : draft.ended) {
      live.ended_meanwhile.insert(live.trace.processes[index].world);
    }
    if (queries_->newest_records() == 0 || !IsCut(live.trace)) return;
    live.trace.problems.push_back(
        {.code = ProblemCode::kMissingCalls,
         .message = fmt::format(
             "the newest {} records of each ring buffer were read; older calls are not compared",
             queries_->newest_records())});
  });
  return std::move(live);
}

}  // namespace rollcall::service
