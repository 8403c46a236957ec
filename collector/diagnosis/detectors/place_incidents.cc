// SPDX-License-Identifier: Apache-2.0
// Finds incidents by the places of the ranks of a job, without records of their calls.
//
// Ranks inside a call wait for ranks that are not inside it. The place of the majority is no
// evidence that the majority is right.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/matching/caller.h"

namespace rollcall {
namespace {

using What = Incident::What;
using Choice = PlaceDetails::Choice;
using Processes = std::vector<uint32_t>;

void Append(const Processes& more, Processes* all) {
  all->insert(all->end(), more.begin(), more.end());
}

class PlaceFinder {
 public:
  PlaceFinder(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis),
        places_(analysis.places),
        waiting_(places_.Waiting()),
        incidents_(*incidents) {}

  void Find() {
    if (!places_.unreadable.empty()) {
      Add(What::kAbsent, {}, waiting_).hangs = false;
      return;
    }
    // A rank that moves may still arrive.
    if (!places_.moving.empty()) return;
    const bool crashed =
        analysis_.trace.evidence == Trace::Evidence::kCores && !places_.gone.empty();
    if (waiting_.empty() && !crashed) return;
    if (!places_.gone.empty()) {
      Add(What::kDeath, places_.gone, waiting_).hangs = !waiting_.empty();
    } else if (!places_.outside.empty()) {
      FindOutside();
    } else if (!FindWithoutGil() && !FindEnded()) {
      FindWaiting();
    }
  }

 private:
  Incident& Add(What what, Processes deviating, Processes agreeing) {
    Incident& incident = incidents_.emplace_back();
    incident.what = what;
    incident.hangs = true;
    incident.deviating = std::move(deviating);
    incident.agreeing = std::move(agreeing);
    incident.deviating_event = CallOf(incident.deviating);
    incident.agreeing_event = CallOf(incident.agreeing);
    return incident;
  }

  // The call of the largest group whose first member is in `side`. If there is no such group, the
  // call of the first process of `side`.
  const Event* CallOf(const Processes& side) const {
    for (const PlaceGroup& group : places_.waiting) {
      if (Contains(side, group.members.front())) {
        return analysis_.CurrentEvent(group.members.front());
      }
    }
    return side.empty() ? nullptr : analysis_.CurrentEvent(side.front());
  }

  // Ranks outside every call that others wait in, or exiting.
  void FindOutside() {
    Processes stalled;
    Processes leaving;
    for (const uint32_t p : places_.outside) {
      const bool exits = analysis_.graph.processes[p].activity != Activity::kRunning;
      (exits ? leaving : stalled).push_back(p);
    }
    if (!stalled.empty()) Add(What::kNotArrived, stalled, waiting_);
    if (leaving.empty()) return;
    const bool finalizes = analysis_.graph.processes[leaving.front()].activity == Activity::kLeft;
    Add(finalizes ? What::kLeft : What::kDeath, leaving, waiting_);
  }

  // Finds ranks whose main thread waits for Python's lock while another of their threads waits in a
  // call: the main thread may be about to do what the other ranks wait for. False if there are
  // none, if they are the majority, or if other ranks wait in the same call.
  bool FindWithoutGil() {
    Processes locked;
    for (const PlaceGroup& group : places_.waiting) {
      const auto needs_gil = [this](uint32_t p) { return analysis_.PlaceOf(p).main_needs_gil; };
      if (std::ranges::none_of(group.members, needs_gil)) continue;
      if (!std::ranges::all_of(group.members, needs_gil)) return false;
      Append(group.members, &locked);
    }
    if (locked.empty() || 2 * locked.size() > waiting_.size()) return false;
    std::ranges::sort(locked);
    Processes others = Without(waiting_, locked);
    Add(What::kNotArrived, std::move(locked), std::move(others));
    return true;
  }

