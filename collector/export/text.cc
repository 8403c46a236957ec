// SPDX-License-Identifier: Apache-2.0
#include "collector/export/exporter.h"
#include "collector/report/text_report.h"

namespace rollcall {

void ExportText(const Subject& subject, std::ostream& out) {
  out << RenderText(subject.trace, subject.report, subject.text);
}

}  // namespace rollcall
