// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/certainty/doubts.h"

#include <fmt/format.h>

#include <string_view>

#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

struct Doubts {
  const Analysis& analysis;
  Finding* finding;

  void Add(const std::vector<uint32_t>& who, const char* one, const char* several,
           std::string_view what) const {
    if (who.empty()) return;
    const std::vector<int32_t> ranks = analysis.RanksOf(who);
    finding->notes.push_back(
        fmt::format("not proven: {} {}", RanksPhrase(ranks, one, several), what));
  }
};

}  // namespace

void AddDoubts(const Analysis& analysis, const Incident& incident, Finding* finding) {
  if (finding->certainty == Certainty::kProven || incident.communicator == kNoIndex) return;
  std::vector<uint32_t> multiple;
  std::vector<uint32_t> unreadable;
  std::vector<uint32_t> moving;
  std::vector<uint32_t> full;
  for (const MemberHistory& history : analysis.histories[incident.communicator].members) {
    const Process& process = analysis.trace.processes[history.process];
    if (process.thread_level == 3) multiple.push_back(history.process);
    if (process.records_unreadable != 0) unreadable.push_back(history.process);
    if (!process.quiet && !process.device) moving.push_back(history.process);
    if (process.table_overflows != 0) full.push_back(history.process);
  }
  const Doubts doubts{analysis, finding};
  if (incident.Is(Trait::kOfSilence)) {
    doubts.Add(multiple, "runs", "run",
               "under MPI_THREAD_MULTIPLE: another thread might still call MPI");
    doubts.Add(moving, "was", "were", "not seen to be still in two samples");
    doubts.Add(full, "had", "had", "more open requests or communicators than the tables hold");
  }
  doubts.Add(unreadable, "has", "have", "damaged records");
  if (!analysis.histories[incident.communicator].ordered) {
    finding->notes.push_back(
        "not proven: two threads used the communicator at once, or its identity is not certain");
  }
}

void AddDoubts(const Analysis& analysis, const WeakWait& wait, Finding* finding) {
  const Doubts doubts{analysis, finding};
  doubts.Add(wait.polling, "waits", "wait", "by polling");
  doubts.Add(wait.with_threads, "has", "have",
             "another thread that never called MPI and might act");
  doubts.Add(wait.unseen, "has", "have", "threads that could not be examined");
  doubts.Add(
      wait.uncounted, "waits", "wait",
      "for a message that may have been sent or received already: more tags are in use than a "
      "ring can count (ROLLCALL_RING_KIB enlarges it)");
}

}  // namespace rollcall
