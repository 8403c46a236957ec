// SPDX-License-Identifier: Apache-2.0
// Shared by the detectors of operations that wait on devices. The graph is that of device_waits.h.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DEVICE_FINDER_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DEVICE_FINDER_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

class DeviceFinder {
 public:
  DeviceFinder(const Analysis& analysis, std::vector<Incident>* incidents);

 protected:
  bool IsExplained(const DeviceOperation& operation) const;
  // Whether the operation is too recent to be called stuck. The time of the snapshot is known only
  // if the file has kept it; a dump is written when an operation has waited for long, or on demand.
  // Both times are of the rank's own host, because clocks of other hosts may differ by minutes.
  bool IsRecent(uint32_t process, const Event& event) const;
  bool IsRecent(const DeviceOperation& operation) const;
  // Whether the host waits for its device and was seen twice in one place. An operation that lacks
  // a member is then stuck, however short the time. An operation that lacks no member is called
  // stuck only after the full time.
  bool HostWaits(uint32_t p) const;
  // Whether the host waits for its device, and operations are in CUDA graphs, whose launches are
  // not recorded. The device may then be in an operation of a graph, and wait for a rank that has
  // not launched the graph.
  bool MayWaitForGraph(uint32_t p) const;
  bool MayMove(const DeviceOperation& operation) const;
  Incident Make(Incident::What what, const DeviceOperation& operation) const;

  const Analysis& analysis_;
  const DeviceWaits& waits_;
  std::vector<Incident>& incidents_;
  const uint32_t processes_;  // the number of processes

 private:
  bool was_judged_ = false;
};

// The parts of FindDeviceIncidents(), in order.
//
// Finds the causes at which chains of waits end, except causes in hosts. Returns the processes
// whose hosts are the causes. `lags`: by process; a process that lags waits for no other process.
std::vector<uint32_t> FindDeviceCauses(const Analysis& analysis, const std::vector<bool>& lags,
                                       std::vector<Incident>* incidents);
// Adds these hosts, and lagging hosts for which no rank waits yet.
void FindDeviceHosts(const Analysis& analysis, const std::vector<uint32_t>& hosts,
                     std::vector<Incident>* incidents);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DEVICE_FINDER_H_
