#include "collector/diagnosis/wording/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <tuple>

#include "collector/diagnosis/graph/deaths.h"
#include "collector/diagnosis/graph/stillness.h"
#include "collector/diagnosis/wording/python_notes.h"
#include "collector/diagnosis/wording/waiting_set.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

using What = Incident::What;

std::string SignalName(int signal) {
  switch (signal) {
    case SIGHUP:
      return "SIGHUP";
    case SIGINT:
      return "SIGINT";
    case SIGQUIT:
      return "SIGQUIT";
    case SIGILL:
      return "SIGILL";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGKILL:
      return "SIGKILL";
    case SIGSEGV:
      return "SIGSEGV";
    case SIGPIPE:
      return "SIGPIPE";
    case SIGALRM:
      return "SIGALRM";
    case SIGTERM:
      return "SIGTERM";
    case SIGXCPU:
      return "SIGXCPU";
    case SIGXFSZ:
      return "SIGXFSZ";
    default:
      return fmt::format("signal {}", signal);
  }
}

// Processes that cannot go on without one of `these`.
std::vector<uint32_t> DirectWaiters(const Analysis& analysis, const std::vector<uint32_t>& these) {
  std::vector<bool> wanted(analysis.graph.processes.size(), false);
  for (const uint32_t p : these) wanted[p] = true;
  const auto is_wanted = [&wanted](uint32_t p) { return wanted[p]; };
  std::vector<uint32_t> waiters;
  for (const CollectiveNode& node : analysis.graph.nodes) {
    if (std::any_of(node.missing.begin(), node.missing.end(), is_wanted)) {
      waiters.insert(waiters.end(), node.inside.begin(), node.inside.end());
    }
  }
  std::vector<ptrdiff_t> wanted_of_any;
  for (const Anybody& anybody : analysis.graph.anybody) {
    wanted_of_any.push_back(
        std::count_if(anybody.members.begin(), anybody.members.end(), is_wanted));
  }
  for (uint32_t p = 0; p < analysis.graph.processes.size(); ++p) {
    for (const Need& need : analysis.graph.processes[p].needs) {
      const bool others = need.anybody != kNoIndex &&
                          wanted_of_any[need.anybody] >
                              (is_wanted(p) && !analysis.graph.anybody[need.anybody].other_group);
      if (others || (need.process != kNoIndex && is_wanted(need.process))) waiters.push_back(p);
    }
  }
  return waiters;
}

// Those inside a collective that one of the dead had entered: it may have died with their data.
void AddThoseWithin(const Analysis& analysis, const std::vector<uint32_t>& dead,
                    std::vector<uint32_t>* waiting) {
  for (const CollectiveNode& node : analysis.graph.nodes) {
    const std::vector<uint32_t> there = WhoEntered(analysis, node);
    const bool entered = std::any_of(there.begin(), there.end(), [&](uint32_t p) {
      return std::find(dead.begin(), dead.end(), p) != dead.end();
    });
    if (entered) waiting->insert(waiting->end(), node.inside.begin(), node.inside.end());
  }
}

std::vector<uint32_t> WaitingFor(const Analysis& analysis, const Incident& incident) {
  std::vector<uint32_t> waiting;
  const auto add_those_who_wait = [&](const std::vector<uint32_t>& side) {
    for (const uint32_t p : side) {
      if (analysis.Waits(p)) waiting.push_back(p);
    }
  };
  if (!incident.hangs) return waiting;
  if (incident.what == What::kCalls || incident.what == What::kShift) {
    for (const Lane& lane : analysis.lanes[incident.communicator].lanes) {
      if (analysis.Waits(lane.process)) waiting.push_back(lane.process);
    }
  } else {
    add_those_who_wait(incident.agreeing);
    const std::vector<uint32_t> direct = DirectWaiters(analysis, incident.deviating);
    waiting.insert(waiting.end(), direct.begin(), direct.end());
    if (incident.what == What::kDeath) AddThoseWithin(analysis, incident.deviating, &waiting);
  }
  if (incident.tie) {
    add_those_who_wait(incident.deviating);
    return Without(std::move(waiting), {});
  }
  return Without(std::move(waiting), incident.deviating);
}

