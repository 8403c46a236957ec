// SPDX-License-Identifier: Apache-2.0
// Workflow commands of GitHub Actions, which annotate the lines of a change:
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "collector/export/exporter.h"
#include "collector/export/places.h"

namespace rollcall {
namespace {

// Escapes text as the runner expects it (actions/toolkit, core/src/command.ts): %, CR and LF in a
// message; in a property also colon and comma.
std::string Escape(std::string_view text, bool property) {
  std::string escaped;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    escaped += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return escaped;
}

std::string_view Command(Ruling::Weight weight) {
  switch (weight) {
    case Ruling::Weight::kFails:
      return "error";
    case Ruling::Weight::kWarning:
      return "warning";
    case Ruling::Weight::kNote:
      return "notice";
    case Ruling::Weight::kKnown:
      break;
  }
  return "";
}

}  // namespace

void ExportGithub(const Subject& subject, std::ostream& out) {
  for (size_t i = 0; i < subject.report.findings.size(); ++i) {
    const Finding& finding = subject.report.findings[i];
    const std::string_view command = Command(subject.judgement.rulings[i].weight);
    if (command.empty()) continue;  // known findings are not annotated
    std::string place;
    if (const Site* site = PrimarySite(finding)) {
      place = fmt::format("file={},line={},",
                          Escape(RelativeTo(subject.source_root, site->frame.file), true),
                          site->frame.line);
    }
    out << fmt::format("::{} {}title={}::{}\n", command, place,
                       Escape(fmt::format("rollcall: {}", KindName(finding.kind)), true),
                       Escape(FindingText(subject.trace, finding), false));
  }
}

}  // namespace rollcall
