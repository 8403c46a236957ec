// SPDX-License-Identifier: Apache-2.0
// The texts of findings about ranks whose calls are not recorded.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PLACE_TEXT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PLACE_TEXT_H_

#include <string>
#include <string_view>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// "ranks 1-3 wait in MPI_Allreduce": all waiting ranks, and the call of the largest group.
std::string WaitingPlacesText(const Analysis& analysis);
// "rank 0 is in MPI_Finalize, and ranks 1-3 wait in MPI_Allreduce".
std::string FinalizingText(const Analysis& analysis);

// "MPI_Allreduce (solve.c:19) on "rows""; `apart` adds the communicator.
std::string GroupText(const Analysis& analysis, const PlaceGroup& group, bool apart);

// The name of the call's communicator.
std::string CommunicatorText(const LibraryCall& call);

// The site of a process; its role follows from what it does.
Site SiteOfPlace(const Analysis& analysis, const Incident& incident, uint32_t process,
                 bool culprit);

// Adds notes on what else the stacks of the job show, and on what they cannot show. The last note
// ends in kRecordTheCalls, which is not useful advice for a job that rollcall has started.
inline constexpr std::string_view kRecordTheCalls =
    "; `rollcall run` compares the calls themselves";
void AddPlaceNotes(const Analysis& analysis, Finding* finding);

// Adds notes to the report: the missing ranks, and the reason if nothing was found.
void AddPlaceNotes(const Analysis& analysis, Report* report);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PLACE_TEXT_H_
