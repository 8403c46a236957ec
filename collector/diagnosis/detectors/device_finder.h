// What the detectors of operations that wait on devices share; device_waits.h has their graph.
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
  // Not long enough to say that it stands still. When the picture was taken is known only where the
  // file has kept its time; a dump is written when something has waited for long, or on demand.
  // Both times are of the rank's own host: clocks of others may differ by minutes.
  bool IsRecent(uint32_t process, const Event& event) const;
  bool IsRecent(const DeviceOperation& operation) const;
  // A host that waits for its device, and was seen twice in one place: what it waits for stands
  // still however short the time, where it lacks something. That all is there and nothing moves
  // still takes time to say.
  bool HostWaits(uint32_t p) const;
  // With nothing open that is on record, it waits for a graph: its device may stand in one of the
  // graph's operations, for somebody who has not launched it.
  bool MayWaitForGraph(uint32_t p) const;
  bool MayMove(const DeviceOperation& operation) const;
  Incident Make(Incident::What what, const DeviceOperation& operation) const;

  const Analysis& analysis_;
  const DeviceWaits& waits_;
  std::vector<Incident>& incidents_;
  const uint32_t processes_;  // how many

 private:
  bool was_judged_ = false;
};

// Parts of FindDeviceIncidents(), in their order.
//
// Where waiting ends, but for hosts: returns the processes in whose hosts it does. Those that lag
// wait for nobody.
std::vector<uint32_t> FindDeviceCauses(const Analysis& analysis, const std::vector<bool>& lags,
                                       std::vector<Incident>* incidents);
// These hosts, and those that are behind without anybody who has come to wait for them.
void FindDeviceHosts(const Analysis& analysis, const std::vector<uint32_t>& hosts,
                     std::vector<Incident>* incidents);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DEVICE_FINDER_H_
