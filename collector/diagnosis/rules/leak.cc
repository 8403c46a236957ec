// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/rules/leak.h"

#include <fmt/format.h>

#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::string LeakTitle(const Analysis& analysis, const Incident& incident, const Finding& finding,
                      std::string_view thing, std::string_view made, std::string_view done) {
  const SourceFrame frame = analysis.sites.UserFrame(incident.deviating_event->call_path);
  const std::string place = PlaceText(frame);
  const bool one = incident.Of<LeakDetails>().count == 1;
  std::string title = fmt::format("{}{} {}{} {} {}{}{} {} never {}",
                                  incident.Of<LeakDetails>().at_least  ? "at least "
                                  : incident.Of<LeakDetails>().at_most ? "up to "
                                                                       : "",
                                  incident.Of<LeakDetails>().count, thing, one ? "" : "s", made,
                                  OperationName(finding.operation),
                                  place.empty()     ? ""
                                  : frame.line == 0 ? " in "
                                                    : " at ",
                                  place, one ? "is" : "are", done);
  if (incident.deviating.size() != analysis.trace.processes.size()) {
    title += fmt::format(" by {}", RanksPhrase(finding.culprits));
  }
  return title;
}

}  // namespace rollcall
