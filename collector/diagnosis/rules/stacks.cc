#include "collector/diagnosis/rules/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "collector/diagnosis/wording/describe.h"
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
    finding.why = "its core file says so";
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
    finding.title = fmt::format("{}; what {} {} was not observed", WaitingPlacesText(analysis),
                                RanksPhrase(incident.absent), Verb(incident.absent, "does", "do"));
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

Finding JudgeStalled(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kRankStalled);
  const Place& first = analysis.PlaceOf(incident.deviating.front());
  const std::string ranks = RanksPhrase(finding.culprits);
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
  const StackMeaning& deviating = analysis.PlaceOf(incident.deviating.front()).meaning;
  const bool finalizes = deviating.operation == Operation::kFinalize;
  Finding finding =
      Draft(analysis, incident,
            finalizes ? VerdictKind::kFinalizedEarly : VerdictKind::kRankConditionalCollective,
            /*deviating_operation=*/!finalizes);
  finding.title = FinalizingText(analysis);
  finding.why =
      finalizes
          ? "a rank that has entered MPI_Finalize takes part in no further collective"
          : fmt::format("few ranks are in {}: they made a call more, or the others left it out",
                        deviating.call);
  return finding;
}

// "ranks 1-3 wait in MPI_Recv (a.c:5), rank 0 in MPI_Barrier (a.c:9), others at 2 more places"
std::string GroupsText(const Analysis& analysis) {
  const std::vector<PlaceGroup>& groups = analysis.places.waiting;
  const bool apart = AreApart(groups[0].place->library, groups[1].place->library);
  const std::vector<int32_t> first = analysis.RanksOf(groups[0].members);
  std::string text = fmt::format(
      "{} {} in {}, {} in {}", RanksPhrase(first), Verb(first, "waits", "wait"),
      GroupText(analysis, groups[0], apart), RanksPhrase(analysis.RanksOf(groups[1].members)),
      GroupText(analysis, groups[1], apart));
  const size_t more = groups.size() - 2;
  if (more > 0) {
    text += fmt::format(", others at {} more place{}", more, more == 1 ? "" : "s");
  }
  return text;
}

PathDivergence DivergenceOfGroups(const Analysis& analysis) {
  const std::vector<PlaceGroup>& groups = analysis.places.waiting;
  return analysis.sites.Part(groups[0].place->call_path, groups[1].place->call_path);
}

// Empty if the stacks do not diverge in one function.
std::string DivergenceText(const PathDivergence& part) {
  if (!part.known || !part.branch || part.same || part.a.function.empty()) return "";
  return fmt::format("the stacks diverge in {}, at lines {} and {}", part.a.function, part.a.line,
                     part.b.line);
}

void AddReducerNote(const Analysis& analysis, Finding* finding) {
  const std::vector<PlaceGroup>& groups = analysis.places.waiting;
  if (std::none_of(groups.begin(), groups.end(), [](const PlaceGroup& group) {
        return group.place->meaning.call.starts_with("c10d::Reducer::");
      })) {
    return;
  }
  finding->notes.emplace_back(
      "DistributedDataParallel reduces gradients once each rank has used each parameter: set "
      "find_unused_parameters if a step does not use all parameters; use Join if ranks have "
      "different numbers of steps");
}

// The title and reason if some wait for messages or a window, and others perhaps do not.
void DescribeWaits(const Analysis& analysis, bool (*waits)(const PlaceGroup&), const char* what,
                   Finding* finding) {
  const std::vector<PlaceGroup>& groups = analysis.places.waiting;
  finding->why = "no rank is outside of these calls";
  if (std::any_of(groups.begin(), groups.end(),
                  [](const PlaceGroup& group) { return group.Finalizes(); })) {
    finding->title = FinalizingText(analysis);
    finding->why = "a rank that has entered MPI_Finalize answers no further call";
  } else if (std::all_of(groups.begin(), groups.end(), waits)) {
    const std::vector<int32_t> all = analysis.RanksOf(analysis.places.Waiting());
    finding->title = fmt::format("{} {} in calls for {} that no rank is left to answer",
                                 RanksPhrase(all), Verb(all, "waits", "wait"), what);
  } else {
    finding->title = GroupsText(analysis);
    const std::string text = DivergenceText(DivergenceOfGroups(analysis));
    if (!text.empty()) finding->why = text;
  }
}

