// SPDX-License-Identifier: Apache-2.0
// Finds operations on devices that are out of step, and calls the device detectors in order.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "collector/diagnosis/detectors/device_finder.h"
#include "collector/matching/data_matching.h"

namespace rollcall {
namespace {

using What = Incident::What;

class HistoryFinder : DeviceFinder {
 public:
  using DeviceFinder::DeviceFinder;

  // After a skipped call, later calls match the wrong ones. The history of call sites shows where
  // the skip was; the stuck operation does not.
  void FindShifts() {
    for (const DeviceOperation& operation : waits_.operations) {
      if (operation.IsMessage() || IsExplained(operation) || MayMove(operation)) continue;
      if (operation.missing.empty() && operation.behind.empty()) continue;
      const std::optional<Shift>& shift = analysis_.ShiftOf(operation.communicator);
      if (!shift || shift->sequence > operation.sequence) continue;
      Incident incident = ShiftIncident(analysis_.histories[operation.communicator], *shift);
      incident.hangs = true;
      const auto call = [&](uint32_t p) {
        return CallOrPlace(analysis_, incident.communicator, incident.sequence, p);
      };
      incident.deviating_event = call(incident.deviating.front());
      incident.agreeing_event = call(incident.agreeing.front());
      incidents_.push_back(std::move(incident));
    }
  }

  // A rank that waits in an operation that is out of step waits because of the earlier mismatch or
  // shift.
  void MarkHangs() {
    for (const DeviceOperation& operation : waits_.operations) {
      if (operation.IsMessage() || MayMove(operation)) continue;
      for (Incident& incident : incidents_) {
        if ((incident.what == What::kCalls || incident.what == What::kShift) &&
            incident.communicator == operation.communicator &&
            incident.sequence <= operation.sequence) {
          incident.hangs = true;
        }
      }
    }
  }

  void FindUneven() {
    const Trace& trace = analysis_.trace;
    for (const DeviceUneven& message : waits_.uneven) {
      const Arguments& send = analysis_.Args(*message.send);
      const Arguments& recv = analysis_.Args(*message.recv);
      Mismatch mismatch;
      mismatch.kind =
          send.send_datatype == recv.recv_datatype ? MismatchKind::kCount : MismatchKind::kDatatype;
      mismatch.pair = true;
      mismatch.deviating_value = DataText(trace, send.send_datatype, send.send_count);
      mismatch.agreeing_value = DataText(trace, recv.recv_datatype, recv.recv_count);
      incidents_.push_back(MessageIncident(message.sender, *message.send, message.receiver,
                                           *message.recv, message.communicator,
                                           std::move(mismatch)));
      incidents_.back().hangs = message.send->end_ns == kNoTime || message.recv->end_ns == kNoTime;
    }
  }

  // Returns which processes lag.
  std::vector<bool> FindLags() {
    std::vector<bool> lags(processes_, false);
    std::map<std::pair<uint32_t, uint64_t>, std::vector<const DeviceLag*>> by_operation;
    for (const DeviceLag& lag : waits_.lags) {
      if (IsRecent(lag.process, *lag.event)) continue;
      if (lag.sequence != 0 && Explained(incidents_, lag.communicator, lag.sequence)) continue;
      if (lag.sequence == 0 && IsExplained(waits_.operations[waits_.oldest[lag.process]])) continue;
      by_operation[{lag.communicator, lag.sequence}].push_back(&lag);
    }
    // One fault per finding: the operation that shows most of the lags comes first.
    std::vector<const std::vector<const DeviceLag*>*> order;
    order.reserve(by_operation.size());
    for (const auto& [key, list] : by_operation) order.push_back(&list);
    std::ranges::stable_sort(order, [](const auto* a, const auto* b) {
      if (a->size() != b->size()) return a->size() > b->size();
      return a->front()->event->start_ns < b->front()->event->start_ns;
    });
    for (const auto* list : order) {
      Incident incident;
      incident.what = What::kDeviceLag;
      incident.hangs = true;
      incident.communicator = list->front()->communicator;
      incident.sequence = list->front()->sequence;
      incident.deviating_event = list->front()->event;
      for (const DeviceLag* lag : *list) {
        if (!lags[lag->process]) incident.deviating.push_back(lag->process);
        lags[lag->process] = true;
      }
      if (incident.deviating.empty()) continue;
      for (const MemberHistory& history : analysis_.histories[incident.communicator].members) {
        if (incident.sequence == 0 || history.entered < incident.sequence) continue;
        const Event* event = history.At(incident.sequence);
        if (event != nullptr ? event->end_ns != kNoTime
                             : history.member->completed >= incident.sequence) {
          incident.agreeing.push_back(history.process);
          if (event != nullptr) incident.agreeing_event = event;
        }
      }
      incidents_.push_back(std::move(incident));
    }
    return lags;
  }
};

}  // namespace

void FindDeviceIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  if (!analysis.device.any) return;
  HistoryFinder finder(analysis, incidents);
  finder.FindShifts();
  finder.MarkHangs();
  finder.FindUneven();
  const std::vector<bool> lags = finder.FindLags();
  FindDeviceHosts(analysis, FindDeviceCauses(analysis, lags, incidents), incidents);
}

}  // namespace rollcall
