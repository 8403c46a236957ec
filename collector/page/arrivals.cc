// SPDX-License-Identifier: Apache-2.0
#include "collector/page/arrivals.h"

#include <algorithm>
#include <tuple>

#include "collector/page/panels.h"

namespace rollcall::page {

std::vector<Arrival> ArrivalsAt(const CommunicatorHistory& histories, uint64_t first,
                                size_t count) {
  const size_t members = histories.members.size();
  if (members < 2 || !histories.absent.empty()) return {};
  std::vector<Arrival> arrivals(count);
  for (const MemberHistory& history : histories.members) {
    const std::vector<Event>& events = history.member->events;
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
      if (event->sequence < first) break;
      const uint64_t i = event->sequence - first;
      if (i >= count || event->start_ns == kNoTime) continue;
      Arrival& at = arrivals[i];
      at.sequence = event->sequence;
      const bool is_first = at.arrived++ == 0 || event->start_ns < at.first_ns;
      if (is_first) at.first_ns = event->start_ns;
      if (event->start_ns <= at.last_ns) continue;
      at.last_ns = event->start_ns;
      at.last_process = history.process;
    }
  }
  std::erase_if(arrivals, [&](const Arrival& at) { return at.arrived != members; });
  return arrivals;
}

Json Stragglers(const AlignedTrace& analysis, const std::vector<uint32_t>& shown) {
  constexpr size_t kNumbers = 256;
  constexpr size_t kMaxStragglers = 10;
  constexpr size_t kEnough = 8;  // collectives; with fewer, the last rank is a matter of chance
  struct Lateness {
    uint32_t process = kNoIndex;
    size_t last = 0;
    size_t of = 0;
    int64_t sum_ns = 0;
    int64_t most_ns = 0;
  };
  std::vector<Lateness> processes(analysis.trace.processes.size());
  for (const uint32_t communicator : shown) {
    const CommunicatorHistory& histories = analysis.histories[communicator];
    const uint64_t first = histories.highest > kNumbers ? histories.highest - kNumbers + 1 : 1;
    const std::vector<Arrival> arrivals = ArrivalsAt(histories, first, kNumbers);
    for (const Arrival& at : arrivals) {
      Lateness& late = processes[at.last_process];
      ++late.last;
      late.sum_ns += at.last_ns - at.first_ns;
      late.most_ns = std::max(late.most_ns, at.last_ns - at.first_ns);
    }
    for (const MemberHistory& history : histories.members)
      processes[history.process].of += arrivals.size();
  }
  for (uint32_t i = 0; i < processes.size(); ++i) processes[i].process = i;
  std::erase_if(processes,
                [](const Lateness& late) { return late.last == 0 || late.of < kEnough; });
  std::ranges::sort(processes, [](const Lateness& a, const Lateness& b) {
    return std::tuple(b.last, b.sum_ns, a.process) < std::tuple(a.last, a.sum_ns, b.process);
  });
  if (processes.size() > kMaxStragglers) processes.resize(kMaxStragglers);
  Json stragglers = Json::array();
  for (const Lateness& late : processes) {
    const Process& process = analysis.trace.processes[late.process];
    stragglers.push_back({{"rank", process.rank},
                          {"host", Text(process.host)},
                          {"last", late.last},
                          {"of", late.of},
                          {"mean_late", late.sum_ns / static_cast<int64_t>(late.last)},
                          {"most_late", late.most_ns}});
  }
  return stragglers;
}

}  // namespace rollcall::page
