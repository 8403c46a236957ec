#include "collector/diagnosis/wording/certainty.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "collector/diagnosis/graph/deaths.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

using What = Incident::What;

// This many equal calls in a row show that two histories are not shifted against each other.
constexpr uint64_t kEnoughCalls = 16;

// Whether devices report the progress of their streams. Waits of hosts do not show it.
bool SeesStreams(const Analysis& analysis, const Incident& incident) {
  const auto sees = [&analysis](uint32_t p) {
    const std::vector<ring::GpuProgress>& all = analysis.trace.processes[p].gpu;
    return std::all_of(all.begin(), all.end(), [](const ring::GpuProgress& progress) {
      return progress.state == static_cast<uint32_t>(ring::GpuKnowledge::kMarks);
    });
  };
  return std::all_of(incident.agreeing.begin(), incident.agreeing.end(), sees) &&
         std::all_of(incident.deviating.begin(), incident.deviating.end(), sees);
}

// Completion marks show what is complete, but not what is in front of an operation: an endless
// kernel looks like a stalled network. Flight Recorder dumps do not list streams.
bool SeesAllWork(const Analysis& analysis, const Incident& incident) {
  return std::all_of(incident.agreeing.begin(), incident.agreeing.end(),
                     [&](uint32_t p) { return analysis.trace.processes[p].gpu.empty(); });
}

// Whether it is known what the device has completed. If not, a host that is outside every call may
// be waiting for its device.
bool KnowsDevice(const Process& process) {
  return !process.graphs &&
         std::none_of(process.gpu.begin(), process.gpu.end(), [](const ring::GpuProgress& gpu) {
           return gpu.state == static_cast<uint32_t>(ring::GpuKnowledge::kNone) &&
                  gpu.enqueued != 0;
         });
}

// No record of a call on this communicator can be missing or out of order.
bool WellRecorded(const Analysis& analysis, const Incident& incident) {
  if (!analysis.histories[incident.communicator].ordered) return false;
  for (const uint32_t p : {incident.deviating.front(), incident.agreeing.front()}) {
    const MemberHistory* history = analysis.HistoryOf(incident.communicator, p);
    if (history == nullptr || !history->gap_free) return false;
    if (analysis.trace.processes[p].records_unreadable != 0) return false;
  }
  return true;
}

bool AnyStrictly(const Analysis& analysis, const std::vector<uint32_t>& processes) {
  return std::any_of(processes.begin(), processes.end(),
                     [&](uint32_t p) { return analysis.IsStuckStrictly(p); });
}

bool AllStrictly(const Analysis& analysis, const std::vector<uint32_t>& processes) {
  return std::all_of(processes.begin(), processes.end(),
                     [&](uint32_t p) { return analysis.IsStuckStrictly(p); });
}

// For a call that returned, the rejection is recorded; that it is why the others wait is certain
// only if no other process can release them.
Certainty RejectionCertainty(const Analysis& analysis, const Incident& incident,
                             const std::vector<uint32_t>& waiting) {
  for (const uint32_t p : incident.deviating) {
    if (analysis.trace.processes[p].records_unreadable != 0) return Certainty::kLikely;
  }
  const bool certain = std::all_of(
      incident.rejected.begin(), incident.rejected.end(), [&](const RejectedCall* call) {
        return call->open ? FindBadArgument(analysis.trace, call->event).has_value()
                          : AnyStrictly(analysis, waiting);
      });
  return certain ? Certainty::kProven : Certainty::kLikely;
}

Certainty DeathCertainty(const Trace& trace, const Process& process) {
  bool certain = false;
  if (process.exception) {
    // A rank on its way to MPI_Finalize may still call MPI.
    certain = process.phase >= ring::Phase::kFinalizing || IsGone(process);
  } else {
    const bool seen = process.end.how == ProcessEnd::How::kExited ||
                      process.end.how == ProcessEnd::How::kSignaled ||
                      process.exit_mark != ring::ExitMark::kNone;
    certain = seen && IsFirstDeathCertain(trace, process);
  }
  return certain ? Certainty::kProven : Certainty::kLikely;
}

