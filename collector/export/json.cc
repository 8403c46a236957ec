// SPDX-License-Identifier: Apache-2.0
// The verdict as docs/json.md describes it, with the weights of the findings.
#include <nlohmann/json.hpp>

#include "collector/export/exporter.h"
#include "collector/report/json_report.h"

namespace rollcall {

void ExportJson(const Subject& subject, std::ostream& out) {
  nlohmann::ordered_json json = ReportToJson(subject.trace, subject.report);
  for (size_t i = 0; i < subject.judgement.rulings.size(); ++i) {
    const Ruling& ruling = subject.judgement.rulings[i];
    json["findings"][i]["weight"] = WeightName(ruling.weight);
    if (ruling.weight == Ruling::Weight::kKnown) json["findings"][i]["reason"] = ruling.reason;
  }
  if (const std::optional<JobOutcome>& job = subject.judgement.job) {
    json["job"] = {{"command", job->command},
                   {"exit_code", job->exit_code},
                   {"ended_by_rollcall", job->ended_by_rollcall},
                   {"seconds", job->seconds}};
  }
  for (const ScheduleOutcome& schedule : subject.judgement.schedules) {
    json["schedules"].push_back({{"result", ScheduleResultName(schedule.result)},
                                 {"title", schedule.title},
                                 {"why", schedule.why},
                                 {"plan", schedule.plan},
                                 {"seconds", schedule.seconds}});
  }
  out << ToText(json);
}

}  // namespace rollcall
