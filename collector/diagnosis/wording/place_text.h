// The texts of findings about ranks whose calls are not recorded.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PLACE_TEXT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PLACE_TEXT_H_

#include <string>
#include <string_view>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// "ranks 1-3 wait in MPI_Allreduce": all that wait, and the call of the largest group.
std::string WaitingPlacesText(const Analysis& analysis);
// "rank 0 is in MPI_Finalize, and ranks 1-3 wait in MPI_Allreduce".
std::string FinalizingText(const Analysis& analysis);

// "MPI_Allreduce (solve.c:19) on "rows""; the communicator only if `apart`.
std::string GroupText(const Analysis& analysis, const PlaceGroup& group, bool apart);

// The name of the call's communicator.
std::string CommunicatorText(const LibraryCall& call);

// The site of a process; its role follows from what it does.
Site SiteOfPlace(const Analysis& analysis, const Incident& incident, uint32_t process,
                 bool culprit);

// Notes what the stacks of the job show besides, and what they cannot show. A note ends in
// kRecordTheCalls, which is no advice for a job that rollcall has started.
inline constexpr std::string_view kRecordTheCalls =
    "; `rollcall run` compares the calls themselves";
void AddPlaceNotes(const Analysis& analysis, Finding* finding);

// For the report: ranks that are missing, and why nothing is found.
void AddPlaceNotes(const Analysis& analysis, Report* report);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PLACE_TEXT_H_
