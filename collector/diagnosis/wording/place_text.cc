// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/place_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// "Average (solve.c:19)"
std::string PlaceName(const Analysis& analysis, uint32_t process) {
  const SourceFrame frame = analysis.sites.UserFrame(analysis.PlaceOf(process).call_path);
  const std::string place = PlaceText(frame);
  const std::string function = frame.function.empty() ? "?" : frame.function;
  return place.empty() ? function : fmt::format("{} ({})", function, place);
}

// "rank 0 waits for rank 1, rank 1 for rank 2"; empty if the library shows no awaited rank.
std::string AwaitedText(const Trace& trace) {
  constexpr int kMaxShown = 8;
  std::string text;
  int shown = 0;
  for (const Process& process : trace.processes) {
    const Place& place = *process.place;
    const std::vector<int32_t> ranks = place.library.AllAwaited();
    if (ranks.empty() || !place.Waits()) continue;
    if (++shown > kMaxShown) return text + ", and so on";
    text += fmt::format("{}rank {} {}for {}", shown == 1 ? "" : ", ", process.rank,
                        shown == 1 ? "waits " : "", RanksPhrase(ranks));
  }
  return text;
}

std::string WaitingText(const Analysis& analysis, bool (*counts)(const PlaceGroup&)) {
  std::vector<uint32_t> waiting;
  std::string call;
  for (const PlaceGroup& group : analysis.places.waiting) {
    if (!counts(group)) continue;
    if (call.empty()) call = group.place->meaning.call;
    waiting.insert(waiting.end(), group.members.begin(), group.members.end());
  }
  const std::vector<int32_t> ranks = analysis.RanksOf(waiting);
  return fmt::format("{} in {}", RanksPhrase(ranks, "waits", "wait"), call);
}

Site::Role RoleOf(const Analysis& analysis, const Incident& incident, uint32_t process,
                  bool culprit) {
  switch (analysis.graph.processes[process].activity) {
    case Activity::kEnded:
    case Activity::kLeft:
      return Site::Role::kEnded;
    case Activity::kRunning:
      return culprit ? Site::Role::kStalled : Site::Role::kOther;
    default:
      break;
  }
  using What = Incident::What;
  const bool finalizes = analysis.PlaceOf(process).meaning.operation == Operation::kFinalize;
  if (finalizes && (incident.what == What::kLeft || incident.what == What::kMessage)) {
    return Site::Role::kEnded;
  }
  return culprit && incident.what == What::kApart ? Site::Role::kCulprit : Site::Role::kWaiting;
}

void NoteMoving(const Analysis& analysis, Report* report) {
  constexpr size_t kMaxShown = 4;
  const Places& places = analysis.places;
  const std::vector<int32_t> moving = analysis.RanksOf(places.moving);
  if (places.waiting.empty()) {
    report->notes.push_back(fmt::format("{} moved between the two samples", RanksPhrase(moving)));
    return;
  }
  report->notes.push_back(
      fmt::format("{}; {}", WaitingPlacesText(analysis), RanksPhrase(moving, "moves", "move")));
  for (size_t i = 0; i < std::min(kMaxShown, places.moving.size()); ++i) {
    const uint32_t p = places.moving[i];
    const Place& place = analysis.PlaceOf(p);
    std::string text =
        fmt::format("rank {} is {}: {}", analysis.RankOf(p),
                    place.timed ? "in a timed sleep" : place.state, PlaceName(analysis, p));
    if (place.may_act && place.IsStill()) text += "; another of its threads may act";
    if (place.library.outside) text += "; it waits for a process of another job";
    if (!place.problem.empty()) text += fmt::format(" ({})", place.problem);
    if (!place.meaning.call.empty()) text += fmt::format(", in {}", place.meaning.call);
    report->notes.push_back(std::move(text));
  }
}

void NoteMissing(const Analysis& analysis, Report* report) {
  const std::vector<int32_t>& missing = analysis.places.missing;
  if (missing.empty()) return;
  const World& world = analysis.trace.worlds.front();
  if (analysis.trace.evidence == Trace::Evidence::kCores) {
    report->notes.push_back(
        fmt::format("there is no core file of {} of {}", RanksPhrase(missing), world.size));
    return;
  }
  const std::string where = report->hosts > 1
                                ? fmt::format("on none of these {} hosts", report->hosts)
                                : "not on this machine";
  report->notes.push_back(
      fmt::format("{} of {} {} {}{}", RanksPhrase(missing), world.size, Verb(missing, "is", "are"),
                  where, world.all_here ? ", although the launcher started all ranks here" : ""));
}

}  // namespace

std::string WaitingPlacesText(const Analysis& analysis) {
  return WaitingText(analysis, [](const PlaceGroup&) { return true; });
}

