// SPDX-License-Identifier: Apache-2.0
// The verdict as JSON, for programs. docs/json.md describes it; docs/verdict.schema.json is its
// schema.
#ifndef ROLLCALL_COLLECTOR_REPORT_JSON_REPORT_H_
#define ROLLCALL_COLLECTOR_REPORT_JSON_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// Version 1. A new field does not change the version; a changed or removed one does.
inline constexpr int kJsonVersion = 1;

nlohmann::ordered_json ReportToJson(const Trace& trace, const Report& report);

// JSON as text, indented by two spaces, with a final newline. Invalid UTF-8 (in a file name, for
// example) is replaced and does not throw.
std::string ToText(const nlohmann::ordered_json& json);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_JSON_REPORT_H_
