#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

std::string KindText(const Finding& finding) {
  std::string text(KindName(finding.kind));
  if (finding.kind_certainty == finding.certainty) return text;
  return text.append(" (").append(CertaintyName(finding.kind_certainty)).append(")");
}

}  // namespace rollcall
