// SPDX-License-Identifier: Apache-2.0
// Makes one Trace of the dumps of any number of ranks and jobs.
//
//   FlightTraceBuilder builder;
//   for (…) builder.Add(dump);
//   Trace trace = builder.Finish();
//
// Jobs. Dumps of one directory whose default groups have the same ranks belong to one job. If a
// rank occurs twice, it begins another job if the file names before the rank differ; otherwise it
// is a problem.
//
// Groups become communicators, joined over ranks by name and ranks. Collectives become events under
// their collective_seq_id, those of one coalesced group under one number; send and recv go to
// Process::p2p, with p2p_seq_id as detail. Operations that have not completed are also in
// Process::open_requests, in the order of enqueueing. A Process from a dump has `device` set.
//
// Progress of a member. pg_status counts collectives and point-to-point in one number, so it is
// used only if no rank has point-to-point in that group. Otherwise the entries show the progress,
// and a member without entries is not `counted`. The ids in pg_status are local to a rank: entries
// show which group an id means. The other ids are matched with the names in numerical order, unless
// an entry contradicts this.
//
// Cost: linear in entries. Not thread-safe.
#ifndef ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_TRACE_BUILDER_H_
#define ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_TRACE_BUILDER_H_

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collector/import/flight_recorder/dump.h"
#include "collector/import/interner.h"
#include "collector/model/trace.h"

namespace rollcall::flight_recorder {

class FlightTraceBuilder {
 public:
  FlightTraceBuilder() : interner_(&trace_) {}

  // Adds a dump and its problems. If it is not usable, only its problems are added.
  void Add(const Dump& dump);
  // Empties the builder.
  Trace Finish();

 private:
  // The state of adding one dump.
  struct Adding;
  struct Job {
    uint32_t world = kNoIndex;
    std::string prefix;  // of the dump that began it
    std::string ranks;   // of the default group; empty until a dump has them
  };
  // Counts of a member that are evaluated when all dumps have been added.
  struct Counters {
    int64_t enqueued = -1;  // pg_status
    int64_t completed = -1;
    uint64_t seen = 0;        // the highest number among the entries
    uint64_t first_open = 0;  // the lowest number that has not completed; 0 if there is none
    bool has_entries = false;
    bool whole_ring = false;  // nothing was overwritten: missing entries never existed
  };

  uint32_t WorldOf(const Dump& dump);
  void AddGroups(Adding* adding);
  void AddStatuses(Adding* adding);
  void AddEntry(Adding* adding, const Entry& entry);
  uint32_t MemberOf(Adding* adding, uint32_t name, uint32_t desc, const std::vector<int32_t>& ranks,
                    const std::string& ranks_key);
  uint32_t ArgumentsOf(Adding* adding, const Entry& entry);
  uint32_t DatatypeOf(Adding* adding, uint32_t name);
  uint32_t PathOf(Adding* adding, uint32_t path);

  Trace trace_;
  Interner interner_;
  std::unordered_map<std::string, std::vector<Job>> jobs_;  // by directory
  std::unordered_map<std::string, uint32_t> communicators_;
  std::unordered_map<std::string, std::vector<int32_t>> rank_lists_;  // by their text
  std::vector<bool> has_p2p_;                                         // by communicator
  std::vector<Counters> counters_;                                    // by member
};

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_TRACE_BUILDER_H_
