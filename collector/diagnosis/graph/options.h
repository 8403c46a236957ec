// SPDX-License-Identifier: Apache-2.0
// The options of a diagnosis, and facts that the trace does not contain. Plain data.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_OPTIONS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_OPTIONS_H_

#include <algorithm>
#include <cstdint>

namespace rollcall {

struct DiagnoseOptions {
  // A rank that computes, or a collective in which all ranks wait, is called stalled after this
  // time without progress. Verdicts that rest on records alone do not wait for this time.
  int64_t stall_after_ns = 30'000'000'000;
  // Applies to ranks that wait by polling, or that have another thread that might still act. Their
  // hang is suspected after this time without progress, and likely after LikelyAfterNs().
  int64_t SuspectAfterNs() const { return std::min<int64_t>(10'000'000'000, stall_after_ns / 3); }
  int64_t LikelyAfterNs() const { return std::min<int64_t>(30'000'000'000, stall_after_ns); }
  // The job is about to be ended because it takes too long. A rank that computes is then suspected
  // after LikelyAfterNs(), if that is shorter.
  bool time_is_up = false;
  int64_t StalledAfterNs() const { return time_is_up ? LikelyAfterNs() : stall_after_ns; }
  // A rank that waits for the world outside the job is stalled after this time, too.
  int64_t idle_after_ns = INT64_MAX;
  // The job is over: no process will move any more. How long a rank was still may be unknown.
  bool job_ended = false;
  // Also report problems that do not stop a job (`rollcall analyze --also`), if nothing else was
  // found: rings of sends that complete only because MPI buffers them, and ranks that are always
  // the last to arrive. Costs a second pass over all records.
  bool judge_buffering = false;
  bool find_stragglers = false;
  // Also report unfinished work of a finished job: collectives that not all members made and
  // messages that no rank received (only if nothing else was found), and, as notes, requests and
  // communicators that were never freed. Reported only if the records prove it. Needs job_ended.
  bool judge_end = false;
  // Note calls with one sequence number that ranks made from different places. Such calls are
  // usually intended.
  bool compare_call_sites = false;
  // Check the data that collectives exchanged, as far as the data is on record.
  bool judge_data = true;
  // The job was ended because it took longer than this; -1: it was not.
  int64_t time_limit_ns = -1;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_OPTIONS_H_
