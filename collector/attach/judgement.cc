#include "collector/attach/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "proto/operations.h"

namespace rollcall::attach {
namespace {

// A call that returns when another rank releases a lock or exposes its memory.
bool IsOfWindow(const Group& group) { return group.kind() == Kind::kWindowSync; }

// "rank 0 waits for rank 1, rank 1 for rank 2"; empty if the library shows no awaited rank.
std::string AwaitedText(const RankStates& rank_states) {
  constexpr int kMaxShown = 8;
  std::string text;
  int shown = 0;
  for (const RankState& rank : rank_states.ranks) {
    if (rank.call.awaited < 0 || !Waits(rank)) continue;
    if (++shown > kMaxShown) return text + ", and so on";
    text += fmt::format("{}rank {} {}for rank {}", shown == 1 ? "" : ", ", rank.rank,
                        shown == 1 ? "waits " : "", rank.call.awaited);
  }
  return text;
}

}  // namespace

Judgement::Judgement(const FoundJob& found, const RankStates& seen)
    : job(found),
      rank_states(seen),
      sites(seen.trace),
      variables(CompareVariables(seen)),
      ranks(PositionsOf(found, seen, sites)) {}

std::string Judgement::Place(const RankState& rank) const {
  const SourceFrame frame = sites.UserFrame(rank.call_path);
  const std::string place = PlaceText(frame);
  const std::string function = frame.function.empty() ? "?" : frame.function;
  return place.empty() ? function : fmt::format("{} ({})", function, place);
}

Site Judgement::SiteOf(const RankState& rank, std::vector<int32_t> of, Site::Role role,
                       bool culprit) const {
  Site site;
  site.role = role;
  site.culprit = culprit;
  site.ranks = std::move(of);
  site.frame = sites.UserFrame(rank.call_path);
  const bool leaves = rank.meaning.meaning == FrameMeaning::kExit;
  if (leaves && !IsUserLine(site.frame)) site.frame = {};
  site.call_path = rank.call_path;
  if (!rank.fault.empty()) {
    site.what = "ended by " + rank.fault;
  } else if (WaitsForRanks(rank.meaning.meaning)) {
    site.what = rank.meaning.call;
  } else {
    site.what = fmt::format("{}{}{}", rank.state, rank.state.empty() ? "" : ", ",
                            MeaningText(rank.meaning.meaning));
  }
  return site;
}

std::string Judgement::WaitingText() const {
  const std::vector<int32_t> waiting = WaitingRanks(ranks);
  return fmt::format("{} {} in {}", RanksPhrase(waiting), Verb(waiting, "waits", "wait"),
                     ranks.waiting.front().call());
}

void Judgement::AddWaiting(Finding* finding) const {
  for (const Group& group : ranks.waiting) {
    finding->sites.push_back(SiteOf(group.front(), group.ranks, Site::Role::kWaiting, false));
  }
}

Finding Judgement::Draft(VerdictKind kind, Certainty certainty) const {
  Finding finding;
  finding.kind = kind;
  finding.certainty = certainty;
  finding.kind_certainty = certainty;
  finding.hangs = true;
  finding.world = 0;
  if (!ranks.waiting.empty()) finding.operation = ranks.waiting.front().front().meaning.operation;
  finding.waiting = WaitingRanks(ranks);
  return finding;
}

void Judgement::Add(Finding finding, Report* report) const {
  report->status = finding.hangs ? Report::Status::kHung : Report::Status::kFailed;
  for (const ComparedVariable& variable : variables) {
    if (variable.counts) finding.notes.push_back(VariableText(variable));
  }
  if (rank_states.cores && !finding.culprit_gone) {
    finding.certainty = finding.kind_certainty = Certainty::kSuspected;
  }
  for (const Group& group : ranks.waiting) {
    for (const RankState* rank : group.members) {
      if (!rank->in_kernel) continue;
      finding.notes.push_back(
          fmt::format("rank {} is in an uninterruptible wait in the kernel (state D)", rank->rank));
    }
  }
  if (const std::string awaited = AwaitedText(rank_states); !awaited.empty()) {
    finding.notes.push_back("according to the library's requests, " + awaited);
  }
  finding.notes.push_back(fmt::format(
      "derived from the stacks alone, {}; `rollcall run` compares the calls themselves",
      rank_states.cores ? "sampled once: a rank may still have been moving" : "from two samples"));
  report->findings.push_back(std::move(finding));
}

bool ClearWindowCulprits(const Positions& ranks, Finding* finding) {
  const bool windows =
      std::all_of(ranks.waiting.begin(), ranks.waiting.end(),
                  [](const Group& group) { return !IsOfMessages(group) || IsOfWindow(group); });
  if (!windows) return false;
  finding->kind = VerdictKind::kP2pUnmatched;
  finding->culprits.clear();
  finding->notes.push_back(
      "stacks do not show which rank holds the lock or has to expose its memory");
  return true;
}

}  // namespace rollcall::attach
