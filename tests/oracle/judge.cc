#include "tests/oracle/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/diagnosis/diagnose.h"
#include "collector/model/rank_set.h"

namespace rollcall::oracle {
namespace {

bool IsMismatch(VerdictKind kind) {
  return kind == VerdictKind::kCollectiveMismatch || kind == VerdictKind::kRootMismatch ||
         kind == VerdictKind::kOpMismatch || kind == VerdictKind::kDatatypeMismatch ||
         kind == VerdictKind::kCountMismatch;
}

bool Intersect(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&b](int x) { return std::find(b.begin(), b.end(), x) != b.end(); });
}

class Comparison {
 public:
  Comparison(const Generated& generated, const Machine& machine, const Observation& seen)
      : generated_(generated), machine_(machine), seen_(seen) {}

  Judgement Run() {
    now_permissive_ = Explore(machine_, seen_.state, Library::kPermissive, true);
    now_synchronous_ = Explore(machine_, seen_.state, Library::kSynchronous, true);
    result_.report = Diagnose(seen_.trace);
    result_.bounded = now_permissive_.bounded || now_synchronous_.bounded;
    result_.ended = seen_.ended;
    for (const RankState& rank : seen_.state.ranks) {
      result_.stuck |= seen_.ended && rank.inside && rank.status == Status::kGoing;
    }
    if (result_.stuck && now_permissive_.some_complete && !now_synchronous_.some_complete) {
      result_.by_luck = Explore(machine_, seen_.state, Library::kBuffering, true).some_complete;
    }
    if (!result_.bounded) {
      for (const Finding& finding : result_.report.findings) Check(finding);
    }
    const FaultKind kind = generated_.planted.kind;
    if (kind == FaultKind::kNone && !result_.report.findings.empty()) {
      Violation(result_.report.findings[0], "accused in a correct program");
    }
    if (seen_.ended && result_.report.findings.empty() && AnyMisfit()) {
      result_.violations.emplace_back("calls do not fit, and nothing is said");
    }
    if (result_.report.findings.empty()) JudgeBuffering();
    result_.hit = HitOf();
    return std::move(result_);
  }

 private:
  void Violation(const Finding& finding, std::string_view what) {
    result_.violations.push_back(fmt::format("{}: {}, {}: {} [culprits {}, waiting {}]", what,
                                             KindText(finding), CertaintyName(finding.certainty),
                                             finding.title, FoldRanks(finding.culprits),
                                             FoldRanks(finding.waiting)));
  }

  // The second judgement, which the engine makes only if asked: does it need a buffer?
  void JudgeBuffering() {
    const Report asked = Diagnose(seen_.trace, {.judge_buffering = true});
    result_.unsafe_said = !asked.findings.empty();
    const bool completed = seen_.ended && !result_.stuck;
    const bool planted = generated_.planted.kind == FaultKind::kLuckyRing;
    if (!result_.unsafe_said && !(completed && planted)) return;
    const Outcome outcome = Explore(machine_, machine_.Start(), Library::kSynchronous, true);
    if (outcome.bounded) return;
    result_.unsafe = completed && !outcome.some_complete;
    if (result_.unsafe_said && outcome.some_complete) {
      Violation(asked.findings[0], "called unsafe, and completes without a buffer");
    }
  }

  // Do calls on the finding's communicator break the matching rules, under its number (or from
  // there on)?
  bool Erroneous(const Finding& finding, bool from_there_on) const {
    for (int i = 0; i < static_cast<int>(machine_.instances().size()); ++i) {
      const Instance& instance = machine_.instances()[static_cast<size_t>(i)];
      if (static_cast<uint32_t>(instance.comm) != finding.communicator) continue;
      const uint64_t number = static_cast<uint64_t>(instance.number);
      if (from_there_on ? number < finding.sequence : number != finding.sequence) continue;
      if (!machine_.Fits(seen_.state, i)) return true;
    }
    return false;
  }

  bool AnyMisfit() const {
    for (int i = 0; i < static_cast<int>(machine_.instances().size()); ++i) {
      if (!machine_.Fits(seen_.state, i)) return true;
    }
    return false;
  }

  bool Is(int rank, Status status) const {
    return seen_.state.ranks[static_cast<size_t>(rank)].status == status;
  }

  // Why it hangs is another claim than that it does. That a call was left out, that a loop ended
  // early, or that two communicators were used in opposite order is a conclusion always: each
  // leaves records that another fault leaves, too.
  void CheckKind(const Finding& finding) {
    if (finding.kind_certainty < finding.certainty)
      Violation(finding, "more certain why than that");
    if (finding.kind_certainty == Certainty::kProven &&
        (finding.kind == VerdictKind::kRankConditionalCollective ||
         finding.kind == VerdictKind::kUnevenIterations ||
         finding.kind == VerdictKind::kOrderInversion)) {
      Violation(finding, "the kind is proven, which it cannot be");
    }
  }

