// SPDX-License-Identifier: Apache-2.0
// What the lines of a job's logs have stated, by who wrote them. Plain data; it becomes a Trace
// when all lines are read.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_JOB_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_JOB_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/import/interner.h"
#include "collector/import/logs/log_fact.h"
#include "collector/model/trace.h"

namespace rollcall::logs {

// Names of groups: PyTorch's, and the one of monitored_barrier's ranks.
inline constexpr const char* kDefaultGroup = "default_pg";
inline constexpr const char* kMonitoredBarrier = "monitored_barrier";
// Writers beyond this number, and groups and communicators of a writer, are left out.
inline constexpr size_t kMaxWriters = size_t{1} << 16;
inline constexpr size_t kMaxGroups = 64;

// When a line stated something: its place in the order of lines, and its time.
struct Moment {
  uint32_t file = 0;
  uint64_t line = 0;
  int64_t order = -1;  // -1: never
  int64_t ns = kNoTime;

  // False if the order is unknown: the lines are of two files, and one has no time.
  bool IsBefore(const Moment& other) const;
};

// A line that a verdict may rest on.
struct Quote {
  uint32_t file = 0;
  uint64_t line = 0;
  std::string text;
  std::string group;  // or communicator
  uint64_t number = 0;
};

// An operation that a rank waits in.
struct Wait {
  int64_t number = 0;
  std::string operation;
  int64_t send_count = -1;
  int64_t recv_count = -1;
  int64_t since_ns = kNoTime;
  bool in_stated_group = false;  // a line names the group
  bool of_unnamed = false;       // the line that states the operation names no group
  bool of_itself = false;        // the rank itself has stated the operation
  std::vector<LogFrame> frames;
};

// How far a rank has come in a process group of PyTorch.
struct Position {
  int32_t group_rank = -1;
  int64_t enqueued = -1;
  int64_t completed = -1;
  std::map<int64_t, Wait> waits;  // by number
};

// The calls of a process on a communicator of NCCL.
struct Calls {
  std::string address;
  std::string id;  // equal on all members; empty if unknown
  int32_t rank = -1;
  int64_t size = -1;
  uint64_t made = 0;
  int64_t first_count = -1;  // opCount of the first call
  int64_t last_count = -1;
  bool counts_rise = true;  // each opCount is larger than the one before
  std::deque<Event> last;
  int64_t last_ns = kNoTime;
  Quote quote;
};

// Whoever wrote lines: a rank, or a process or a local rank whose rank is found at the end.
struct Writer {
  int32_t rank = -1;
  bool named = false;     // a line states `rank`
  bool by_group = false;  // `rank` is the rank in the default group; no prefix has stated it
  bool prefixed = false;  // a line that states a wait begins with this rank
  bool weak = true;       // only prefixes that ordinary text may have, too, state `rank`
  int32_t local_rank = -1;
  uint32_t file = 0;
  std::string host;
  int64_t pid = -1;
  int64_t device = -1;

  std::map<std::string, Position> groups;  // of PyTorch
  std::vector<Calls> communicators;        // of NCCL
  int32_t lacks_id_of = -1;                // it waits for this rank to make a communicator

  bool lacks_others = false;  // an exception states that another rank is gone or does not come
  bool failed_later = false;  // and thus it ended
  std::optional<UncaughtException> exception;
  int exceptions = 0;  // how many may have ended it; `exception` is the first
  std::vector<LogFrame> exception_frames;
  Moment raised;
  int lines_after_exception = 0;  // of this writer

  ProcessEnd end;
  Moment ended;
  bool end_is_listed = false;    // as LogFact::listed
  bool end_lacks_frame = false;  // as LogFact::lacks_frame
  int lines_after_end = 0;       // since its end was stated
  int64_t plain_ns = kNoTime;    // the time of the last line that states nothing
  ring::ExitMark exit_mark = ring::ExitMark::kNone;
  int exit_status = 0;
  std::optional<ErrorClass> ended_by;

