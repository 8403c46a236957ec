// The data of a report page (report/src/data.ts specifies it): what a page that cannot ask for more
// shows of a job. Its size is bounded by classes of ranks that did the same, whatever the number of
// ranks and calls; what a bound leaves out is named.
#ifndef ROLLCALL_COLLECTOR_PAGE_PAGE_H_
#define ROLLCALL_COLLECTOR_PAGE_PAGE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/report/text_report.h"

namespace rollcall {

// The findings have neither `weight` nor `page`, which their caller knows. `text.excerpt` gives the
// lines of sources. Strings are valid UTF-8 without control characters, and cut at some length;
// they are not escaped. Pure except for `text.excerpt`.
nlohmann::ordered_json PageData(const AnalyzedTrace& analyzed, const Report& report,
                                const TextOptions& text, const std::string& version);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_PAGE_PAGE_H_
