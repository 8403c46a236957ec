// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/loops/judge.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "collector/diagnosis/diagnose.h"

namespace rollcall::oracle::loops {
namespace {

bool Has(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

class Comparison {
 public:
  Comparison(const Generated& generated, const Machine& machine, const Observation& seen)
      : planted_(generated.planted), machine_(machine), seen_(seen) {}

  Judgement Run() {
    result_.report = Diagnose(seen_.trace);
    result_.ended = seen_.ended;
    result_.sourced = !seen_.trace.sources.empty();
    for (int rank = 0; rank < machine_.program().ranks(); ++rank) {
      result_.stuck |= seen_.ended && machine_.Waits(seen_.state, rank);
    }
    // The standard does not say what calls do that do not match: they do what they did.
    Library best = kPermissive;
    best.lenient = seen_.library.lenient;
    may_move_ = Moves(best);
    moves_ = Moves({.lenient = best.lenient});
    for (const Finding& finding : result_.report.findings) Check(finding);
    if (seen_.ended && !seen_.overwritten && result_.report.findings.empty() && Misfits()) {
      result_.violations.emplace_back("calls do not fit, and nothing is said");
    }
    result_.hit = HitOf();
    if (result_.stuck && !result_.report.findings.empty() && HasKind()) {
      result_.kind_right = IsOfKind(result_.report.findings[0]);
    }
    return std::move(result_);
  }

 private:
  void Violation(const Finding& finding, std::string_view what) {
    result_.violations.push_back(ViolationText(finding, what));
  }

  // Returns which ranks can still move, by rank.
  std::vector<bool> Moves(Library library) const {
    State state = seen_.state;
    machine_.Run(library, machine_.Plain(), std::numeric_limits<int64_t>::max(), &state);
    std::vector<bool> moves;
    for (int rank = 0; rank < machine_.program().ranks(); ++rank) {
      const RankState& before = seen_.state.ranks[static_cast<size_t>(rank)];
      const RankState& after = state.ranks[static_cast<size_t>(rank)];
      moves.push_back(before.at != after.at || (!before.inside && after.inside));
    }
    return moves;
  }

  // Returns whether calls on a communicator, from a number on, do not match.
  bool MisfitsFrom(int comm, uint64_t number) const {
    const int last = Machine::LastNumber(seen_.state, comm);
    for (int n = std::max(static_cast<int>(number), 1); n <= last; ++n) {
      if (!machine_.Fits(seen_.state, comm, n)) return true;
    }
    return false;
  }
  bool Misfits() const {
    for (int comm = 0; comm < static_cast<int>(machine_.program().comms.size()); ++comm) {
      if (MisfitsFrom(comm, 1)) return true;
    }
    return false;
  }

  void Check(const Finding& finding) {
    if (planted_.kind == FaultKind::kNone) Violation(finding, "accused in a correct program");
    const bool has_comm = finding.communicator != kNoIndex && finding.sequence != 0;
    const int comm = static_cast<int>(finding.communicator);
    switch (finding.kind) {
      case VerdictKind::kCollectiveMismatch:
      case VerdictKind::kRootMismatch:
      case VerdictKind::kOpMismatch:
      case VerdictKind::kDatatypeMismatch:
      case VerdictKind::kCountMismatch:
        if (!has_comm || machine_.Fits(seen_.state, comm, static_cast<int>(finding.sequence))) {
          Violation(finding, "called mismatched, and fits");
        }
        break;
      case VerdictKind::kRankStalled:
        if (!std::all_of(finding.culprits.begin(), finding.culprits.end(),
                         [&](int rank) { return machine_.Stalls(seen_.state, rank); })) {
          Violation(finding, "does not stall");
        }
        break;
      case VerdictKind::kRankDied:
        Violation(finding, "did not die");
        break;
      case VerdictKind::kTransportStalled:
        Violation(finding, "the network is well");
        break;
      case VerdictKind::kInconclusive:
        if (!seen_.overwritten) Violation(finding, "nothing is missing");
        break;
      default:
        break;
    }
    const bool proven = finding.certainty == Certainty::kProven;
    result_.proven |= finding.hangs && proven;
    const bool erroneous = has_comm && MisfitsFrom(comm, finding.sequence);
    if (finding.hangs && !erroneous) CheckStuck(finding, proven ? may_move_ : moves_);
    CheckInnocents(finding);
  }

  void CheckStuck(const Finding& finding, const std::vector<bool>& moves) {
    const auto can_move = [&moves](int rank) { return moves[static_cast<size_t>(rank)]; };
    const std::vector<int>& culprits = finding.culprits;
    const std::vector<int>& waiting = finding.waiting;
    // Of the two ends of a neighborhood's edge, only one waits.
    const bool of_edge = finding.kind == VerdictKind::kP2pUnmatched &&
                         finding.communicator != kNoIndex && finding.sequence != 0;
    if (!of_edge &&
        (finding.kind == VerdictKind::kP2pDeadlock || finding.kind == VerdictKind::kP2pUnmatched)) {
      if (std::any_of(culprits.begin(), culprits.end(), can_move)) {
        Violation(finding, "reported, and one of them can go on");
      }
    } else if (std::all_of(waiting.begin(), waiting.end(), can_move) &&
               std::all_of(culprits.begin(), culprits.end(), can_move)) {
      Violation(finding, "reported, and all of them can go on");
    }
  }

  void CheckInnocents(const Finding& finding) {
    if (finding.kind_certainty != Certainty::kProven) return;
    const bool innocent = std::any_of(
        finding.culprits.begin(), finding.culprits.end(),
        [this](int rank) { return !Has(planted_.ranks, rank) && !Has(planted_.partners, rank); });
    if (innocent) Violation(finding, "proven, and an innocent rank is named");
  }

  // Returns whether the planted fault has a kind of verdict.
  bool HasKind() const { return planted_.kind != FaultKind::kNone; }
  bool IsOfKind(const Finding& finding) const {
    switch (planted_.kind) {
      case FaultKind::kLeavesEarly:
      case FaultKind::kSeveralLeave:
      case FaultKind::kMostLeave:
      case FaultKind::kMoreRounds:
      case FaultKind::kChunk:
        return finding.kind == VerdictKind::kUnevenIterations;
      case FaultKind::kSkipsRound:
      case FaultKind::kEmptyRank:
        // A round less, or calls under a condition.
        return finding.kind == VerdictKind::kUnevenIterations ||
               finding.kind == VerdictKind::kRankConditionalCollective;
      case FaultKind::kSomeRaise:
      case FaultKind::kMostRaise:
      case FaultKind::kGroupRaises:
      case FaultKind::kDestructor:
      case FaultKind::kErrorPath:
        return finding.kind == VerdictKind::kRankConditionalCollective;
      case FaultKind::kFinalizes:
        return finding.kind == VerdictKind::kFinalizedEarly;
      case FaultKind::kTagEverywhere:
      case FaultKind::kTag:
      case FaultKind::kPeer:
      case FaultKind::kNeighborhood:
        return finding.kind == VerdictKind::kP2pUnmatched;
      case FaultKind::kTable:
        return finding.kind == VerdictKind::kCountMismatch;
      case FaultKind::kServer:
      case FaultKind::kStalled:
        return finding.kind == VerdictKind::kRankStalled;
      default:
        return false;
    }
  }

  Hit HitOf() const {
    if (result_.report.findings.empty()) return Hit::kMissed;
    const Finding& first = result_.report.findings[0];
    if (first.kind == VerdictKind::kInconclusive) return Hit::kInconclusive;
    if (result_.stuck && !first.hangs) return Hit::kNobody;  // the hang must be reported, too
    if (first.culprits == planted_.ranks) return Hit::kExact;
    const auto are_all = [&](const std::vector<int>& ranks) {
      return std::all_of(first.culprits.begin(), first.culprits.end(),
                         [&](int rank) { return Has(ranks, rank); });
    };
    const bool two_sides = planted_.tie && planted_.partners.empty();
    if (first.culprits.empty()) return two_sides ? Hit::kTie : Hit::kNobody;
    if (two_sides && first.culprits == planted_.other_side) return Hit::kTie;
    // Every rank is wrong, and those who wait may stand for all.
    if (planted_.kind == FaultKind::kTagEverywhere && are_all(planted_.ranks)) return Hit::kExact;
    const bool any = std::any_of(first.culprits.begin(), first.culprits.end(),
                                 [this](int rank) { return Has(planted_.ranks, rank); });
    if (!any && !are_all(planted_.partners)) return Hit::kWrong;
    return planted_.tie && !two_sides &&
                   std::all_of(first.culprits.begin(), first.culprits.end(),
                               [this](int rank) {
                                 return Has(planted_.ranks, rank) || Has(planted_.partners, rank);
                               })
               ? Hit::kTie
               : Hit::kPartly;
  }

  const Planted& planted_;
  const Machine& machine_;
  const Observation& seen_;
  // By rank, whether it can still move: with a library that permits most, with any library.
  std::vector<bool> may_move_;
  std::vector<bool> moves_;
  Judgement result_;
};

}  // namespace

Judgement Judge(const Generated& generated, const Machine& machine, const Observation& seen) {
  return Comparison(generated, machine, seen).Run();
}

}  // namespace rollcall::oracle::loops
