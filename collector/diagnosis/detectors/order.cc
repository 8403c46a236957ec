// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/detectors/order.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace rollcall {
namespace {

// The calls of a process, divided at each instance of one call, the cut.
struct Iterations {
  using Calls = std::vector<const Event*>;
  Calls before;              // before the first instance
  std::vector<Calls> whole;  // between two instances
  Calls present;             // after the last instance, including the call that the process is in
  const Event* last = nullptr;
};

Iterations CutAt(const Analysis& analysis, uint32_t process, const Event& cut,
                 const Event& stands) {
  Iterations iterations;
  for (const Event* event : analysis.Timeline(process)) {
    if (event->start_ns >= stands.start_ns) break;
    if (!analysis.SameSite(*event, cut)) {
      iterations.present.push_back(event);
      continue;
    }
    if (iterations.last == nullptr) {
      iterations.before = std::move(iterations.present);
    } else {
      iterations.whole.push_back(std::move(iterations.present));
    }
    iterations.present.clear();
    iterations.last = event;
  }
  iterations.present.push_back(&stands);
  return iterations;
}

// Only call sites are compared, because the ranks may use communicators of their own.
bool SameCalls(const Analysis& analysis, const Iterations::Calls& a, const Iterations::Calls& b,
               size_t calls) {
  return calls <= a.size() && calls <= b.size() &&
         std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(calls), b.begin(),
                    [&](const Event* x, const Event* y) {
                      return analysis.Site(*x) == analysis.Site(*y);
                    });
}

// Whether both made the same calls in each of the last iterations. At least two iterations are
// needed.
bool MadeTheSameCalls(const Analysis& analysis, const Iterations& a, const Iterations& b) {
  const size_t iterations = std::min(a.whole.size(), b.whole.size());
  for (size_t i = 1; i <= iterations; ++i) {
    const Iterations::Calls& x = a.whole[a.whole.size() - i];
    const Iterations::Calls& y = b.whole[b.whole.size() - i];
    if (x.size() != y.size() || !SameCalls(analysis, x, y, x.size())) return false;
  }
  return iterations >= 2;
}

bool HasCallPath(const Analysis& analysis, const Event& event) {
  return analysis.sites.Id(event.call_path) != 0;
}
}  // namespace

bool SameUserCall(const Analysis& analysis, const Event& a, const Event& b) {
  if (a.call_path == b.call_path) return true;
  const SourceFrame x = analysis.sites.UserFrame(a.call_path);
  const SourceFrame y = analysis.sites.UserFrame(b.call_path);
  return x.line != 0 && x.line == y.line && x.file == y.file && x.function == y.function;
}

std::vector<uint32_t> RanksEntered(const Analysis& analysis, const CollectiveNode& node) {
  std::vector<uint32_t> came = WhoEntered(analysis, node);
  if (node.inside.empty()) return came;
  const Event* inside =
      CallOrPlace(analysis, node.communicator, node.sequence, node.inside.front(), node.start);
  if (inside == nullptr) return came;
  for (const uint32_t p : node.missing) {
    const Event* stands = analysis.Waits(p) ? analysis.CurrentEvent(p) : nullptr;
    // Another collective on the same line is another call, or the next iteration.
    if (stands != nullptr && stands->sequence == 0 && stands->member != kNoIndex &&
        SameUserCall(analysis, *stands, *inside)) {
      came.push_back(p);
    }
  }
  return came;
}

bool HasSentOrReceivedAt(const Analysis& analysis, uint32_t process, const Event& call) {
  const std::vector<Event>& events = analysis.trace.processes[process].p2p;
  return std::ranges::any_of(events, [&](const Event& event) {
    return event.start_ns < call.start_ns && analysis.Site(event) == analysis.Site(call);
  });
}

