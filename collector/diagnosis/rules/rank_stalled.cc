// docs/verdicts/rank-stalled.md
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/rules/stalled_host.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// Innermost first. What it is doing is said by the innermost frame, whoever's it is; where it came
// from by the user's own: several frames of one library in a row are counted.
std::string FramesText(const std::vector<SourceFrame>& all) {
  std::vector<SourceFrame> frames;
  for (const SourceFrame& frame : all) {
    if (!frame.function.empty()) frames.push_back(frame);
  }
  std::string text;
  for (size_t i = 0; i < frames.size();) {
    if (!text.empty()) text += " < ";
    size_t end = i + 1;
    const std::string framework = i == 0 ? "" : FrameworkOf(frames[i]);
    while (!framework.empty() && end < frames.size() && FrameworkOf(frames[end]) == framework) {
      ++end;
    }
    if (end - i > 1) {
      text += fmt::format("{} frames of {}", end - i, framework);
    } else {
      text += frames[i].function;
      const std::string place = frames[i].line != 0 ? PlaceText(frames[i]) : "";
      if (!place.empty()) text += " (" + place + ")";
    }
    i = end;
  }
  return text;
}

}  // namespace

std::optional<Finding> JudgeRankStalled(const Analysis& analysis, const Incident& incident,
                                        const Divergence&) {
  if (incident.what != Incident::What::kBehind) return std::nullopt;
  if (incident.agreeing_event != nullptr && IsOnDevice(analysis.Op(*incident.agreeing_event))) {
    return JudgeStalledHost(analysis, incident);
  }
  // Slowness is no hang: only a long time, or a job that is over, is worth a word.
  const int64_t idle_ns = analysis.IdleNs(incident.deviating.front());
  const bool unknown = idle_ns < 0 && analysis.options.job_ended;
  const bool looked_into =
      std::any_of(incident.deviating.begin(), incident.deviating.end(),
                  [&](uint32_t process) { return analysis.WasLookedInto(process); });
  if (!unknown && !looked_into && idle_ns < analysis.options.stall_after_ns) return std::nullopt;
  const Rule rule =
      FindOperation(static_cast<uint16_t>(incident.agreeing_event == nullptr
                                              ? Operation::kNone
                                              : analysis.Op(*incident.agreeing_event)))
          .rule;
  // docs/verdicts/init-hang.md: what the others wait in makes a communicator.
  Finding finding =
      Draft(analysis, incident,
            incident.sequence != 0 && rule == Rule::kCreate ? VerdictKind::kInitHang
                                                            : VerdictKind::kRankStalled);
  if (finding.kind == VerdictKind::kInitHang) finding.fix = KindFix(VerdictKind::kRankStalled);
  const std::vector<int32_t> behind = analysis.RanksOf(incident.deviating);
  const std::string where = incident.sequence != 0
                                ? NumberedCall(analysis, incident, finding.operation)
                                : OperationName(finding.operation);
  finding.title =
      fmt::format("{} {} outside every call, and {} not arrived at {}, where {} {}",
                  RanksPhrase(behind), Verb(behind, "is", "are"), Verb(behind, "has", "have"),
                  where, RanksPhrase(finding.waiting), Verb(finding.waiting, "waits", "wait"));
  finding.why = unknown ? "it made no further call before the job ended"
                        : fmt::format("its last call returned {} ago", DurationText(idle_ns));
  for (const uint32_t p : incident.deviating) {
    for (const LiveStack& stack : analysis.trace.processes[p].live_stacks) {
      std::string text =
          fmt::format("rank {}, thread {}", analysis.RankOf(p),
                      stack.thread_name.empty() ? std::to_string(stack.tid) : stack.thread_name);
      if (!stack.state.empty()) text += ", " + stack.state;
      if (stack.cpu_ns_per_s >= 0) {
        text += fmt::format(", {}% CPU", (stack.cpu_ns_per_s + 5'000'000) / 10'000'000);
      }
      if (!stack.unreadable.empty()) text += ": no stack: " + stack.unreadable;
      const std::string frames = FramesText(stack.frames);
      if (!frames.empty()) text.append(": ").append(frames);
      finding.notes.push_back(std::move(text));
    }
  }
  if (unknown) finding.notes.emplace_back("how long it had been there is not known");
  return finding;
}

}  // namespace rollcall
