// SPDX-License-Identifier: Apache-2.0
// Finds where a mismatch began: with an earlier pair of calls that have the same operation by
// chance. In
//   0-1: Bcast root=0 1xMPI_INT @ main:30
//   0: Barrier @ main:40 > ~Guard:8
//   1: Barrier @ main:50 > next:3
//   0: waits in Allreduce sum 1xMPI_INT @ main:50 > next:5
//   1: waits in Bcast root=0 1xMPI_INT @ main:60
// the barriers match, but a barrier in a destructor was not meant for that of the next function.
#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

// Correct programs also make one call from two places. So the places are evidence only if they lead
// to a mismatch without interruption, if they were never a pair before, and if the sources show
// that they are not two arms of a branch.
uint64_t FindFirstWrongPair(const AlignedTrace& aligned, const CommunicatorHistory& histories,
                            uint64_t mismatch, uint32_t deviating, uint32_t agreeing) {
  const MemberHistory* a = aligned.HistoryOf(histories.communicator, agreeing);
  const MemberHistory* d = aligned.HistoryOf(histories.communicator, deviating);
  if (a == nullptr || d == nullptr) return mismatch;
  const auto site = [&](const MemberHistory& history, uint64_t sequence) -> uint32_t {
    const Event* event = history.At(sequence);
    return event == nullptr ? 0 : aligned.sites.Id(event->call_path);
  };
  uint64_t began = mismatch;
  while (began > 1 && site(*a, began - 1) != site(*d, began - 1)) --began;
  const uint32_t site_a = site(*a, began);
  const uint32_t site_d = site(*d, began);
  const bool agreed_before = began > 1 && site(*a, began - 1) != 0;
  if (began == mismatch || !agreed_before || site_a == 0 || site_d == 0) return mismatch;
  // Each other member must be on one of the two sides.
  for (const MemberHistory& history : histories.members) {
    const uint32_t own = site(history, began);
    if (own != site_a && own != site_d) return mismatch;
  }
  for (uint64_t sequence = began - 1; sequence > 0 && site(*a, sequence) != 0; --sequence) {
    if (site(*a, sequence) == site_a && site(*d, sequence) == site_d) return mismatch;
  }
  const PathDivergence parted =
      aligned.sites.ComparePaths(a->At(began)->call_path, d->At(began)->call_path);
  const bool of_one_function = parted.known && parted.branch && !parted.arms;
  return of_one_function && parted.sources_a && parted.sources_b ? began : mismatch;
}

}  // namespace rollcall
