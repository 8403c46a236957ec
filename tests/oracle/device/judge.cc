// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/device/judge.h"

#include <algorithm>

#include "collector/diagnosis/diagnose.h"

namespace rollcall::oracle::device {
namespace {

class Comparison {
 public:
  Comparison(const Generated& generated, const Machine& machine, const Observation& seen)
      : generated_(generated), machine_(machine), seen_(seen) {}

  Judgement Run() {
    permissive_ = machine_.Run(seen_.state, Library::kPermissive, true);
    synchronous_ = machine_.Run(seen_.state, Library::kSynchronous, true);
    by_itself_ = machine_.Run(machine_.Start(), Library::kSynchronous, true).complete;
    result_.report = Diagnose(seen_.trace);
    result_.ended = seen_.ended;
    result_.stuck = seen_.ended && !Survivors(machine_.OutcomeOf(seen_.state));
    result_.by_luck = result_.stuck && permissive_.complete && !synchronous_.complete;
    for (const Finding& finding : result_.report.findings) Check(finding);
    if (generated_.planted.kind == FaultKind::kNone && !result_.report.findings.empty()) {
      Violation(result_.report.findings[0], "accused in a correct program");
    }
    if (seen_.ended && result_.report.findings.empty() && Misfits(kNoIndex, 0, false)) {
      result_.violations.emplace_back("calls do not fit, and nothing is said");
    }
    result_.hit = HitOf();
    return std::move(result_);
  }

 private:
  // Returns whether all ranks that are neither dead nor stalled reached their ends.
  bool Survivors(const Outcome& outcome) const {
    for (size_t r = 0; r < outcome.ends.size(); ++r) {
      const Status status = seen_.state.ranks[r].status;
      if (!outcome.ends[r] && status != Status::kDead && status != Status::kStalled) return false;
    }
    return true;
  }

  void Violation(const Finding& finding, std::string_view what) {
    result_.violations.push_back(ViolationText(finding, what));
  }

  // Returns whether there are calls that do not match on a communicator of the trace (kNoIndex:
  // any), with this number (0: messages) or, with `from_there_on`, with this or a later one.
  bool Misfits(uint32_t communicator, uint64_t number, bool from_there_on) const {
    return std::any_of(
        machine_.meetings().begin(), machine_.meetings().end(), [&](const Meeting& meeting) {
          // The trace's first communicator is the world.
          const bool here = static_cast<uint32_t>(meeting.comm) + 1 == communicator &&
                            (from_there_on ? static_cast<uint64_t>(meeting.number) >= number
                                           : static_cast<uint64_t>(meeting.number) == number);
          return (here || communicator == kNoIndex) && !machine_.Fits(seen_.state, meeting);
        });
  }

  static bool Names(const Finding& finding, int rank) {
    return std::find(finding.culprits.begin(), finding.culprits.end(), rank) !=
           finding.culprits.end();
  }

  template <typename Is>
  void Only(const Finding& finding, std::string_view else_what, Is is) {
    if (!std::all_of(finding.culprits.begin(), finding.culprits.end(), is)) {
      Violation(finding, else_what);
    }
  }

