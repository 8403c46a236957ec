// SPDX-License-Identifier: Apache-2.0
// The records that the ranks of a job made themselves, for `rollcall attach`: on this machine, and
// on the nodes from which other rollcall processes answer.
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

// Reads the records of the ranks on this machine. Empty if there are none. With
// `ask_flight_recorder`, waits for dumps. Problems are printed on stderr, also by the functions
// below.
std::optional<attach::Recorded> ReadRecords(const ProcSource& proc, const attach::FoundJob& job,
                                            bool ask_flight_recorder);

// The same records as a bundle (HostStacks::records). Empty if there are none, or if they are
// larger than an answer may be.
std::string PackRecords(const ProcSource& proc, const attach::FoundJob& job,
                        bool ask_flight_recorder);

// Reads the records that `hosts` have sent.
std::optional<attach::Recorded> ReadPackedRecords(const std::vector<attach::HostStacks>& hosts);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_ATTACH_RECORDS_H_
