// SPDX-License-Identifier: Apache-2.0
// The texts of calls, ends and times in findings.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CALL_TEXT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CALL_TEXT_H_

#include <cstdint>
#include <string>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

// The advice for a call of one thread that keeps Python's lock from the main thread.
std::string GilFix(const std::string& call);

// The function that the user called: "MPI_Allreduce"; for PyTorch also "broadcast_object_list",
// which makes a broadcast. The name of the operation if the stack shows no other name.
std::string CalledName(const Analysis& analysis, const Event& event);

// The number of the bucket that a collective of DDP reduces; 0 for other calls.
uint64_t BucketOf(const Analysis& analysis, const Event& event);

// "MPI_Allreduce #58  (1 × MPI_DOUBLE, MPI_SUM)", "MPI_Finalize"; `arguments` adds the parentheses.
std::string CallText(const Analysis& analysis, const Event& event, bool arguments = true);
// "MPI_Allreduce #3"; " on rows" is added if `rows` is not the incident's communicator.
std::string OtherCall(const Analysis& analysis, const Incident& incident, const Event& event);
// "MPI_Barrier #58 on MPI_COMM_WORLD"
std::string NumberedCall(const Analysis& analysis, const Incident& incident, Operation operation);
// "exited with 3", "was killed by SIGSEGV", "vanished".
std::string EndText(const Process& process);
// "raised ValueError: bad sample", "threw std::out_of_range".
std::string RaisedText(const UncaughtException& exception);
// "2.5 s", "3 min".
std::string DurationText(int64_t ns);

// "1st", "412th"
std::string Ordinal(uint64_t number);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CALL_TEXT_H_
