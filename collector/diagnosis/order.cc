#include "collector/diagnosis/order.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace rollcall {
namespace {

uint32_t CommunicatorOf(const Analysis& analysis, const Event& event) {
  return event.membership == kNoIndex ? kNoIndex
                                      : analysis.trace.memberships[event.membership].communicator;
}

bool SameSite(const Analysis& analysis, const Event& a, const Event& b) {
  return analysis.Site(a) == analysis.Site(b) &&
         CommunicatorOf(analysis, a) == CommunicatorOf(analysis, b);
}

// Does `leaver` stand behind the loop whose sites are keys[begin, begin + period), judged by the
// lines of the function in which they part? Where it stands before them, it is a call of the loop's
// body, unless it `was_made` before the loop: then an outer loop came round.
bool Behind(const Analysis& analysis, const Lane& lane, const Loop& loop, const Event& leaver,
            bool was_made) {
  bool before = false;
  bool behind = false;
  for (size_t i = 0; i < loop.period; ++i) {
    const Event* event = lane.At(lane.first + loop.begin + i);
    if (event == nullptr) return false;
    if (SameSite(analysis, *event, leaver)) return false;
    const Parting parting = analysis.sites.Part(event->call_path, leaver.call_path);
    if (parting.same) return false;  // another operation by the same call: it is still in there
    if (!parting.known || !parting.branch) continue;
    before |= parting.order > 0;
    behind |= parting.order < 0;
  }
  return !before || (was_made && !behind);
}

// In how many of operation, root, reduction, datatype and count two calls differ.
int Differences(const Analysis& analysis, const Event& a, const Event& b) {
  const Arguments& x = analysis.Args(a);
  const Arguments& y = analysis.Args(b);
  return (x.operation != y.operation) + (x.root_or_peer != y.root_or_peer) +
         (x.reduce_op != y.reduce_op) + (x.send_datatype != y.send_datatype) +
         (x.send_count != y.send_count);
}

// `staying` holds the loop's next call at `sequence`; `leaver` is what the other side did instead.
bool LeftLoop(const Analysis& analysis, const Lane& staying, uint64_t sequence, const Event& leaver,
              uint32_t leaving_process, Parted* parted) {
  std::vector<uint64_t> keys = SiteHistory(analysis.trace, analysis.sites, staying);
  if (sequence < staying.first || sequence - staying.first >= keys.size()) return false;
  const size_t at = sequence - staying.first;
  // Without call paths every call of one kind looks like the same site: that is no loop.
  if ((keys[at] & 0xffffffff) == 0) return false;
  const Loop loop = FindLoop(keys, at + 1);
  if (loop.period == 0) return false;
  // Where the loop's beginning is on record, the call must begin a round.
  const bool beginning_seen = loop.begin > 0 || staying.first == 1;
  if (beginning_seen && (at - loop.begin) % loop.period != 0) return false;
  // Two equal calls in a row are what a skipped call leaves behind, too: either two whole rounds
  // came before this one, or this call has followed its predecessor before.
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
    if (event->start_ns >= leaver.start_ns || !SameSite(analysis, *event, leaver)) continue;
    was_made = true;
    // A call that this rank made between two rounds is a part of the loop, too. Clocks of two hosts
    // differ: the loop's beginning is taken from the same rank where it is on record.
    const Lane* own = analysis.LaneOf(
        analysis.trace.memberships[staying.membership_index].communicator, leaving_process);
    const Event* own_first = own == nullptr ? nullptr : own->At(first->sequence);
    if (event->start_ns >= (own_first != nullptr ? own_first : first)->start_ns) return false;
  }
  if (!Behind(analysis, staying, loop, leaver, was_made)) return false;
  parted->uneven = true;
  parted->period = loop.period;
  parted->rounds = (at - loop.begin) / loop.period;
  parted->rounds_lost = !beginning_seen;
  return true;
}

// What a process called, cut where it made one call, up to the present.
struct Rounds {
  using Calls = std::vector<const Event*>;
  Calls before;              // up to the first of those
  std::vector<Calls> whole;  // between two of them
  Calls present;             // after the last of them, with the call that it stands in
  const Event* last = nullptr;
};