namespace {

// Whether one loop contains both calls, in the function where the paths diverge.
bool InOneLoop(const CallSites& sites, const PathDivergence& parting) {
  const SourceBlocks* source = sites.SourceOf(parting.a);
  return source != nullptr && std::ranges::any_of(source->blocks, [&](const SourceBlock& block) {
           return block.kind == SourceBlock::Kind::kLoop && block.Holds(parting.a.line) &&
                  block.Holds(parting.b.line);
         });
}

// Whether the process repeats a loop without making the call, which may be in the error path of one
// rank. The process is at `here`, was there before, and never made the call. If records are lost,
// the process must have repeated the loop more often.
bool GoesRoundWithout(const Analysis& analysis, uint32_t process, const Event& here,
                      const Event& call) {
  constexpr size_t kEnoughRounds = 16;
  const PathDivergence parting = analysis.sites.ComparePaths(here.call_path, call.call_path);
  if (parting.order <= 0 && !InOneLoop(analysis.sites, parting)) return false;
  size_t rounds = 0;
  const bool made = analysis.AnyCall(process, [&](const Event& event) {
    if (event.start_ns >= here.start_ns) return false;
    rounds += analysis.SameSite(event, here);
    return analysis.SameSite(event, call);
  });
  const bool lost = analysis.trace.processes[process].HasLostRecords();
  return !made && rounds >= (lost ? kEnoughRounds : 1);
}

int ComesNextBySource(const CallSites& sites, const Event& here, const Event& a, const Event& b) {
  const PathDivergence to_a = sites.ComparePaths(here.call_path, a.call_path);
  const PathDivergence to_b = sites.ComparePaths(here.call_path, b.call_path);
  if (!to_a.known || !to_b.known || !to_a.branch || !to_b.branch) return 0;
  // The process has to leave functions before it can make the call that is further out.
  if (to_a.depth != to_b.depth) return to_a.depth > to_b.depth ? -1 : 1;
  const PathDivergence between = sites.ComparePaths(a.call_path, b.call_path);
  if (!between.known || !between.branch || between.depth != to_a.depth) return 0;
  const auto holds = [&](const std::vector<EnclosingLoop>& loops) {
    return std::ranges::any_of(
        loops, [&](const EnclosingLoop& loop) { return sites.Inside(here.call_path, loop); });
  };
  if (holds(between.loops_a) || holds(between.loops_b)) return holds(between.loops_a) ? -1 : 1;
  const bool if_a = sites.EnclosingArm(between.a, to_a.a) != nullptr;
  const bool if_b = sites.EnclosingArm(between.b, to_b.a) != nullptr;
  if (if_a != if_b) return if_b ? -1 : 1;
  const bool ahead_a = to_a.order < 0;
  const bool ahead_b = to_b.order < 0;
  if (if_a || (!ahead_a && !ahead_b)) return 0;
  return ahead_a != ahead_b ? (ahead_a ? -1 : 1) : between.order;
}

}  // namespace

int NextCall::Of(uint32_t process) {
  const Event* here = analysis_.IsStuck(process) ? analysis_.CurrentEvent(process) : nullptr;
  if (here == nullptr) return 0;
  const auto [entry, added] = known_.try_emplace(analysis_.Site(*here));
  int& next = entry->second;
  if (!added) return next;
  next = ComesNextBySource(analysis_.sites, *here, a_, b_);
  if (next != 0 && GoesRoundWithout(analysis_, process, *here, next < 0 ? a_ : b_)) next = 0;
  return next;
}

std::vector<uint32_t> RanksComing(const Analysis& analysis, const CollectiveNode& node,
                                  const std::vector<uint32_t>& past) {
  std::vector<uint32_t> coming = RanksEntered(analysis, node);
  if (node.inside.empty() || past.empty()) return coming;
  const Event* call =
      CallOrPlace(analysis, node.communicator, node.sequence, node.inside.front(), node.start);
  const Event* other = PlaceInOrder(analysis, past.front());
  if (call == nullptr || other == nullptr) return coming;
  NextCall next(analysis, *call, *other);
  for (const uint32_t p : Without(node.missing, past)) {
    if (!Contains(coming, p) && next.Of(p) < 0) coming.push_back(p);
  }
  return coming;
}

