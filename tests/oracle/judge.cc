// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/judge.h"

#include <algorithm>
#include <climits>

#include "collector/diagnosis/diagnose.h"

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
    result_.open = seen_.ended && IsOpen();
    result_.bounded = now_permissive_.bounded || now_synchronous_.bounded;
    result_.ended = seen_.ended;
    for (const LineState& line : seen_.state.lines) {
      result_.stuck |= seen_.ended && line.inside && line.status == Status::kGoing;
    }
    if (result_.stuck && now_permissive_.some_complete && !now_synchronous_.some_complete) {
      result_.by_luck = Explore(machine_, seen_.state, Library::kBuffering, true).some_complete;
    }
    if (!result_.bounded) {
      for (const Finding& finding : result_.report.findings) Check(finding);
    }
    const FaultKind kind = generated_.planted.kind;
    for (const Finding& finding : result_.report.findings) {
      if (kind == FaultKind::kNone && !LooksLikeIt(finding)) {
        Violation(finding, "accused in a correct program");
      }
    }
    if (seen_.ended && result_.report.findings.empty() && AnyMisfit()) {
      result_.violations.emplace_back("calls do not fit, and nothing is said");
    }
    if (result_.report.findings.empty()) JudgeBuffering();
    result_.hit = HitOf();
    const VerdictKind truth = KindOf(kind);
    if (result_.stuck && !result_.open && truth != VerdictKind::kInconclusive &&
        !result_.report.findings.empty()) {
      result_.kind_right = result_.report.findings[0].kind == truth;
    }
    return std::move(result_);
  }

 private:
  void Violation(const Finding& finding, std::string_view what) {
    result_.violations.push_back(ViolationText(finding, what));
  }

  // Checks the engine's optional judgement of whether the program needs buffered sends.
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

  // Returns whether calls on the finding's communicator violate the matching rules under its
  // sequence number or, if `from_there_on`, under that or a later number.
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
      // The engine compares calls once a second one is entered, even if the first does not fit by
      // itself.
      const auto& calls = machine_.instances()[static_cast<size_t>(i)].calls;
      const auto entered = std::count_if(calls.begin(), calls.end(), [&](const auto& call) {
        return machine_.Entered(seen_.state, call.first, call.second);
      });
      if (entered > 1 && !machine_.Fits(seen_.state, i)) return true;
    }
    return false;
  }

  // Returns whether any thread of the rank has this status.
  bool Is(int rank, Status status) const {
    for (int line = 0; line < generated_.program.lines(); ++line) {
      if (generated_.program.RankOf(line) != rank) continue;
      if (seen_.state.lines[static_cast<size_t>(line)].status == status) return true;
    }
    return false;
  }

  bool Sleeps(int line) const {
    const LineState& here = seen_.state.lines[static_cast<size_t>(line)];
    return here.status == Status::kStalled && machine_.At(line, here.at).what == Do::kSleep;
  }

  // Returns how long, in seconds, a wait that may end without another rank must last for this
  // certainty: DiagnoseOptions::LikelyAfterNs() and SuspectAfterNs().
  static int SecondsFor(Certainty certainty) {
    return certainty == Certainty::kProven ? INT_MAX : certainty == Certainty::kLikely ? 30 : 10;
  }

  // Returns whether a finding of this certainty must assume that the rank can continue without
  // another rank.
  bool MayAct(int rank, Certainty certainty) const {
    const Doubt& doubt = seen_.doubts[static_cast<size_t>(rank)];
    if (HasLeft(rank) || Is(rank, Status::kDead)) return false;
    if (doubt.polls && !WaitsByPolling(rank, certainty)) return true;
    if (doubt.threads == OtherThreads::kCallers) return true;
    return doubt.threads != OtherThreads::kWait && seen_.idle < SecondsFor(certainty);
  }

  static bool IsPoll(Do what) {
    return what == Do::kPoll || what == Do::kIprobe || what == Do::kParrived;
  }

  bool WaitsByPolling(int rank, Certainty certainty) const {
    const Doubt& doubt = seen_.doubts[static_cast<size_t>(rank)];
    if (!doubt.polls) return false;
    if (doubt.tightly) return doubt.seconds >= SecondsFor(certainty);
    // Polls with work in between are suspected after DiagnoseOptions::stall_after_ns.
    return certainty == Certainty::kSuspected && doubt.seconds >= 30;
  }

  // Returns whether it may be too early for a verdict, or a thread or rank may still act.
  bool IsOpen() const {
    for (int line = 0; line < generated_.program.lines(); ++line) {
      if (Sleeps(line)) return true;
    }
    for (int r = 0; r < generated_.program.ranks; ++r) {
      if (MayAct(r, Certainty::kSuspected)) return true;
    }
    return seen_.idle < 30;
  }

  // Returns the state in which stalled threads are dead unless their rank has kCallers: after
  // SecondsFor(), the engine assumes that threads that never called MPI, and threads that were not
  // sampled, will not call it.
  State WithoutThreads(Certainty certainty) const {
    State state = seen_.state;
    for (int line = 0; line < generated_.program.lines(); ++line) {
      const int rank = generated_.program.RankOf(line);
      const OtherThreads threads = seen_.doubts[static_cast<size_t>(rank)].threads;
      LineState& here = state.lines[static_cast<size_t>(line)];
      if (here.status == Status::kStalled && threads != OtherThreads::kCallers &&
          generated_.program.thread_level == 3 && seen_.idle >= SecondsFor(certainty)) {
        here.status = Status::kDead;
      }
    }
    return state;
  }

  // Returns whether a finding about a correct program is permitted because a sleeping thread delays
  // the other ranks for long enough. The trace cannot show that it will continue.
  bool LooksLikeIt(const Finding& finding) const {
    if (finding.certainty == Certainty::kProven) return false;
    bool looks = false;
    for (int line = 0; line < generated_.program.lines(); ++line) {
      if (!Sleeps(line)) continue;
      const int rank = generated_.program.RankOf(line);
      looks |= seen_.doubts[static_cast<size_t>(rank)].threads != OtherThreads::kCallers
                   ? seen_.idle >= SecondsFor(finding.certainty)
                   : IsAboutALateRank(finding) && seen_.idle >= 30;
    }
    return looks;
  }

  // Returns whether the finding reports that a rank is late for a call.
  static bool IsAboutALateRank(const Finding& finding) {
    return finding.kind == VerdictKind::kRankStalled || finding.kind == VerdictKind::kInitHang;
  }

  // Checks that the hang does not depend on ranks that can continue without another rank.
  void CheckTime(const Finding& finding) {
    State state = WithoutThreads(finding.certainty);
    for (int r = 0; r < generated_.program.ranks; ++r) {
      state.free.push_back(MayAct(r, finding.certainty));
    }
    if (std::find(state.free.begin(), state.free.end(), true) == state.free.end()) return;
    const Outcome outcome = Explore(machine_, state, Library::kSynchronous, true);
    std::vector<int> named = finding.culprits;
    named.insert(named.end(), finding.waiting.begin(), finding.waiting.end());
    // If a member left without making the call, no other thread of a waiting rank can make it,
    // either. A rank then counts as able to continue only if all its waiting threads can.
    const bool gone = finding.sequence != 0 && SomebodyLeft(finding);
    if (gone && WaitsInIt(finding)) return;
    const bool all = std::all_of(named.begin(), named.end(), [&](int rank) {
      return gone ? CanAllMove(outcome, rank, finding.certainty)
                  : state.free[static_cast<size_t>(rank)] || CanMove(outcome, rank);
    });
    if (all && !outcome.bounded) Violation(finding, "it rests on who may act");
  }

  // Returns whether every waiting thread of the rank can continue.
  bool CanAllMove(const Outcome& outcome, int rank, Certainty certainty) const {
    const bool polls_wait = WaitsByPolling(rank, certainty);
    for (int line = 0; line < generated_.program.lines(); ++line) {
      if (generated_.program.RankOf(line) != rank) continue;
      const LineState& here = seen_.state.lines[static_cast<size_t>(line)];
      const bool waits = here.inside && (polls_wait || !IsPoll(machine_.At(line, here.at).what));
      if (waits && !outcome.can_move[static_cast<size_t>(line)]) return false;
    }
    return true;
  }

  // Returns whether any thread of the rank can continue.
  bool CanMove(const Outcome& outcome, int rank) const {
    for (int line = 0; line < generated_.program.lines(); ++line) {
      if (generated_.program.RankOf(line) != rank) continue;
      if (outcome.can_move[static_cast<size_t>(line)]) return true;
    }
    return false;
  }

  // Checks the kind, which is a separate claim from the hang: only a fact may be more certain than
  // the hang, and a proven kind must be what happened.
  void CheckKind(const Finding& finding) {
    if (finding.kind_certainty < finding.certainty && BasisOf(finding.kind) != KindBasis::kFact) {
      Violation(finding, "more certain why than that");
    }
    if (finding.kind_certainty == Certainty::kProven && !IsOfKind(finding)) {
      Violation(finding, "the kind is proven, and is another one");
    }
  }

  // Returns whether the finding's kind is what happened, by the definition of the kind. A skipped
  // call, a loop that ended early, two communicators used in opposite order, a late rank and a dead
  // network are always conclusions: another fault can leave the same records.
  bool IsOfKind(const Finding& finding) const {
    const auto all = [&](const auto& is) {
      return std::all_of(finding.culprits.begin(), finding.culprits.end(), is);
    };
    switch (finding.kind) {
      case VerdictKind::kCollectiveMismatch:
        return Differs(finding, [](const Op& a, const Op& b) {
          return a.what != b.what || (a.request == kNone) != (b.request == kNone) ||
                 a.init != b.init;
        });
      case VerdictKind::kRootMismatch:
        return Differs(
            finding, [](const Op& a, const Op& b) { return a.what == b.what && a.peer != b.peer; });
      case VerdictKind::kOpMismatch:
        return Differs(finding, [](const Op& a, const Op& b) {
          return a.what == b.what && a.reduction != b.reduction;
        });
      case VerdictKind::kDatatypeMismatch:
        return Differs(
            finding, [](const Op& a, const Op& b) { return a.what == b.what && a.type != b.type; });
      case VerdictKind::kCountMismatch:
        return Differs(finding, [](const Op& a, const Op& b) {
          return a.what == b.what && (a.type == b.type || a.count != b.count);
        });
      case VerdictKind::kRankDied:
        return all([&](int rank) { return Is(rank, Status::kDead); });
      case VerdictKind::kInvalidArgument:
        return all([&](int rank) { return MadeRejected(rank); });
      case VerdictKind::kFinalizedEarly:
        return SomebodyLeft(finding);
      case VerdictKind::kP2pUnmatched:
        return all([&](int rank) { return !AwaitedMessages(rank).empty(); });
      case VerdictKind::kP2pDeadlock:
        return all([&](int rank) { return Intersect(Awaited(rank), finding.culprits); });
      default:
        return false;
    }
  }

  // Returns whether the calls under the finding's sequence number do not match, and two of them
  // differ as `how` describes.
  template <typename How>
  bool Differs(const Finding& finding, const How& how) const {
    for (int i = 0; i < static_cast<int>(machine_.instances().size()); ++i) {
      const Instance& instance = machine_.instances()[static_cast<size_t>(i)];
      if (static_cast<uint32_t>(instance.comm) != finding.communicator ||
          static_cast<uint64_t>(instance.number) != finding.sequence ||
          machine_.Fits(seen_.state, i)) {
        continue;
      }
      for (const auto& [a, a_at] : instance.calls) {
        for (const auto& [b, b_at] : instance.calls) {
          if (!machine_.Entered(seen_.state, a, a_at) || !machine_.Entered(seen_.state, b, b_at)) {
            continue;
          }
          if (how(machine_.At(a, a_at), machine_.At(b, b_at))) return true;
        }
      }
    }
    return false;
  }

  bool MadeRejected(int line) const {
    const int at = seen_.state.lines[static_cast<size_t>(line)].at;
    for (int i = 0; i < at; ++i) {
      if (machine_.At(line, i).rejected) return true;
    }
    return false;
  }

  // Returns whether a member has left without making the finding's call.
  bool SomebodyLeft(const Finding& finding) const {
    for (const Instance& instance : machine_.instances()) {
      if (static_cast<uint32_t>(instance.comm) != finding.communicator ||
          static_cast<uint64_t>(instance.number) != finding.sequence) {
        continue;
      }
      for (const int rank : generated_.program.comms[finding.communicator]) {
        if (HasLeft(rank) && !HasEntered(instance, rank)) return true;
      }
    }
    return false;
  }

  // Returns whether a thread waits in the finding's collective. If a member has left without making
  // the call and the library synchronises, that thread cannot continue, whatever the other threads
  // of its rank do.
  bool WaitsInIt(const Finding& finding) const {
    for (int line = 0; line < generated_.program.lines(); ++line) {
      const LineState& here = seen_.state.lines[static_cast<size_t>(line)];
      const Op& op = machine_.At(line, here.at);
      const bool waits =
          here.inside &&
          (!IsPoll(op.what) || WaitsByPolling(generated_.program.RankOf(line), finding.certainty));
      if (!waits) continue;
      const auto is_it = [&](int at) {
        const int number = machine_.InstanceOf(line, at);
        if (number == kNone) return false;
        const Instance& instance = machine_.instances()[static_cast<size_t>(number)];
        return static_cast<uint32_t>(instance.comm) == finding.communicator &&
               static_cast<uint64_t>(instance.number) == finding.sequence;
      };
      if (is_it(here.at) || std::any_of(op.requests.begin(), op.requests.end(), [&](int request) {
            return is_it(machine_.MakerOf(line, request));
          })) {
        return true;
      }
    }
    return false;
  }

  bool HasLeft(int rank) const {
    return seen_.state.lines[static_cast<size_t>(rank)].status == Status::kLeft;
  }

  bool HasEntered(const Instance& instance, int rank) const {
    return std::any_of(instance.calls.begin(), instance.calls.end(), [&](const auto& call) {
      return generated_.program.RankOf(call.first) == rank &&
             machine_.Entered(seen_.state, call.first, call.second);
    });
  }

  // Returns the incomplete operations for which the main thread of a rank waits.
  std::vector<int> Awaiting(int rank) const {
    const LineState& here = seen_.state.lines[static_cast<size_t>(rank)];
    if (!here.inside) return {};
    const Op& op = machine_.At(rank, here.at);
    if (!IsWait(op.what)) return {here.at};
    std::vector<int> awaiting;
    for (const int request : op.requests) {
      const int maker = machine_.MakerOf(rank, request);
      if (!machine_.Complete(seen_.state, Library::kSynchronous, rank, maker)) {
        awaiting.push_back(maker);
      }
    }
    return awaiting;
  }

  std::vector<int> AwaitedMessages(int rank) const {
    std::vector<int> messages = Awaiting(rank);
    std::erase_if(messages, [&](int at) { return IsCollective(machine_.At(rank, at).what); });
    return messages;
  }

  // Returns the ranks for which a rank waits: the peers of its messages, and the members that have
  // not entered its collectives.
  std::vector<int> Awaited(int rank) const {
    std::vector<int> awaited;
    for (const int at : Awaiting(rank)) {
      const Op& op = machine_.At(rank, at);
      const std::vector<int> others = generated_.program.Others(op.comm, rank);
      if (!IsCollective(op.what)) {
        if (op.peer == kAny) awaited.insert(awaited.end(), others.begin(), others.end());
        if (op.peer >= 0) awaited.push_back(others[static_cast<size_t>(op.peer)]);
        continue;
      }
      const Instance& instance =
          machine_.instances()[static_cast<size_t>(machine_.InstanceOf(rank, at))];
      for (const int member : generated_.program.comms[static_cast<size_t>(op.comm)]) {
        if (!HasEntered(instance, member)) awaited.push_back(member);
      }
    }
    return awaited;
  }

  // Returns the kind of the planted fault; kInconclusive if the fault has no kind or several.
  static VerdictKind KindOf(FaultKind fault) {
    switch (fault) {
      case FaultKind::kSkipped:
      case FaultKind::kExtra:
        return VerdictKind::kRankConditionalCollective;
      case FaultKind::kOtherOperation:
        return VerdictKind::kCollectiveMismatch;
      case FaultKind::kRoot:
        return VerdictKind::kRootMismatch;
      case FaultKind::kReduction:
        return VerdictKind::kOpMismatch;
      case FaultKind::kType:
        return VerdictKind::kDatatypeMismatch;
      case FaultKind::kCount:
      case FaultKind::kPairCount:
        return VerdictKind::kCountMismatch;
      case FaultKind::kInversion:
        return VerdictKind::kOrderInversion;
      case FaultKind::kRing:
      case FaultKind::kLuckyRing:
        return VerdictKind::kP2pDeadlock;
      case FaultKind::kTag:
      case FaultKind::kProbe:
      case FaultKind::kNotReady:
        return VerdictKind::kP2pUnmatched;
      case FaultKind::kDied:
      case FaultKind::kExited:
        return VerdictKind::kRankDied;
      case FaultKind::kLeftEarly:
        return VerdictKind::kFinalizedEarly;
      case FaultKind::kStalled:
        return VerdictKind::kRankStalled;
      case FaultKind::kUneven:
        return VerdictKind::kUnevenIterations;
      case FaultKind::kFrozen:
        return VerdictKind::kTransportStalled;
      case FaultKind::kInvalid:
        return VerdictKind::kInvalidArgument;
      default:
        return VerdictKind::kInconclusive;
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
      // A rank with a thread that has called MPI and is outside it may be late, whatever its other
      // threads wait for.
      const bool may = std::all_of(finding.culprits.begin(), finding.culprits.end(), [&](int rank) {
        return Is(rank, Status::kStalled) ||
               seen_.doubts[static_cast<size_t>(rank)].threads == OtherThreads::kCallers;
      });
      if (!may) Violation(finding, "does not stall");
      return;
    }
    // A hang in calls that already mismatch does not depend on ranks that may act.
    if (finding.kind != VerdictKind::kRankDied && finding.kind != VerdictKind::kTransportStalled &&
        finding.hangs && !Erroneous(finding, true)) {
      CheckTime(finding);
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
    const State state = WithoutThreads(finding.certainty);
    if (!erroneous && now_synchronous_.every_complete &&
        Explore(machine_, state, Library::kSynchronous, true).every_complete) {
      Violation(finding, "a hang is found where everything completes");
    }
    if (finding.certainty != Certainty::kProven) return;
    result_.proven = true;
    if (erroneous) return;
    // For kRankDied the observed death is proven. The finding does not claim that no other rank
    // can move.
    if (finding.kind != VerdictKind::kRankDied) CheckStuck(finding);
    if (now_permissive_.some_complete) Violation(finding, "proven, and everything can complete");
  }

  void CheckStuck(const Finding& finding) {
    const auto can_move = [&](int rank) { return CanMove(now_permissive_, rank); };
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
    // The fault has no culprits, and the finding reports the network.
    if (planted.ranks.empty() && first.kind == VerdictKind::kTransportStalled) return Hit::kExact;
    // For a missing message, either end may be wrong.
    const bool either_end = planted.kind == FaultKind::kTag ||
                            planted.kind == FaultKind::kExchange ||
                            planted.kind == FaultKind::kProbe;
    if (either_end && !first.culprits.empty() &&
        std::includes(planted.ranks.begin(), planted.ranks.end(), first.culprits.begin(),
                      first.culprits.end())) {
      return Hit::kExact;
    }
    if (result_.stuck && !first.hangs) return Hit::kNobody;  // the hang must be reported, too
    if (first.culprits == planted.ranks) return Hit::kExact;
    // Both sides have the same number of ranks in the finding's communicator.
    const bool two = first.communicator != kNoIndex &&
                     seen_.trace.communicators[first.communicator].ranks.size() == 2;
    if (planted.tie || (two && first.culprits.empty())) return Hit::kTie;
    if (first.culprits.empty()) return Hit::kNobody;
    if (Intersect(first.culprits, planted.ranks)) return Hit::kPartly;
    if (first.kind == VerdictKind::kP2pUnmatched &&
        Intersect(Peers(first.culprits), planted.ranks)) {
      return Hit::kPartly;
    }
    return Hit::kWrong;
  }

  // Returns the peers of the messages for which these ranks wait; for a wildcard receive, all ranks
  // that it can receive from.
  std::vector<int> Peers(const std::vector<int>& ranks) const {
    std::vector<int> peers;
    const auto add = [&](int rank, const Op& op) {
      const std::vector<int> members = generated_.program.Others(op.comm, rank);
      if (op.peer == kAny) peers.insert(peers.end(), members.begin(), members.end());
      if (op.peer >= 0) peers.push_back(members[static_cast<size_t>(op.peer)]);
    };
    for (const int rank : ranks) {
      const LineState& state = seen_.state.lines[static_cast<size_t>(rank)];
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
