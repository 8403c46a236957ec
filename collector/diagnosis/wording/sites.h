// Where the ranks of an incident stand or went.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_SITES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_SITES_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Finding::sites: those of `scene` first, then those of the deviating side. Processes that stand in
// one place for one reason share a site.
std::vector<Site> DescribeSites(const Analysis& analysis, const Incident& incident,
                                const std::vector<uint32_t>& scene);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_SITES_H_