bool HasPassed(const Analysis& analysis, uint32_t process, const Event& stands, uint32_t waiter,
               const Event& waiting) {
  if (analysis.Finalizes(stands)) return true;
  const uint32_t comm = analysis.CommunicatorOf(stands);
  const bool collective = stands.sequence != 0 && comm != kNoIndex;
  if (collective) {
    // If the waiter has entered that call as well, this process is late, not ahead.
    const MemberHistory* history = analysis.HistoryOf(comm, waiter);
    if (history != nullptr && history->entered >= stands.sequence) return false;
  }
  const PathDivergence path_divergence =
      analysis.sites.ComparePaths(waiting.call_path, stands.call_path);
  const bool stands_behind =
      path_divergence.known && path_divergence.branch && path_divergence.order < 0;
  const Iterations own = CutAt(analysis, process, waiting, stands);
  if (own.last == nullptr) return stands_behind;

  // The process made the awaited call in an earlier iteration.
  const Iterations others = CutAt(analysis, waiter, waiting, waiting);
  const bool same_iteration = others.last != nullptr && others.last->sequence == own.last->sequence;
  if (same_iteration && SameCalls(analysis, own.present, others.present, own.present.size())) {
    return false;  // on the same path, but not as far
  }
  const auto here = [&](const Iterations::Calls& calls) {
    return std::ranges::count_if(
        calls, [&](const Event* event) { return analysis.Site(*event) == analysis.Site(stands); });
  };
  // The process was more often at this place than in any earlier iteration: it skipped the awaited
  // call in this iteration.
  const auto times = here(own.present);
  if (times > 1) {
    auto usual = same_iteration ? here(others.present) : 0;
    for (const Iterations* iterations : {&own, &others}) {
      for (const Iterations::Calls& iteration : iterations->whole)
        usual = std::max(usual, here(iteration));
    }
    return times > usual;
  }
  const auto has_here = [&](const Iterations::Calls& calls) {
    return std::ranges::any_of(
        calls, [&](const Event* event) { return analysis.SameSite(*event, stands); });
  };
  const bool was_here = analysis.SameSite(*own.last, stands) || has_here(own.before) ||
                        std::ranges::any_of(own.whole, has_here);
  if (was_here || !collective || analysis.HistoryOf(comm, waiter) == nullptr) return false;
  // The process is at this place for the first time. If lines cannot be compared, earlier
  // iterations decide.
  if (path_divergence.known) return stands_behind;
  return same_iteration && HasCallPath(analysis, stands) && HasCallPath(analysis, waiting) &&
         MadeTheSameCalls(analysis, own, others);
}

const Event* PlaceInOrder(const Analysis& analysis, uint32_t process) {
  for (const WaitDependency& dependency : analysis.graph.processes[process].dependencies) {
    if (dependency.node != kNoIndex && dependency.event != nullptr) return dependency.event;
  }
  return analysis.CurrentEvent(process);
}

namespace {

struct Waiter {
  uint32_t process = kNoIndex;
  const Event* call = nullptr;
};

// Some of the processes inside, at least one for each call site: one of them may itself be at the
// wrong call.
std::vector<Waiter> SomeInside(const Analysis& analysis, const CollectiveNode& node) {
  constexpr size_t kEnough = 8;
  std::vector<Waiter> waiters;
  std::set<uint64_t> sites;
  for (const uint32_t p : node.inside) {
    const Event* call = CallOrPlace(analysis, node.communicator, node.sequence, p, node.start);
    if (call == nullptr) continue;
    const bool added = sites.insert(analysis.Site(*call)).second;
    if (added || waiters.size() < kEnough) waiters.push_back({p, call});
  }
  return waiters;
}

}  // namespace

std::vector<uint32_t> RanksPast(const Analysis& analysis, const CollectiveNode& node,
                                const std::vector<uint32_t>& processes) {
  std::vector<uint32_t> past;
  if (node.inside.empty()) return past;
  const std::vector<Waiter> waiters = SomeInside(analysis, node);
  if (waiters.empty()) return past;
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, bool> known;
  for (const uint32_t p : processes) {
    const Event* stands = PlaceInOrder(analysis, p);
    if (stands == nullptr) continue;
    const auto [entry, added] = known.try_emplace(
        {analysis.CommunicatorOf(*stands), stands->sequence, analysis.Site(*stands)});
    if (added) {
      entry->second = std::ranges::all_of(waiters, [&](const Waiter& waiter) {
        return HasPassed(analysis, p, *stands, waiter.process, *waiter.call);
      });
    }
    if (entry->second) past.push_back(p);
  }
  return past;
}

}  // namespace rollcall
