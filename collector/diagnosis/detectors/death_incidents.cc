// SPDX-License-Identifier: Apache-2.0
// Finds ranks that ended too early, and the causes among them.
#include <algorithm>
#include <tuple>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/graph/deaths.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

using What = Incident::What;

// Whether all ranks of one side made their calls while they were exiting because of an exception:
// calls of a destructor or of an `atexit` function.
bool IsByTheWayOut(const Analysis& analysis, const Incident& incident) {
  if (incident.what != What::kCalls && incident.what != What::kShift) return false;
  const auto leaves = [&](uint32_t p) {
    const std::optional<UncaughtException>& exception = analysis.trace.processes[p].exception;
    if (!exception || exception->at_ns == kNoTime) return false;
    const Event* call = CallOrPlace(analysis, incident.communicator, incident.sequence, p);
    return call != nullptr && call->start_ns > exception->at_ns;
  };
  const auto all_leave = [&](const std::vector<uint32_t>& side) {
    return !side.empty() && std::ranges::all_of(side, leaves);
  };
  return all_leave(incident.deviating) || all_leave(incident.agreeing);
}

// Exceptions of one job are one finding, whatever the ranks wait in. The rank that raised first
// comes first.
void JoinExceptions(const Trace& trace, std::vector<Incident>* incidents) {
  const auto raised = [&trace](const Incident& incident) {
    return incident.what == What::kDeath &&
           trace.processes[incident.deviating.front()].exception.has_value();
  };
  const auto world = [&trace](const Incident& incident) {
    return trace.processes[incident.deviating.front()].world;
  };
  for (size_t i = 0; i < incidents->size(); ++i) {
    if (!raised((*incidents)[i])) continue;
    for (size_t other = incidents->size(); --other > i;) {
      Incident& one = (*incidents)[i];
      Incident& another = (*incidents)[other];
      if (!raised(another) || world(one) != world(another)) continue;
      if (another.agreeing.size() > one.agreeing.size()) std::swap(one, another);
      one.deviating.insert(one.deviating.end(), another.deviating.begin(), another.deviating.end());
      incidents->erase(incidents->begin() + static_cast<ptrdiff_t>(other));
    }
    std::vector<uint32_t>& all = (*incidents)[i].deviating;
    all = Without(std::move(all), {});
    std::ranges::stable_sort(all, [&trace](uint32_t a, uint32_t b) {
      const auto when = [&trace](uint32_t p) {
        const std::optional<UncaughtException>& exception = trace.processes[p].exception;
        return exception ? exception->at_ns : INT64_MAX;
      };
      return when(a) < when(b);
    });
  }
}

// Whether the process has a reason of its own: each crashed process has, and each process that
// raised an exception.
bool IsCrash(const Process& process) {
  const ProcessEnd& end = process.end;
  return process.exception || end.with_node ||
         (end.how == ProcessEnd::How::kSignaled && end.status != 6 && end.status != 9 &&
          end.status != 13 && end.status != 15);
}