Rounds CutAt(const Analysis& analysis, uint32_t process, const Event& cut, const Event& stands) {
  Rounds rounds;
  for (const Event* event : analysis.Timeline(process)) {
    if (event->start_ns >= stands.start_ns) break;
    if (!SameSite(analysis, *event, cut)) {
      rounds.present.push_back(event);
      continue;
    }
    if (rounds.last == nullptr) {
      rounds.before = std::move(rounds.present);
    } else {
      rounds.whole.push_back(std::move(rounds.present));
    }
    rounds.present.clear();
    rounds.last = event;
  }
  rounds.present.push_back(&stands);
  return rounds;
}

// The ranks of a group have communicators of their own beside it, so only call sites count.
bool SameCalls(const Analysis& analysis, const Rounds::Calls& a, const Rounds::Calls& b,
               size_t calls) {
  return calls <= a.size() && calls <= b.size() &&
         std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(calls), b.begin(),
                    [&](const Event* x, const Event* y) {
                      return analysis.Site(*x) == analysis.Site(*y);
                    });
}

// Both called the same in each of the last rounds, and there are at least two of these.
bool WentTheSameWay(const Analysis& analysis, const Rounds& a, const Rounds& b) {
  const size_t rounds = std::min(a.whole.size(), b.whole.size());
  for (size_t i = 1; i <= rounds; ++i) {
    const Rounds::Calls& x = a.whole[a.whole.size() - i];
    const Rounds::Calls& y = b.whole[b.whole.size() - i];
    if (x.size() != y.size() || !SameCalls(analysis, x, y, x.size())) return false;
  }
  return rounds >= 2;
}

bool HasCallPath(const Analysis& analysis, const Event& event) {
  return analysis.sites.Id(event.call_path) != 0;
}

}  // namespace

bool WentPast(const Analysis& analysis, uint32_t process, const Event& stands, uint32_t waiter,
              const Event& waiting) {
  if (analysis.Finalizes(stands)) return true;
  const uint32_t comm = CommunicatorOf(analysis, stands);
  const bool collective = stands.sequence != 0 && comm != kNoIndex;
  if (collective) {
    // The other has been there, too: then this one is late, not ahead.
    const Lane* lane = analysis.LaneOf(comm, waiter);
    if (lane != nullptr && lane->entered >= stands.sequence) return false;
  }
  const Parting parting = analysis.sites.Part(waiting.call_path, stands.call_path);
  const bool stands_behind = parting.known && parting.branch && parting.order < 0;
  const Rounds own = CutAt(analysis, process, waiting, stands);
  if (own.last == nullptr) return stands_behind;

  // It made that call in an earlier round.
  const Rounds others = CutAt(analysis, waiter, waiting, waiting);
  const bool same_round = others.last != nullptr && others.last->sequence == own.last->sequence;
  if (same_round && SameCalls(analysis, own.present, others.present, own.present.size())) {
    return false;  // on the same way, and not as far
  }
  const auto here = [&](const Rounds::Calls& calls) {
    return std::count_if(calls.begin(), calls.end(), [&](const Event* event) {
      return analysis.Site(*event) == analysis.Site(stands);
    });
  };
  // Oftener at the present place than any round has it: a round without that call.
  const auto times = here(own.present);
  if (times > 1) {
    auto usual = same_round ? here(others.present) : 0;
    for (const Rounds* rounds : {&own, &others}) {
      for (const Rounds::Calls& round : rounds->whole) usual = std::max(usual, here(round));
    }
    return times > usual;
  }
  const auto has_here = [&](const Rounds::Calls& calls) {
    return std::any_of(calls.begin(), calls.end(),
                       [&](const Event* event) { return SameSite(analysis, *event, stands); });
  };
  const bool was_here = SameSite(analysis, *own.last, stands) || has_here(own.before) ||
                        std::any_of(own.whole.begin(), own.whole.end(), has_here);
  if (was_here || !collective || analysis.LaneOf(comm, waiter) == nullptr) return false;
  // The first time here. Where no names say what stands behind what, the rounds before do.
  if (parting.known) return stands_behind;
  return same_round && HasCallPath(analysis, stands) && HasCallPath(analysis, waiting) &&
         WentTheSameWay(analysis, own, others);
}

