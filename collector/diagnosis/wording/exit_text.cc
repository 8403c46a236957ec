// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/exit_text.h"

#include <fmt/format.h>

#include "collector/matching/user_code.h"

namespace rollcall {

std::string ExitText(const PathExit& exit) {
  SourceFrame statement = exit.function;
  statement.line = exit.line;
  std::string text;
  switch (exit.how) {
    case PathExit::How::kException:
      text = fmt::format("left {} by an exception", FunctionText(exit.function));
      if (exit.line != 0) text += ", thrown at " + PlaceText(statement);
      break;
    case PathExit::How::kReturn:
      text = fmt::format("left {} by the return at {}", FunctionText(exit.function),
                         PlaceText(statement));
      break;
    case PathExit::How::kBreak:
      text = fmt::format("left the loop in {} at {}", FunctionText(exit.function),
                         PlaceText(statement));
      break;
  }
  if (!exit.condition.empty()) text += fmt::format(" (if {})", exit.condition);
  if (exit.caught != 0) text += fmt::format(", caught at line {}", exit.caught);
  return text;
}

void AddExitNote(const Incident& incident, const std::string& left, Finding* finding) {
  if (!incident.exit) return;
  finding->notes.push_back(
      fmt::format("the source suggests that {} {}", left, ExitText(*incident.exit)));
}

std::string ExitFix(const PathExit& exit, const std::string& operation) {
  if (exit.how == PathExit::How::kException) {
    return fmt::format(
        "let all ranks know of the exception before {} (reduce a flag), or end the job by "
        "MPI_Abort "
        "where it is caught",
        operation);
  }
  return fmt::format(
      "take part in {} before leaving, with empty data if need be, or let all ranks "
      "decide together",
      operation);
}

}  // namespace rollcall
