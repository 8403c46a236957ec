// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "collector/diagnosis/detectors/order.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/place_text.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

using What = Incident::What;

class SiteList {
 public:
  SiteList(const Analysis& analysis, const Incident& incident)
      : analysis_(analysis), incident_(incident) {}

  void Add(const std::vector<uint32_t>& side, bool culprit) {
    for (const uint32_t process : side) {
      const Event* event = EventOf(process, culprit);
      if (event == nullptr || event->member == kNoIndex) continue;
      communicators_.insert(analysis_.CommunicatorOf(*event));
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

  // If the calls are on several communicators, each site names its communicator.
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
  // Whether the deviating side has not arrived at the place where the others wait.
  bool HasNotArrived() const {
    return incident_.what == What::kNotArrived || incident_.Of<StartDetails>().store;
  }

  // Whether the deviating side waits for the other side.
  bool WaitsItself() const {
    return incident_.what == What::kMessage || incident_.what == What::kTaken ||
           incident_.Of<StartDetails>().rendezvous;
  }

  Site Of(uint32_t process, bool culprit) const {
    if (!analysis_.trace.HasRecords()) {
      return SiteOfPlace(analysis_, incident_, process, culprit);
    }
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
      site.communicator = analysis_.CommunicatorOf(*event);
    }
    switch (view.activity) {
      case Activity::kEnded:
        site.role = Site::Role::kEnded;
        if (record.exception) {
          site.call_path = record.exception->call_path;
          site.frame = analysis_.sites.UserFrame(site.call_path);
          site.what = RaisedText(*record.exception);
          site.communicator = kNoIndex;  // an exception is not a call
          break;
        }
        // For a message that did not fit, the call is shown: it says more than the end.
        if (record.ended_by && record.exit_call_path != kNoIndex &&
            incident_.what != What::kMessageSize &&
            (view.open == nullptr || event != &view.open->event)) {
          // The process may have ended in a function whose calls are not recorded.
          const std::string function = MpiFunction(analysis_.trace, record.exit_call_path);
          site.call_path = record.exit_call_path;
          site.frame = analysis_.sites.UserFrame(site.call_path);
          site.what = EndText(record) + (function.empty() ? "" : " inside " + function);
          site.communicator = kNoIndex;
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
                    : culprit && !WaitsItself()                   ? Site::Role::kContinued
                                                                  : Site::Role::kWaiting;
        break;
      case Activity::kLeft:
        site.role = Site::Role::kContinued;
        break;
      case Activity::kRunning:
        site.role = HasNotArrived() && culprit ? Site::Role::kStalled : Site::Role::kOther;
        break;
    }
    const bool is_wrong = incident_.what == What::kRejected || incident_.what == What::kStray ||
                          incident_.what == What::kNeighborhood;
    if (is_wrong && culprit) {
      site.role = Site::Role::kCulprit;
      site.what = CallText(analysis_, *event);
      return site;
    }
    const bool stands = incident_.hangs || incident_.what == What::kTimedOut;
    // Both calls returned: the ranks wait in later calls.
    if (incident_.Of<CallDetails>().showed_at != 0) site.role = Site::Role::kOther;
    if (!stands && site.role != Site::Role::kEnded) site.role = Site::Role::kOther;
    if (HasNotArrived() && culprit) {
      FromLiveStack(record, view.open != nullptr, &site);
    } else if (incident_.Of<StartDetails>().rendezvous) {
      LineFromLiveStack(record, &site);
    }
    return site;
  }

  const Event* EventOf(uint32_t process, bool culprit) const {
    if (incident_.what == What::kMessageSize) {
      return process == incident_.deviating.front()  ? incident_.deviating_event
             : process == incident_.deviating.back() ? incident_.agreeing_event
                                                     : analysis_.CurrentEvent(process);
    }
    if (!incident_.calls.empty()) {
      const auto at = std::ranges::find(incident_.deviating, process);
      const bool waits = incident_.what == What::kRejected || incident_.what == What::kStray ||
                         incident_.what == What::kNeighborhood;
      if (at == incident_.deviating.end() && waits) {
        return analysis_.CurrentEvent(process);
      }
      return at == incident_.deviating.end()
                 ? nullptr
                 : incident_.calls[static_cast<size_t>(at - incident_.deviating.begin())];
    }
    // A call on a window has no sequence number: take the call that the process is in.
    if (incident_.what == What::kWindow) return analysis_.CurrentEvent(process);
    if (incident_.what == What::kMessage || incident_.what == What::kTaken) {
      const bool named = culprit && process == incident_.deviating.front() &&
                         analysis_.graph.processes[process].activity != Activity::kPolling;
      return named ? incident_.deviating_event : analysis_.CurrentEvent(process);
    }
    const Event* event = CallOrPlace(analysis_, incident_.communicator, incident_.sequence, process,
                                     incident_.start);
    return incident_.Of<WaitDetails>().crossed && event == analysis_.CurrentEvent(process)
               ? PlaceInOrder(analysis_, process)
               : event;
  }

  // `inside`: another thread of the process is in a call.
  static void FromLiveStack(const Process& process, bool inside, Site* site) {
    site->live = !process.live_stacks.empty();
    // The main thread's stack comes first. Threads of the library have no user frame.
    for (const LiveStack& stack : process.live_stacks) {
      const SourceFrame* user = InnermostUserFrame(stack.frames);
      if (user == nullptr || user->line == 0 || IsFrameworkFrame(*user)) continue;
      site->frame = *user;
      site->call_path = kNoIndex;
      site->what = stack.state.empty() ? "outside every call" : stack.state;
      return;
    }
    if (inside || site->what.starts_with("polls ")) return;
    if (!site->what.empty()) site->what = "outside every call; its last was " + site->what;
  }

  // The first call of a process may be recorded without its Python frames, which can be read only
  // after a call that holds the GIL.
  static void LineFromLiveStack(const Process& process, Site* site) {
    if (site->frame.line != 0 || process.live_stacks.empty()) return;
    const SourceFrame* user = InnermostUserFrame(process.live_stacks.front().frames);
    if (user == nullptr || user->line == 0 || IsFrameworkFrame(*user)) return;
    site->frame = *user;
    site->call_path = kNoIndex;
  }

  const Analysis& analysis_;
  const Incident& incident_;
  std::vector<Site> sites_;
  std::set<uint32_t> communicators_;
};

}  // namespace

std::vector<Site> DescribeSites(const Analysis& analysis, const Incident& incident,
                                const std::vector<uint32_t>& scene) {
  SiteList sites(analysis, incident);
  sites.Add(scene, false);
  sites.Add(Without(incident.deviating, {}), !incident.tie);
  return sites.Take();
}

}  // namespace rollcall
