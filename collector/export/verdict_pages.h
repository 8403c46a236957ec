// docs/verdicts/, a page for each kind, as this program carries it for services that show help.
#ifndef ROLLCALL_COLLECTOR_EXPORT_VERDICT_PAGES_H_
#define ROLLCALL_COLLECTOR_EXPORT_VERDICT_PAGES_H_

#include <string>
#include <string_view>

#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// The whole page in Markdown, as cmake/verdict_pages.cmake found it at build time; empty if the
// kind has none.
std::string_view VerdictPage(VerdictKind kind);

// Its first paragraph, on one line, or the kind's name.
std::string VerdictSummary(VerdictKind kind);

// The page for somebody who reads it elsewhere: without its title and its report of an example,
// links reduced to their words. Markdown, and readable as plain text.
std::string VerdictHelp(VerdictKind kind);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_EXPORT_VERDICT_PAGES_H_
