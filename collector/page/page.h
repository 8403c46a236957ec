// SPDX-License-Identifier: Apache-2.0
// The data of a report page, specified by report/src/data.ts. The page cannot request more data
// later. The size of the data does not grow with the number of ranks and calls: ranks that did the
// same form classes, and the number of classes is bounded. The data names everything that a bound
// leaves out.
#ifndef ROLLCALL_COLLECTOR_PAGE_PAGE_H_
#define ROLLCALL_COLLECTOR_PAGE_PAGE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/report/text_report.h"

namespace rollcall {

// The findings lack `weight` and `page`: the caller adds them. `text.excerpt` returns the lines of
// sources. Strings are valid UTF-8 without control characters, and cut at some length. They are not
// escaped. Pure except for `text.excerpt`.
nlohmann::ordered_json PageData(const AnalyzedTrace& analyzed, const Report& report,
                                const TextOptions& text, const std::string& version);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_PAGE_PAGE_H_