// Selects the causes among the deaths: the first death, and the deaths that no clean-up explains.
class DeathFinder {
 public:
  DeathFinder(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis), trace_(analysis.trace), incidents_(*incidents) {
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      const bool ended = analysis.graph.processes[p].activity == Activity::kEnded;
      if (ended && !IsInsideRejected(trace_.processes[p])) dead_.push_back(p);
    }
    std::ranges::stable_sort(dead_, [this](uint32_t a, uint32_t b) { return When(a) < When(b); });
  }

  void Find() {
    if (dead_.empty()) return;
    std::erase_if(incidents_,
                  [this](const Incident& incident) { return IsByTheWayOut(analysis_, incident); });
    MarkCutOffMessages();
    FindCauses();
    MarkWrongCalls();
    KeepCauses();
    for (const uint32_t p : causes_) {
      if (!AnyDeath([p](const Incident& death) { return Contains(death.deviating, p); })) Add(p);
    }
    JoinExceptions(trace_, &incidents_);
  }

 private:
  // The sort key: processes that raised an exception come first, then the order of the ends counts.
  std::tuple<uint32_t, int64_t> When(uint32_t p) const {
    const Process& process = trace_.processes[p];
    if (process.exception && !FailedInACall(trace_, process)) return {0u, process.exception->at_ns};
    const int64_t at = process.end.at_ns != kNoTime ? process.end.at_ns : process.exit_ns;
    return {process.end.order, at == kNoTime ? INT64_MAX : at};
  }

  // Whether an error handler may have ended the rank inside a wrong call. The call is then the
  // cause.
  bool EndedByMpi(uint32_t p) const {
    const Process& process = trace_.processes[p];
    return process.errors_seen > 0 ||
           (!process.exception && analysis_.graph.processes[p].open != nullptr &&
            process.end.how != ProcessEnd::How::kSignaled);
  }

  // Whether the rank ended inside a call without a crash. An error handler notifies the launcher
  // before it exits, and the launcher's signal may arrive first.
  bool EndedInACall(uint32_t p) const {
    const Process& process = trace_.processes[p];
    return analysis_.graph.processes[p].open != nullptr && !IsCrash(process) &&
           !process.end.oom_killed;
  }

  // The message that ended the rank because it was longer than its receive; nullptr if there is
  // none.
  Incident* CutOff(uint32_t p) {
    return EndedByMpi(p) || EndedInACall(p) ? CutOffMessage(&incidents_, p) : nullptr;
  }

  // MPI ended both processes before it had started: the fault may be on each node.
  bool FailedToStartToo(uint32_t p) const { return FailedToStart(p) && FailedToStart(causes_[0]); }
  bool FailedToStart(uint32_t p) const {
    return trace_.processes[p].ended_by && trace_.processes[p].phase == ring::Phase::kStarting;
  }

  bool HaveOneCause(uint32_t a, uint32_t b) const {
    const Process& one = trace_.processes[a];
    const Process& other = trace_.processes[b];
    if (one.world != other.world) return false;
    return (FailedToStart(a) && FailedToStart(b)) ||
           (one.end.with_node && other.end.with_node && one.host == other.host);
  }

  template <typename Is>
  bool AnyDeath(const Is& is) const {
    return std::ranges::any_of(incidents_, [&](const Incident& incident) {
      return incident.what == What::kDeath && is(incident);
    });
  }

  void MarkCutOffMessages() {
    for (const Incident& incident : incidents_) {
      if (incident.what != What::kDeath) continue;
      for (const uint32_t p : incident.deviating) {
        if (Incident* message = CutOff(p)) message->hangs |= incident.hangs;
      }
    }
  }

  void FindCauses() {
    const bool wrong_calls = std::ranges::any_of(incidents_, [](const Incident& incident) {
      return incident.what == What::kCalls || incident.what == What::kRejected ||
             (incident.what == What::kShift && incident.mismatch);
    });
    // A truncated message ends the whole job. The order in which the other ends are noticed is not
    // certain.
    const bool explained =
        std::ranges::any_of(dead_, [this](uint32_t p) { return CutOff(p) != nullptr; });
    for (const uint32_t p : dead_) {
      const Process& process = trace_.processes[p];
      const bool crash = IsCrash(process) && !FailedInACall(trace_, process);
      const bool known = explained || (!causes_.empty() && !FailedToStartToo(p));
      if (known && !crash && !process.end.oom_killed) continue;
      if (wrong_calls && (EndedByMpi(p) || !crash)) {
        if (process.exception) excused_.push_back(p);
        continue;
      }
      if (CutOff(p) == nullptr) causes_.push_back(p);
    }
  }

  // If ranks wait for a rank that a wrong call excuses, the wrong call makes them hang.
  void MarkWrongCalls() {
    const bool wait = AnyDeath([this](const Incident& death) {
      return std::ranges::any_of(excused_,
                                 [&death](uint32_t p) { return Contains(death.deviating, p); });
    });
    for (Incident& incident : incidents_) {
      incident.hangs |= wait && incident.what == What::kCalls;
    }
  }

  // Keeps the deaths that are causes. Deaths that other ranks wait for come from the wait graph,
  // with the collective that the dead ranks are missing from.
  void KeepCauses() {
    for (Incident& incident : incidents_) {
      if (incident.what != What::kDeath) continue;
      std::erase_if(incident.deviating, [this](uint32_t p) { return !Contains(causes_, p); });
      if (incident.deviating.empty()) continue;
      incident.deviating_event = analysis_.CurrentEvent(incident.deviating.front());
    }
    std::erase_if(incidents_, [](const Incident& incident) {
      return incident.what == What::kDeath && incident.deviating.empty();
    });
  }

  void Add(uint32_t p) {
    for (Incident& death : incidents_) {
      if (death.what != What::kDeath || !HaveOneCause(death.deviating.front(), p)) continue;
      death.deviating.push_back(p);
      return;
    }
    Incident incident;
    incident.what = What::kDeath;
    incident.deviating = {p};
    incident.deviating_event = analysis_.CurrentEvent(p);
    // If it died inside a collective, the other members inside wait for it.
    if (incident.deviating_event != nullptr && incident.deviating_event->sequence != 0 &&
        analysis_.graph.processes[p].open != nullptr) {
      const Event& call = *incident.deviating_event;
      incident.communicator = analysis_.CommunicatorOf(call);
      incident.sequence = call.sequence;
      AddThoseInside(analysis_, &incident);
    }
    incidents_.push_back(std::move(incident));
  }

  const Analysis& analysis_;
  const Trace& trace_;
  std::vector<Incident>& incidents_;
  std::vector<uint32_t> dead_;
  std::vector<uint32_t> causes_;
  std::vector<uint32_t> excused_;  // excused by a wrong call, for which the others wait
};

}  // namespace

void FindDeaths(const Analysis& analysis, std::vector<Incident>* incidents) {
  DeathFinder(analysis, incidents).Find();
}

}  // namespace rollcall
