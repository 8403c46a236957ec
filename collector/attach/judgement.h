// Shared by all parts of the diagnosis in judge.h: the job, where its ranks are, and how a finding
// shows that. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JUDGEMENT_H_
#define ROLLCALL_COLLECTOR_ATTACH_JUDGEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/positions.h"
#include "collector/attach/rank_state.h"
#include "collector/attach/variables.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/matching/call_site.h"

namespace rollcall::attach {

// `job` and `rank_states` must outlive it.
struct Judgement {
  Judgement(const FoundJob& job, const RankStates& rank_states);

  // "Average (solve.c:19)"
  std::string Place(const RankState& rank) const;
  Site SiteOf(const RankState& rank, std::vector<int32_t> ranks, Site::Role role,
              bool culprit) const;
  // "ranks 1-3 wait in MPI_Allreduce", the call of the largest group; at least one rank must wait.
  std::string WaitingText() const;
  // Adds a site for each waiting group.
  void AddWaiting(Finding* finding) const;
  // A finding of a hang, with the waiting ranks filled in.
  Finding Draft(VerdictKind kind, Certainty certainty) const;
  // Adds the finding with the notes that every finding gets, and sets the status that follows from
  // it.
  void Add(Finding finding, Report* report) const;

  const FoundJob& job;
  const RankStates& rank_states;
  const CallSites sites;
  const std::vector<ComparedVariable> variables;
  Positions ranks;
};

// If all ranks that wait for messages wait for a window: removes the culprits from the finding,
// sets its kind, and returns true.
bool ClearWindowCulprits(const Positions& ranks, Finding* finding);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JUDGEMENT_H_
