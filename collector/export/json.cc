#include "collector/export/exporter.h"
#include "collector/report/json_report.h"

namespace rollcall {

void ExportJson(const Subject& subject, std::ostream& out) {
  out << RenderJson(subject.trace, subject.report);
}

}  // namespace rollcall