std::vector<uint32_t> ThosePast(const Analysis& analysis, const CollectiveNode& node,
                                const std::vector<uint32_t>& processes) {
  std::vector<uint32_t> past;
  if (node.inside.empty()) return past;
  const uint32_t waiter = node.inside.front();
  const Event* waiting =
      CallOrPlace(analysis, node.communicator, node.sequence, waiter, node.start);
  if (waiting == nullptr) return past;
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, bool> known;
  for (const uint32_t p : processes) {
    const Event* stands = analysis.Stands(p);
    if (stands == nullptr) continue;
    const auto [entry, added] = known.try_emplace(
        {CommunicatorOf(analysis, *stands), stands->sequence, analysis.Site(*stands)});
    if (added) entry->second = WentPast(analysis, p, *stands, waiter, *waiting);
    if (entry->second) past.push_back(p);
  }
  return past;
}

Parted HowParted(const Analysis& analysis, const Incident& incident) {
  Parted parted;
  const Event* x = incident.agreeing_event;
  const Event* y = incident.deviating_event;
  if (x == nullptr || y == nullptr) return parted;
  parted.parting = analysis.sites.Part(x->call_path, y->call_path);
  parted.calls_differ = !parted.parting.same;
  const Lane* lane_x = analysis.LaneOf(incident.communicator, incident.agreeing.front());
  const Lane* lane_y = analysis.LaneOf(incident.communicator, incident.deviating.front());
  if (lane_x == nullptr || lane_y == nullptr) return parted;
  const auto here = [&](const Event& event) {
    return event.sequence == incident.sequence &&
           CommunicatorOf(analysis, event) == incident.communicator;
  };
  const bool x_here = here(*x);
  const bool y_here = here(*y);

  // Where the histories are shifted, it is known who made the calls that the other left out: that
  // side did not leave a loop too early, it made a call that is new to the loop.
  const bool shifted = incident.what == Incident::What::kShift;
  const bool deviating_may = !shifted || !incident.shift_extra;
  const bool agreeing_may = !shifted || incident.shift_extra;
  if (x_here && deviating_may &&
      LeftLoop(analysis, *lane_x, incident.sequence, *y, incident.deviating.front(), &parted)) {
    parted.deviating_left = true;
  } else if (y_here && agreeing_may) {
    LeftLoop(analysis, *lane_y, incident.sequence, *x, incident.agreeing.front(), &parted);
  }

  // Which of the two is the conditional call?
  if (incident.what == Incident::What::kShift) {
    parted.skipped = !incident.shift_extra;
    return parted;
  }
  if (!y_here || !x_here) {
    parted.skipped = x_here;
    return parted;
  }
  const auto known = [&](const Lane& lane, const Event& event, bool before) {
    const std::vector<Event>& events = lane.membership->events;
    return std::any_of(events.begin(), events.end(), [&](const Event& other) {
      return (before ? other.sequence < incident.sequence : other.sequence > incident.sequence) &&
             analysis.Site(other) == analysis.Site(event);
    });
  };
  const bool x_known = known(*lane_x, *x, true) || known(*lane_y, *x, true);
  const bool y_known = known(*lane_x, *y, true) || known(*lane_y, *y, true);
  const bool both_by_both = known(*lane_x, *x, true) && known(*lane_x, *y, true) &&
                            known(*lane_y, *x, true) && known(*lane_y, *y, true);
  parted.separate_calls = parted.parting.known && parted.parting.branch &&
                          (both_by_both || Differences(analysis, *x, *y) >= 2);
  if (x_known != y_known) {
    parted.skipped = y_known;
  } else if (!x_known) {
    parted.skipped = parted.parting.order <= 0;
  }
  // Only a call that does not block lets a rank come to the other one at all.
  const Kind kind = analysis.KindOf(*y);
  parted.later_made = (kind == Kind::kNonblocking || kind == Kind::kPersistentCollective ||
                       kind == Kind::kCreateCommNonblocking) &&
                      known(*lane_y, *x, false) && known(*lane_x, *y, false);
  return parted;
}

}  // namespace rollcall