std::string FinalizingText(const Analysis& analysis) {
  std::vector<uint32_t> left;
  for (const PlaceGroup& group : analysis.places.waiting) {
    if (!group.Finalizes()) continue;
    left.insert(left.end(), group.members.begin(), group.members.end());
  }
  // A rank that exits may also be in MPI_Finalize.
  for (const uint32_t p : analysis.places.outside) {
    if (analysis.graph.processes[p].activity == Activity::kLeft) left.push_back(p);
  }
  const std::vector<int32_t> ranks = analysis.RanksOf(left);
  return fmt::format(
      "{} in MPI_Finalize, and {}", RanksPhrase(ranks, "is", "are"),
      WaitingText(analysis, [](const PlaceGroup& group) { return !group.Finalizes(); }));
}

std::string CommunicatorText(const LibraryCall& call) {
  return call.communicator.find(' ') == std::string::npos ? call.communicator
                                                          : '"' + call.communicator + '"';
}

std::string GroupText(const Analysis& analysis, const PlaceGroup& group, bool apart) {
  const std::string place = PlaceText(analysis.sites.UserFrame(group.place->call_path));
  return fmt::format("{}{}{}", group.place->meaning.call, place.empty() ? "" : " (" + place + ")",
                     apart ? " on " + CommunicatorText(group.place->library) : "");
}

Site SiteOfPlace(const Analysis& analysis, const Incident& incident, uint32_t process,
                 bool culprit) {
  const Place& place = analysis.PlaceOf(process);
  Site site;
  site.culprit = culprit;
  site.role = RoleOf(analysis, incident, process, culprit);
  site.frame = analysis.sites.UserFrame(place.call_path);
  const bool exits = place.meaning.meaning == FrameMeaning::kExit;
  if (exits && !IsUserLine(site.frame)) site.frame = {};
  site.call_path = place.call_path;
  if (place.gone) {
    site.what = place.fault.empty() ? "ended" : "ended by " + place.fault;
  } else if (WaitsForRanks(place.meaning.meaning)) {
    site.what = place.meaning.call;
  } else {
    site.what = fmt::format("{}{}{}", place.state, place.state.empty() ? "" : ", ",
                            MeaningText(place.meaning.meaning));
  }
  return site;
}

void AddPlaceNotes(const Analysis& analysis, Finding* finding) {
  const auto is_culprit = [finding](const Process& process) {
    return std::ranges::binary_search(finding->culprits, process.rank);
  };
  const std::vector<Process>& processes = analysis.trace.processes;
  for (const Process& process : processes) {
    if (!is_culprit(process)) continue;
    for (const std::string& awaited : process.place->awaited) {
      finding->notes.push_back(fmt::format("rank {}: {}", process.rank, awaited));
    }
  }
  for (const ComparedVariable& variable : analysis.places.variables) {
    if (variable.counts) finding->notes.push_back(VariableText(variable));
  }
  for (const Process& process : processes) {
    if (!process.place->in_kernel || !process.place->Waits()) continue;
    finding->notes.push_back(
        fmt::format("rank {} is in an uninterruptible wait in the kernel (state D)", process.rank));
  }
  if (const std::string awaited = AwaitedText(analysis.trace); !awaited.empty()) {
    finding->notes.push_back("according to the library's requests, " + awaited);
  }
  const bool cores = analysis.trace.evidence == Trace::Evidence::kCores;
  finding->notes.push_back(
      fmt::format("derived from the stacks alone, {}{}",
                  cores ? "sampled once: a rank may still have been moving" : "from two samples",
                  kRecordTheCalls));
}

void AddPlaceNotes(const Analysis& analysis, Report* report) {
  NoteMissing(analysis, report);
  const Places& places = analysis.places;
  if (!places.unreadable.empty() || !report->findings.empty()) return;
  if (!places.moving.empty()) return NoteMoving(analysis, report);
  if (!places.waiting.empty()) {
    if (places.waiting.size() == 1 && places.missing.empty()) {
      report->notes.push_back(
          fmt::format("all ranks are in {}", places.waiting.front().place->meaning.call));
    }
    return;
  }
  std::vector<uint32_t> stopped;
  std::copy_if(places.outside.begin(), places.outside.end(), std::back_inserter(stopped),
               [&](uint32_t p) { return analysis.PlaceOf(p).stopped; });
  const std::vector<int32_t> ranks = analysis.RanksOf(stopped);
  report->notes.push_back(ranks.empty() ? "no rank waits for another rank in a known call"
                                        : fmt::format("{} stopped, by a signal or a debugger",
                                                      RanksPhrase(ranks, "is", "are")));
}

}  // namespace rollcall
