// SPDX-License-Identifier: Apache-2.0
// A timeline for ui.perfetto.dev and chrome://tracing, in the Trace Event Format (JSON), which both
// open directly. Perfetto's own protobuf format would be smaller, but would need its schema or a
// library for the writer, and another library for tests.
//
// Each process of the format is a rank. Each of its threads (tracks) is a communicator. If several
// threads of the rank use a communicator, each of them has a track, because calls of one track must
// nest. A flow joins the calls of a collective in the order in which the ranks entered it. An open
// call has a beginning and no end; the viewers draw it to the end of the trace. Each finding is a
// slice on its own track above all others, and an instant on the tracks of the ranks that the
// finding names.
//
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU and
// https://perfetto.dev/docs/getting-started/other-formats#chrome-json-format
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/base/find.h"
#include "collector/diagnosis/graph/aligned_trace.h"
#include "collector/export/exporter.h"
#include "collector/matching/match_rules.h"
#include "collector/report/show_call.h"

namespace rollcall {
namespace {

using Json = nlohmann::ordered_json;

// In Perfetto, 0 is the kernel.
constexpr uint64_t kFindings = 1;
constexpr uint64_t kFirstRank = 2;
constexpr uint64_t kThreadsPerCommunicator = 1024;

class PerfettoWriter {
 public:
  PerfettoWriter(const AlignedTrace& analysis, const Report& report, std::ostream* out)
      : analysis_(analysis), report_(report), out_(*out) {}

  void Write() {
    FindTimes();
    out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"rollcall\",\"begin_ns\":\""
         << begin_ns_ << "\"},\"traceEvents\":[\n";
    for (uint32_t i = 0; i < Processes().size(); ++i) PutInARow(i);
    Findings();
    for (uint32_t i = 0; i < Processes().size(); ++i) Rank(i);
    Flows();
    for (uint32_t i = 0; i < Processes().size(); ++i) Marks(i);
    out_ << "\n]}\n";
  }

 private:
  const std::vector<Process>& Processes() const { return analysis_.trace.processes; }

  template <typename Visit>
  void VisitEvents(Visit&& visit) const {
    for (const Member& member : analysis_.trace.members) {
      for (const Event& event : member.events) visit(member.process, event);
    }
    for (uint32_t i = 0; i < Processes().size(); ++i) {
      for (const Event& event : Processes()[i].p2p) visit(i, event);
      for (const Event& event : Processes()[i].lifecycle) visit(i, event);
    }
  }

  // Times are relative to the first one. The format has microseconds, read as doubles, which cannot
  // hold nanoseconds since 1970.
  void FindTimes() {
    VisitEvents([this](uint32_t, const Event& event) {
      if (event.start_ns == kNoTime) return;
      if (begin_ns_ == kNoTime || event.start_ns < begin_ns_) begin_ns_ = event.start_ns;
      end_ns_ = std::max({end_ns_, event.start_ns, event.end_ns});
    });
    if (begin_ns_ == kNoTime) begin_ns_ = end_ns_ = 0;
    end_ns_ = std::max(end_ns_, analysis_.trace.taken_at_ns);
  }
  double Microseconds(int64_t ns) const { return static_cast<double>(ns - begin_ns_) * 1e-3; }

  // Operations on a device are enqueued while other operations run, but slices of a track must not
  // overlap. So each slice begins when the previous one has ended, as on a stream.
  void PutInARow(uint32_t index) {
    if (!Processes()[index].device) return;
    std::map<uint64_t, int64_t> last_end_ns;  // by track
    for (const Event* event : CallsOf(analysis_, index)) {
      int64_t& last = last_end_ns[TrackOf(*event)];
      if (last > event->start_ns) drawn_begin_[event] = last;
      last = std::max(last, event->end_ns);
    }
  }
  int64_t DrawnBegin(const Event& event) const {
    return FindOr(drawn_begin_, &event, event.start_ns);
  }

