// Shared by the detectors of operations that wait on devices; device_waits.h has their graph.
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
  // Too recent to be called stuck. When the snapshot was taken is known only if the file has kept
  // its time; a dump is written when an operation has waited for long, or on demand. Both times are
  // of the rank's own host: clocks of other hosts may differ by minutes.
  bool IsRecent(uint32_t process, const Event& event) const;
  bool IsRecent(const DeviceOperation& operation) const;
  // A host that waits for its device and was seen twice in one place. An operation that lacks a
  // member is stuck then, however short the time. If no member is missing, it takes the full time
  // to say so.
  bool HostWaits(uint32_t p) const;
  // The host waits for its device, and operations are in CUDA graphs, whose launches are not
  // recorded: the device may be in an operation of a graph, waiting for a rank that has not
  // launched it.
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
// Finds where waits end, except in hosts; returns the processes in whose hosts they end. `lags`: by
// process; a process that lags waits for no other process.
std::vector<uint32_t> FindDeviceCauses(const Analysis& analysis, const std::vector<bool>& lags,
                                       std::vector<Incident>* incidents);
// Adds these hosts, and hosts that are behind although no rank waits for them yet.
void FindDeviceHosts(const Analysis& analysis, const std::vector<uint32_t>& hosts,
                     std::vector<Incident>* incidents);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DEVICE_FINDER_H_