  // Finds ranks in MPI_Finalize and ranks without a process: neither makes a further call. False if
  // there are no such ranks.
  bool FindEnded() {
    Processes left;
    Processes waiting;
    Processes of_messages;
    bool messages = true;
    bool windows = true;
    bool starts = false;
    size_t calls = 0;
    bool may_leave = false;  // ranks may leave one of the calls before all ranks have arrived
    for (const PlaceGroup& group : places_.waiting) {
      Processes& side = group.Finalizes() ? left : waiting;
      Append(group.members, &side);
      if (group.Finalizes()) continue;
      ++calls;
      may_leave |= !WaitsForMessages(group) && !BlocksUntilAllEntered(group);
      messages &= WaitsForMessages(group);
      if (WaitsForMessages(group)) Append(group.members, &of_messages);
      windows &= WaitsForWindow(group);
      starts |= group.place->kind() == Kind::kInit;
    }
    if (!left.empty() && !waiting.empty()) {
      // The sender of an awaited message is unknown: it need not be a finalizing rank.
      if (const Processes ring = Ring(messages ? waiting : Processes()); !ring.empty()) {
        AddRing(ring);
      } else if (windows) {
        Add(What::kWindow, {}, waiting);
      } else if (FindAwaited(of_messages)) {
        return true;
      } else if (messages) {
        const bool tie = MayBeLeftBehind(waiting);
        Add(What::kMessage, waiting, left).tie = tie;
      } else if (may_leave && !of_messages.empty()) {
        // The senders of the awaited messages are not known. Ranks that left a call early may have
        // sent them.
        Processes others = Without(waiting_, of_messages);
        Add(What::kMessage, std::move(of_messages), std::move(others)).tie = true;
      } else if (calls > 1 && may_leave) {
        FindApart();
      } else {
        AddLeft(left, waiting);
      }
      return true;
    }
    if (waiting.empty()) return true;  // a job that finalizes is ending
    if (places_.missing.empty()) return false;
    if (starts) return true;  // they wait for ranks that may still start
    Incident& incident = Add(What::kAbsent, {}, waiting_);
    incident.absent = places_.missing;
    incident.hangs = analysis_.trace.worlds.front().all_here;
    return true;
  }

  // The smaller side deviates, as in jobs with records.
  void AddLeft(Processes left, Processes waiting) {
    const bool tie = left.size() == waiting.size();
    if (waiting.size() < left.size()) std::swap(left, waiting);
    Add(What::kLeft, std::move(left), std::move(waiting)).tie = tie;
  }

  void FindWaiting() {
    Processes of_messages;
    bool windows = true;
    bool largest = false;  // one of the two largest groups waits for messages
    for (const PlaceGroup& group : places_.waiting) {
      if (!WaitsForMessages(group)) continue;
      largest |= &group - places_.waiting.data() < 2;
      Append(group.members, &of_messages);
      windows &= WaitsForWindow(group);
    }
    if (largest) return FindMessages(std::move(of_messages), windows);
    if (places_.waiting.size() == 1) return FindOneGroup();
    FindApart();
  }

  // Some ranks wait for messages, and others perhaps for all ranks. Stacks do not show which rank
  // should send.
  void FindMessages(Processes waiting, bool windows) {
    if (windows) {
      Add(What::kWindow, {}, waiting_);
      return;
    }
    if (Processes ring = Ring(waiting); !ring.empty()) {
      AddRing(std::move(ring));
      return;
    }
    if (FindAwaited(waiting)) return;
    if (waiting_.size() == 2) waiting = waiting_;  // each waits for the other
    const bool tie = waiting.size() < waiting_.size() && MayBeLeftBehind(waiting);
    AddRing(std::move(waiting)).tie = tie;
  }

  Incident& AddRing(Processes ring) {
    Processes others = Without(waiting_, ring);
    Incident& incident = Add(What::kMessage, std::move(ring), std::move(others));
    incident.Set<MessageDetails>().mutual = true;
    return incident;
  }

  // Whether one of the ranks waits for messages in a loop: another rank may have left the loop, or
  // skipped a round.
  bool MayBeLeftBehind(const Processes& waiting) const {
    return std::ranges::any_of(waiting, [this](uint32_t p) {
      return analysis_.sites.IsInLoop(analysis_.PlaceOf(p).call_path);
    });
  }