  void Put(const Json& event) {
    if (!first_) out_ << ",\n";
    first_ = false;
    out_ << event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  void Name(const char* what, uint64_t pid, uint64_t tid, const std::string& name) {
    Put({{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}});
  }
  void Sort(const char* what, uint64_t pid, uint64_t tid, uint64_t index) {
    Put({{"ph", "M"},
         {"name", what},
         {"pid", pid},
         {"tid", tid},
         {"args", {{"sort_index", index}}}});
  }

  uint32_t CommunicatorOf(const Event& event) const {
    return event.member == kNoIndex ? kNoIndex : analysis_.trace.members[event.member].communicator;
  }
  // Communicator 0 is numbered 1: 0 is for calls without a communicator.
  uint64_t TrackOf(const Event& event) const {
    const uint64_t communicator = uint64_t{CommunicatorOf(event)} + 1;
    return (CommunicatorOf(event) == kNoIndex ? 0 : communicator) * kThreadsPerCommunicator +
           std::min<uint64_t>(event.thread, kThreadsPerCommunicator - 2) + 1;
  }

  void Findings() {
    if (report_.findings.empty()) return;
    Name("process_name", kFindings, 0, "rollcall: findings");
    Sort("process_sort_index", kFindings, 0, 0);
    for (size_t i = 0; i < report_.findings.size(); ++i) {
      const Finding& finding = report_.findings[i];
      // One track for each finding, because findings overlap.
      Name("thread_name", kFindings, i + 1, std::string(KindName(finding.kind)));
      Sort("thread_sort_index", kFindings, i + 1, i);
      const int64_t since_ns = SinceNs(finding);
      Put({{"ph", "X"},
           {"name", finding.title},
           {"cat", "finding"},
           {"pid", kFindings},
           {"tid", i + 1},
           {"ts", Microseconds(since_ns)},
           {"dur", std::max(1.0, Microseconds(end_ns_) - Microseconds(since_ns))},
           {"args",
            {{"kind", KindName(finding.kind)},
             {"certainty", CertaintyName(finding.certainty)},
             {"kind_certainty", CertaintyName(finding.kind_certainty)},
             {"culprits", finding.culprits},
             {"waiting", finding.waiting},
             {"why", finding.why},
             {"fix", FixText(finding)}}}});
    }
  }

  // The earliest time at which a rank of the finding made the call that the finding is about, or
  // its last call.
  int64_t SinceNs(const Finding& finding) const {
    int64_t since_ns = kNoTime;
    for (uint32_t i = 0; i < Processes().size(); ++i) {
      const Event* event = PlaceOf(finding, i);
      if (event == nullptr || event->start_ns == kNoTime) continue;
      if (since_ns == kNoTime || event->start_ns < since_ns) since_ns = event->start_ns;
    }
    return since_ns == kNoTime ? end_ns_ : since_ns;
  }

  // The call of a process that a finding is about; nullptr if the finding does not name the
  // process.
  const Event* PlaceOf(const Finding& finding, uint32_t index) const {
    const Process& process = Processes()[index];
    const auto has = [&process](const std::vector<int32_t>& ranks) {
      return std::ranges::binary_search(ranks, process.rank);
    };
    if (process.world != finding.world || (!has(finding.culprits) && !has(finding.waiting))) {
      return nullptr;
    }
    if (finding.communicator != kNoIndex && finding.sequence != 0) {
      const MemberHistory* history = analysis_.HistoryOf(finding.communicator, index);
      const Event* event = history == nullptr ? nullptr : history->At(finding.sequence);
      if (event != nullptr) return event;
    }
    return analysis_.LastCall(index);
  }

  void Rank(uint32_t index) {
    const Process& process = Processes()[index];
    const uint64_t pid = kFirstRank + index;
    Name("process_name", pid, 0,
         process.host.empty() ? fmt::format("rank {}", process.rank)
                              : fmt::format("rank {} on {}", process.rank, process.host));
    Sort("process_sort_index", pid, 0,
         1 + static_cast<uint64_t>(std::max<int32_t>(0, process.rank)));
    std::map<uint64_t, std::string> tracks;
    const std::vector<const Event*> calls = CallsOf(analysis_, index);
    for (const Event* event : calls) {
      if (event->start_ns == kNoTime) continue;
      tracks.emplace(TrackOf(*event), TrackName(process, *event));
      Call(process, pid, *event);
    }
    for (const auto& [tid, name] : tracks) {
      Name("thread_name", pid, tid, name);
      Sort("thread_sort_index", pid, tid, tid);
    }
  }

  // Marks the calls that the findings name. Viewers treat an instant on a track as a slice of zero
  // length inside the call. Flows are bound to the slice that began last, so instants are written
  // after the flows.
  void Marks(uint32_t index) {
    const Process& process = Processes()[index];
    for (const Finding& finding : report_.findings) {
      const Event* event = PlaceOf(finding, index);
      if (event == nullptr || event->start_ns == kNoTime) continue;
      const bool culprit = std::ranges::binary_search(finding.culprits, process.rank);
      Put({{"ph", "i"},
           {"s", "t"},
           {"name", fmt::format("{}: {}", culprit ? "culprit" : "waiting", KindName(finding.kind))},
           {"cat", "finding"},
           {"pid", kFirstRank + index},
           {"tid", TrackOf(*event)},
           {"ts", Microseconds(DrawnBegin(*event))},
           {"args", {{"title", finding.title}}}});
    }
  }

  std::string TrackName(const Process& process, const Event& event) const {
    std::string name = CommunicatorOf(event) == kNoIndex
                           ? "no communicator"
                           : analysis_.CommunicatorName(CommunicatorOf(event));
    if (event.thread < process.threads.size() && process.threads.size() > 1) {
      name += fmt::format(", thread {}", process.threads[event.thread].tid);
    }
    return name;
  }

  void Call(const Process& process, uint64_t pid, const Event& event) {
    const bool inside = IsInside(process, event);
    Json json = {{"ph", inside ? "B" : "X"},
                 {"name", OperationName(analysis_.Op(event))},
                 {"cat", event.sequence != 0 ? "collective" : "call"},
                 {"pid", pid},
                 {"tid", TrackOf(event)},
                 {"ts", Microseconds(DrawnBegin(event))}};
    if (!inside) {
      json["dur"] = event.end_ns > DrawnBegin(event)
                        ? static_cast<double>(event.end_ns - DrawnBegin(event)) * 1e-3
                        : 0.001;  // unknown; a flow would not be bound to a slice of zero length
    }
    Json& args = json["args"];
    args["call"] = ShownCall(analysis_, event, /*numbered=*/true);
    if (event.sequence != 0) args["sequence"] = event.sequence;
    const std::string place = ShownPlace(analysis_, event);
    if (!place.empty()) args["at"] = place + "  " + ShownFunction(analysis_, event);
    if (!inside && event.end_ns == kNoTime) args["end"] = "not known";
    Put(json);
  }

  // A flow goes from the first rank that entered to the last one, and is bound to the slices that
  // begin at its points.
  void Flows() {
    uint64_t id = 0;
    for (const CommunicatorHistory& histories : analysis_.histories) {
      uint64_t number = histories.highest + 1;
      for (const MemberHistory& history : histories.members)
        number = std::min(number, history.first);
      for (; number <= histories.highest; ++number) {
        std::vector<std::pair<int64_t, const MemberHistory*>> came;
        for (const MemberHistory& history : histories.members) {
          const Event* event = history.At(number);
          if (event != nullptr && event->start_ns != kNoTime) {
            came.emplace_back(DrawnBegin(*event), &history);
          }
        }
        if (came.size() < 2) continue;
        std::ranges::stable_sort(came, {}, [](const auto& one) { return one.first; });
        ++id;
        for (size_t i = 0; i < came.size(); ++i) {
          const Event& event = *came[i].second->At(number);
          Json json = {{"ph", i == 0                 ? "s"
                              : i + 1 == came.size() ? "f"
                                                     : "t"},
                       {"id", id},
                       {"name", fmt::format("#{}", number)},
                       {"cat", "collective"},
                       {"pid", kFirstRank + came[i].second->process},
                       {"tid", TrackOf(event)},
                       {"ts", Microseconds(came[i].first)}};
          if (i != 0) json["bp"] = "e";
          Put(json);
        }
      }
    }
  }

  const AlignedTrace& analysis_;
  const Report& report_;
  std::ostream& out_;
  int64_t begin_ns_ = kNoTime;
  int64_t end_ns_ = kNoTime;
  std::unordered_map<const Event*, int64_t> drawn_begin_;  // where it differs from start_ns
  bool first_ = true;
};

}  // namespace

void ExportPerfetto(const Subject& subject, std::ostream& out) {
  const AlignedTrace analysis(subject.trace, subject.diagnose);
  PerfettoWriter(analysis, subject.report, &out).Write();
}

}  // namespace rollcall
