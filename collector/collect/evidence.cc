// SPDX-License-Identifier: Apache-2.0
#include "collector/collect/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "collector/base/clock.h"
#include "collector/base/result.h"
#include "collector/bundle/format.h"
#include "collector/bundle/writer.h"
#include "collector/collect/observed.h"
#include "collector/import/journal.h"
#include "collector/import/ring_reader.h"
#include "proto/run_directory.h"

namespace rollcall::collect {
namespace {

// The processes that were alive when the rings were read, by the names that a journal uses for
// them.
class LiveProcesses {
 public:
  void Add(const Process& process, uint64_t ring_id) {
    rings_.insert(ring_id);
    pids_.emplace(process.host, process.pid);
  }

  bool Has(const journal::ProcessName& name) const {
    return name.ring_id != 0 ? rings_.contains(name.ring_id)
                             : pids_.contains({name.host, name.pid});
  }

 private:
  std::set<uint64_t> rings_;
  std::set<std::pair<std::string, uint32_t>> pids_;
};

// Removes the ends of live processes from the journal, because these ends are newer than the rings.
std::string WithoutEndsOf(const LiveProcesses& live, std::string_view journal) {
  std::string kept;
  while (!journal.empty()) {
    const size_t end = std::min(journal.find('\n'), journal.size() - 1) + 1;
    const std::string_view line = journal.substr(0, end);
    journal.remove_prefix(end);
    const Result<JournalEvent> event = ParseJournalLine(line);
    const auto* ended = event ? std::get_if<journal::ProcessEnded>(&*event) : nullptr;
    if (ended == nullptr || !live.Has(ended->process)) kept += line;
  }
  return kept;
}

class EvidenceWriter {
 public:
  EvidenceWriter(const Evidence& evidence, const std::string& path, const CollectOptions& options)
      : trace_(evidence.trace),
        evidence_(evidence),
        options_(options),
        writer_(path, options.rollcall_version, Now(CLOCK_REALTIME)) {}

  Collected Write() {
    std::string observed;
    for (const NodeEvidence& node : evidence_.nodes) {
      if (node.absent.empty()) continue;
      observed += FormatJournalLine(journal::Absent{node.host, node.run_directory, node.absent});
      result_.problems.push_back(ProblemOf({node.host, node.run_directory, node.absent}));
    }
    for (const RingEvidence& ring : evidence_.rings) observed += Observe(ring);
    // Small members, and those on which other members depend, come first: a bundle may be
    // truncated.
    writer_.Add(bundle::kObservedName, observed + DescribeCodes(trace_));
    if (options_.sources) writer_.Add(bundle::kSourcesName, DescribeSources(trace_));
    for (size_t i = 0; i < evidence_.nodes.size(); ++i) AddNode(i, evidence_.nodes[i]);
    for (const RingEvidence& ring : evidence_.rings) AddRing(ring);
    if (result_.rings == 0 && writer_.error().empty()) {
      result_.error = "no rank's trace came";
      return std::move(result_);
    }
    result_.written = writer_.Finish();
    result_.packed_bytes = writer_.packed_bytes();
    if (!result_.written) result_.error = writer_.error();
    return std::move(result_);
  }

 private:
  std::string Observe(const RingEvidence& ring) {
    if (ring.process >= trace_.processes.size()) return {};
    MemorySource source(ring.image);
    const RingSnapshot state = ReadRing(source, ring.name, ImageDepth::kState);
    if (!state.usable) return {};
    const Process& process = trace_.processes[ring.process];
    const RingState name{RingId(state.header), state.activity};
    if (process.end.how == ProcessEnd::How::kAlive) live_processes_.Add(process, name.id);
    return DescribeProcess(process, name);
  }

  void AddNode(size_t index, const NodeEvidence& node) {
    if (!node.environment.empty()) {
      writer_.Add(fmt::format("{}/{}", index, bundle::kEnvironmentName), node.environment);
    }
    if (node.journal.empty()) return;
    result_.trace_bytes += node.journal.size();
    const std::string journal = WithoutEndsOf(live_processes_, node.journal);
    result_.journals += writer_.Add(fmt::format("{}/{}", index, kJournalFile), journal) ? 1 : 0;
  }

  // Accepts only rings: a reader would interpret any other data that an agent sent by its content.
  void AddRing(const RingEvidence& ring) {
    MemorySource source(ring.image);
    const std::string name = fmt::format("{}/{}/{}", ring.node, kRingsDirectory, ring.name);
    if (!IsRing(name, &source)) {
      result_.problems.push_back({ProblemCode::kForeign, "not a ring: left out", ring.name});
      return;
    }
    result_.trace_bytes += ring.image.size();
    result_.rings += writer_.Add(name, ring.image) ? 1 : 0;
  }

  const Trace& trace_;
  const Evidence& evidence_;
  const CollectOptions& options_;
  LiveProcesses live_processes_;
  bundle::Writer writer_;
  Collected result_;
};

}  // namespace

bool IsEnvironment(const std::string& text) {
  return text.size() <= kMaxEnvironmentBytes &&
         nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false).is_object();
}

Collected WriteEvidence(const Evidence& evidence, const std::string& path,
                        const CollectOptions& options) {
  return EvidenceWriter(evidence, path, options).Write();
}

}  // namespace rollcall::collect
