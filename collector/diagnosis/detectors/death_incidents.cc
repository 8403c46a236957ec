// Ranks that ended before their time, and of those the ones that are a cause.
#include <algorithm>
#include <tuple>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

using What = Incident::What;

// One side's calls are those of ranks that were on their way out by an exception: a destructor's,
// an `atexit` function's.
bool IsByTheWayOut(const Analysis& analysis, const Incident& incident) {
  if (incident.what != What::kCalls && incident.what != What::kShift) return false;
  const auto leaves = [&](uint32_t p) {
    const std::optional<UncaughtException>& exception = analysis.trace.processes[p].exception;
    if (!exception || exception->at_ns == kNoTime) return false;
    const Event* call = CallOrPlace(analysis, incident.communicator, incident.sequence, p);
    return call != nullptr && call->start_ns > exception->at_ns;
  };
  const auto all_leave = [&](const std::vector<uint32_t>& side) {
    return !side.empty() && std::all_of(side.begin(), side.end(), leaves);
  };
  return all_leave(incident.deviating) || all_leave(incident.agreeing);
}

// Whatever the ranks wait in: exceptions of one job are one finding, of which the first rank that
// raised comes first.
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
    std::stable_sort(all.begin(), all.end(), [&trace](uint32_t a, uint32_t b) {
      const auto when = [&trace](uint32_t p) {
        const std::optional<UncaughtException>& exception = trace.processes[p].exception;
        return exception ? exception->at_ns : INT64_MAX;
      };
      return when(a) < when(b);
    });
  }
}

}  // namespace

void FindDeaths(const Analysis& analysis, std::vector<Incident>* incidents) {
  // The first one, and those that no clean-up explains.
  const Trace& trace = analysis.trace;
  std::vector<uint32_t> dead;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const bool rejected = IsInsideRejected(trace.processes[p]);
    if (analysis.graph.processes[p].activity == Activity::kEnded && !rejected) dead.push_back(p);
  }
  if (dead.empty()) return;
  std::erase_if(*incidents,
                [&](const Incident& incident) { return IsByTheWayOut(analysis, incident); });
  const auto when = [&](uint32_t p) {
    const Process& process = trace.processes[p];
    if (process.exception) return std::tuple(0u, process.exception->at_ns);
    const int64_t at = process.end.at_ns != kNoTime ? process.end.at_ns : process.exit_ns;
    return std::tuple(process.end.order, at == kNoTime ? INT64_MAX : at);
  };
  std::stable_sort(dead.begin(), dead.end(),
                   [&](uint32_t a, uint32_t b) { return when(a) < when(b); });
  // A wrong call's error handler ends the rank inside that call: the call is the cause.
  const auto ended_by_mpi = [&](uint32_t p) {
    const Process& process = trace.processes[p];
    return process.errors_seen > 0 ||
           (!process.exception && analysis.graph.processes[p].open != nullptr &&
            process.end.how != ProcessEnd::How::kSignaled);
  };
  const bool wrong_calls =
      std::any_of(incidents->begin(), incidents->end(), [](const Incident& incident) {
        return incident.what == What::kCalls || incident.what == What::kRejected ||
               (incident.what == What::kShift && incident.mismatch);
      });
  // So is a message that is longer than its receive: nullptr if there is none.
  const auto cut_off = [&](uint32_t p) {
    return ended_by_mpi(p) ? CutOffMessage(incidents, p) : nullptr;
  };
  for (const Incident& incident : *incidents) {
    if (incident.what != What::kDeath) continue;
    for (const uint32_t p : incident.deviating) {
      if (Incident* message = cut_off(p)) message->hangs |= incident.hangs;
    }
  }
  std::vector<uint32_t> causes;
  // It ends the whole job, and in which order the others' ends are noticed is not certain.
  const bool explained =
      std::any_of(dead.begin(), dead.end(), [&](uint32_t p) { return cut_off(p) != nullptr; });
  std::vector<uint32_t> excused;  // by a wrong call, which therefore is what the others wait for
  for (const uint32_t p : dead) {
    const Process& process = trace.processes[p];
    // Each that raised has a reason of its own, as each that crashed has.
    const bool crash = process.exception || (process.end.how == ProcessEnd::How::kSignaled &&
                                             process.end.status != 6 && process.end.status != 9 &&
                                             process.end.status != 13 && process.end.status != 15);
    if ((explained || !causes.empty()) && !crash && !process.end.oom_killed) continue;
    if (wrong_calls && (ended_by_mpi(p) || !crash)) {
      if (process.exception) excused.push_back(p);
      continue;
    }
    if (cut_off(p) != nullptr) continue;
    causes.push_back(p);
  }
  const bool wait =
      std::any_of(incidents->begin(), incidents->end(), [&](const Incident& incident) {
        return incident.what == What::kDeath &&
               std::any_of(excused.begin(), excused.end(), [&incident](uint32_t p) {
                 return std::find(incident.deviating.begin(), incident.deviating.end(), p) !=
                        incident.deviating.end();
               });
      });
  for (Incident& incident : *incidents) {
    incident.hangs |= wait && incident.what == What::kCalls;
  }
  // Those whom somebody waits for are known from the wait graph, with the collective that they
  // miss.
  std::erase_if(*incidents, [&](const Incident& incident) {
    return incident.what == What::kDeath &&
           std::none_of(incident.deviating.begin(), incident.deviating.end(), [&](uint32_t p) {
             return std::find(causes.begin(), causes.end(), p) != causes.end();
           });
  });
  for (Incident& incident : *incidents) {
    if (incident.what != What::kDeath) continue;
    std::erase_if(incident.deviating, [&](uint32_t p) {
      return std::find(causes.begin(), causes.end(), p) == causes.end();
    });
    incident.deviating_event = analysis.Stands(incident.deviating.front());
  }
  for (const uint32_t p : causes) {
    const bool known =
        std::any_of(incidents->begin(), incidents->end(), [p](const Incident& incident) {
          return incident.what == What::kDeath &&
                 std::find(incident.deviating.begin(), incident.deviating.end(), p) !=
                     incident.deviating.end();
        });
    if (known) continue;
    Incident incident;
    incident.what = What::kDeath;
    incident.deviating = {p};
    incident.deviating_event = analysis.Stands(p);
    // It died inside a collective: whoever else is in there waits for it.
    if (incident.deviating_event != nullptr && incident.deviating_event->sequence != 0 &&
        analysis.graph.processes[p].open != nullptr) {
      const Event& call = *incident.deviating_event;
      incident.communicator = trace.memberships[call.membership].communicator;
      incident.sequence = call.sequence;
      if (const CollectiveNode* node = analysis.NodeOf(incident.communicator, call.sequence)) {
        incident.agreeing = node->inside;
        incident.agreeing_event =
            node->inside.empty()
                ? nullptr
                : CallOrPlace(analysis, incident.communicator, call.sequence, node->inside[0]);
        incident.hangs = !node->inside.empty();
      }
    }
    incidents->push_back(std::move(incident));
  }
  JoinExceptions(trace, incidents);
}

}  // namespace rollcall