  std::vector<Quote> quotes;
};
using Ranks = std::map<int32_t, Writer>;

struct File {
  std::string path;
  // Lines in front of line 1 of the facts. Quotes count from the begin of the file. Empty: unknown.
  std::optional<uint64_t> lines_before = 0;
  std::string series;  // the path without its number
  int32_t number = -1;
  uint64_t last_stated_line = 0;  // the number of the last line that states something
  // Lines that state nothing:
  uint64_t last_plain_line = 0;  // the number of the last one
  uint64_t plain_lines = 0;      // those that were read
  uint64_t weak = 0;             // those with a prefix that ordinary text may have, too
};

// Ranks of a communicator that RAS says have launched the same number of operations.
struct RasClass {
  int64_t number = -1;
  int64_t many = -1;
  std::vector<int32_t> ranks;  // if they are listed
  Quote quote;

  bool operator==(const RasClass& other) const {
    return number == other.number && many == other.many && ranks == other.ranks;
  }
};
struct RasAnswer {
  std::string operation;
  std::vector<RasClass> classes;
};
// An answer as JSON: by rank, the number of operations of each kind, and the line that states it.
struct RasJsonAnswer {
  bool whole = false;  // one communicator, and no rank is missing
  std::vector<std::map<std::string, std::pair<int64_t, Quote>>> ranks;
};

// Not thread-safe. Functions throw std::bad_alloc only.
struct LogJob {
  // Pointers to writers stay valid until the job restarts. nullptr: there are too many.
  Writer* WriterOf(const LogFact& fact);
  Writer* WriterOfRank(int32_t rank);
  // nullptr if the process is unknown, or if its number without `host` belongs to several.
  Writer* WriterOfPid(int64_t pid, const std::string& host);

  uint32_t file() const { return static_cast<uint32_t>(files.size() - 1); }
  // Each call is later than the one before.
  Moment Now(const LogFact& fact);
  // `fact` states that an operation does not complete.
  void NoteWait(const LogFact& fact);
  Quote QuoteOf(const LogFact& fact, const std::string& group, int64_t number) const;
  // The line as the trace has it.
  LogLine LineOf(const Quote& quote) const;
  void AddQuote(Writer* writer, const LogFact& fact, const std::string& group,
                int64_t number) const;
  // `statement` concerns no known process.
  void AddStatement(const Quote& quote, std::string statement);
  void AddStatement(const LogFact& fact, std::string statement) {
    AddStatement(QuoteOf(fact, "", 0), std::move(statement));
  }
  // Forgets all but the files: the launcher has started the ranks again, and numbers begin again.
  void Restart();

  Trace trace;  // calls refer to its arguments
  Interner interner{&trace};
  std::vector<File> files;
  std::map<std::string, Writer> writers;  // by what identifies them
  // Keys of `writers` by the number and the host, which may be unknown, of their process.
  std::map<std::pair<int64_t, std::string>, std::string> pids;

  int64_t size = -1;             // of the job, from statements that are no ordinary text
  std::map<int64_t, int> sizes;  // from other lines: how often each size was stated
  bool has_mpi = false;
  bool folded = false;  // lines of other ranks were left out of the log

  int64_t order = 0;
  int64_t last_ns = kNoTime;
  int64_t last_plain_ns = kNoTime;  // of lines that state nothing
  Moment first_wait;
  Moment ended;                            // by a user or the batch system
  int64_t first_after_ended_ns = kNoTime;  // the time of the first plain line after that
  int lines_after_ended = 0;               // plain lines of its file after that
  bool ended_by_limit = false;             // a time limit, or a preemption
  int64_t last_end_ns = kNoTime;           // `last_ns` when the last end was stated
  int lines_after_end = 0;                 // whose writer is unknown
  Moment tests_passed;     // a test suite states that its tests, which run jobs, passed
  bool has_tasks = false;  // tasks of srun are agents of torchrun, which start ranks

  std::vector<RasAnswer> ras;
  std::vector<RasJsonAnswer> ras_json;        // the last two
  std::optional<LogFact> store;               // `completed` of `size` ranks came to the store
  std::map<std::string, Quote> failed_nodes;  // by host
  std::vector<LogLine> statements;
  size_t calls_kept = 0;

  LogFact worker;  // the report on the worker that failed first, as far as it was read
  bool in_worker = false;
  int32_t listed_rank = -1;  // of the worker in torchrun's list whose exit code comes next
  int64_t listed_ns = kNoTime;
  std::vector<int64_t> listed_exits;  // when workers of that list exited
  LogFact mpi_error;                  // the last one
  LogFact mpi_abort;                  // the last one
  int64_t ran_out_of_memory = 0;      // processes
};

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_JOB_H_
