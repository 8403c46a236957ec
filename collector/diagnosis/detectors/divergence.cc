// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/detectors/divergence.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "collector/diagnosis/detectors/order.h"
#include "collector/matching/caller.h"

namespace rollcall {
namespace {

// Whether `leaver` is after the loop whose sites are keys[begin, begin + period), by the lines of
// the function in which they diverge. A call whose line is before the loop's lines is part of the
// loop's body. If it `was_made` before the loop, an outer loop repeats it instead.
bool IsAfterLoop(const Analysis& analysis, const MemberHistory& history, const Loop& loop,
                 const Event& leaver, bool was_made) {
  bool before = false;
  bool after = false;
  for (size_t i = 0; i < loop.period; ++i) {
    const Event* event = history.At(history.first + loop.begin + i);
    if (event == nullptr) return false;
    if (analysis.SameSite(*event, leaver)) return false;
    const PathDivergence path_divergence =
        analysis.sites.ComparePaths(event->call_path, leaver.call_path);
    if (path_divergence.same)
      return false;  // one call made another operation: still inside the loop
    if (!path_divergence.known || !path_divergence.branch) continue;
    before |= path_divergence.order > 0;
    after |= path_divergence.order < 0;
  }
  return !before || (was_made && !after);
}

// The number of differences of two calls in operation, root, reduction, datatype and count. Only
// arguments that are significant on both sides are compared: a root passes arguments that are not
// significant on other ranks.
int Differences(const Analysis& analysis, const Event& a, const Event& b) {
  const Arguments& x = analysis.Args(a);
  const Arguments& y = analysis.Args(b);
  int differences = (x.operation != y.operation) + (x.root_or_peer != y.root_or_peer) +
                    (x.reduce_op != y.reduce_op);
  const bool both_receive = x.recv_signature != 0 && y.recv_signature != 0;
  if (both_receive && (x.send_signature == 0) != (y.send_signature == 0)) {
    differences += (x.recv_datatype != y.recv_datatype) + (x.recv_count != y.recv_count);
  } else {
    differences += (x.send_datatype != y.send_datatype) + (x.send_count != y.send_count);
  }
  return differences;
}

// The calls that a process made in a loop before one moment, without leaving the loop.
struct Visit {
  uint64_t calls = 0;          // from the loop's own call site
  bool begins_with_it = true;  // the first call of the loop is on the same line of the user's code
  bool whole = true;           // the beginning of the visit is recorded
};

// The last visit of the loop that began before `until`. `inside`: `until` is a call of the loop.
Visit LastVisit(const Analysis& analysis, uint32_t process, const EnclosingLoop& loop,
                const Event& call, const Event& until, bool inside) {
  Visit visit;
  const std::vector<const Event*> timeline = analysis.Timeline(process);
  bool entered = inside;
  for (size_t i = timeline.size(); i-- > 0;) {
    const Event& event = *timeline[i];
    if (event.start_ns >= until.start_ns) continue;
    if (!analysis.sites.Inside(event.call_path, loop)) {
      if (entered) return visit;
      continue;
    }
    entered = true;
    visit.begins_with_it = SameUserCall(analysis, event, call);
    visit.calls += analysis.SameSite(event, call);
  }
  const std::vector<Thread>& threads = analysis.trace.processes[process].threads;
  visit.whole = std::ranges::none_of(
      threads, [](const Thread& thread) { return thread.lost_collectives != 0; });
  return visit;
}

// Whether the source shows that the other side left a loop around `next`, the staying side's call.
// `leaver` is the call to which the other side continued; none of `loops` contains it. Both sides
// must have made `next` equally often in the loop.
bool LeftBySource(const Analysis& analysis, const std::vector<EnclosingLoop>& loops,
                  uint32_t stayer, const Event& next, uint32_t leaving_process, const Event& leaver,
                  Divergence* divergence) {
  for (size_t i = 0; i < loops.size(); ++i) {
    const Visit stayed = LastVisit(analysis, stayer, loops[i], next, next, true);
    const Visit left = LastVisit(analysis, leaving_process, loops[i], next, leaver, false);
    if (stayed.calls == 0 || left.calls != stayed.calls || !stayed.begins_with_it) continue;
    divergence->uneven = divergence->left_for_certain = true;
    divergence->conditional_in_loop = analysis.sites.IsConditional(loops[i]);
    divergence->loop = loops[i];
    divergence->iterations = stayed.calls;
    divergence->by_iterations = i == 0;
    divergence->iterations_lost = !stayed.whole || !left.whole;
    return true;
  }
  return false;
}

// The same by the history. `staying` has the loop's next call at `sequence`; `leaver` is the call
// that the other side made instead.
bool LeftByHistory(const Analysis& analysis, const MemberHistory& staying, uint64_t sequence,
                   const Event& leaver, uint32_t leaving_process, Divergence* divergence) {
  std::vector<uint64_t> keys = SiteHistory(analysis.trace, analysis.sites, staying);
  if (sequence < staying.first || sequence - staying.first >= keys.size()) return false;
  const size_t at = sequence - staying.first;
  // Without call paths, all calls of one kind seem to be at one site. That is not a loop.
  if ((keys[at] & 0xffffffff) == 0) return false;
  const Loop loop = FindLoop(keys, at + 1);
  if (loop.period == 0) return false;
  // If the beginning of the loop is recorded, the call must begin an iteration.
  const bool beginning_seen = loop.begin > 0 || staying.first == 1;
  if (beginning_seen && (at - loop.begin) % loop.period != 0) return false;
  // Two equal calls in a row may also be the result of a skipped call. They are a loop if two
  // complete iterations precede this call, or if this call has followed its predecessor before.
  if (at - loop.begin < 2 * loop.period) {
    bool usual = false;
    for (size_t i = 1; i < at && !usual; ++i) {
      usual = keys[i - 1] == keys[at - 1] && keys[i] == keys[at];
    }
    if (!usual) return false;
  }
  const Event* first = staying.At(staying.first + loop.begin);
  if (first == nullptr) return false;
  bool was_made = false;
  for (const Event* event : analysis.Timeline(leaving_process)) {
    if (event->start_ns >= leaver.start_ns || !analysis.SameSite(*event, leaver)) continue;
    was_made = true;
    // A call that this rank made between two iterations is part of the loop as well. The beginning
    // of the loop is taken from the same rank if it is recorded, because clocks of two hosts
    // differ.
    const MemberHistory* own = analysis.HistoryOf(
        analysis.trace.members[staying.member_index].communicator, leaving_process);
    const Event* own_first = own == nullptr ? nullptr : own->At(first->sequence);
    if (event->start_ns >= (own_first != nullptr ? own_first : first)->start_ns) return false;
  }
  if (!IsAfterLoop(analysis, staying, loop, leaver, was_made)) return false;
  divergence->uneven = true;
  divergence->period = loop.period;
  divergence->iterations = static_cast<uint64_t>(
      std::count(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(at), keys[at]));
  divergence->iterations_lost = staying.first != 1;
  return true;
}

// Whether `leaving_process` left the loop whose next call `staying` has at `sequence`. `loops` are
// the loops around that call that do not contain `leaver`. `sources`: all sources could be read, so
// `loops` is complete.
bool LeftLoop(const Analysis& analysis, const MemberHistory& staying, uint64_t sequence,
              const Event& leaver, uint32_t leaving_process,
              const std::vector<EnclosingLoop>& loops, bool sources, Divergence* divergence) {
  const Event* next = staying.At(sequence);
  if (next == nullptr) return false;
  if (LeftBySource(analysis, loops, staying.process, *next, leaving_process, leaver, divergence)) {
    return true;
  }
  const bool finalizes = analysis.Finalizes(leaver);
  if (sources && loops.empty()) return false;
  if (!LeftByHistory(analysis, staying, sequence, leaver, leaving_process, divergence))
    return false;
  divergence->left_for_certain = finalizes || !loops.empty();
  if (!loops.empty()) divergence->conditional_in_loop = analysis.sites.IsConditional(loops.front());
  return true;
}

// Whether the place is in the loop: the process has called from this place before, and exchanged
// messages with the peer since.
bool IsInLoop(const Analysis& analysis, uint32_t process, const Event& stands, uint32_t peer) {
  const MemberHistory* history = analysis.HistoryOf(analysis.CommunicatorOf(stands), peer);
  bool called = false;
  for (const Event* event : analysis.Timeline(process)) {
    if (event->start_ns >= stands.start_ns) break;
    if (analysis.SameSite(*event, stands)) called = true;
    if (!called || event->sequence != 0) continue;
    for (const Message& message : MessagesOf(analysis.Args(*event))) {
      if (history == nullptr || message.peer == history->member->rank) return true;
    }
  }
  return false;
}

// The ranks exchange messages in a loop. The side with fewer rounds has left the loop if its place
// is outside the loop of the other side's wait.
void DivergeByRounds(const Analysis& analysis, const Incident& incident, Divergence* divergence) {
  const RoundDetails& rounds = incident.Of<RoundDetails>();
  if (rounds.others != 0) return;
  const Event& left = *(rounds.more ? incident.agreeing_event : incident.deviating_event);
  const PathDivergence& part = divergence->path_divergence;
  const std::vector<EnclosingLoop>& loops = rounds.more ? part.loops_b : part.loops_a;
  divergence->deviating_left = !rounds.more;
  divergence->iterations = rounds.before;
  divergence->skipped = !rounds.more;
  divergence->order_open =
      rounds.before == 0 && !(part.order < 0 && part.sources_a && part.sources_b);
  if (!loops.empty()) {
    divergence->uneven = divergence->left_for_certain = true;
    divergence->loop = loops.front();
    divergence->conditional_in_loop = analysis.sites.IsConditional(loops.front());
    return;
  }
  if (rounds.more ? part.sources_b : part.sources_a) return;
  divergence->uneven = !incident.tie && (analysis.Finalizes(left) ||
                                         !IsInLoop(analysis, rounds.awaited, left, rounds.waiter));
  divergence->left_for_certain = analysis.Finalizes(left);
}

Divergence FindDivergenceByHistory(const Analysis& analysis, const Incident& incident) {
  Divergence divergence;
  const Event* x = incident.agreeing_event;
  const Event* y = incident.deviating_event;
  if (x == nullptr || y == nullptr) return divergence;
  divergence.path_divergence = analysis.sites.ComparePaths(x->call_path, y->call_path);
  divergence.calls_differ = !divergence.path_divergence.same;
  if (incident.what == Incident::What::kRounds) {
    DivergeByRounds(analysis, incident, &divergence);
    return divergence;
  }
  const MemberHistory* history_x =
      analysis.HistoryOf(incident.communicator, incident.agreeing.front());
  const MemberHistory* history_y =
      analysis.HistoryOf(incident.communicator, incident.deviating.front());
  if (history_x == nullptr || history_y == nullptr) return divergence;
  const auto here = [&](const Event& event) {
    return event.sequence == incident.sequence &&
           analysis.CommunicatorOf(event) == incident.communicator;
  };
  const bool finalizes = analysis.Finalizes(*x) || analysis.Finalizes(*y);
  const bool sources = divergence.path_divergence.sources_a && divergence.path_divergence.sources_b;
  const bool x_here = here(*x);
  const bool y_here = here(*y);

  // If the histories are shifted, it is known which side made the calls that the other side
  // skipped. The side with the additional calls did not leave a loop too early.
  const bool shifted = incident.what == Incident::What::kShift;
  const bool deviating_may = !shifted || !incident.Of<CallDetails>().extra;
  const bool agreeing_may = !shifted || incident.Of<CallDetails>().extra;
  if (x_here && deviating_may &&
      LeftLoop(analysis, *history_x, incident.sequence, *y, incident.deviating.front(),
               divergence.path_divergence.loops_a, divergence.path_divergence.sources_a,
               &divergence)) {
    divergence.deviating_left = true;
  } else if (y_here && agreeing_may) {
    LeftLoop(analysis, *history_y, incident.sequence, *x, incident.agreeing.front(),
             divergence.path_divergence.loops_b, divergence.path_divergence.sources_b, &divergence);
  }

  // Decide which of the two calls is the conditional one.
  if (incident.what == Incident::What::kShift) {
    divergence.skipped = !incident.Of<CallDetails>().extra;
    return divergence;
  }
  const auto known = [&](const MemberHistory& history, const Event& event, bool before) {
    const std::vector<Event>& events = history.member->events;
    return std::ranges::any_of(events, [&](const Event& other) {
      return (before ? other.sequence < incident.sequence : other.sequence > incident.sequence) &&
             analysis.Site(other) == analysis.Site(event);
    });
  };
  if (!y_here || !x_here) {
    divergence.skipped = x_here;
    const Event& waited = x_here ? *x : *y;
    divergence.order_open = !sources && !finalizes && !known(*history_x, waited, true) &&
                            !known(*history_y, waited, true);
    return divergence;
  }
  const bool x_known = known(*history_x, *x, true) || known(*history_y, *x, true);
  const bool y_known = known(*history_x, *y, true) || known(*history_y, *y, true);
  const bool both_by_both = known(*history_x, *x, true) && known(*history_x, *y, true) &&
                            known(*history_y, *x, true) && known(*history_y, *y, true);
  // A PyTorch program makes the same call from many places, including PyTorch's own code. If the
  // source shows no two arms, the two calls were not meant to match.
  const bool two_places = IsC10d(analysis.Op(*y)) && sources && x_known != y_known;
  divergence.separate_calls = divergence.path_divergence.known &&
                              divergence.path_divergence.branch &&
                              !divergence.path_divergence.arms &&
                              (both_by_both || two_places || Differences(analysis, *x, *y) >= 2);
  if (x_known != y_known) {
    divergence.skipped = y_known;
  } else if (!x_known) {
    divergence.skipped = divergence.path_divergence.order <= 0;
  }
  divergence.order_open = !sources && !x_known && !y_known;
  // A rank can reach the other call only after a call that does not block.
  const Kind kind = analysis.KindOf(*y);
  divergence.later_made = (kind == Kind::kNonblocking || kind == Kind::kPersistentCollective ||
                           kind == Kind::kCreateCommNonblocking) &&
                          known(*history_y, *x, false) && known(*history_x, *y, false);
  return divergence;
}

// Returns whether the side that seems to have left a loop is in a call outside of the program's
// normal course. A destructor at the end of a scope is part of the normal course.
bool IsCalledFromElsewhere(const Analysis& analysis, const Incident& incident, bool deviating) {
  const Event& left = deviating ? *incident.deviating_event : *incident.agreeing_event;
  const Event& stayed = deviating ? *incident.agreeing_event : *incident.deviating_event;
  const std::optional<Caller> caller = FindCaller(analysis.sites, left.call_path, stayed.call_path);
  return caller && caller->kind != Caller::Kind::kDestructor && !analysis.Finalizes(left);
}

}  // namespace

Divergence FindDivergence(const Analysis& analysis, const Incident& incident) {
  Divergence divergence = FindDivergenceByHistory(analysis, incident);
  if (divergence.uneven && IsCalledFromElsewhere(analysis, incident, divergence.deviating_left)) {
    divergence.uneven = false;
  }
  if (!incident.exit) return divergence;
  if (incident.exit->how != PathExit::How::kBreak) {
    divergence.uneven = false;
    divergence.separate_calls = true;
  }
  divergence.skipped = true;
  divergence.later_made = divergence.order_open = false;
  return divergence;
}

}  // namespace rollcall