Finding JudgeWindow(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched);
  DescribeWaits(analysis, WaitsForWindow, "a window", &finding);
  finding.notes.emplace_back(
      "stacks do not show which rank holds the lock or has to expose its memory");
  return finding;
}

Finding JudgeMessages(const Analysis& analysis, const Incident& incident) {
  const bool mutual = incident.Of<MessageDetails>().mutual && !incident.tie;
  Finding finding =
      Draft(analysis, incident, mutual ? VerdictKind::kP2pDeadlock : VerdictKind::kP2pUnmatched);
  const std::vector<PlaceGroup>& groups = analysis.places.waiting;
  const auto largest = std::find_if(groups.begin(), groups.end(),
                                    [](const PlaceGroup& group) { return !group.Finalizes(); });
  finding.operation = largest->place->meaning.operation;
  DescribeWaits(analysis, WaitsForMessages, "messages", &finding);
  if (AwaitEachOther(analysis.trace, incident.deviating)) {
    finding.why = "they wait for messages from each other, in a cycle";
  }
  if (incident.tie) {
    finding.notes.emplace_back(
        "the messages are those of a loop: which rank left it, or skipped a round, is not known");
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

VerdictKind KindOf(const Analysis& analysis, const PathDivergence& part) {
  const Place& main = *analysis.places.waiting[0].place;
  const Place& other = *analysis.places.waiting[1].place;
  if (part.same && AreApart(main.library, other.library)) return VerdictKind::kOrderInversion;
  const bool in_loop = part.known && part.branch && !part.same && !part.arms &&
                       (!part.loops_a.empty() || !part.loops_b.empty());
  if (in_loop && main.meaning.call != other.meaning.call) return VerdictKind::kUnevenIterations;
  if (part.known && part.branch) return VerdictKind::kRankConditionalCollective;
  return VerdictKind::kCollectiveMismatch;
}

// Why the deviating side was chosen, or none, if it is not because it is smaller.
void AddChoice(const Analysis& analysis, const PlaceDetails& places, Finding* finding) {
  switch (places.choice) {
    case Choice::kFewer:
    case Choice::kCondition:
      break;
    case Choice::kMembers:
      finding->why +=
          fmt::format("; {} {} to {}", RanksPhrase(finding->culprits),
                      Verb(finding->culprits, "belongs", "belong"), CommunicatorText(*places.call));
      break;
    case Choice::kEqual:
      finding->notes.emplace_back(
          "both places have the same number of ranks: which of them diverged is not known");
      break;
    case Choice::kNoMembers:
      finding->notes.emplace_back(
          "the ranks that are ahead are not members of the communicator of the call");
      break;
    case Choice::kMayHaveLeft:
      finding->notes.push_back(
          fmt::format("a rank may leave {} before all ranks have arrived: which of the ranks "
                      "behind it skipped it is not known",
                      analysis.places.waiting[1].place->meaning.call));
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
  const PathDivergence part = DivergenceOfGroups(analysis);
  Finding finding = Draft(analysis, incident, KindOf(analysis, part));
  finding.title = GroupsText(analysis);
  finding.why = finding.kind == VerdictKind::kOrderInversion
                    ? "the call site is the same, the communicators are not"
                    : DivergenceText(part);
  AddReducerNote(analysis, &finding);
  AddChoice(analysis, places, &finding);
  return finding;
}

Finding Describe(const Analysis& analysis, const Incident& incident) {
  using What = Incident::What;
  switch (incident.what) {
    case What::kDeath:
      return JudgeEnd(analysis, incident);
    case What::kBehind:
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