// No record of a member of the incident's communicator is damaged.
bool AllReadable(const Analysis& analysis, const Incident& incident) {
  const std::vector<MemberHistory>& members = analysis.histories[incident.communicator].members;
  return std::all_of(members.begin(), members.end(), [&](const MemberHistory& history) {
    return analysis.trace.processes[history.process].records_unreadable == 0;
  });
}

// Rounding may differ between ranks, though not by much: a difference whose extent is unknown may
// be one of last bits.
Certainty ResultCertainty(const Analysis& analysis, const Incident& incident) {
  if (!incident.data.exact_type) {
    return incident.data.difference.exact ? Certainty::kLikely : Certainty::kSuspected;
  }
  return incident.data.sampled || !AllReadable(analysis, incident) ? Certainty::kLikely
                                                                   : Certainty::kProven;
}

Certainty BehindCertainty(const Analysis& analysis, const Incident& incident) {
  const uint32_t behind = incident.deviating.front();
  const Process& process = analysis.trace.processes[behind];
  bool seen = false;
  if (incident.agreeing_event != nullptr && IsOnDevice(analysis.Op(*incident.agreeing_event))) {
    const MemberHistory* history = analysis.HistoryOf(incident.communicator, behind);
    seen = history != nullptr && history->member->counted && incident.sequence != 0;
  } else {
    const bool alive = process.end.how == ProcessEnd::How::kAlive || !process.live_stacks.empty();
    seen = alive && analysis.IdleNs(behind) >= 0;
  }
  return seen && KnowsDevice(process) ? Certainty::kLikely : Certainty::kSuspected;
}

}  // namespace

