// docs/verdicts/init-hang.md
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// Every rank that called it, with its arguments.
void AddCreationSites(const Analysis& analysis, const Incident& incident, Finding* finding) {
  const Trace& trace = analysis.trace;
  const uint64_t key = trace.creations[incident.Of<StartDetails>().index].key;
  std::set<int32_t> came;
  for (const Creation& creation : trace.creations) {
    if (creation.key == key) came.insert(analysis.RankOf(creation.process));
  }
  std::erase_if(finding->sites, [&came](const Site& site) {
    return std::any_of(site.ranks.begin(), site.ranks.end(),
                       [&came](int32_t rank) { return came.contains(rank); });
  });
  for (Site& site : finding->sites) {
    if (site.frame.function.empty() && site.what.empty()) site.what = "made no call";
  }
  for (const Creation& creation : trace.creations) {
    if (creation.key != key) continue;
    const int32_t rank = analysis.RankOf(creation.process);
    Site site;
    site.culprit = std::binary_search(finding->culprits.begin(), finding->culprits.end(), rank);
    site.role = creation.event.end_ns == kNoTime ? Site::Role::kWaiting : Site::Role::kOther;
    site.call_path = creation.event.call_path;
    site.frame = analysis.sites.UserFrame(site.call_path);
    site.what = fmt::format("{}  (nranks {})", creation.call, creation.size);
    const auto same =
        std::find_if(finding->sites.begin(), finding->sites.end(), [&](const Site& other) {
          return other.culprit == site.culprit && other.role == site.role &&
                 other.call_path == site.call_path && other.what == site.what;
        });
    if (same != finding->sites.end()) {
      same->ranks.push_back(rank);
      continue;
    }
    site.ranks = {rank};
    finding->sites.push_back(std::move(site));
  }
  for (Site& site : finding->sites) Normalize(&site.ranks);
  std::stable_partition(finding->sites.begin(), finding->sites.end(),
                        [](const Site& site) { return !site.culprit; });
}

void SayWhoPassedWhat(const Analysis& analysis, const Incident& incident, const std::string& call,
                      Finding* finding) {
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  const Mismatch& mismatch = incident.mismatch;
  if (mismatch.agreeing_value.empty()) {
    finding->title = fmt::format("{} all called {} as {}", RanksPhrase(deviating), call,
                                 mismatch.deviating_value);
    finding->why = "each rank of a communicator calls it exactly once";
    finding->fix = "pass each process its own rank";
    return;
  }
  const std::vector<int32_t> agreeing = analysis.RanksOf(incident.agreeing);
  finding->title =
      fmt::format("{} {} nranks {} to {}; {} {} {}{}", RanksPhrase(deviating),
                  Verb(deviating, "passes", "pass"), mismatch.deviating_value, call,
                  RanksPhrase(agreeing), Verb(agreeing, "passes", "pass"), mismatch.agreeing_value,
                  incident.tie ? "; the two sides have the same number of ranks" : "");
  finding->why = "a unique id identifies one communicator, which has one size";
  finding->fix = "pass the same number of ranks everywhere";
}

void SayWhoIsMissing(const Analysis& analysis, const Incident& incident, const std::string& call,
                     Finding* finding) {
  const std::vector<int32_t> inside = analysis.RanksOf(incident.agreeing);
  const std::string waits =
      fmt::format("{} {} in {}", RanksPhrase(inside), Verb(inside, "waits", "wait"), call);
  if (incident.tie) {
    const std::vector<int32_t> others = analysis.RanksOf(incident.deviating);
    finding->title = fmt::format("{}, and {} in another one: they do not share an id", waits,
                                 RanksPhrase(others));
    finding->why = "each side waits for the number of ranks of both sides together";
    finding->fix = "make the id on one rank, and give it to all others";
  } else if (!incident.deviating.empty()) {
    finding->title = fmt::format("{}; {} never reached it", waits, RanksPhrase(finding->culprits));
    finding->why = fmt::format("all {} ranks must call it", incident.Of<StartDetails>().expected);
  } else if (!incident.absent.empty()) {
    finding->title =
        fmt::format("{}; there is no trace of {}", waits, RanksPhrase(incident.absent));
    finding->why =
        "a rank appears when it enters its initialization: either it did not reach it, or its "
        "trace was not collected";
    finding->fix = fmt::format(
        "check whether {} {} started, and where: the launcher's list of hosts, its log, the "
        "program's own start-up before it initializes",
        RanksPhrase(incident.absent), incident.absent.size() == 1 ? "was" : "were");
  } else if (incident.Of<StartDetails>().expected > incident.agreeing.size()) {
    finding->title = fmt::format("{}: {} of {} ranks arrived", waits, incident.agreeing.size(),
                                 incident.Of<StartDetails>().expected);
    finding->why = "which other ranks are expected is not recorded";
  } else if (incident.Of<StartDetails>().expected > 0) {
    finding->title = fmt::format("all {} ranks are inside {}, and none returns",
                                 incident.Of<StartDetails>().expected, call);
    finding->why = "all ranks have arrived: the start-up itself does not complete";
    finding->fix =
        "check what is below the program: the chosen network interfaces, the launcher's own "
        "connections, firewalls";
  } else {
    finding->title = fmt::format("{}, which not all members of its group have entered", waits);
    finding->why = "the call ends when every member of the group has made it with the same tag";
  }
}

}  // namespace

std::optional<Finding> JudgeInitHang(const Analysis& analysis, const Incident& incident,
                                     const Divergence&) {
  const bool starts = incident.what == Incident::What::kStart;
  if (!starts) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kInitHang);
  const std::string call = incident.Of<StartDetails>().index != kNoIndex
                               ? analysis.trace.creations[incident.Of<StartDetails>().index].call
                               : OperationName(finding.operation);
  if (incident.mismatch) {
    SayWhoPassedWhat(analysis, incident, call, &finding);
  } else {
    SayWhoIsMissing(analysis, incident, call, &finding);
  }
  if (incident.Of<StartDetails>().index != kNoIndex) AddCreationSites(analysis, incident, &finding);
  return finding;
}

}  // namespace rollcall