class SiteList {
 public:
  SiteList(const Analysis& analysis, const Incident& incident)
      : analysis_(analysis), incident_(incident) {}

  void Add(const std::vector<uint32_t>& side, bool culprit) {
    for (const uint32_t process : side) {
      const Event* event = EventOf(process, culprit);
      if (event == nullptr || event->membership == kNoIndex) continue;
      communicators_.insert(analysis_.trace.memberships[event->membership].communicator);
    }
    std::map<std::tuple<Site::Role, uint64_t, uint64_t, uint32_t, std::string>, size_t> known;
    for (const uint32_t process : side) {
      Site site = Of(process, culprit);
      const auto key =
          std::tuple(site.role, analysis_.sites.Id(site.call_path),
                     static_cast<uint64_t>(site.frame.line), site.communicator, site.what);
      const auto [entry, added] = known.emplace(key, sites_.size());
      if (added) sites_.push_back(std::move(site));
      sites_[entry->second].ranks.push_back(analysis_.RankOf(process));
    }
  }

  // Where the calls are on several communicators, each names its own.
  std::vector<Site> Take() {
    for (Site& site : sites_) {
      Normalize(&site.ranks);
      if (communicators_.size() > 1 && site.communicator != kNoIndex) {
        const size_t behind = std::min(site.what.find("  ("), site.what.size());
        site.what.insert(behind, " on " + analysis_.CommunicatorName(site.communicator));
      }
    }
    return std::move(sites_);
  }

 private:
  Site Of(uint32_t process, bool culprit) const {
    Site site;
    site.culprit = culprit;
    const ProcessView& view = analysis_.graph.processes[process];
    const Process& record = analysis_.trace.processes[process];
    const Event* event = EventOf(process, culprit);
    if (event != nullptr) {
      site.call_path = event->call_path;
      site.frame = analysis_.sites.UserFrame(event->call_path);
      site.what = CallText(analysis_, *event);
      if (IsPoll(analysis_.KindOf(*event))) site.what = "polls " + site.what;
      if (event->membership != kNoIndex) {
        site.communicator = analysis_.trace.memberships[event->membership].communicator;
      }
    }
    switch (view.activity) {
      case Activity::kEnded:
        site.role = Site::Role::kEnded;
        if (record.exception) {
          site.call_path = record.exception->call_path;
          site.frame = analysis_.sites.UserFrame(site.call_path);
          site.what = RaisedText(*record.exception);
          site.communicator = kNoIndex;  // it is no call
          break;
        }
        site.what = event == nullptr
                        ? EndText(record)
                        : fmt::format("{} {} {}", EndText(record),
                                      view.open != nullptr ? "inside" : "after", site.what);
        break;
      case Activity::kBlocked:
      case Activity::kPolling:
        site.role = culprit && incident_.what == What::kDeviceLag ? Site::Role::kStalled
                    : culprit && incident_.what != What::kMessage ? Site::Role::kWentOn
                                                                  : Site::Role::kWaiting;
        break;
      case Activity::kLeft:
        site.role = Site::Role::kWentOn;
        break;
      case Activity::kRunning:
        site.role =
            incident_.what == What::kBehind && culprit ? Site::Role::kStalled : Site::Role::kOther;
        break;
    }
    if (incident_.what == What::kRejected && culprit) {
      site.role = Site::Role::kCulprit;
      site.what = CallText(analysis_, *event);
      return site;
    }
    const bool stands = incident_.hangs || incident_.what == What::kTimedOut;
    if (!stands && site.role != Site::Role::kEnded) site.role = Site::Role::kOther;
    if (incident_.what == What::kBehind && culprit) FromLiveStack(record, &site);
    return site;
  }