  void Check(const Finding& finding) {
    const auto status = [this](int rank) {
      return seen_.state.ranks[static_cast<size_t>(rank)].status;
    };
    const Program& program = generated_.program;
    const bool suspected = finding.certainty == Certainty::kSuspected;
    // If devices write no completion marks, little is recorded of their progress: a suspicion may
    // be wrong.
    const bool dark = seen_.knowledge != ring::CompletionSource::kMarks;
    const bool faulty = generated_.planted.kind != FaultKind::kNone;
    if (suspected && dark && faulty && seen_.ended) return;
    bool erroneous = Misfits(finding.communicator, finding.sequence, true);
    switch (finding.kind) {
      case VerdictKind::kCollectiveMismatch:
      case VerdictKind::kRootMismatch:
      case VerdictKind::kOpMismatch:
      case VerdictKind::kDatatypeMismatch:
      case VerdictKind::kCountMismatch:
        erroneous = Misfits(finding.communicator, finding.sequence, false);
        if (!erroneous) Violation(finding, "called mismatched, and fits");
        break;
      case VerdictKind::kRankStalled:
        return Only(finding, "does not stall",
                    [&](int rank) { return status(rank) == Status::kStalled; });
      case VerdictKind::kGpuStalled:
        // A suspicion may name only ranks that wait for the stalled one: they, too, lack operations
        // that others have.
        if (program.stuck_rank == kNone || !(suspected || Names(finding, program.stuck_rank))) {
          Violation(finding, "its device does not stall");
        }
        return;
      case VerdictKind::kTransportStalled:
        if (program.frozen_comm == kNone && program.stuck_rank == kNone) {
          Violation(finding, "the network is well");
        }
        return;
      case VerdictKind::kRankDied:
        Only(finding, "did not die", [&](int rank) { return status(rank) == Status::kDead; });
        break;
      case VerdictKind::kGroupMisuse:
        Only(finding, "has no group open",
             [&](int rank) { return seen_.state.ranks[static_cast<size_t>(rank)].depth > 0; });
        break;
      case VerdictKind::kFinalizedEarly:
        Only(finding, "has not left", [&](int rank) { return status(rank) == Status::kLeft; });
        break;
      default:
        break;
    }
    if (!finding.hangs) return;
    // The finding itself states that the host may be blocked between the two calls.
    const bool says_so = finding.kind == VerdictKind::kGroupMisuse && suspected;
    if (!erroneous && !says_so && by_itself_ && synchronous_.complete) {
      Violation(finding, "a hang is found where everything completes");
    }
    if (finding.certainty != Certainty::kProven) return;
    result_.proven = true;
    if (erroneous) return;
    if (permissive_.complete) Violation(finding, "proven, and everything can complete");
    const auto ends = [&](int rank) { return permissive_.ends[static_cast<size_t>(rank)]; };
    if (finding.kind != VerdictKind::kRankDied &&
        std::all_of(finding.waiting.begin(), finding.waiting.end(), ends) &&
        std::all_of(finding.culprits.begin(), finding.culprits.end(), ends)) {
      Violation(finding, "proven, and all of them can go on");
    }
  }

  Hit HitOf() const {
    const Planted& planted = generated_.planted;
    if (result_.report.findings.empty()) return Hit::kMissed;
    const Finding& first = result_.report.findings[0];
    if (first.kind == VerdictKind::kInconclusive) return Hit::kInconclusive;
    // No rank is a culprit, and the finding is about the transport.
    if (planted.ranks.empty() && first.kind == VerdictKind::kTransportStalled) return Hit::kExact;
    const auto is_planted = [&](int rank) {
      return std::find(planted.ranks.begin(), planted.ranks.end(), rank) != planted.ranks.end();
    };
    // Either end of a message, and any rank of a ring, may be named as the culprit.
    if ((planted.kind == FaultKind::kLostMessage || planted.kind == FaultKind::kFaceToFace) &&
        !first.culprits.empty() &&
        std::all_of(first.culprits.begin(), first.culprits.end(), is_planted)) {
      return Hit::kExact;
    }
    if (result_.stuck && !first.hangs) return Hit::kNobody;  // the hang must be reported, too
    if (first.culprits == planted.ranks) return Hit::kExact;
    const bool two = first.communicator != kNoIndex &&
                     seen_.trace.communicators[first.communicator].ranks.size() == 2;
    if (planted.tie || (two && first.culprits.empty())) return Hit::kTie;
    if (first.culprits.empty()) return Hit::kNobody;
    return std::any_of(first.culprits.begin(), first.culprits.end(), is_planted) ? Hit::kPartly
                                                                                 : Hit::kWrong;
  }

  const Generated& generated_;
  const Machine& machine_;
  const Observation& seen_;
  Outcome permissive_;
  Outcome synchronous_;
  bool by_itself_ = false;  // completes even if no operation returns early
  Judgement result_;
};

}  // namespace

Judgement Judge(const Generated& generated, const Machine& machine, const Observation& seen) {
  return Comparison(generated, machine, seen).Run();
}

}  // namespace rollcall::oracle::device
