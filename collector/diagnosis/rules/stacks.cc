// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/rules/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/diagnosis/wording/exit_text.h"
#include "collector/diagnosis/wording/place_text.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

using Choice = PlaceDetails::Choice;

Finding JudgeEnd(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kRankDied);
  const uint32_t first = incident.deviating.front();
  const Process& process = analysis.trace.processes[first];
  const Place& place = *process.place;
  const std::string ranks = RanksPhrase(finding.culprits);
  const auto verb = [&](const char* one, const char* several) {
    return Verb(finding.culprits, one, several);
  };
  if (!place.fault.empty()) {
    finding.title = fmt::format("{} {} ended by {}", ranks, verb("was", "were"), place.fault);
    finding.why = "its core file shows it";
    if (incident.hangs) finding.title += "; " + WaitingPlacesText(analysis);
    return finding;
  }
  const std::string others = WaitingPlacesText(analysis);
  if (place.gone) {
    finding.title = fmt::format("{} ended; {}", ranks, others);
    finding.why = "its process has ended or is a zombie";
  } else if (place.meaning.meaning == FrameMeaning::kExit) {
    finding.title = fmt::format("{} {} exiting, and {}", ranks, verb("is", "are"), others);
    finding.why = fmt::format("it is in {}", place.meaning.call);
  } else {
    finding.title = fmt::format("{} ended; {}", ranks, others);
    finding.why = fmt::format(
        "its process {} ({}) has not loaded MPI, and the other ranks are past MPI_Init: the rank's "
        "program ended, and the process that started it remains",
        process.pid, process.executable);
  }
  return finding;
}

// Ranks without a process.
Finding JudgeAbsent(const Analysis& analysis, const Incident& incident) {
  const bool cores = analysis.trace.evidence == Trace::Evidence::kCores;
  const std::vector<int32_t> waiting = analysis.RanksOf(incident.agreeing);
  if (incident.hangs) {
    Finding finding = Draft(analysis, incident, VerdictKind::kRankDied);
    finding.culprits = incident.absent;
    finding.culprit_gone = true;
    finding.title = fmt::format("there is no process of {}, and {}", RanksPhrase(incident.absent),
                                WaitingPlacesText(analysis));
    finding.why = "the launcher started all ranks on this machine";
    return finding;
  }
  Finding finding = Draft(analysis, incident, VerdictKind::kInconclusive);
  finding.waiting = waiting;
  if (!incident.absent.empty()) {
    finding.title = fmt::format("{}; what {} was not observed", WaitingPlacesText(analysis),
                                RanksPhrase(incident.absent, "does", "do"));
    finding.fix = cores ? "collect the core files of those ranks as well"
                        : "attach on the machines of those ranks as well: --hosts, or --slurm";
    return finding;
  }
  const std::vector<uint32_t>& unreadable = analysis.places.unreadable;
  finding.title =
      fmt::format("the stack{} of {} could not be taken", unreadable.size() == 1 ? "" : "s",
                  RanksPhrase(analysis.RanksOf(unreadable)));
  finding.why = analysis.PlaceOf(unreadable.front()).problem;
  for (const uint32_t p : unreadable) {
    const std::string& state = analysis.PlaceOf(p).state;
    if (state.empty()) continue;
    finding.notes.push_back(fmt::format("rank {} is {}", analysis.RankOf(p), state));
  }
  return finding;
}

// For ranks whose main thread waits for the GIL while another of their threads is in a call.
Finding JudgeWithoutGil(const Analysis& analysis, const Incident& incident, Finding finding) {
  const std::vector<int32_t> others = analysis.RanksOf(incident.agreeing);
  const std::string& call = analysis.PlaceOf(incident.deviating.front()).meaning.call;
  finding.title = fmt::format(
      "the main thread of {} waits for Python's lock (GIL) while another of its threads is in {}, "
      "and {} in {}",
      RanksPhrase(finding.culprits), call, RanksPhrase(others, "waits", "wait"),
      analysis.PlaceOf(incident.agreeing.front()).meaning.call);
  finding.why =
      "what the others wait for may be what the main thread would do next, and it did not get the "
      "lock between the two samples";
  finding.fix = GilFix(call);
  return finding;
}

