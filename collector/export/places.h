// SPDX-License-Identifier: Apache-2.0
// The place and the text of a finding for services that show one place, and the finding's identity
// across runs.
#ifndef ROLLCALL_COLLECTOR_EXPORT_PLACES_H_
#define ROLLCALL_COLLECTOR_EXPORT_PLACES_H_

#include <string>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// The first site of a culprit that has a line; otherwise the first site that has a line; nullptr if
// there is none.
const Site* PrimarySite(const Finding& finding);

// "ranks 1-3 waiting: MPI_Barrier #58 at solver.c:88 in exchange_halo()": one site in a sentence.
std::string SiteText(const Site& site);

// The finding as text for a reader who does not see the rest of the report: title, sites, why, fix,
// certainty, notes and live stacks, one per line. No trailing newline.
std::string FindingText(const Trace& trace, const Finding& finding);

// A hash of the kind, the files, the functions and the calls. Equal for the same finding in another
// run, even if lines or ranks have changed. 16 hex digits.
std::string Fingerprint(const Finding& finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_EXPORT_PLACES_H_