  const Event* EventOf(uint32_t process, bool culprit) const {
    if (incident_.what == What::kMessageSize) {
      return process == incident_.deviating.front()  ? incident_.deviating_event
             : process == incident_.deviating.back() ? incident_.agreeing_event
                                                     : analysis_.Stands(process);
    }
    if (!incident_.calls.empty()) {
      const auto at = std::find(incident_.deviating.begin(), incident_.deviating.end(), process);
      if (at == incident_.deviating.end() && incident_.what == What::kRejected) {
        return analysis_.Stands(process);
      }
      return at == incident_.deviating.end()
                 ? nullptr
                 : incident_.calls[static_cast<size_t>(at - incident_.deviating.begin())];
    }
    // What has no number; who waits for it stands where it stands.
    if (incident_.what == What::kWindow) return analysis_.Stands(process);
    if (incident_.what == What::kMessage) {
      const bool named = culprit && process == incident_.deviating.front() &&
                         analysis_.graph.processes[process].activity != Activity::kPolling;
      return named ? incident_.deviating_event : analysis_.Stands(process);
    }
    const Event* event = CallOrPlace(analysis_, incident_.communicator, incident_.sequence, process,
                                     incident_.start);
    return incident_.circle.crossed && event == analysis_.Stands(process)
               ? PlaceInOrder(analysis_, process)
               : event;
  }

  static void FromLiveStack(const Process& process, Site* site) {
    // The main thread's comes first; the library's own threads have no frame of the user's.
    for (const LiveStack& stack : process.live_stacks) {
      std::vector<const SourceFrame*> frames;
      for (const SourceFrame& frame : stack.frames) frames.push_back(&frame);
      const SourceFrame* user = InnermostUserFrame(frames);
      if (user == nullptr || user->line == 0 || !FrameworkOf(*user).empty()) continue;
      site->frame = *user;
      site->call_path = kNoIndex;
      site->what = stack.state.empty() ? "outside every call" : stack.state;
      return;
    }
    if (site->what.starts_with("polls ")) return;
    if (!site->what.empty()) site->what = "outside every call; its last was " + site->what;
  }

  const Analysis& analysis_;
  const Incident& incident_;
  std::vector<Site> sites_;
  std::set<uint32_t> communicators_;
};

// Hosts that only wait for their devices do not see where a stream stands.
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

// Marks tell what is complete, and nothing of what stands in front: a kernel that never ends looks
// like a network that stands still. Flight Recorder's list has no streams.
bool SeesAllWork(const Analysis& analysis, const Incident& incident) {
  return std::all_of(incident.agreeing.begin(), incident.agreeing.end(),
                     [&](uint32_t p) { return analysis.trace.processes[p].gpu.empty(); });
}

// Where the host is not seen to wait for its device, it may be doing just that.
bool KnowsDevice(const Process& process) {
  return !process.graphs &&
         std::none_of(process.gpu.begin(), process.gpu.end(), [](const ring::GpuProgress& gpu) {
           return gpu.state == static_cast<uint32_t>(ring::GpuKnowledge::kNone) &&
                  gpu.enqueued != 0;
         });
}

