// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/request-leak.md
#include "collector/diagnosis/rules/leak.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/describe.h"

namespace rollcall {

std::optional<Finding> JudgeRequestLeak(const Analysis& analysis, const Incident& incident,
                                        const Divergence&) {
  const auto found = [&](std::string_view thing, std::string_view made, std::string_view done) {
    Finding finding = Draft(analysis, incident, VerdictKind::kRequestLeak, true);
    finding.title = LeakTitle(analysis, incident, finding, thing, made, done);
    return finding;
  };
  switch (incident.what) {
    case Incident::What::kRequestLeak:
      return found("request", "made by", "completed");
    case Incident::What::kStartedLeak:
      return found("started request", "of", "waited for");
    case Incident::What::kPersistentLeak:
      return found("request", "of", "freed");
    default:
      return std::nullopt;
  }
}

}  // namespace rollcall
