// SPDX-License-Identifier: Apache-2.0
// Finds ranks that left a function or a loop without the collective in which others wait.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/matching/caller.h"

namespace rollcall {
namespace {

using What = Incident::What;

// Whether one side made a call that the other side did not make, so that one of them may have left
// the code around the call.
bool MayHaveExit(const Incident& incident) {
  switch (incident.what) {
    case What::kCalls:
    case What::kShift:
    case What::kLeft:
      return true;
    case What::kApart:
      return !incident.Of<PlaceDetails>().by_iteration &&
             incident.Of<PlaceDetails>().choice != PlaceDetails::Choice::kAwaited;
    case What::kRounds:
      return incident.Of<RoundDetails>().others == 0;
    case What::kCycle:
      return !incident.Of<WaitDetails>().crossed;
    default:
      return false;
  }
}

// Whether the condition contains a word that usually names a rank. Such a condition is meant to
// differ between ranks.
bool NamesRank(std::string_view condition) {
  constexpr std::array<std::string_view, 7> kRanks = {"me",     "myid", "my_id", "mype",
                                                      "myproc", "iam",  "taskid"};
  std::string word;
  for (const char c : std::string(condition) + ' ') {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (word.find("rank") != std::string::npos) return true;
    if (std::ranges::find(kRanks, word) != kRanks.end()) return true;
    word.clear();
  }
  return false;
}

class ExitFinder {
 public:
  ExitFinder(const Analysis& analysis, Incident* incident)
      : analysis_(analysis), incident_(*incident) {}

  void Find() {
    if (incident_.agreeing_event == nullptr || incident_.deviating_event == nullptr) return;
    std::optional<PathExit> exit = Left(incident_.deviating, *incident_.agreeing_event);
    std::optional<PathExit> other = Left(incident_.agreeing, *incident_.deviating_event);
    if (exit.has_value() == other.has_value()) return;
    const bool contradicts = other.has_value();
    if (contradicts) exit = std::move(other);
    const bool agrees = !contradicts && !incident_.tie;
    const bool decides =
        agrees || (contradicts ? Decides(*exit, incident_.agreeing, *incident_.deviating_event)
                               : Decides(*exit, incident_.deviating, *incident_.agreeing_event));
    // Ranks that return under a condition on the rank return on purpose.
    if (!decides && exit->how == PathExit::How::kReturn && NamesRank(exit->condition)) return;
    if (contradicts) {
      SwapSides(analysis_.trace, &incident_);
      if (incident_.what == What::kShift) {
        incident_.Set<CallDetails>().extra = !incident_.Of<CallDetails>().extra;
      }
      if (incident_.what == What::kApart) {
        PlaceDetails& details = incident_.Set<PlaceDetails>();
        std::swap(details.groups[0], details.groups[1]);
        details.choice = PlaceDetails::Choice::kFewer;  // it is the exit that decides
      }
      if (incident_.what == What::kRounds) {
        incident_.Set<RoundDetails>().more = !incident_.Of<RoundDetails>().more;
      }
    }
    incident_.exit = std::move(exit);
    incident_.tie = !decides;
  }

 private:
  // How all of `side` left the code of the call `waiting`; empty if this is not known for one of
  // them.
  std::optional<PathExit> Left(const std::vector<uint32_t>& side, const Event& waiting) const {
    std::optional<PathExit> exit;
    uint32_t known = kNoIndex;
    for (const uint32_t process : side) {
      const Event* stands =
          CallOrPlace(analysis_, incident_.communicator, incident_.sequence, process);
      if (stands == nullptr) return std::nullopt;
      if (exit && analysis_.sites.Id(stands->call_path) == known) continue;
      // At exit, nothing of the program is on the stack.
      if (analysis_.Finalizes(*stands) &&
          !analysis_.sites.ComparePaths(waiting.call_path, stands->call_path).known) {
        continue;
      }
      known = analysis_.sites.Id(stands->call_path);
      // A rank that waits in an error path or an exit handler is outside of the program's normal
      // course.
      if (FindCaller(analysis_.sites, waiting.call_path, stands->call_path)) return std::nullopt;
      exit = analysis_.sites.FindExit(waiting.call_path, stands->call_path);
      if (!exit) return std::nullopt;
    }
    return exit;
  }

  // Whether the exit outweighs the majority. No rank throws an exception on purpose. A rank may
  // return on purpose, unless it made the call before and no branch around the call may have passed
  // it. A loop may have ended by itself, or may be too long on the other side.
  bool Decides(const PathExit& exit, const std::vector<uint32_t>& left,
               const Event& waiting) const {
    const bool thrown = exit.how == PathExit::How::kException;
    const bool broke = exit.how == PathExit::How::kBreak;
    if (!exit.certain || (exit.arms && !thrown && !broke)) return false;
    if (broke ? !NamesRank(exit.condition) : exit.loop && (!thrown || exit.line == 0)) return false;
    return (thrown && !exit.arms) || std::ranges::all_of(left, [&](uint32_t process) {
             return HasMade(process, waiting, exit.arms);
           });
  }

  // Whether the process made the call before. If `arms`, a call of the same operation in another
  // arm of the branch counts: "if (rank == 0) MPI_Bcast(...); else MPI_Bcast(...);". A process that
  // made such a call does not use the branch to pass the call.
  bool HasMade(uint32_t process, const Event& waiting, bool arms) const {
    return analysis_.AnyCall(process, [&](const Event& event) {
      return analysis_.Site(event) == analysis_.Site(waiting) ||
             (arms && analysis_.Op(event) == analysis_.Op(waiting) &&
              IsInOtherArm(event.call_path, waiting.call_path));
    });
  }

  bool IsInOtherArm(uint32_t path, uint32_t waiting) const {
    const auto [entry, added] =
        in_other_arm_.try_emplace({analysis_.sites.Id(path), analysis_.sites.Id(waiting)});
    if (added) entry->second = analysis_.sites.ComparePaths(path, waiting).arms;
    return entry->second;
  }

  const Analysis& analysis_;
  Incident& incident_;
  mutable std::map<std::pair<uint32_t, uint32_t>, bool> in_other_arm_;  // by CallSites::Id()
};

}  // namespace

void FindExits(const Analysis& analysis, std::vector<Incident>* incidents) {
  for (Incident& incident : *incidents) {
    if (MayHaveExit(incident)) ExitFinder(analysis, &incident).Find();
  }
}

}  // namespace rollcall
