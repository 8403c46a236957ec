// Where a finding is shown by a service that shows one place, and what identifies it there.
#ifndef ROLLCALL_COLLECTOR_EXPORT_PLACES_H_
#define ROLLCALL_COLLECTOR_EXPORT_PLACES_H_

#include <string>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// The culprits' first site with a line, else any side's; nullptr if no line is known.
const Site* PrimarySite(const Finding& finding);

// "ranks 1-3 waiting: MPI_Barrier #58 at solver.c:88 in exchange_halo()": one site in a sentence.
std::string SiteText(const Site& site);

// What the finding says, for a person who sees nothing else of the report: title, sites, why, fix,
// certainty, notes and live stacks, a line each. No line break at its end.
std::string FindingText(const Trace& trace, const Finding& finding);

// Equal for the same finding in another run, also when lines have moved or ranks have changed: made
// of the kind, and of what is called in which function of which file. 16 hex digits.
std::string Fingerprint(const Finding& finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_EXPORT_PLACES_H_
