// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/caller_text.h"

#include <fmt/format.h>

#include "collector/matching/caller.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

struct CallerText {
  const char* what;
  const char* fix;
};

// In the order of Caller::Kind.
constexpr CallerText kCallerTexts[] = {
    {"a destructor, which runs on one rank alone if an exception or a return leaves its scope",
     "do not synchronize in a destructor: call {} at the end of the scope, where no rank arrives "
     "by "
     "an exception"},
    {"which Python runs when it drops the object, on each rank at another time",
     "do not leave {} to Python's garbage collection: close or free the object at one place, on "
     "every rank"},
    {"an exit handler, which runs when one rank exits alone",
     "do not call {} in an exit handler: call it before all ranks exit, and end the job by "
     "MPI_Abort if one rank fails"},
    {"a signal handler",
     "do not call {} in a signal handler: set a flag there, and let all ranks agree on it"},
    {"a task, which runs on some ranks only",
     "do not call {} in a task: use a communicator of the ranks that run it, or call it outside"},
    {"an error path, which ends the program at line {}",
     "let all ranks agree on the error before they call {}, or end the job from one rank by "
     "MPI_Abort"},
};

bool IsAboutACollective(VerdictKind kind) {
  return kind == VerdictKind::kRankConditionalCollective ||
         kind == VerdictKind::kUnevenIterations || kind == VerdictKind::kCollectiveMismatch;
}

}  // namespace

void AddCaller(const Analysis& analysis, const Incident& incident, Finding* finding) {
  if (!IsAboutACollective(finding->kind)) return;
  for (const bool deviates : {true, false}) {
    const Event* call = deviates ? incident.deviating_event : incident.agreeing_event;
    const Event* other = deviates ? incident.agreeing_event : incident.deviating_event;
    if (call == nullptr || other == nullptr || analysis.Finalizes(*call)) continue;
    const std::optional<Caller> caller =
        FindCaller(analysis.sites, call->call_path, other->call_path);
    if (!caller) continue;
    // A rank that waits in a destructor or an error path may be right to be there.
    const bool suspect = caller->kind == Caller::Kind::kFinalizer ||
                         caller->kind == Caller::Kind::kTask || incident.tie;
    if (!deviates && !suspect) continue;
    const bool normal = caller->kind == Caller::Kind::kDestructor &&
                        finding->kind == VerdictKind::kUnevenIterations;
    if (normal) return;  // a destructor at the end of its scope
    const CallerText& text = kCallerTexts[static_cast<size_t>(caller->kind)];
    const std::string operation = OperationName(analysis.Op(*call));
    const std::vector<uint32_t>& side = deviates ? incident.deviating : incident.agreeing;
    finding->notes.push_back(fmt::format(
        "{} {} from {}, {}", RanksPhrase(analysis.RanksOf(side), "calls", "call"), operation,
        FunctionText(caller->frame), fmt::format(fmt::runtime(text.what), caller->ends)));
    if (!incident.exit || incident.exit->how != PathExit::How::kException ||
        caller->kind == Caller::Kind::kFinalizer) {
      finding->fix = fmt::format(fmt::runtime(text.fix), operation);
    }
    return;
  }
}

}  // namespace rollcall