Finding JudgeStalled(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kRankStalled);
  const Place& first = analysis.PlaceOf(incident.deviating.front());
  const std::string ranks = RanksPhrase(finding.culprits);
  if (first.main_needs_gil) return JudgeWithoutGil(analysis, incident, std::move(finding));
  finding.title = fmt::format(
      "{} {} {}, and {}", ranks, Verb(finding.culprits, "is", "are"),
      first.stopped && first.Waits() ? "stopped in " + first.meaning.call : "outside every call",
      WaitingPlacesText(analysis));
  if (analysis.trace.evidence == Trace::Evidence::kCores) {
    finding.why = "it had not arrived there when its core was written";
  } else if (first.stopped) {
    finding.why = "it is stopped, by a signal or a debugger";
    finding.fix = fmt::format("continue {}, and attach again", ranks);
  } else {
    finding.why = first.stillness == Stillness::kAsleep
                      ? "it did not run between the two samples"
                      : "it runs, and nothing on its stack or in its registers changed between the "
                        "two samples";
  }
  return finding;
}

// Some ranks are in MPI_Finalize, others in a collective.
Finding JudgeLeft(const Analysis& analysis, const Incident& incident) {
  const Place& here = analysis.PlaceOf(incident.deviating.front());
  const StackMeaning& deviating = here.meaning;
  const bool finalizes = deviating.operation == Operation::kFinalize;
  const Place& waiting = analysis.PlaceOf(incident.agreeing.front());
  const bool left_loop = finalizes && AreApartByLoop(analysis.sites, waiting, here);
  Finding finding = Draft(analysis, incident,
                          left_loop   ? VerdictKind::kUnevenIterations
                          : finalizes ? VerdictKind::kFinalizedEarly
                                      : VerdictKind::kRankConditionalCollective,
                          /*deviating_operation=*/!finalizes);
  finding.title = FinalizingText(analysis);
  finding.why =
      finalizes
          ? "a rank that has entered MPI_Finalize takes part in no further collective"
          : fmt::format("few ranks are in {}: they made a call more, or the others left it out",
                        deviating.call);
  return finding;
}

// The two groups that are compared: first that of the other side, then that of the deviating side.
std::array<const PlaceGroup*, 2> GroupsOf(const Analysis& analysis, const Incident& incident) {
  const std::array<size_t, 2>& groups = incident.Of<PlaceDetails>().groups;
  return {&analysis.places.waiting[groups[0]], &analysis.places.waiting[groups[1]]};
}

// "ranks 1-3 wait in MPI_Recv (a.c:5), rank 0 in MPI_Barrier (a.c:9), rank 4 in MPI_Bcast (a.c:7)"
std::string GroupsText(const Analysis& analysis, const Incident& incident) {
  const auto [main, other] = GroupsOf(analysis, incident);
  const bool apart = AreApart(main->place->library, other->place->library);
  const std::vector<int32_t> first = analysis.RanksOf(main->members);
  std::string text = fmt::format("{} in {}", RanksPhrase(first, "waits", "wait"),
                                 GroupText(analysis, *main, apart));
  const auto add = [&](const PlaceGroup& group) {
    text += fmt::format(", {} in {}", RanksPhrase(analysis.RanksOf(group.members)),
                        GroupText(analysis, group, apart));
  };
  add(*other);
  constexpr size_t kMaxMore = 2;
  size_t more = 0;
  for (const PlaceGroup& group : analysis.places.waiting) {
    if (&group == main || &group == other || ++more > kMaxMore) continue;
    add(group);
  }
  if (more > kMaxMore) text += fmt::format(", others in {} more", more - kMaxMore);
  return text;
}

PathDivergence DivergenceOfGroups(const Analysis& analysis, const Incident& incident) {
  const auto [main, other] = GroupsOf(analysis, incident);
  return analysis.sites.ComparePaths(main->place->call_path, other->place->call_path);
}

