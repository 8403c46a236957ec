// SPDX-License-Identifier: Apache-2.0
#include "collector/service/history_need.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/diagnosis/wording/waiting_set.h"
#include "collector/matching/communicator_history.h"

namespace rollcall::service {
namespace {

// A finding may name thousands of ranks that did the same.
constexpr size_t kMaxNamed = 8;
// A lagging process is compared with this many classes of the other processes.
constexpr size_t kMaxClasses = 4;
// Non-blocking calls that a process may have made since the call whose counts are needed.
constexpr uint64_t kRecordsBesides = 4;
// Some members of a communicator may have made this many further calls while other members are
// still in a call.
constexpr uint64_t kMaxCallsLater = 4;

// The call path of the open call.
uint32_t CurrentCallPath(const Process& process) {
  return process.open_calls.empty() ? kNoIndex : process.open_calls.front().event.call_path;
}

// Groups processes by what they do.
template <typename Key>
class Classes {
 public:
  void Add(const Key& key, uint32_t process) {
    Class& known = classes_[key];
    ++known.size;
    known.process = std::min(known.process, process);
  }
  // One process of each class, smallest classes first, so that processes that differ from the
  // others are included.
  std::vector<uint32_t> Representatives() const {
    std::vector<Class> by_size;
    for (const auto& [key, one] : classes_) by_size.push_back(one);
    std::ranges::stable_sort(by_size, {}, &Class::size);
    std::vector<uint32_t> processes;
    processes.reserve(by_size.size());
    for (const Class& one : by_size) processes.push_back(one.process);
    return processes;
  }