  void Check(const Finding& finding) {
    CheckKind(finding);
    const auto all = [&](Status status) {
      return std::all_of(finding.culprits.begin(), finding.culprits.end(),
                         [&](int rank) { return Is(rank, status); });
    };
    if (IsMismatch(finding.kind)) {
      if (!Erroneous(finding, false)) Violation(finding, "called mismatched, and fits");
      result_.proven |= finding.hangs && finding.certainty == Certainty::kProven;
      return;
    }
    if (finding.kind == VerdictKind::kRankStalled || finding.kind == VerdictKind::kInitHang) {
      if (!all(Status::kStalled)) Violation(finding, "does not stall");
      return;
    }
    if (finding.kind == VerdictKind::kTransportStalled) {
      if (generated_.program.frozen_comm == kNone) Violation(finding, "the network is well");
      return;
    }
    if (finding.kind == VerdictKind::kRankDied && !all(Status::kDead)) {
      Violation(finding, "did not die");
    }
    if (!finding.hangs) return;
    const bool erroneous = Erroneous(finding, true);
    if (!erroneous && now_synchronous_.every_complete) {
      Violation(finding, "a hang is found where everything completes");
    }
    if (finding.certainty != Certainty::kProven) return;
    result_.proven = true;
    if (erroneous) return;
    // The death is proven then, by whoever saw it; that the others cannot do without is another
    // claim, which is not made.
    if (finding.kind != VerdictKind::kRankDied) CheckStuck(finding);
    if (now_permissive_.some_complete) Violation(finding, "proven, and everything can complete");
  }

  void CheckStuck(const Finding& finding) {
    const auto can_move = [&](int rank) {
      return now_permissive_.can_move[static_cast<size_t>(rank)];
    };
    const std::vector<int32_t>& culprits = finding.culprits;
    const std::vector<int32_t>& waiting = finding.waiting;
    if (generated_.program.thread_level == 3) {
      Violation(finding, "proven, and another thread may act");
    }
    if (finding.kind == VerdictKind::kP2pDeadlock || finding.kind == VerdictKind::kP2pUnmatched) {
      if (std::any_of(culprits.begin(), culprits.end(), can_move)) {
        Violation(finding, "proven, and one of them can go on");
      }
    } else if (std::all_of(waiting.begin(), waiting.end(), can_move) &&
               std::all_of(culprits.begin(), culprits.end(), can_move)) {
      Violation(finding, "proven, and all of them can go on");
    } else if (std::any_of(waiting.begin(), waiting.end(), can_move)) {
      result_.may_go_on = true;
    }
  }

  Hit HitOf() {
    const Planted& planted = generated_.planted;
    for (const Finding& finding : result_.report.findings) {
      for (const std::string& note : finding.notes) {
        result_.luck_said |= note.find("buffer") != std::string::npos;
      }
    }
    if (result_.report.findings.empty()) return Hit::kMissed;
    const Finding& first = result_.report.findings[0];
    if (first.kind == VerdictKind::kInconclusive) return Hit::kInconclusive;
    // Nobody is to blame, and nobody is blamed.
    if (planted.ranks.empty() && first.kind == VerdictKind::kTransportStalled) return Hit::kExact;
    // A message that does not come: either end of it may be wrong.
    const bool either_end = planted.kind == FaultKind::kTag ||
                            planted.kind == FaultKind::kExchange ||
                            planted.kind == FaultKind::kProbe;
    if (either_end && !first.culprits.empty() &&
        std::includes(planted.ranks.begin(), planted.ranks.end(), first.culprits.begin(),
                      first.culprits.end())) {
      return Hit::kExact;
    }
    if (result_.stuck && !first.hangs) return Hit::kNobody;  // that it hangs must be said, too
    if (first.culprits == planted.ranks) return Hit::kExact;
    // As many on one side as on the other, in the communicator that it is about.
    const bool two = first.communicator != kNoIndex &&
                     seen_.trace.communicators[first.communicator].members.size() == 2;
    if (planted.tie || (two && first.culprits.empty())) return Hit::kTie;
    if (first.culprits.empty()) return Hit::kNobody;
    if (Intersect(first.culprits, planted.ranks)) return Hit::kPartly;
    if (first.kind == VerdictKind::kP2pUnmatched &&
        Intersect(Peers(first.culprits), planted.ranks)) {
      return Hit::kPartly;
    }
    return Hit::kWrong;
  }

  // To whom the messages belong that these ranks wait for; of a wildcard receive, all.
  std::vector<int> Peers(const std::vector<int>& ranks) const {
    std::vector<int> peers;
    const auto add = [&](int rank, const Op& op) {
      const std::vector<int> members = generated_.program.Others(op.comm, rank);
      if (op.peer == kAny) peers.insert(peers.end(), members.begin(), members.end());
      if (op.peer >= 0) peers.push_back(members[static_cast<size_t>(op.peer)]);
    };
    for (const int rank : ranks) {
      const RankState& state = seen_.state.ranks[static_cast<size_t>(rank)];
      const Op& op = machine_.At(rank, state.at);
      if (!IsWait(op.what)) add(rank, op);
      for (const int request : op.requests) {
        add(rank, machine_.At(rank, machine_.MakerOf(rank, request)));
      }
    }
    return peers;
  }

  const Generated& generated_;
  const Machine& machine_;
  const Observation& seen_;
  Outcome now_permissive_;
  Outcome now_synchronous_;
  Judgement result_;
};

}  // namespace

Judgement Judge(const Generated& generated, const Machine& machine, const Observation& seen) {
  return Comparison(generated, machine, seen).Run();
}

}  // namespace rollcall::oracle