// Empty if the stacks do not diverge in one function.
std::string DivergenceText(const PathDivergence& part) {
  if (!part.known || !part.branch || part.same || part.a.function.empty()) return "";
  return fmt::format("the stacks diverge in {}, at lines {} and {}", part.a.function, part.a.line,
                     part.b.line);
}

void AddReducerNote(const Analysis& analysis, Finding* finding) {
  const std::vector<PlaceGroup>& groups = analysis.places.waiting;
  if (std::ranges::none_of(groups, [](const PlaceGroup& group) {
        return group.place->meaning.call.starts_with("c10d::Reducer::");
      })) {
    return;
  }
  finding->notes.emplace_back(
      "DistributedDataParallel reduces gradients once each rank has used each parameter: set "
      "find_unused_parameters if a step does not use all parameters; use Join if ranks have "
      "different numbers of steps");
}

// Sets title and reason if ranks wait for messages or for a window. Other ranks may wait elsewhere.
void DescribeWaits(const Analysis& analysis, const Incident& incident,
                   bool (*waits)(const PlaceGroup&), const char* what, Finding* finding) {
  const std::vector<PlaceGroup>& groups = analysis.places.waiting;
  finding->why = "no rank is outside of these calls";
  if (std::ranges::any_of(groups, &PlaceGroup::Finalizes)) {
    finding->title = FinalizingText(analysis);
    finding->why = "a rank that has entered MPI_Finalize answers no further call";
  } else if (std::ranges::all_of(groups, waits)) {
    const std::vector<int32_t> all = analysis.RanksOf(analysis.places.Waiting());
    finding->title = fmt::format("{} in calls for {} that no rank is left to answer",
                                 RanksPhrase(all, "waits", "wait"), what);
  } else {
    finding->title = GroupsText(analysis, incident);
    const std::string text = DivergenceText(DivergenceOfGroups(analysis, incident));
    if (!text.empty()) finding->why = text;
  }
}

Finding JudgeWindow(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched);
  DescribeWaits(analysis, incident, WaitsForWindow, "a window", &finding);
  finding.notes.emplace_back(
      "stacks do not show which rank holds the lock or has to expose its memory");
  return finding;
}

Finding JudgeMessages(const Analysis& analysis, const Incident& incident) {
  const bool mutual = incident.Of<MessageDetails>().mutual && !incident.tie;
  Finding finding =
      Draft(analysis, incident, mutual ? VerdictKind::kP2pDeadlock : VerdictKind::kP2pUnmatched);
  const std::vector<PlaceGroup>& groups = analysis.places.waiting;
  const auto largest =
      std::ranges::find_if(groups, [](const PlaceGroup& group) { return !group.Finalizes(); });
  finding.operation = largest->place->meaning.operation;
  DescribeWaits(analysis, incident, WaitsForMessages, "messages", &finding);
  if (AwaitEachOther(analysis.trace, incident.deviating)) {
    finding.why = "they wait for messages from each other, in a cycle";
  }
  if (incident.tie) {
    finding.notes.emplace_back(
        "which rank should have sent them, left a loop too early or skipped a round is not known");
  }
  AddReducerNote(analysis, &finding);
  return finding;
}

std::string AllInOneText(const Analysis& analysis) {
  return fmt::format("all ranks are in {}, called from the same place",
                     analysis.places.waiting.front().place->meaning.call);
}

Finding JudgeArrived(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kTransportStalled);
  finding.title = AllInOneText(analysis);
  finding.why = "every rank has arrived, and none continues";
  finding.fix =
      "compare the arguments of the call (root, count, datatype, communicator), which stacks do "
      "not show; if they match, check network, driver and library";
  return finding;
}

