// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/certainty/hang.h"

#include <algorithm>
#include <array>

#include "collector/diagnosis/certainty/idle.h"
#include "collector/diagnosis/graph/deaths.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

using What = Incident::What;

// --- Evidence: each function answers one question.

constexpr bool Always(const HangCase&) { return true; }

// The end of the process was observed, and no other death came first.
bool EndIsCertain(const HangCase& of) {
  const Trace& trace = of.analysis.trace;
  const Process& process = trace.processes[of.incident.deviating.front()];
  // A rank on its way to MPI_Finalize may still call MPI.
  if (process.exception) return process.phase >= ring::Phase::kFinalizing || IsGone(process);
  if (process.reports_error_ns != kNoTime) return false;
  const bool seen = process.end.with_node || process.end.how == ProcessEnd::How::kExited ||
                    process.end.how == ProcessEnd::How::kSignaled ||
                    process.exit_mark != ring::ExitMark::kNone;
  return seen && IsFirstDeathCertain(trace, process);
}

bool AnyStuck(const HangCase& of, const std::vector<uint32_t>& processes) {
  return std::ranges::any_of(processes, [&](uint32_t p) { return of.analysis.IsStuckStrictly(p); });
}

bool OneWaitsForGood(const HangCase& of) { return AnyStuck(of, of.waiting); }

bool OneIsStuck(const HangCase& of) {
  return OneWaitsForGood(of) || AnyStuck(of, of.incident.deviating);
}

bool AllAreStuck(const HangCase& of) {
  const std::vector<uint32_t>& deviating = of.incident.deviating;
  return std::ranges::all_of(deviating, [&](uint32_t p) { return of.analysis.IsStuckStrictly(p); });
}

// Neither the receiver nor a wrong end can continue, except wrong ends that have finalized.
bool EndsAreStuck(const HangCase& of) {
  const std::vector<uint32_t>& wrong = of.incident.deviating;
  return of.analysis.IsStuckStrictly(of.incident.Of<StrayDetails>().receive.process) &&
         std::ranges::all_of(wrong, [&](uint32_t p) {
           return of.analysis.IsStuckStrictly(p) ||
                  of.analysis.graph.processes[p].activity == Activity::kLeft;
         });
}

// For a call that did not return, the invalid argument must be on record. For a call that returned,
// the rejection is recorded, but other processes wait because of it for certain only if no other
// process can release them.
bool RejectionIsCertain(const HangCase& of) {
  for (const uint32_t p : of.incident.deviating) {
    if (of.analysis.trace.processes[p].records_unreadable != 0) return false;
  }
  const auto& rejected = of.incident.Of<EndDetails>().rejected;
  return std::ranges::all_of(rejected, [&](const RejectedCall* call) {
    return call->open ? FindBadArgument(of.analysis.trace, call->event).has_value()
                      : OneWaitsForGood(of);
  });
}

// No record of the two sides' calls on this communicator can be missing or out of order.
bool IsWellRecorded(const HangCase& of) {
  const Incident& incident = of.incident;
  if (!of.analysis.histories[incident.communicator].ordered) return false;
  for (const uint32_t p : {incident.deviating.front(), incident.agreeing.front()}) {
    const MemberHistory* history = of.analysis.HistoryOf(incident.communicator, p);
    if (history == nullptr || !history->gap_free) return false;
    if (of.analysis.trace.processes[p].records_unreadable != 0) return false;
  }
  return true;
}

bool HasMismatch(const HangCase& of) { return static_cast<bool>(of.incident.mismatch); }
bool IsShiftCertain(const HangCase& of) {
  return IsWellRecorded(of) && (HasMismatch(of) || OneIsStuck(of));
}

// The process waits for itself, and another of its threads may answer, as it has not waited for
// long.
bool MayAnswerItself(const HangCase& of) {
  const uint32_t waiter = of.incident.deviating.front();
  return of.incident.Of<MessageDetails>().itself &&
         of.analysis.trace.processes[waiter].thread_level > 2 && !of.analysis.StoodStill(waiter);
}

bool MayCloseGroup(const HangCase& of) {
  return of.kind == VerdictKind::kGroupMisuse && MayStillCloseGroup(of.analysis, of.incident);
}

// The host waits for its device, on which no recorded operation is left.
bool HasUnrecordedWork(const HangCase& of) { return of.kind == VerdictKind::kGpuStalled; }

