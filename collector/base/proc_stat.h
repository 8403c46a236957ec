// SPDX-License-Identifier: Apache-2.0
// The texts of /proc/<pid>: stat and status, also of its threads, and environ.
#ifndef ROLLCALL_COLLECTOR_BASE_PROC_STAT_H_
#define ROLLCALL_COLLECTOR_BASE_PROC_STAT_H_

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace rollcall {

// A field of `stat`, counted from 3 as in proc(5); empty if it is missing. The second field is the
// command in parentheses, which may itself contain blanks and parentheses. Refers to `stat`.
std::string_view ProcStatField(std::string_view stat, int number);

// Field 22: when the process started, in clock ticks since boot; 0 if the field is missing.
uint64_t ProcStatStartTicks(std::string_view stat);

// The value in a line "Key:\tvalue" of `status`; empty if it is missing. Refers to `status`.
std::string_view ProcStatusField(std::string_view status, std::string_view key);

// The variables of `environment`, each NAME=VALUE ended by a NUL. As in getenv(3), the first
// variable of a name counts. Refers to `environment`.
std::unordered_map<std::string_view, std::string_view> ProcVariables(std::string_view environment);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_PROC_STAT_H_
