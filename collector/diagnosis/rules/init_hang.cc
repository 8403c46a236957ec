// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/init-hang.md
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "collector/diagnosis/certainty/idle.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"
#include "proto/store_key.h"

namespace rollcall {
namespace {

// The name of the call; "new_group" for a communicator that torch.distributed makes in new_group().
std::string NameOf(const Analysis& analysis, const Creation& creation) {
  const bool known = creation.event.arguments != kNoIndex;
  return known && IsC10d(analysis.Op(creation.event)) ? CalledName(analysis, creation.event)
                                                      : creation.call;
}

// Adds sites for all ranks that made the call, with their arguments.
void AddCreationSites(const Analysis& analysis, const Incident& incident, Finding* finding) {
  const Trace& trace = analysis.trace;
  const uint64_t key = trace.creations[incident.Of<StartDetails>().index].key;
  std::set<int32_t> came;
  for (const Creation& creation : trace.creations) {
    if (creation.key == key) came.insert(analysis.RankOf(creation.process));
  }
  std::erase_if(finding->sites, [&came](const Site& site) {
    return std::ranges::any_of(site.ranks, [&came](int32_t rank) { return came.contains(rank); });
  });
  for (Site& site : finding->sites) {
    if (site.frame.function.empty() && site.what.empty()) site.what = "made no call";
  }
  for (const Creation& creation : trace.creations) {
    if (creation.key != key) continue;
    const int32_t rank = analysis.RankOf(creation.process);
    Site site;
    site.culprit = std::ranges::binary_search(finding->culprits, rank);
    site.role = creation.event.end_ns == kNoTime ? Site::Role::kWaiting : Site::Role::kOther;
    site.call_path = creation.event.call_path;
    site.frame = analysis.sites.UserFrame(site.call_path);
    site.what = fmt::format("{}  (nranks {})", NameOf(analysis, creation), creation.size);
    const auto same = std::ranges::find_if(finding->sites, [&](const Site& other) {
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
  finding->title = fmt::format(
      "{} nranks {} to {}; {} {}{}", RanksPhrase(deviating, "passes", "pass"),
      mismatch.deviating_value, call, RanksPhrase(agreeing, "passes", "pass"),
      mismatch.agreeing_value, incident.tie ? "; the two sides have the same number of ranks" : "");
  finding->why = "a unique id identifies one communicator, which has one size";
  finding->fix = "pass the same number of ranks everywhere";
}

// torch.distributed numbers the groups on each rank.
constexpr char kGroupFix[] =
    "call new_group on every rank of the job, in one order, also for groups of which a rank is no "
    "member";

void SayWhoIsMissing(const Analysis& analysis, const Incident& incident, const std::string& call,
                     Finding* finding) {
  const bool group = call == "new_group";
  const std::vector<int32_t> inside = analysis.RanksOf(incident.agreeing);
  const std::string waits = fmt::format("{} in {}", RanksPhrase(inside, "waits", "wait"), call);
  if (incident.tie) {
    const std::vector<int32_t> others = analysis.RanksOf(incident.deviating);
    finding->title = fmt::format("{}, and {} in another one: they do not share {}", waits,
                                 RanksPhrase(others), group ? "a number" : "an id");
    finding->why = "each side waits for the number of ranks of both sides together";
    finding->fix = group ? kGroupFix : "make the id on one rank, and give it to all others";
  } else if (!incident.deviating.empty()) {
    finding->title = fmt::format("{}; {} never reached it", waits, RanksPhrase(finding->culprits));
    finding->why = fmt::format("all {} ranks must call it", incident.Of<StartDetails>().expected);
    if (group) finding->fix = kGroupFix;
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

std::string KeyOf(const Arguments& arguments) {
  const StoreKey key{{arguments.send_count, arguments.recv_count, arguments.send_signature,
                      arguments.recv_signature}};
  const auto* text = reinterpret_cast<const char*>(key.words);
  const size_t length = strnlen(text, kStoreKeyBytes);
  std::string cut = length == kStoreKeyBytes ? "…" : "";
  for (size_t i = 0; i < length; ++i) cut += text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?';
  return cut;
}

// For ranks of torch.distributed that do not meet at its store.
void SayWhoDoesNotMeet(const Analysis& analysis, const Incident& incident, Finding* finding) {
  const StartDetails& start = incident.Of<StartDetails>();
  const Mismatch& mismatch = incident.mismatch;
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  const std::vector<int32_t> inside = analysis.RanksOf(incident.agreeing);
  switch (start.differs) {
    case StartDetails::Of::kRank: {
      std::string pids;
      for (const uint32_t p : incident.deviating) {
        const Process& process = analysis.trace.processes[p];
        pids += fmt::format("{}{} on {}", pids.empty() ? "" : ", ", process.pid, process.host);
      }
      finding->title = fmt::format("{} processes have RANK {}", incident.deviating.size(),
                                   mismatch.deviating_value);
      finding->why = fmt::format("init_process_group waits for {} different ranks; processes {}",
                                 start.expected, pids);
      finding->fix = fmt::format("give each process a RANK of its own");
      if (!start.unused.empty()) {
        finding->title += fmt::format(", and none has {}", FoldRanks(start.unused));
      }
      break;
    }
    case StartDetails::Of::kSize:
      finding->title = fmt::format("{} WORLD_SIZE {}, {} {}", RanksPhrase(deviating, "has", "have"),
                                   mismatch.deviating_value, RanksPhrase(inside, "has", "have"),
                                   mismatch.agreeing_value);
      finding->why = "each waits in init_process_group for as many ranks";
      finding->fix = "set WORLD_SIZE to the number of processes of the job on every rank";
      break;
    case StartDetails::Of::kEndpoint:
      finding->title =
          fmt::format("{} to {}, {} to {}", RanksPhrase(deviating, "connects", "connect"),
                      mismatch.deviating_value, RanksPhrase(inside), mismatch.agreeing_value);
      finding->why = "the ranks meet in init_process_group at one address and port";
      finding->fix =
          "set MASTER_ADDR and MASTER_PORT to those of rank 0 on every rank (torchrun: "
          "--master-addr and --master-port, or --rdzv-endpoint, on every node)";
      break;
    case StartDetails::Of::kNothing:
      finding->title = fmt::format("{} in init_process_group; {} of WORLD_SIZE {} did not come",
                                   RanksPhrase(inside, "waits", "wait"),
                                   RanksPhrase(incident.absent), start.expected);
      finding->why = "a rank appears when it enters init_process_group";
      finding->fix = fmt::format(
          "see whether {} {} started, and what it does before init_process_group; if the job has "
          "fewer processes, set WORLD_SIZE to their number (torchrun: --nnodes, --nproc-per-node)",
          RanksPhrase(incident.absent), incident.absent.size() == 1 ? "was" : "were");
      break;
  }
  if (incident.tie) finding->title += ": as many";
}

void SayWhoSetsNoKey(const Analysis& analysis, const Incident& incident, Finding* finding) {
  const std::vector<int32_t> inside = analysis.RanksOf(incident.agreeing);
  const std::string key = KeyOf(analysis.Args(*incident.agreeing_event));
  finding->title = fmt::format("{} in {} for the key {}", RanksPhrase(inside, "waits", "wait"),
                               OperationName(finding->operation), key);
  finding->why = "the wait ends when a rank sets the key, or after its time limit";
  finding->fix = "let the rank that is to set the key, or to take part in setting it, do so";
  if (!finding->culprits.empty()) {
    finding->title += fmt::format("; {} not", RanksPhrase(finding->culprits, "does", "do"));
    finding->fix = KindFix(finding->kind);
  } else if (incident.absent.empty() &&
             inside.size() == analysis.trace.worlds[finding->world].processes.size()) {
    finding->title += ", which none has set";
  }
}

}  // namespace

std::optional<Finding> JudgeInitHang(const Analysis& analysis, const Incident& incident,
                                     const Divergence&) {
  const bool starts = incident.what == Incident::What::kStart;
  if (!starts) return std::nullopt;
  const StartDetails& start = incident.Of<StartDetails>();
  if (start.store) {
    const bool elsewhere =
        std::ranges::any_of(incident.deviating, [&](uint32_t p) { return analysis.Waits(p); });
    Finding finding =
        Draft(analysis, incident,
              elsewhere ? VerdictKind::kRankConditionalCollective : VerdictKind::kRankStalled);
    SayWhoSetsNoKey(analysis, incident, &finding);
    if (!analysis.options.time_is_up && MayBeIdle(analysis, incident)) {
      finding.title = "idle?: " + finding.title;
      finding.idle = true;
      finding.hangs = false;
    }
    return finding;
  }
  if (start.rendezvous) {
    Finding finding = Draft(analysis, incident, VerdictKind::kInitHang);
    SayWhoDoesNotMeet(analysis, incident, &finding);
    return finding;
  }
  Finding finding = Draft(analysis, incident, VerdictKind::kInitHang);
  const std::string call = start.index != kNoIndex
                               ? NameOf(analysis, analysis.trace.creations[start.index])
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
