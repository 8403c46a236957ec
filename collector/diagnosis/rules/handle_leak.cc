// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/handle-leak.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/leak.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/describe.h"

namespace rollcall {
namespace {

struct Thing {
  std::string_view name;
  std::string_view freed_by;
};

Thing MadeBy(Operation operation) {
  if (operation == Operation::kOp_create) return {"operation", "MPI_Op_free"};
  const std::string_view name = FindOperation(static_cast<uint16_t>(operation)).name;
  return name.starts_with("MPI_Type_") ? Thing{"datatype", "MPI_Type_free"}
                                       : Thing{"group", "MPI_Group_free"};
}

}  // namespace

std::optional<Finding> JudgeHandleLeak(const Analysis& analysis, const Incident& incident,
                                       const Divergence&) {
  if (incident.what != Incident::What::kLeftover) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kHandleLeak, true);
  const Thing thing = MadeBy(finding.operation);
  finding.title = LeakTitle(analysis, incident, finding, thing.name, "made by", "freed");
  finding.fix = fmt::format("free it with {} when it is no longer needed", thing.freed_by);
  return finding;
}

}  // namespace rollcall