  // `waiting` wait for messages, in no cycle. Finds the ranks elsewhere for which they wait: these
  // ranks did not send, or did not receive. They must be fewer than the other ranks, because
  // otherwise `waiting` may have made a round too many. False if it is not known which ranks one of
  // `waiting` waits for.
  bool FindAwaited(const Processes& waiting) {
    Processes awaited = AwaitedBeyond(waiting);
    if (awaited.empty()) return false;
    const Processes direct = WaitingDirectlyFor(awaited, waiting);
    // A rank that made a round too many would wait for more ranks. In MPI_Waitall, all ranks that
    // it waits for are known.
    const bool all_known = std::ranges::all_of(
        direct, [this](uint32_t p) { return analysis_.PlaceOf(p).kind() == Kind::kWaitall; });
    const bool are_more = direct.size() > awaited.size() && all_known;
    const size_t there = NumberAtPlacesOf(awaited, waiting_.size() - waiting.size());
    if (2 * there >= waiting_.size() && !are_more) return false;
    // If an awaited rank left no loop, it may have sent messages that the waiting ranks do not
    // receive. Other ranks that passed the exchange, or answered the waiting ranks, are evidence
    // against that.
    const bool passed = awaited.size() + waiting.size() < waiting_.size();
    const bool answered = are_more && AreAnsweredByOthers(direct, awaited);
    if (!passed && !answered &&
        !AreApartByLoop(analysis_.sites, analysis_.PlaceOf(direct.front()),
                        analysis_.PlaceOf(awaited.front()))) {
      return false;
    }
    PlaceDetails details;
    details.choice = Choice::kAwaited;
    details.groups = {GroupOf(direct.front()), GroupOf(awaited.front())};
    Processes others = Without(waiting_, awaited);
    Incident& incident = Add(What::kApart, std::move(awaited), std::move(others));
    incident.agreeing_event = analysis_.CurrentEvent(direct.front());
    incident.details = details;
    return true;
  }

  // Whether each of `direct` has received, in its call, a message from another rank that is not in
  // `awaited`.
  bool AreAnsweredByOthers(const Processes& direct, const Processes& awaited) const {
    return std::ranges::all_of(direct, [&](uint32_t p) {
      const std::vector<int32_t>& ranks = analysis_.PlaceOf(p).library.answered;
      return std::ranges::any_of(ranks, [&](int32_t rank) {
        const uint32_t other = ProcessOf(analysis_.trace, 0, rank);
        return other != kNoIndex && other != p && !Contains(awaited, other);
      });
    });
  }

  // The members of `waiting` that wait for one of `awaited` directly, not only through other ranks.
  // Both lists increase.
  Processes WaitingDirectlyFor(const Processes& awaited, const Processes& waiting) const {
    Processes direct;
    std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(direct), [&](uint32_t p) {
      const Processes all = AllAwaitedBy(p);
      return std::ranges::any_of(
          all, [&](uint32_t other) { return std::ranges::binary_search(awaited, other); });
    });
    return direct;
  }

  // The number of ranks that wait at a place where one of `some` waits, or were perhaps there: if
  // ranks may leave that call before all have arrived, `most`.
  size_t NumberAtPlacesOf(const Processes& some, size_t most) const {
    size_t number = 0;
    for (const PlaceGroup& group : places_.waiting) {
      const bool holds = std::ranges::any_of(
          group.members, [&](uint32_t p) { return std::ranges::binary_search(some, p); });
      if (holds && !BlocksUntilAllEntered(group)) return most;
      if (holds) number += group.members.size();
    }
    return number;
  }

  // The processes for whose messages `waiting` wait, without `waiting`. Empty if they are not known
  // for one of `waiting`.
  Processes AwaitedBeyond(const Processes& waiting) const {
    std::set<uint32_t> awaited;
    for (const uint32_t p : waiting) {
      const Processes more = AllAwaitedBy(p);
      if (more.empty()) return {};
      awaited.insert(more.begin(), more.end());
    }
    if (awaited.contains(kNoIndex)) return {};
    return Without({awaited.begin(), awaited.end()}, waiting);
  }

  Processes AllAwaitedBy(uint32_t process) const {
    Processes all;
    for (const int32_t rank : analysis_.PlaceOf(process).library.AllAwaited()) {
      all.push_back(ProcessOf(analysis_.trace, 0, rank));
    }
    return all;
  }

  // Index into Places::waiting.
  size_t GroupOf(uint32_t process) const {
    const auto found = std::ranges::find_if(places_.waiting, [process](const PlaceGroup& group) {
      return Contains(group.members, process);
    });
    return static_cast<size_t>(found - places_.waiting.begin());
  }

  uint32_t AwaitedBy(uint32_t process) const {
    return ProcessOf(analysis_.trace, 0, analysis_.PlaceOf(process).library.awaited);
  }