Certainty CertaintyOf(const Analysis& analysis, const Incident& incident,
                      const std::vector<uint32_t>& waiting) {
  switch (incident.what) {
    case What::kDeath:
      return DeathCertainty(analysis.trace, analysis.trace.processes[incident.deviating.front()]);
    case What::kRejected:
      return RejectionCertainty(analysis, incident, waiting);
    case What::kCalls:
      return WellRecorded(analysis, incident) ? Certainty::kProven : Certainty::kLikely;
    case What::kShift:
      if (!WellRecorded(analysis, incident)) return Certainty::kSuspected;
      return incident.mismatch || AnyStrictly(analysis, waiting) ||
                     AnyStrictly(analysis, incident.deviating)
                 ? Certainty::kProven
                 : Certainty::kLikely;
    case What::kMessage:
      if (incident.message.itself &&
          analysis.trace.processes[incident.deviating.front()].thread_level > 2 &&
          !analysis.StoodStill(incident.deviating.front())) {
        return Certainty::kSuspected;
      }
      return AllStrictly(analysis, incident.deviating) ? Certainty::kProven : Certainty::kLikely;
    case What::kLeft:
    case What::kCycle:
      if (AnyStrictly(analysis, waiting) || AnyStrictly(analysis, incident.deviating)) {
        return Certainty::kProven;
      }
      return KnowsDevice(analysis.trace.processes[incident.deviating.front()])
                 ? Certainty::kLikely
                 : Certainty::kSuspected;
    case What::kDeviceLag:
      return SeesStreams(analysis, incident) ? Certainty::kLikely : Certainty::kSuspected;
    case What::kAllArrived:
      return SeesAllWork(analysis, incident) && WithoutCounts(analysis, incident).empty()
                 ? Certainty::kLikely
                 : Certainty::kSuspected;
    case What::kBehind:
      return BehindCertainty(analysis, incident);
    case What::kMessageSize:
      return IsOnDevice(analysis.Op(*incident.deviating_event)) ? Certainty::kLikely
                                                                : Certainty::kProven;
    case What::kNonFinite:
      return incident.data.incomplete || incident.data.sampled || !incident.data.earlier.empty() ||
                     incident.data.overwritten ||
                     incident.data.first.reduce_op == static_cast<uint16_t>(ReduceOp::kUser) ||
                     !AllReadable(analysis, incident)
                 ? Certainty::kLikely
                 : Certainty::kProven;
    case What::kResults:
      return ResultCertainty(analysis, incident);
    case What::kSameInputs:
      return Certainty::kSuspected;  // all ranks may be meant to compute the same
    case What::kLastBits:
    case What::kDrift:
    case What::kHashes:
    case What::kCancelled:
    case What::kBuffered:
    case What::kLast:
    case What::kUnreceived:
    case What::kSites:
      return Certainty::kLikely;
    case What::kStart:
      if (incident.mismatch) return Certainty::kProven;
      return incident.deviating.empty() ? Certainty::kSuspected : Certainty::kLikely;
    case What::kGroup:
    case What::kUnbalanced:
    case What::kRequestLeak:
    case What::kStartedLeak:
    case What::kPersistentLeak:
    case What::kLeftover:
    case What::kTimedOut:
      return Certainty::kProven;  // counted, not inferred
    case What::kWindow:
      return Certainty::kSuspected;
    case What::kAbsent:
      break;
  }
  return Certainty::kInconclusive;
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

bool MayHaveBegunEarlier(const Analysis& analysis, const Incident& incident) {
  if (incident.message.rests_on_order) {
    return std::any_of(incident.deviating.begin(), incident.deviating.end(), [&](uint32_t p) {
      const std::vector<Thread>& threads = analysis.trace.processes[p].threads;
      return analysis.Timeline(p).size() < kEnoughCalls &&
             std::any_of(threads.begin(), threads.end(), [](const Thread& thread) {
               return thread.lost_collectives != 0 || thread.lost_p2p != 0;
             });
    });
  }
  const bool of_order = incident.what == What::kShift || incident.what == What::kLeft ||
                        incident.what == What::kCycle || incident.what == What::kCalls;
  if (!of_order || incident.communicator == kNoIndex) return false;
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
  return incident.what == What::kShift ? incident.sequence == first
                                       : incident.sequence < first + kEnoughCalls;
}

void AddDoubts(const Analysis& analysis, const Incident& incident, Finding* finding) {
  if (finding->certainty == Certainty::kProven || incident.communicator == kNoIndex) return;
  std::vector<uint32_t> multiple;
  std::vector<uint32_t> unreadable;
  std::vector<uint32_t> moving;
  std::vector<uint32_t> full;
  for (const MemberHistory& history : analysis.histories[incident.communicator].members) {
    const Process& process = analysis.trace.processes[history.process];
    if (process.thread_level == 3) multiple.push_back(history.process);
    if (process.records_unreadable != 0) unreadable.push_back(history.process);
    if (!process.quiet && !process.device) moving.push_back(history.process);
    if (process.table_overflows != 0) full.push_back(history.process);
  }
  const auto say = [&](const std::vector<uint32_t>& who, const char* one, const char* several,
                       std::string_view what) {
    if (who.empty()) return;
    const std::vector<int32_t> ranks = analysis.RanksOf(who);
    finding->notes.push_back(
        fmt::format("not proven: {} {} {}", RanksPhrase(ranks), Verb(ranks, one, several), what));
  };
  if (incident.what == What::kCycle || incident.what == What::kLeft ||
      incident.what == What::kMessage || incident.what == What::kShift) {
    say(multiple, "runs", "run", "under MPI_THREAD_MULTIPLE: another thread might still call MPI");
    say(moving, "was", "were", "not seen to be still in two samples");
    say(full, "had", "had", "more open requests or communicators than the tables hold");
  }
  say(unreadable, "has", "have", "damaged records");
  if (!analysis.histories[incident.communicator].ordered) {
    finding->notes.push_back(
        "not proven: two threads used the communicator at once, or its identity is not certain");
  }
}

}  // namespace rollcall