// No record of a call on this communicator can be missing or in another order.
bool WellRecorded(const Analysis& analysis, const Incident& incident) {
  if (!analysis.lanes[incident.communicator].ordered) return false;
  for (const uint32_t p : {incident.deviating.front(), incident.agreeing.front()}) {
    const Lane* lane = analysis.LaneOf(incident.communicator, p);
    if (lane == nullptr || !lane->gap_free) return false;
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

// Of a call that returned it is on record that it was rejected; that this is why the others wait,
// if nobody else can release them.
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

Certainty CertaintyOf(const Analysis& analysis, const Incident& incident,
                      const std::vector<uint32_t>& waiting) {
  switch (incident.what) {
    case What::kDeath: {
      const Process& process = analysis.trace.processes[incident.deviating.front()];
      // On its way to MPI_Finalize it may still call MPI.
      if (process.exception) {
        return process.phase >= ring::Phase::kFinalizing || IsGone(process) ? Certainty::kProven
                                                                            : Certainty::kLikely;
      }
      const bool seen = process.end.how == ProcessEnd::How::kExited ||
                        process.end.how == ProcessEnd::How::kSignaled ||
                        process.exit_mark != ring::ExitMark::kNone;
      return seen && IsFirstDeathCertain(analysis.trace, process) ? Certainty::kProven
                                                                  : Certainty::kLikely;
    }
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
      return SeesAllWork(analysis, incident) ? Certainty::kLikely : Certainty::kSuspected;
    case What::kBehind: {
      const Process& process = analysis.trace.processes[incident.deviating.front()];
      if (incident.agreeing_event != nullptr && IsOnDevice(analysis.Op(*incident.agreeing_event))) {
        const Lane* lane = analysis.LaneOf(incident.communicator, incident.deviating.front());
        const bool counted = lane != nullptr && lane->membership->counted;
        return counted && incident.sequence != 0 && KnowsDevice(process) ? Certainty::kLikely
                                                                         : Certainty::kSuspected;
      }
      const bool alive = process.end.how == ProcessEnd::How::kAlive || !process.live_stacks.empty();
      const bool known = analysis.IdleNs(incident.deviating.front()) >= 0 && KnowsDevice(process);
      return alive && known ? Certainty::kLikely : Certainty::kSuspected;
    }
    case What::kMessageSize:
      return IsOnDevice(analysis.Op(*incident.deviating_event)) ? Certainty::kLikely
                                                                : Certainty::kProven;
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

// Why it is not certain, so that a person can mend it.
void AddDoubts(const Analysis& analysis, const Incident& incident, Finding* finding) {
  if (finding->certainty == Certainty::kProven || incident.communicator == kNoIndex) return;
  std::vector<uint32_t> multiple;
  std::vector<uint32_t> unreadable;
  std::vector<uint32_t> moving;
  std::vector<uint32_t> full;
  for (const Lane& lane : analysis.lanes[incident.communicator].lanes) {
    const Process& process = analysis.trace.processes[lane.process];
    if (process.thread_level == 3) multiple.push_back(lane.process);
    if (process.records_unreadable != 0) unreadable.push_back(lane.process);
    if (!process.quiet && !process.device) moving.push_back(lane.process);
    if (process.table_overflows != 0) full.push_back(lane.process);
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
    say(multiple, "runs", "run", "under MPI_THREAD_MULTIPLE: another thread might still act");
    say(moving, "was", "were", "not seen to stand still twice");
    say(full, "had", "had", "more open requests or communicators than the tables hold");
  }
  say(unreadable, "has", "have", "damaged records");
  if (!analysis.lanes[incident.communicator].ordered) {
    finding->notes.push_back(
        "not proven: two threads used the communicator at once, or its identity is not certain");
  }
}

// A rank that is one of several devices of its process is found by its device.
void AddDeviceNotes(const Analysis& analysis, const Incident& incident, Finding* finding) {
  if (incident.tie) return;
  for (const uint32_t p : incident.deviating) {
    const Process& process = analysis.trace.processes[p];
    if (process.host_process == kNoIndex) continue;
    const std::string device = process.device_number < 0
                                   ? "one of the devices"
                                   : fmt::format("device {}", process.device_number);
    finding->notes.push_back(fmt::format("rank {} is {} of process {} on {}", process.rank, device,
                                         process.pid, process.host));
  }
}

}  // namespace

void LimitKindCertainty(Certainty limit, Finding* finding) {
  finding->kind_certainty = std::max(finding->kind_certainty, limit);
}

std::string CallText(const Analysis& analysis, const Event& event, bool arguments) {
  std::string text = OperationName(analysis.Op(event));
  if (event.sequence != 0) text += fmt::format(" #{}", event.sequence);
  if (arguments) {
    const std::string details = ArgumentsText(analysis.trace, analysis.Args(event));
    if (!details.empty()) text += fmt::format("  ({})", details);
  }
  return text;
}

std::string OtherCall(const Analysis& analysis, const Incident& incident, const Event& event) {
  std::string text = CallText(analysis, event, false);
  if (event.membership == kNoIndex) return text;
  const uint32_t communicator = analysis.trace.memberships[event.membership].communicator;
  if (communicator != incident.communicator) {
    text += " on " + analysis.CommunicatorName(communicator);
  }
  return text;
}

std::string NumberedCall(const Analysis& analysis, const Incident& incident, Operation operation) {
  return fmt::format("{}{} #{} on {}", incident.start == 0 ? "" : "MPI_Start of ",
                     OperationName(operation), incident.sequence,
                     analysis.CommunicatorName(incident.communicator));
}

std::string EndText(const Process& process) {
  switch (process.end.how) {
    case ProcessEnd::How::kExited:
      return fmt::format("exited with {}", process.end.status);
    case ProcessEnd::How::kSignaled:
      if (process.end.oom_killed) return "was killed for want of memory";
      return fmt::format("was killed by {}", SignalName(process.end.status));
    default:
      break;
  }
  switch (process.exit_mark) {
    case ring::ExitMark::kExit:
      return fmt::format("called exit({})", process.exit_status);
    case ring::ExitMark::kQuickExit:
      return fmt::format("called _exit({})", process.exit_status);
    case ring::ExitMark::kMpiAbort:
      return fmt::format("called MPI_Abort with {}", process.exit_status);
    case ring::ExitMark::kNone:
      break;
  }
  return process.end.how == ProcessEnd::How::kVanished ? "vanished" : "ended";
}

std::string RaisedText(const UncaughtException& exception) {
  const bool python = exception.kind == ring::ExceptionKind::kPython;
  return fmt::format("{} {}{}{}", python ? "raised" : "threw", exception.type,
                     exception.message.empty() ? "" : ": ", exception.message);
}

std::string DurationText(int64_t ns) {
  const double seconds = static_cast<double>(ns) * 1e-9;
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

bool BufferHides(const Analysis& analysis, const Incident& incident) {
  return std::any_of(incident.deviating.begin(), incident.deviating.end(), [&](uint32_t p) {
    const std::vector<Need>& needs = analysis.graph.processes[p].needs;
    return std::any_of(needs.begin(), needs.end(), [&needs](const Need& need) {
      // A Sendrecv that waits for its receive, too, waits on with a buffer.
      const bool receives_too = std::any_of(needs.begin(), needs.end(), [&need](const Need& other) {
        return other.event == need.event && !other.sends;
      });
      return need.sends && !need.strict && !receives_too;
    });
  });
}

Finding Draft(const Analysis& analysis, const Incident& incident, VerdictKind kind,
              bool deviating_operation) {
  Finding finding;
  finding.kind = kind;
  finding.hangs = incident.hangs;
  finding.communicator = incident.communicator;
  finding.sequence = incident.sequence;
  const Event* event = deviating_operation ? incident.deviating_event : incident.agreeing_event;
  if (event == nullptr) event = incident.deviating_event;
  if (event != nullptr) finding.operation = analysis.Op(*event);
  const std::vector<uint32_t> waiting = WaitingFor(analysis, incident);
  finding.waiting = analysis.RanksOf(waiting);
  if (!incident.tie) finding.culprits = analysis.RanksOf(incident.deviating);
  const uint32_t any = !incident.deviating.empty()  ? incident.deviating.front()
                       : !incident.agreeing.empty() ? incident.agreeing.front()
                                                    : kNoIndex;
  if (any != kNoIndex) finding.world = analysis.trace.processes[any].world;
  finding.certainty = finding.kind_certainty = CertaintyOf(analysis, incident, waiting);
  AddWaitingSet(analysis, incident, waiting, &finding);

  SiteList sites(analysis, incident);
  const bool by_number = incident.what == What::kCalls || incident.what == What::kShift;
  std::vector<uint32_t> scene = by_number || waiting.empty() ? incident.agreeing : waiting;
  if (incident.what == What::kMessage || incident.what == What::kMessageSize ||
      incident.what == What::kUnreceived) {
    scene = waiting;
  }
  sites.Add(Without(std::move(scene), incident.tie ? incident.deviating : std::vector<uint32_t>{}),
            false);
  sites.Add(Without(incident.deviating, {}), !incident.tie);
  finding.sites = sites.Take();
  AddDoubts(analysis, incident, &finding);
  AddDeviceNotes(analysis, incident, &finding);
  AddContextNotes(analysis, &finding);
  return finding;
}

}  // namespace rollcall
