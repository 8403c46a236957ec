// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/, a page for each kind, compiled into this program for services that show help.
#ifndef ROLLCALL_COLLECTOR_EXPORT_VERDICT_PAGES_H_
#define ROLLCALL_COLLECTOR_EXPORT_VERDICT_PAGES_H_

#include <string>
#include <string_view>

#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// The whole page in Markdown, included at build time by cmake/verdict_pages.cmake. Empty if the
// kind has no page.
std::string_view VerdictPage(VerdictKind kind);

// The page's first paragraph on one line, or the kind's name.
std::string VerdictSummary(VerdictKind kind);

// The page for display in another tool: without the title and the example report, with links
// reduced to their text. Markdown, and readable as plain text.
std::string VerdictHelp(VerdictKind kind);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_EXPORT_VERDICT_PAGES_H_
