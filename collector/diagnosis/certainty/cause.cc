// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/certainty/cause.h"

#include <algorithm>
#include <set>
#include <utility>

#include "collector/diagnosis/certainty/doubts.h"
#include "collector/diagnosis/certainty/weak_wait.h"
#include "collector/diagnosis/detectors/order.h"

namespace rollcall {
namespace {

// This many equal calls in a row show that two histories are not shifted against each other.
constexpr uint64_t kEnoughCalls = 16;

// Whether the ranks may have diverged before the oldest recorded calls. Their first mismatch is
// then unknown.
bool MayHaveBegunEarlier(const Analysis& analysis, const Incident& incident) {
  if (incident.Of<MessageDetails>().rests_on_order) {
    return std::ranges::any_of(incident.deviating, [&](uint32_t p) {
      return analysis.trace.processes[p].HasLostRecords() &&
             analysis.Timeline(p).size() < kEnoughCalls;
    });
  }
  if (!incident.Is(Trait::kOfOrder) || incident.communicator == kNoIndex) return false;
  if (incident.deviating.empty() || incident.agreeing.empty()) return false;
  const MemberHistory* a = analysis.HistoryOf(incident.communicator, incident.deviating.front());
  const MemberHistory* b = analysis.HistoryOf(incident.communicator, incident.agreeing.front());
  if (a == nullptr || b == nullptr) return false;
  const uint64_t first = std::max(a->first, b->first);
  if (first == 1) return false;
  for (const Checkpoint& x : a->member->checkpoints) {
    const bool between = x.sequence + 1 >= first && x.sequence < incident.sequence;
    if (!between || x.path_hash == 0) continue;
    for (const Checkpoint& y : b->member->checkpoints) {
      if (x.sequence == y.sequence && x.semantic_hash == y.semantic_hash &&
          x.path_hash == y.path_hash) {
        return false;
      }
    }
  }
  return incident.what == Incident::What::kShift ? incident.sequence == first
                                                 : incident.sequence < first + kEnoughCalls;
}

// --- Evidence: each function answers one question.

struct Case {
  const Analysis& analysis;
  const Incident& incident;
  const Divergence& divergence;
  VerdictKind kind;
};

constexpr bool IsAConclusion(const Case&) { return true; }

bool MayMakeItLater(const Case& of) { return of.divergence.order_open; }

// No record shows that the sides differ only in the number of iterations.
bool MayStillBeInTheLoop(const Case& of) { return of.divergence.MayBeInLoop(); }

bool HasCollective(const Case& of) {
  const std::vector<uint32_t>& ring = of.incident.deviating;
  return std::ranges::any_of(ring, [&](uint32_t process) {
    const Event* stands = of.analysis.CurrentEvent(process);
    return stands != nullptr && stands->sequence != 0;
  });
}

// The choice of the wrong end is a conclusion.
bool ChoosesAnEnd(const Case& of) {
  return of.incident.what == Incident::What::kStray &&
         of.incident.Of<StrayDetails>().reason != StrayDetails::Reason::kEverywhere;
}

// A rank that waits for a message is not at fault because it waits. The rank that went elsewhere
// may be at fault.
bool MayBeThePeer(const Case& of) {
  const MessageDetails& message = of.incident.Of<MessageDetails>();
  return of.incident.what == Incident::What::kMessage && !message.itself && message.unmarked == 0 &&
         (message.rests_on_order || !of.incident.agreeing.empty());
}

// The calls completed in earlier rounds, so their order can work: a rank may have skipped a round.
bool WorkedBefore(const Case& of) {
  const std::vector<uint32_t>& ring = of.incident.deviating;
  return std::ranges::any_of(ring, [&](uint32_t p) {
    const Event* stands = of.analysis.CurrentEvent(p);
    return stands != nullptr && HasSentOrReceivedAt(of.analysis, p, *stands);
  });
}

// Two ranks are in these calls. One of the two may have left the code of the other rank's call.
// Without sources, the program may call the functions of the two calls one after the other.
bool MayHaveLeft(const CallSites& sites, const Event& a, const Event& b) {
  const PathDivergence parting = sites.ComparePaths(a.call_path, b.call_path);
  const bool apart = parting.branch && !parting.a_innermost && !parting.b_innermost;
  return !parting.loops_a.empty() || !parting.loops_b.empty() ||
         (apart && !(parting.sources_a && parting.sources_b)) ||
         sites.FindExit(a.call_path, b.call_path) || sites.FindExit(b.call_path, a.call_path);
}

bool OneMayHaveLeft(const Case& of) {
  const CallSites& sites = of.analysis.sites;
  const std::vector<uint32_t>& ring = of.incident.deviating;
  std::set<std::pair<uint32_t, uint32_t>> known;  // places; in a large ring, many are the same
  for (size_t i = 0; i < ring.size(); ++i) {
    const Event* a = of.analysis.CurrentEvent(ring[i]);
    const Event* b = of.analysis.CurrentEvent(ring[(i + 1) % ring.size()]);
    if (a == nullptr || b == nullptr) continue;
    if (!known.emplace(sites.Id(a->call_path), sites.Id(b->call_path)).second) continue;
    if (MayHaveLeft(sites, *a, *b)) return true;
  }
  return false;
}

// The message was sent by other code than that of the receive, which may not be meant for it.
bool MayBeOfOtherCode(const Case& of) {
  if (of.incident.what != Incident::What::kStray) return false;
  const StrayDetails& stray = of.incident.Of<StrayDetails>();
  return stray.send.event != nullptr && stray.receive.event != nullptr &&
         MayHaveLeft(of.analysis.sites, *stray.send.event, *stray.receive.event);
}

// The sides called from two places that are not known to be arms of one branch. One of them may
// have skipped the other's call.
bool CallsFromTwoPlaces(const Case& of) {
  const PathDivergence& parting = of.divergence.path_divergence;
  return of.incident.what == Incident::What::kCalls && parting.known && parting.branch &&
         !parting.arms;
}

bool MayRestOnLostOrder(const Case& of) {
  const bool on_order =
      BasisOf(of.kind) == KindBasis::kOrder || of.incident.Of<MessageDetails>().rests_on_order;
  return on_order && MayHaveBegunEarlier(of.analysis, of.incident);
}

bool ComparesRounds(const Case& of) { return of.incident.what == Incident::What::kRounds; }

// Only a log has the exception: that the rank left because of it is a conclusion.
bool RaisedInLog(const Case& of) {
  const std::optional<UncaughtException>& exception =
      of.analysis.trace.processes[of.incident.deviating.front()].exception;
  return exception && exception->in_log;
}

// Stacks show where ranks are, but not how they got there.
bool RestsOnPlaces(const Case& of) {
  return of.incident.what == Incident::What::kApart ||
         (!of.analysis.trace.HasRecords() && BasisOf(of.kind) == KindBasis::kOrder);
}

// --- The table: each row whose evidence holds limits the certainty of the cause.

constexpr VerdictKind kAnyKind{0xff};

struct Limit {
  VerdictKind kind;
  bool (*holds)(const Case&);
  Certainty most;
  const char* note = nullptr;
};

constexpr Limit kLimits[] = {
    {VerdictKind::kRankConditionalCollective, IsAConclusion, Certainty::kLikely},
    {VerdictKind::kRankConditionalCollective, MayMakeItLater, Certainty::kSuspected},
    {VerdictKind::kUnevenIterations, IsAConclusion, Certainty::kLikely},
    {VerdictKind::kUnevenIterations, MayStillBeInTheLoop, Certainty::kSuspected},
    {VerdictKind::kOrderInversion, IsAConclusion, Certainty::kLikely},
    {VerdictKind::kP2pDeadlock, HasCollective, Certainty::kLikely},
    {VerdictKind::kP2pDeadlock, WorkedBefore, Certainty::kLikely},
    {VerdictKind::kP2pDeadlock, OneMayHaveLeft, Certainty::kLikely},
    {VerdictKind::kRootMismatch, CallsFromTwoPlaces, Certainty::kLikely},
    {VerdictKind::kOpMismatch, CallsFromTwoPlaces, Certainty::kLikely},
    {VerdictKind::kDatatypeMismatch, CallsFromTwoPlaces, Certainty::kLikely},
    {VerdictKind::kCountMismatch, CallsFromTwoPlaces, Certainty::kLikely},
    {kAnyKind, ComparesRounds, Certainty::kLikely},
    {VerdictKind::kP2pUnmatched, ChoosesAnEnd, Certainty::kLikely},
    {VerdictKind::kP2pUnmatched, MayBeOfOtherCode, Certainty::kLikely},
    {VerdictKind::kP2pUnmatched, MayBeThePeer, Certainty::kLikely},
    {VerdictKind::kUncaughtException, RaisedInLog, Certainty::kLikely},
    {kAnyKind, RestsOnPlaces, Certainty::kSuspected},
    {kAnyKind, MayRestOnLostOrder, Certainty::kSuspected,
     "it may have begun before the oldest recorded calls"},
};

void Lower(Certainty most, Certainty* certainty) { *certainty = std::max(*certainty, most); }

}  // namespace

void SettleCertainty(const Analysis& analysis, const Incident& incident,
                     const Divergence& divergence, Finding* finding) {
  Lower(finding->certainty, &finding->kind_certainty);
  const Case of{analysis, incident, divergence, finding->kind};
  for (const Limit& limit : kLimits) {
    if ((limit.kind != kAnyKind && limit.kind != of.kind) || !limit.holds(of)) continue;
    Lower(limit.most, &finding->kind_certainty);
    if (limit.note != nullptr) finding->notes.emplace_back(limit.note);
  }
  // Once the job is over, a fact does not depend on a hang.
  if (incident.mismatch || (analysis.options.job_ended && IsFact(analysis, incident))) return;
  const std::optional<WeakWait> weak = FindWeakWait(analysis, incident);
  if (!weak || !weak->certainty) return;
  Lower(*weak->certainty, &finding->certainty);
  if (!incident.Is(Trait::kFact)) Lower(finding->certainty, &finding->kind_certainty);
  AddDoubts(analysis, *weak, finding);
}

}  // namespace rollcall
