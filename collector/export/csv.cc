// SPDX-License-Identifier: Apache-2.0
// Writes every recorded call as a row: collectives sorted by communicator and sequence number, so
// that corresponding calls are adjacent; then messages and other calls by rank.
#include <fmt/format.h>

#include <initializer_list>
#include <string>

#include "collector/diagnosis/graph/aligned_trace.h"
#include "collector/export/csv_row.h"
#include "collector/export/exporter.h"
#include "collector/matching/match_rules.h"
#include "collector/report/show_call.h"

namespace rollcall {
namespace {

class CsvWriter {
 public:
  CsvWriter(const AlignedTrace& analysis, std::ostream* out) : analysis_(analysis), out_(*out) {}

  void Write() {
    Row({"communicator", "sequence", "operation", "arguments", "rank", "host", "thread", "state",
         "start_ns", "end_ns", "function", "file", "line"});
    for (const CommunicatorHistory& histories : analysis_.histories) {
      for (uint64_t number = First(histories); number <= histories.highest; ++number) {
        for (const MemberHistory& history : histories.members) {
          if (const Event* event = history.At(number)) Call(history.process, *event);
        }
      }
    }
    const std::vector<Process>& processes = analysis_.trace.processes;
    for (uint32_t i = 0; i < processes.size(); ++i) {
      for (const Event& event : processes[i].p2p) Call(i, event);
      for (const Event& event : processes[i].lifecycle) Call(i, event);
    }
  }

 private:
  static uint64_t First(const CommunicatorHistory& histories) {
    uint64_t first = histories.highest + 1;
    for (const MemberHistory& history : histories.members) first = std::min(first, history.first);
    return first;
  }

  void Row(std::initializer_list<std::string> fields) { WriteCsvRow(fields, &out_); }

  static std::string Time(int64_t ns) { return ns == kNoTime ? "" : std::to_string(ns); }

  void Call(uint32_t index, const Event& event) {
    const Process& process = analysis_.trace.processes[index];
    const SourceFrame frame = analysis_.sites.UserFrame(event.call_path);
    const std::string state = IsInside(process, event)  ? "inside"
                              : event.end_ns != kNoTime ? "returned"
                                                        : "";
    Row({event.member == kNoIndex
             ? ""
             : analysis_.CommunicatorName(analysis_.trace.members[event.member].communicator),
         event.sequence == 0 ? "" : std::to_string(event.sequence),
         OperationName(analysis_.Op(event)), ArgumentsText(analysis_.trace, analysis_.Args(event)),
         std::to_string(process.rank), process.host,
         event.thread < process.threads.size() ? std::to_string(process.threads[event.thread].tid)
                                               : "",
         state, Time(event.start_ns), Time(event.end_ns), frame.function, frame.file,
         frame.line == 0 ? "" : std::to_string(frame.line)});
  }

  const AlignedTrace& analysis_;
  std::ostream& out_;
};

}  // namespace

void ExportCsv(const Subject& subject, std::ostream& out) {
  CsvWriter(AlignedTrace(subject.trace, subject.diagnose), &out).Write();
}

}  // namespace rollcall
