// The line of /proc/<pid>/stat, and of its threads.
#ifndef ROLLCALL_COLLECTOR_BASE_PROC_STAT_H_
#define ROLLCALL_COLLECTOR_BASE_PROC_STAT_H_

#include <cstdint>
#include <string_view>

namespace rollcall {

// A field of `stat`, counted from 3 as in proc(5); empty if it is missing. The second field is the
// command in parentheses, which may itself contain blanks and parentheses. Refers to `stat`.
std::string_view ProcStatField(std::string_view stat, int number);

// Field 22: when the process started, in clock ticks since boot; 0 if the field is missing.
uint64_t ProcStatStartTicks(std::string_view stat);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_PROC_STAT_H_
