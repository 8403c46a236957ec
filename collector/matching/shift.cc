// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/shift.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "proto/signature.h"

namespace rollcall {
namespace {

// Shifts by at most this many calls are searched call by call. A larger shift is found as a loop
// with different numbers of iterations.
constexpr size_t kMaxShift = 64;
constexpr size_t kMaxPeriod = 512;
constexpr size_t kMaxTurn = 256;
constexpr size_t kMinEachTime = 4;

using Keys = std::vector<uint64_t>;

// The calls of a history, by sequence number.
struct History {
  Keys sites;
  Keys roots;  // root plus one; 0: no root

  size_t size() const { return sites.size(); }
};

struct FirstDifference {
  size_t index = 0;
  bool a_has_more = false;  // a made `calls` calls that b skipped; false: the reverse
  size_t calls = 0;
  bool each_time = false;
};

bool Equal(uint64_t a, uint64_t b) { return a == b || a == 0 || b == 0; }

// Whether a[i..i+calls) is one or several further iterations of the loop that a was in.
bool ContinuesLoop(const Keys& a, size_t i, size_t calls) {
  for (size_t period = 1; period <= calls && period <= i; ++period) {
    if (calls % period != 0) continue;
    size_t j = i;
    while (j < i + calls && a[j] == a[j - period]) ++j;
    if (j == i + calls) return true;
  }
  return false;
}

// Whether a and b agree until one of them ends if a[i..i+calls) is left out. They must agree in at
// least as many calls as are left out, because a single call may agree by chance. If the calls left
// out are whole iterations of a loop, it suffices that b has no further calls. Roots must be equal
// as well: if the root makes its call on a different line, the lines alone look shifted.
bool AgreeWithout(const History& a, size_t i, size_t calls, const History& b) {
  size_t agreeing = 0;
  for (; i + calls + agreeing < a.size() && i + agreeing < b.size(); ++agreeing) {
    const size_t at = i + calls + agreeing;
    if (!Equal(a.sites[at], b.sites[i + agreeing])) return false;
    if (!Equal(a.roots[at], b.roots[i + agreeing])) return false;
  }
  return agreeing >= calls ||
         (agreeing > 0 && i + agreeing == b.size() && ContinuesLoop(a.sites, i, calls));
}

// Whether a and b agree until one of them ends if all occurrences of the call a[i], which b never
// makes, are left out. A few calls may agree by chance, and so may repetitions of a single call:
// neither suffices.
bool AgreeWithoutEach(const History& a, size_t i, const History& b) {
  const uint64_t left_out = a.sites[i];
  if (left_out == 0) return false;
  size_t times = 0;
  size_t agreeing = 0;
  bool varies = false;
  size_t at = i;
  for (; at < a.size() && i + agreeing < b.size(); ++at) {
    if (a.sites[at] == left_out) {
      ++times;
      continue;
    }
    const size_t there = i + agreeing;
    if (a.sites[at] == 0 || a.sites[at] != b.sites[there]) return false;
    if (!Equal(a.roots[at], b.roots[there])) return false;
    varies |= b.sites[there] != b.sites[i];
    ++agreeing;
  }
  // It is unknown whether the call was made again after the last common call.
  return times >= 2 && varies && agreeing >= kMinEachTime &&
         std::ranges::find(b.sites, left_out) == b.sites.end();
}

// Whether a and b have the same calls from i on in a different order. If so, no call was skipped.
bool IsReordered(const Keys& a, const Keys& b, size_t i) {
  if (a.size() != b.size()) return false;
  return std::is_permutation(a.begin() + static_cast<ptrdiff_t>(i), a.end(),
                             b.begin() + static_cast<ptrdiff_t>(i));
}

// The first place where the aligned histories a and b are shifted against each other.
std::optional<FirstDifference> FirstShift(const History& x, const History& y) {
  const Keys& a = x.sites;
  const Keys& b = y.sites;
  const size_t both = std::min(a.size(), b.size());
  // Pairs of call sites that corresponded at an earlier number without a shift.
  std::set<std::pair<uint64_t, uint64_t>> partners;
  for (size_t i = 0; i < both; ++i) {
    if (Equal(a[i], b[i]) || partners.contains({a[i], b[i]})) continue;
    // One call site made two operations: no call was skipped.
    if (static_cast<uint32_t>(a[i]) == static_cast<uint32_t>(b[i])) continue;
    for (size_t shift = 1; shift <= kMaxShift; ++shift) {
      const bool a_more = AgreeWithout(x, i, shift, y);
      if (!a_more && !AgreeWithout(y, i, shift, x)) continue;
      // Only a reordering of a few calls at the end is detected, because is_permutation takes
      // quadratic time.
      if (a.size() - i <= kMaxTurn && IsReordered(a, b, i)) return std::nullopt;
      return FirstDifference{i, a_more, shift};
    }
    const bool a_each = AgreeWithoutEach(x, i, y);
    if (a_each || AgreeWithoutEach(y, i, x)) return FirstDifference{i, a_each, 1, true};
    if (i + 1 < both && Equal(a[i + 1], b[i + 1])) partners.emplace(a[i], b[i]);
  }
  return std::nullopt;
}

// Returns for each number the call of the majority (Boyer and Moore's majority vote), so that no
// single rank is the reference.
History MostFrequent(const std::vector<const std::vector<uint32_t>*>& classes,
                     const std::vector<History>& histories) {
  size_t longest = 0;
  for (const History& history : histories) longest = std::max(longest, history.size());
  History most{Keys(longest), Keys(longest)};
  std::vector<size_t> votes(longest);
  for (size_t c = 0; c < histories.size(); ++c) {
    for (size_t i = 0; i < histories[c].size(); ++i) {
      const size_t voters = classes[c]->size();
      if (most.sites[i] == histories[c].sites[i]) {
        votes[i] += voters;
      } else if (votes[i] > voters) {
        votes[i] -= voters;
      } else {
        votes[i] = voters - votes[i];
        most.sites[i] = histories[c].sites[i];
        most.roots[i] = histories[c].roots[i];
      }
    }
  }
  return most;
}

// The roots of the first `size` calls of the history; root plus one, 0: no root.
Keys RootsOf(const Trace& trace, const MemberHistory& history, size_t size) {
  Keys roots(size);
  for (const Event& event : history.member->events) {
    if (event.sequence - history.first >= size || event.arguments == kNoIndex) continue;
    const int32_t root = trace.arguments[event.arguments].root_or_peer;
    roots[event.sequence - history.first] = root < 0 ? 0 : static_cast<uint64_t>(root) + 1;
  }
  return roots;
}

}  // namespace

std::vector<uint64_t> SiteHistory(const Trace& trace, const CallSites& sites,
                                  const MemberHistory& history) {
  if (history.last < history.first) return {};
  Keys keys(history.last - history.first + 1 > 100'000'000 ? 0 : history.last - history.first + 1);
  for (const Event& event : history.member->events) {
    if (event.sequence - history.first < keys.size() && event.call_path != kNoIndex) {
      keys[event.sequence - history.first] = SiteKey(trace, sites, event);
    }
  }
  return keys;
}

std::optional<Shift> FindShift(const Trace& trace, const CallSites& sites,
                               const CommunicatorHistory& histories) {
  // Compare from the first number that all members have on record. One member represents all
  // members that made the same calls, so few whole histories are read in a large job.
  uint64_t first = 1;
  std::vector<uint32_t> recorded;
  for (uint32_t i = 0; i < histories.members.size(); ++i) {
    const MemberHistory& member = histories.members[i];
    if (member.last == 0) continue;
    if (histories.members[member.twin].first < member.first) continue;
    recorded.push_back(i);
    first = std::max(first, member.first);
  }
  if (recorded.size() < 2) return std::nullopt;

  // Members with equal histories form one class: there are few classes, even with many ranks.
  std::map<std::pair<uint64_t, uint64_t>, std::vector<uint32_t>> classes;
  for (const uint32_t i : recorded) {
    const MemberHistory& history = histories.members[i];
    uint64_t hash = 0;
    for (const Event& event : history.member->events) {
      if (event.sequence >= first) hash = RollHash(hash, SiteKey(trace, sites, event));
    }
    std::vector<uint32_t>& members = classes[{history.last, hash}];
    members.push_back(i);
    for (const uint32_t other : histories.WithoutRecord(i, history.first)) members.push_back(other);
  }
  if (classes.size() < 2) return std::nullopt;
  std::vector<const std::vector<uint32_t>*> by_size;
  by_size.reserve(classes.size());
  for (const auto& [key, members] : classes) by_size.push_back(&members);
  std::ranges::stable_sort(by_size,
                           [](const auto* a, const auto* b) { return a->size() > b->size(); });

  std::vector<History> by_class;
  for (const auto* members : by_size) {
    const MemberHistory& member = histories.members[members->front()];
    History history;
    history.sites = SiteHistory(trace, sites, member);
    history.roots = RootsOf(trace, member, history.sites.size());
    const auto skip =
        static_cast<ptrdiff_t>(std::min<uint64_t>(first - member.first, history.size()));
    history.sites.erase(history.sites.begin(), history.sites.begin() + skip);
    history.roots.erase(history.roots.begin(), history.roots.begin() + skip);
    by_class.push_back(std::move(history));
  }
  const History most = MostFrequent(by_size, by_class);
  std::optional<FirstDifference> earliest;
  std::vector<std::optional<FirstDifference>> differences(by_size.size());
  for (size_t c = 0; c < by_size.size(); ++c) {
    differences[c] = FirstShift(by_class[c], most);
    if (differences[c] && (!earliest || differences[c]->index < earliest->index)) {
      earliest = differences[c];
    }
  }
  if (!earliest) return std::nullopt;
  Shift shift;
  shift.sequence = first + earliest->index;
  shift.extra = earliest->a_has_more;
  shift.calls = earliest->calls;
  shift.each_time = earliest->each_time;
  for (size_t c = 0; c < by_size.size(); ++c) {
    const bool deviates = differences[c] && differences[c]->index == earliest->index &&
                          differences[c]->a_has_more == earliest->a_has_more;
    std::vector<uint32_t>& side = deviates ? shift.deviating : shift.agreeing;
    side.insert(side.end(), by_size[c]->begin(), by_size[c]->end());
  }
  // If no call has a majority, the reference itself may be on the deviating side.
  if (shift.deviating.size() > shift.agreeing.size()) {
    std::swap(shift.deviating, shift.agreeing);
    shift.extra = !shift.extra;
  }
  shift.tie = shift.deviating.size() == shift.agreeing.size();
  std::ranges::sort(shift.deviating);
  std::ranges::sort(shift.agreeing);
  return shift;
}

Loop FindLoop(const std::vector<uint64_t>& keys, size_t end) {
  for (size_t period = 1; period <= kMaxPeriod && 2 * period <= end; ++period) {
    // Go back as long as keys[i] equals keys[i + period].
    size_t i = end - period;
    while (i > 0 && keys[i - 1] == keys[i - 1 + period] && keys[i - 1] != 0) --i;
    if (end - i >= 2 * period) return {period, i};
  }
  return {};
}

}  // namespace rollcall
