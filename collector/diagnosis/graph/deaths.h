// Which processes ended before their time, and which were only ended with the rest of the job.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEATHS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEATHS_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// Refers to the trace, which must outlive it. What takes a look at all ranks is found out once.
class Deaths {
 public:
  explicit Deaths(const Trace& trace);

  // Did the process end by itself before the job's end, rather than with it? See
  // docs/verdicts/rank-died.md.
  bool ByItself(const Process& process) const;

 private:
  void CheckLosses();
  void CheckWorld(const World& world);

  const Trace& trace_;
  std::vector<bool> asked_to_stop_;  // by world
  // World and host: ranks there ended in other ways than by losing their daemon.
  std::set<std::pair<uint32_t, std::string>> other_ends_;
};

// By how much the distance of a time of the one and a time of the other may be wrong: 0 for those
// of one host, decades where a clock was not measured.
int64_t ClockErrorNs(const Process& a, const Process& b);

// Nobody is there any more who could act: it has ended, or has called what ends it.
bool IsGone(const Process& process);

// Of one that died by itself: is it certain that no other death came first?
bool IsFirstDeathCertain(const Trace& trace, const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEATHS_H_
