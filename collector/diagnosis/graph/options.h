// What a diagnosis is asked for, and what it knows besides the trace. Plain data.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_OPTIONS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_OPTIONS_H_

#include <algorithm>
#include <cstdint>

namespace rollcall {

struct DiagnoseOptions {
  // A rank that computes, or a collective in which all wait, is called stalled after this long
  // without progress. Verdicts that rest on records alone do not wait for it.
  int64_t stall_after_ns = 30'000'000'000;
  // A hang of ranks that wait by polling, or that have another thread which might still act, is
  // suspected after this long without progress, and likely after that.
  int64_t SuspectAfterNs() const { return std::min<int64_t>(10'000'000'000, stall_after_ns / 3); }
  int64_t LikelyAfterNs() const { return std::min<int64_t>(30'000'000'000, stall_after_ns); }
  // The job is over: nobody will move any more, and how long a rank stood still may be unknown.
  bool job_ended = false;
  // What does not stop a job, for those who ask (`rollcall analyze --also`), and only where nothing
  // else was found: rings of sends that complete only because MPI buffers them, and ranks that are
  // always the last to arrive. Costs a second pass over all records.
  bool judge_buffering = false;
  bool find_stragglers = false;
  // What a job that finished left behind: collectives that not all members made and messages that
  // nobody received (again only where nothing else was found), and, as notes, requests and
  // communicators that were never freed. Judged only where the records decide it; needs job_ended.
  bool judge_end = false;
  // As notes: calls of one number that ranks made from different places. Mostly meant so.
  bool compare_call_sites = false;
  // The job was ended because it took longer than this; -1: it was not.
  int64_t time_limit_ns = -1;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_OPTIONS_H_