VerdictKind KindOf(const Analysis& analysis, const Incident& incident, const PathDivergence& part) {
  const auto groups = GroupsOf(analysis, incident);
  const Place& main = *groups[0]->place;
  const Place& other = *groups[1]->place;
  if (part.same && AreApart(main.library, other.library)) return VerdictKind::kOrderInversion;
  if (main.meaning.call != other.meaning.call && AreApartByLoop(analysis.sites, main, other)) {
    return VerdictKind::kUnevenIterations;
  }
  // In one function, the stacks do not show whether the message or the receive is missing.
  const bool of_message =
      incident.Of<PlaceDetails>().choice == Choice::kAwaited && (!part.known || part.a_innermost);
  if (of_message) return VerdictKind::kP2pUnmatched;
  if (part.known && part.branch) return VerdictKind::kRankConditionalCollective;
  return VerdictKind::kCollectiveMismatch;
}

// Adds the reason for the choice of the deviating side, or for choosing none. A side that was
// chosen because it is smaller needs no reason.
void AddChoice(const Analysis& analysis, const Incident& incident, Finding* finding) {
  const PlaceDetails& places = incident.Of<PlaceDetails>();
  const PlaceGroup& other = *GroupsOf(analysis, incident)[1];
  switch (places.choice) {
    case Choice::kFewer:
    case Choice::kCondition:
      break;
    case Choice::kMembers:
      finding->why += fmt::format("; {} to {}", RanksPhrase(finding->culprits, "belongs", "belong"),
                                  CommunicatorText(*places.call));
      break;
    case Choice::kEqual:
      finding->notes.emplace_back(
          "both places have the same number of ranks: which of them diverged is not known");
      break;
    case Choice::kAwaited:
      finding->why +=
          fmt::format("{}the others wait for {} in calls for messages, or behind a rank that does",
                      finding->why.empty() ? "" : "; ", RanksPhrase(finding->culprits));
      break;
    case Choice::kNoMembers:
      finding->notes.emplace_back(
          "the ranks that are ahead are not members of the communicator of the call");
      break;
    case Choice::kMayHaveLeft:
      finding->notes.push_back(
          fmt::format("a rank may leave {} before all ranks have arrived: which of the ranks "
                      "behind it skipped it is not known",
                      other.place->meaning.call));
      break;
  }
}

Finding JudgeApart(const Analysis& analysis, const Incident& incident) {
  const PlaceDetails& places = incident.Of<PlaceDetails>();
  if (places.by_iteration) {
    Finding finding = Draft(analysis, incident, VerdictKind::kUnevenIterations);
    finding.title = AllInOneText(analysis);
    finding.why = "they are in different iterations of a loop";
    return finding;
  }
  const PathDivergence part = DivergenceOfGroups(analysis, incident);
  Finding finding = Draft(analysis, incident, KindOf(analysis, incident, part));
  finding.title = GroupsText(analysis, incident);
  finding.why = finding.kind == VerdictKind::kOrderInversion
                    ? "the call site is the same, the communicators are not"
                    : DivergenceText(part);
  AddReducerNote(analysis, &finding);
  AddChoice(analysis, incident, &finding);
  AddExitNote(incident, RanksPhrase(analysis.RanksOf(incident.deviating)), &finding);
  if (incident.exit && !incident.tie) {
    finding.fix = ExitFix(*incident.exit, OperationName(finding.operation));
  }
  return finding;
}

Finding Describe(const Analysis& analysis, const Incident& incident) {
  using What = Incident::What;
  switch (incident.what) {
    case What::kDeath:
      return JudgeEnd(analysis, incident);
    case What::kNotArrived:
      return JudgeStalled(analysis, incident);
    case What::kLeft:
      return JudgeLeft(analysis, incident);
    case What::kWindow:
      return JudgeWindow(analysis, incident);
    case What::kMessage:
      return JudgeMessages(analysis, incident);
    case What::kAllArrived:
      return JudgeArrived(analysis, incident);
    case What::kApart:
      return JudgeApart(analysis, incident);
    case What::kAbsent:
    default:
      return JudgeAbsent(analysis, incident);
  }
}

}  // namespace

Finding JudgeStacks(const Analysis& analysis, const Incident& incident) {
  Finding finding = Describe(analysis, incident);
  finding.world = 0;
  if (finding.kind != VerdictKind::kInconclusive) AddPlaceNotes(analysis, &finding);
  return finding;
}

}  // namespace rollcall
