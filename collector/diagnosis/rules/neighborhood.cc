// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/rules/neighborhood.h"

#include <fmt/format.h>

#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/model/rank_set.h"

namespace rollcall {

Finding JudgeNeighborhood(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched);
  const auto& edge = incident.Of<NeighborhoodDetails>();
  const int32_t from = analysis.RankOf(edge.from);
  const int32_t to = analysis.RankOf(edge.to);
  const std::string graph = analysis.CommunicatorName(incident.communicator);
  const std::string waits =
      fmt::format("{} in {}", RanksPhrase(analysis.RanksOf(incident.agreeing), "waits", "wait"),
                  CallText(analysis, *incident.agreeing_event, false));
  if (edge.from_lists) {
    finding.title = fmt::format(
        "rank {} lists rank {} as a destination, and rank {} does not list rank {} as a source, "
        "in {}",
        from, to, to, from, graph);
    finding.why =
        fmt::format("{} for rank {}, which expects no data from rank {}", waits, to, from);
  } else {
    finding.title = fmt::format(
        "rank {} lists rank {} as a source, and rank {} does not list rank {} as a destination, "
        "in {}",
        to, from, from, to, graph);
    finding.why = fmt::format("{} for data that rank {} does not send to rank {}", waits, from, to);
  }
  if (edge.mutual) {
    finding.notes.emplace_back("all other edges of the graph exist in both directions");
  }
  if (edge.others != 0) {
    finding.notes.push_back(fmt::format("{} of the graph {} listed by one end only",
                                        CountText(edge.others, "more edge"),
                                        edge.others == 1 ? "is" : "are"));
  }
  finding.fix =
      "list each edge at both ends: a rank's destination has to list this rank as a source";
  return finding;
}

}  // namespace rollcall