  // The members of `waiting` that wait for messages of each other in a ring, as far as the
  // library's objects show.
  Processes Ring(const Processes& waiting) const {
    std::map<uint32_t, Processes> awaited;
    for (const uint32_t p : waiting) awaited[p] = AllAwaitedBy(p);
    // A rank for which no remaining rank waits is in no ring. A rank that waits for no remaining
    // rank is in no ring, either.
    for (bool less = true; less;) {
      std::set<uint32_t> wanted;
      for (const auto& [waiter, others] : awaited) wanted.insert(others.begin(), others.end());
      less = std::erase_if(awaited, [&](const auto& entry) {
               const Processes& others = entry.second;
               return !wanted.contains(entry.first) ||
                      std::ranges::none_of(others, [&](uint32_t p) { return awaited.contains(p); });
             }) != 0;
    }
    Processes ring;
    for (const auto& entry : awaited) ring.push_back(entry.first);
    return ring;
  }

  void FindOneGroup() {
    const PlaceGroup& group = places_.waiting.front();
    // Starting processes, ending processes and writing files may take any time.
    if (group.place->meaning.meaning == FrameMeaning::kMpi &&
        group.place->kind() != Kind::kCollective) {
      return;
    }
    const auto counter = std::ranges::find_if(places_.variables, [](const ComparedVariable& each) {
      return each.counts && each.values.size() == 2;
    });
    if (counter == places_.variables.end()) {
      Add(What::kAllArrived, {}, waiting_);
      return;
    }
    // They are in different iterations of a loop.
    Processes fewer;
    for (const int32_t rank : counter->values[1].ranks) {
      fewer.push_back(ProcessOf(analysis_.trace, 0, rank));
    }
    Processes most = Without(waiting_, fewer);
    const bool tie = fewer.size() == most.size();
    Incident& incident = Add(What::kApart, std::move(fewer), std::move(most));
    incident.tie = tie;
    incident.details = PlaceDetails{.by_iteration = true};
  }

  // Ranks wait in different collectives, or in one collective that they called at different places.
  // Ranks that finalize have left these collectives.
  void FindApart() {
    std::vector<size_t> groups;
    Processes left;
    for (size_t i = 0; i < places_.waiting.size(); ++i) {
      if (places_.waiting[i].Finalizes()) {
        Append(places_.waiting[i].members, &left);
      } else {
        groups.push_back(i);
      }
    }
    PlaceDetails details;
    details.groups = {groups[0], groups[1]};
    const Processes smaller = Without(Without(waiting_, places_.waiting[groups[0]].members), left);
    Processes named = Choose(smaller, groups.size() == 2, &details);
    const bool tie = named.empty();
    if (tie) named = smaller;
    Processes others = Without(waiting_, named);
    Incident& incident = Add(What::kApart, std::move(named), std::move(others));
    incident.agreeing_event = CallOf(places_.waiting[groups[0]].members);
    incident.tie = tie;
    incident.details = details;
  }

  // The deviating processes: the smaller groups, unless the evidence shows more. Empty if the
  // evidence shows too little.
  Processes Choose(Processes smaller, bool alone, PlaceDetails* details) const {
    const PlaceGroup& main = places_.waiting[details->groups[0]];
    const PlaceGroup& other = places_.waiting[details->groups[1]];
    const PathDivergence part =
        analysis_.sites.ComparePaths(main.place->call_path, other.place->call_path);
    const int order = Order(main, other, part);
    // A rank after a call that does not block all members may have made that call correctly.
    const auto passes = [&other](int by) { return by > 0 && !BlocksUntilAllEntered(other); };
    const bool passed = passes(order);
    // The iterations and the lines may contradict each other, because a loop may count downwards.
    details->certain = part.known && passed == passes(part.order);
    const auto nobody = [details](Choice why) {
      details->choice = why;
      details->certain = false;
      return Processes();
    };
    if (alone && order != 0) {
      const PlaceGroup& behind = order < 0 ? main : other;
      if (const auto skipped = Skipped(behind, order < 0 ? other : main)) {
        if (skipped->empty()) return nobody(Choice::kNoMembers);
        details->choice = Choice::kMembers;
        details->call = &behind.place->library;
        return *skipped;
      }
    }
    if (alone && main.members.size() == other.members.size()) return nobody(Choice::kEqual);
    if (!passed || (alone && IsBeforeTheEnd(other, main))) return smaller;
    if (alone) {
      if (const auto condition = Condition(other, main, part)) {
        details->choice = Choice::kCondition;
        details->certain &= condition->confirmed;
        return condition->named;
      }
    }
    return nobody(Choice::kMayHaveLeft);
  }

