// SPDX-License-Identifier: Apache-2.0
// The variables that a condition of a source text names, and the functions that it calls. Pure.
#ifndef ROLLCALL_COLLECTOR_MODEL_CONDITION_NAMES_H_
#define ROLLCALL_COLLECTOR_MODEL_CONDITION_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

struct ConditionNames {
  // Without repetition, in order. A member has the names that lead to it: "opt.skip", "ctx->n",
  // "self.done", "part%count" (Fortran). The name of a container whose size a condition asks for is
  // among them. Names of constants, types and macros may be among them, too.
  std::vector<std::string> variables;
  // As "done()", "self.finished()". Functions of the languages that only convert or measure their
  // arguments are left out.
  std::vector<std::string> calls;
};

// By the suffix of the file's name.
bool IsFortran(std::string_view file);

// Adds what `condition` names. In Fortran, an element of an array looks like a call, so no calls
// are added.
void AddConditionNames(std::string_view condition, bool fortran, ConditionNames* names);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_CONDITION_NAMES_H_