// Whether the operations that the device has completed are known. If not, a host that is outside
// every call may be waiting for its device.
bool KnowsDevice(const HangCase& of) {
  const Process& process = of.analysis.trace.processes[of.incident.deviating.front()];
  return !process.graphs && std::ranges::none_of(process.gpu, [](const ring::GpuProgress& gpu) {
    return gpu.state == static_cast<uint32_t>(ring::CompletionSource::kNone) && gpu.enqueued != 0;
  });
}

// The user's --stall-after allows the rank more time than the job's time limit does.
bool MayOnlyBeSlow(const HangCase& of) {
  const DiagnoseOptions& options = of.analysis.options;
  return options.time_is_up &&
         of.analysis.IdleNs(of.incident.deviating.front()) < options.stall_after_ns;
}

// The lagging rank was seen alive and outside every call, or its counts are complete.
bool SeenNotArrived(const HangCase& of) {
  const Incident& incident = of.incident;
  const uint32_t behind = incident.deviating.front();
  const Process& process = of.analysis.trace.processes[behind];
  if (incident.agreeing_event != nullptr && IsOnDevice(of.analysis.Op(*incident.agreeing_event))) {
    const MemberHistory* history = of.analysis.HistoryOf(incident.communicator, behind);
    return KnowsDevice(of) && history != nullptr && history->member->counted &&
           incident.sequence != 0;
  }
  const bool alive = process.end.how == ProcessEnd::How::kAlive || !process.live_stacks.empty();
  return KnowsDevice(of) && alive && of.analysis.IdleNs(behind) >= 0;
}

// Whether devices report the progress of their streams. Waits of hosts do not show that progress.
bool SeesStreams(const HangCase& of) {
  const auto sees = [&of](uint32_t p) {
    const std::vector<ring::GpuProgress>& all = of.analysis.trace.processes[p].gpu;
    return std::ranges::all_of(all, [](const ring::GpuProgress& progress) {
      return progress.state == static_cast<uint32_t>(ring::CompletionSource::kMarks);
    });
  };
  const Incident& incident = of.incident;
  return std::ranges::all_of(incident.agreeing, sees) &&
         std::ranges::all_of(incident.deviating, sees);
}

// Completion marks show which operations are complete, but not which work is queued before an
// operation: an endless kernel looks like a stalled network. Flight Recorder dumps do not list
// streams.
bool SeesAllWork(const HangCase& of) {
  const std::vector<uint32_t>& agreeing = of.incident.agreeing;
  return WithoutCounts(of.analysis, of.incident).empty() &&
         std::ranges::all_of(
             agreeing, [&](uint32_t p) { return of.analysis.trace.processes[p].gpu.empty(); });
}

bool IsOfADevice(const HangCase& of) {
  return IsOnDevice(of.analysis.Op(*of.incident.deviating_event));
}

// A wait for a key of a store may have any purpose, and a rank may still come.
bool MayStillMeet(const HangCase& of) {
  const StartDetails& start = of.incident.Of<StartDetails>();
  return start.store || (start.rendezvous && of.incident.deviating.empty());
}
bool MeetsElsewhere(const HangCase& of) { return of.incident.Of<StartDetails>().rendezvous; }

bool NobodyDeviates(const HangCase& of) { return of.incident.deviating.empty(); }

// No record of a member of the incident's communicator is damaged.
bool AllReadable(const HangCase& of) {
  const std::vector<MemberHistory>& members =
      of.analysis.histories[of.incident.communicator].members;
  return std::ranges::all_of(members, [&](const MemberHistory& history) {
    return of.analysis.trace.processes[history.process].records_unreadable == 0;
  });
}

// All data that could have contained a NaN before is on record.
bool KnowsFirstOrigin(const HangCase& of) {
  const DataDetails& data = of.incident.Of<DataDetails>();
  return !data.incomplete && !data.sampled && data.earlier.empty() && !data.overwritten &&
         data.first.reduce_op != static_cast<uint16_t>(ReduceOp::kUser) && AllReadable(of);
}

// Rounding may differ between ranks, but not by much. A difference of unknown extent may be one of
// the last bits.
bool MayBeRounding(const HangCase& of) { return !of.incident.Of<DataDetails>().exact_type; }
bool MayBeLastBits(const HangCase& of) {
  return MayBeRounding(of) && !of.incident.Of<DataDetails>().difference.exact;
}
bool IsResultInDoubt(const HangCase& of) {
  return MayBeRounding(of) || of.incident.Of<DataDetails>().sampled || !AllReadable(of);
}