  // Whether the program ends after the call of `group`, and not after that of `main`. If so, no
  // rank that is elsewhere has made the call of `group`.
  bool IsBeforeTheEnd(const PlaceGroup& group, const PlaceGroup& main) const {
    const std::optional<Caller> caller =
        FindCaller(analysis_.sites, group.place->call_path, main.place->call_path);
    return caller && caller->kind == Caller::Kind::kErrorPath && caller->exits;
  }

  // Which of two groups is ahead in the program: negative if the second group is, positive if the
  // first group is, 0 if unknown.
  int Order(const PlaceGroup& a, const PlaceGroup& b, const PathDivergence& part) const {
    for (const ComparedVariable& variable : places_.variables) {
      if (!variable.counts) continue;
      const auto iteration = [&](const PlaceGroup& group) {
        const std::vector<int32_t> ranks = analysis_.RanksOf(group.members);
        return std::ranges::find_if(variable.values, [&](const auto& value) {
          return std::includes(value.ranks.begin(), value.ranks.end(), ranks.begin(), ranks.end());
        });
      };
      const auto of_a = iteration(a);
      const auto of_b = iteration(b);
      if (of_a == variable.values.end() || of_b == variable.values.end() || of_a == of_b) continue;
      return of_a->value < of_b->value ? -1 : 1;
    }
    return part.known ? part.order : 0;
  }

  // The ranks of the group ahead that skipped the call in which the others wait; std::nullopt if
  // unknown.
  std::optional<Processes> Skipped(const PlaceGroup& behind, const PlaceGroup& ahead) const {
    const LibraryCall& call = behind.place->library;
    if (!BlocksUntilAllEntered(behind) || !AreApart(call, ahead.place->library))
      return std::nullopt;
    // The members of a group, or of another communicator, too, make one of the other calls.
    const Kind kind = behind.place->kind();
    if (rollcall::GroupOf(kind) != CallGroup::kCollective || kind == Kind::kCreateIntercomm) {
      return std::nullopt;
    }
    Processes skipped;
    std::copy_if(ahead.members.begin(), ahead.members.end(), std::back_inserter(skipped),
                 [&](uint32_t p) { return call.HasMember(analysis_.RankOf(p)); });
    return skipped;
  }

  struct ByCondition {
    Processes named;
    bool confirmed = false;  // the ranks for which the library waits agree
  };

  // For a call that ranks may leave before all have arrived: a condition around the call shows
  // which ranks made it. std::nullopt if there is no condition, or if the condition does not match
  // the ranks.
  std::optional<ByCondition> Condition(const PlaceGroup& behind, const PlaceGroup& ahead,
                                       const PathDivergence& part) const {
    const SourceBlock* arm = part.branch ? analysis_.sites.EnclosingArm(part.b, part.a) : nullptr;
    if (arm == nullptr) return std::nullopt;
    if (arm->subject.empty()) return ByCondition{behind.members};
    int32_t value = -1;
    std::from_chars(arm->value.data(), arm->value.data() + arm->value.size(), value);
    const Processes rank = {ProcessOf(analysis_.trace, 0, value)};
    if (arm->equal) {
      return behind.members == rank ? std::optional(ByCondition{rank}) : std::nullopt;
    }
    Processes awaited;
    for (const uint32_t p : behind.members) {
      if (Contains(ahead.members, AwaitedBy(p))) awaited.push_back(AwaitedBy(p));
    }
    awaited = Without(std::move(awaited), {});
    const bool fits = awaited.empty() ? Contains(ahead.members, rank.front()) : awaited == rank;
    return fits ? std::optional(ByCondition{rank, !awaited.empty()}) : std::nullopt;
  }

  const Analysis& analysis_;
  const Places& places_;
  const Processes waiting_;
  std::vector<Incident>& incidents_;
};

}  // namespace

void FindPlaceIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  PlaceFinder(analysis, incidents).Find();
}

}  // namespace rollcall