 private:
  struct Class {
    size_t size = 0;
    uint32_t process = kNoIndex;
  };
  std::map<Key, Class> classes_;
};

std::vector<uint32_t> Representatives(const Trace& trace, const Communicator& communicator) {
  Classes<std::tuple<uint64_t, uint64_t, uint64_t, uint32_t, bool>> classes;
  for (const uint32_t index : communicator.members) {
    const Member& member = trace.members[index];
    const Process& process = trace.processes[member.process];
    const Checkpoint last = LastCheckpoint(member).value_or(Checkpoint{});
    const bool alive = process.end.how == ProcessEnd::How::kAlive;
    classes.Add(
        {member.entered, last.semantic_hash, last.path_hash, CurrentCallPath(process), alive},
        member.process);
  }
  return classes.Representatives();
}

// Whether one of the processes has not made the newest call of the communicator.
bool Lags(const Trace& trace, const Communicator& communicator,
          const std::set<uint32_t>& processes) {
  uint64_t newest = 0;
  uint64_t oldest = ~uint64_t{0};
  for (const uint32_t index : communicator.members) {
    const Member& member = trace.members[index];
    newest = std::max(newest, member.entered);
    if (processes.contains(member.process)) oldest = std::min(oldest, member.entered);
  }
  return oldest < newest;
}

}  // namespace

CountsNeed MissingCounts(const Trace& trace, uint64_t max_bytes) {
  CountsNeed need;
  for (const Communicator& communicator : trace.communicators) {
    // The newest call that all members have made. Members that finish their part early may be in a
    // later call.
    uint64_t number = ~uint64_t{0};
    uint64_t highest = 0;
    bool all_in_calls = true;
    for (const uint32_t index : communicator.members) {
      const Member& member = trace.members[index];
      number = std::min(number, member.entered);
      highest = std::max(highest, member.entered);
      all_in_calls &= !trace.processes[member.process].open_calls.empty();
    }
    if (!all_in_calls || highest - number > kMaxCallsLater) continue;
    std::set<uint32_t> cut;
    bool counted = false;
    for (const uint32_t index : communicator.members) {
      const Member& member = trace.members[index];
      const auto made =
          std::find_if(member.events.rbegin(), member.events.rend(),
                       [number](const Event& event) { return event.sequence == number; });
      const bool known = made != member.events.rend();
      const bool lacks = known && (trace.arguments[made->arguments].flags & ring::kCountsCut) != 0;
      counted |= lacks;
      if (lacks || !known) cut.insert(member.process);
    }
    // The two arrays of a call have one count for each member. They are stored before the call's
    // record. The arrays of later calls follow that record.
    const uint64_t members = std::max(communicator.ranks.size(), communicator.members.size());
    const uint64_t parts = (members + ring::kContinuationValues - 1) / ring::kContinuationValues;
    const uint64_t records = std::bit_ceil(kRecordsBesides + (1 + highest - number) * 2 * parts);
    if (!counted || members > ring::kMaxCountValues) continue;
    if (records * sizeof(ring::Record) * cut.size() > max_bytes) continue;
    need.processes.merge(cut);
    need.newest_records = std::max(need.newest_records, records);
  }
  return need;
}

std::set<uint32_t> SelectForWholeHistory(const Trace& trace, const Report& report, size_t most) {
  std::set<uint32_t> chosen;
  const auto add = [&](const std::vector<uint32_t>& processes) {
    for (const uint32_t process : processes) {
      if (chosen.size() < most) chosen.insert(process);
    }
  };
  const auto add_ranks = [&](const Finding& finding, const std::vector<int32_t>& ranks) {
    std::vector<uint32_t> processes = ProcessesOf(trace, finding, ranks);
    if (processes.size() > kMaxNamed) processes.resize(kMaxNamed);
    add(processes);
  };
  for (const Finding& finding : report.findings) {
    add_ranks(finding, finding.culprits);
    if (finding.communicator >= trace.communicators.size()) {
      add_ranks(finding, finding.waiting);
      continue;
    }
    const Communicator& communicator = trace.communicators[finding.communicator];
    std::set<uint32_t> with_members = chosen;
    for (const uint32_t member : communicator.members) {
      with_members.insert(trace.members[member].process);
    }
    if (with_members.size() <= most) {
      chosen = std::move(with_members);
    } else {
      add(Representatives(trace, communicator));
    }
  }
  // Compares a process that has not made a call with the other members of the communicator that
  // have made it. The comparison shows why the process has not made the call.
  const std::set<uint32_t> named = chosen;
  for (const Communicator& communicator : trace.communicators) {
    if (!Lags(trace, communicator, named)) continue;
    std::vector<uint32_t> processes = Representatives(trace, communicator);
    if (processes.size() > kMaxClasses) processes.resize(kMaxClasses);
    add(processes);
  }
  // A process that waits at another place may be part of the hang.
  Classes<uint32_t> places;
  for (uint32_t p = 0; p < trace.processes.size(); ++p)
    places.Add(CurrentCallPath(trace.processes[p]), p);
  add(places.Representatives());
  return chosen;
}

std::vector<uint32_t> SelectForVariables(const Trace& trace, const Report& report) {
  constexpr size_t kMostOfOneSide = 4;
  const auto finding = std::ranges::find_if(report.findings, [](const Finding& each) {
    return each.hangs && !each.culprits.empty() && !each.waiting.empty();
  });
  if (finding == report.findings.end()) return {};
  std::vector<uint32_t> selected;
  const auto select = [&](const std::vector<int32_t>& ranks, size_t most) {
    const size_t before = selected.size();
    for (const int32_t rank : ranks) {
      const uint32_t index = ProcessOf(trace, finding->world, rank);
      if (index == kNoIndex || selected.size() - before == most) continue;
      const Process& process = trace.processes[index];
      if (!process.open_calls.empty() && !IsGone(process)) selected.push_back(index);
    }
  };
  select(finding->culprits, kMostOfOneSide);
  const size_t culprits = selected.size();
  for (const Site& site : finding->sites) {
    if (!site.culprit && selected.size() < culprits + kMostOfOneSide) select(site.ranks, 1);
  }
  if (culprits == 0 || selected.size() == culprits) return {};
  return selected;
}

}  // namespace rollcall::service