bool OfStacks(const HangCase& of) { return !of.analysis.trace.HasRecords(); }
bool OfLogs(const HangCase& of) { return of.analysis.trace.evidence == Trace::Evidence::kLogs; }

// Only the process that started the rank's program seems to be left.
bool SeemsGone(const HangCase& of) {
  const uint32_t p = of.incident.deviating.front();
  if (!OfStacks(of)) return false;
  const Place& place = of.analysis.PlaceOf(p);
  return !place.gone && place.meaning.meaning != FrameMeaning::kExit;
}

// The launcher started all ranks on the machine that was examined.
bool WasStartedHere(const HangCase& of) { return OfStacks(of) && of.incident.hangs; }

// The stopped rank alone explains the hang. If the other ranks diverge anyway, it does not: a user
// may have stopped the rank because the job hung.
bool IsStoppedAlone(const HangCase& of) {
  return OfStacks(of) && of.analysis.PlaceOf(of.incident.deviating.front()).stopped &&
         of.analysis.places.waiting.size() == 1;
}

bool ArePlacesOrdered(const HangCase& of) { return of.incident.Of<PlaceDetails>().certain; }

bool AwaitEachOther(const HangCase& of) {
  return OfStacks(of) && AwaitEachOther(of.analysis.trace, of.incident.deviating);
}

bool MayAllBeIdle(const HangCase& of) { return MayBeIdle(of.analysis, of.incident); }

// A launcher or MPI states in the log how the rank ended.
bool IsStated(const HangCase& of) {
  if (of.incident.what != What::kDeath) return false;
  const Process& process = of.analysis.trace.processes[of.incident.deviating.front()];
  return !process.exception && (process.end.parent_saw || process.end.with_node ||
                                process.ended_by || process.exit_mark != ring::ExitMark::kNone);
}

// --- The table: the first row of an incident whose evidence holds decides.

struct Row {
  What what;
  bool (*holds)(const HangCase&);
  Certainty word;
};

constexpr Certainty kProven = Certainty::kProven;
constexpr Certainty kLikely = Certainty::kLikely;
constexpr Certainty kSuspected = Certainty::kSuspected;

constexpr auto kTable = std::to_array<Row>({
    {What::kCalls, IsWellRecorded, kProven},
    {What::kCalls, Always, kLikely},
    {What::kShift, IsShiftCertain, kProven},
    {What::kShift, IsWellRecorded, kLikely},
    {What::kShift, Always, kSuspected},
    {What::kHashes, Always, kLikely},
    {What::kSites, Always, kLikely},
    {What::kUnbalanced, Always, kProven},  // from counts, not inferred
    {What::kLeft, OneIsStuck, kProven},
    {What::kLeft, KnowsDevice, kLikely},
    {What::kLeft, Always, kSuspected},
    {What::kCycle, OneIsStuck, kProven},
    {What::kCycle, KnowsDevice, kLikely},
    {What::kCycle, Always, kSuspected},
    {What::kNotArrived, IsStoppedAlone, kLikely},
    {What::kNotArrived, OfStacks, kSuspected},
    {What::kNotArrived, MayAllBeIdle, kSuspected},
    {What::kNotArrived, HasUnrecordedWork, kSuspected},
    {What::kNotArrived, MayCloseGroup, kSuspected},
    {What::kNotArrived, MayOnlyBeSlow, kSuspected},
    {What::kNotArrived, SeenNotArrived, kLikely},
    {What::kNotArrived, Always, kSuspected},
    {What::kAllArrived, OfStacks, kSuspected},  // stacks do not show most arguments
    {What::kAllArrived, OfLogs, kSuspected},    // nor do logs
    {What::kAllArrived, SeesAllWork, kLikely},
    {What::kAllArrived, Always, kSuspected},
    {What::kAbsent, WasStartedHere, kLikely},
    {What::kAbsent, Always, Certainty::kInconclusive},
    {What::kLost, Always, Certainty::kInconclusive},
    {What::kWindow, Always, kSuspected},
    {What::kJoined, Always, kSuspected},
    {What::kUndelivered, Always, kSuspected},  // a call that is not recorded may have received it
    {What::kCancelled, Always, kLikely},
    {What::kBuffered, Always, kLikely},
    {What::kTimedOut, Always, kProven},
    {What::kApart, ArePlacesOrdered, kLikely},
    {What::kApart, Always, kSuspected},
    {What::kMessage, AwaitEachOther, kLikely},
    {What::kMessage, OfStacks, kSuspected},
    {What::kMessage, MayCloseGroup, kSuspected},
    {What::kMessage, MayAnswerItself, kSuspected},
    {What::kMessage, AllAreStuck, kProven},
    {What::kMessage, Always, kLikely},
    {What::kRounds, OneIsStuck, kProven},
    {What::kRounds, Always, kLikely},
    {What::kNeighborhood, OneIsStuck, kProven},
    {What::kNeighborhood, Always, kLikely},
    {What::kStray, EndsAreStuck, kProven},
    {What::kStray, Always, kLikely},
    {What::kMessageSize, IsOfADevice, kLikely},
    {What::kMessageSize, Always, kProven},
    {What::kTaken, Always, kLikely},
    {What::kUnreceived, Always, kLikely},
    {What::kDeath, SeemsGone, kSuspected},
    {What::kDeath, EndIsCertain, kProven},
    {What::kDeath, Always, kLikely},
    {What::kRejected, RejectionIsCertain, kProven},
    {What::kRejected, Always, kLikely},
    {What::kStart, OfLogs, kSuspected},  // only silence shows that a rank did not come
    {What::kStart, MayStillMeet, kSuspected},
    {What::kStart, MeetsElsewhere, kLikely},
    {What::kStart, HasMismatch, kProven},
    {What::kStart, NobodyDeviates, kSuspected},
    {What::kStart, Always, kLikely},
    {What::kDeviceLag, SeesStreams, kLikely},
    {What::kDeviceLag, Always, kSuspected},
    {What::kGroup, Always, kProven},
    {What::kRequestLeak, Always, kProven},
    {What::kStartedLeak, Always, kProven},
    {What::kPersistentLeak, Always, kProven},
    {What::kLeftover, Always, kProven},
    {What::kLast, Always, kLikely},
    {What::kNonFinite, KnowsFirstOrigin, kProven},
    {What::kNonFinite, Always, kLikely},
    {What::kResults, MayBeLastBits, kSuspected},
    {What::kResults, IsResultInDoubt, kLikely},
    {What::kResults, Always, kProven},
    {What::kLastBits, Always, kLikely},
    {What::kSameInputs, Always, kSuspected},  // all ranks may be meant to compute the same
    {What::kDrift, Always, kLikely},
});

