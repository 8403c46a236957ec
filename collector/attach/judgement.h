// What all parts of the judgement of judge.h need: the job, where its ranks stand, and how a
// finding shows that. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JUDGEMENT_H_
#define ROLLCALL_COLLECTOR_ATTACH_JUDGEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/positions.h"
#include "collector/attach/standing.h"
#include "collector/attach/variables.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/matching/call_site.h"

namespace rollcall::attach {

// Of a job and standings that must outlive it.
struct Judgement {
  Judgement(const FoundJob& job, const Standings& standings);

  // "Average (solve.c:19)"
  std::string Place(const RankStanding& rank) const;
  Site SiteOf(const RankStanding& rank, std::vector<int32_t> ranks, Site::Role role,
              bool culprit) const;
  // "ranks 1-3 wait in MPI_Allreduce", the call of most; somebody waits.
  std::string WaitingText() const;
  // A site for each group that waits.
  void AddWaiting(Finding* finding) const;
  // Of a hang, with those who wait.
  Finding Draft(VerdictKind kind, Certainty certainty) const;
  // With what is noted of every finding, and the status that follows from it.
  void Add(Finding finding, Report* report) const;

  const FoundJob& job;
  const Standings& standings;
  const CallSites sites;
  const std::vector<ComparedVariable> variables;
  Positions ranks;
};

// Do those who wait for messages all wait for a window? Then the finding names nobody.
bool NamesNobody(const Positions& ranks, Finding* finding);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JUDGEMENT_H_
