// What the ranks of a job recorded themselves, for `rollcall attach`: on this machine, and on those
// that other rollcalls answer from.
#ifndef ROLLCALL_CLI_ATTACH_RECORDS_H_
#define ROLLCALL_CLI_ATTACH_RECORDS_H_

#include <optional>
#include <string>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/records.h"
#include "collector/attach/stacks.h"
#include "collector/base/proc_source.h"

namespace rollcall {

// Of the ranks on this machine; nothing if they record nothing. With `ask_flight_recorder`, dumps
// are waited for. What is wrong is said on stderr; so it is by the others.
std::optional<attach::Recorded> ReadRecords(const ProcSource& proc, const attach::FoundJob& job,
                                            bool ask_flight_recorder);

// The same as a bundle (HostStacks::records). Empty if there is nothing, or more than is sent.
std::string PackRecords(const ProcSource& proc, const attach::FoundJob& job,
                        bool ask_flight_recorder);

// Of all hosts whose records came.
std::optional<attach::Recorded> ReadPackedRecords(const std::vector<attach::HostStacks>& hosts);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_ATTACH_RECORDS_H_