constexpr bool HasLastRow(What what) {
  return std::ranges::any_of(
      kTable, [what](const Row& row) { return row.what == what && row.holds == &Always; });
}
#define INCIDENT(identifier, ...) \
  static_assert(HasLastRow(What::k##identifier), "the table has no last row for " #identifier);
#include "collector/diagnosis/detectors/incidents.def"
#undef INCIDENT

}  // namespace

Certainty HangCertainty(const HangCase& of) {
  const auto row = std::ranges::find_if(kTable, [&](const Row& candidate) {
    return candidate.what == of.incident.what && candidate.holds(of);
  });
  // A stack shows an end state, not a history. For a core it is also unknown whether the rank moved
  // when the core was written.
  switch (of.analysis.trace.evidence) {
    case Trace::Evidence::kRecords:
      return row->word;
    case Trace::Evidence::kLogs:
      if (IsStated(of)) return row->word;
      [[fallthrough]];
    case Trace::Evidence::kStacks:
      return std::max(row->word, kLikely);
    case Trace::Evidence::kCores:
      break;
  }
  return std::max(row->word, AnyGone(of.analysis.trace, of.incident) ? kLikely : kSuspected);
}

std::vector<uint32_t> WithoutCounts(const Analysis& analysis, const Incident& incident) {
  std::vector<uint32_t> without;
  for (const uint32_t p : incident.agreeing) {
    const MemberHistory* history = analysis.HistoryOf(incident.communicator, p);
    const Event* call = history == nullptr ? nullptr : history->At(incident.sequence);
    if (call != nullptr && (analysis.Args(*call).flags & ring::kCountsCut) != 0) {
      without.push_back(p);
    }
  }
  return without;
}

bool MayStillCloseGroup(const Analysis& analysis, const Incident& incident) {
  const uint32_t p = incident.deviating.front();
  const Thread* thread = UnbalancedThread(analysis.trace.processes[p]);
  const bool runs = analysis.graph.processes[p].activity == Activity::kRunning;
  return thread != nullptr && (thread->group.depth == 1 || runs);
}

const Thread* UnbalancedThread(const Process& process) {
  for (const Thread& thread : process.threads) {
    if (thread.group.depth > 0 || thread.group.stray_ends > 0) return &thread;
  }
  return nullptr;
}

}  // namespace rollcall
