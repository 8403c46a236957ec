// SPDX-License-Identifier: Apache-2.0
// The places of an incident's ranks.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_SITES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_SITES_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Finding::sites: the sites of `scene` first, then those of the deviating side. Processes at one
// place for one reason share a site.
std::vector<Site> DescribeSites(const Analysis& analysis, const Incident& incident,
                                const std::vector<uint32_t>& scene);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_SITES_H_
