// Makes a Trace of what the lines of logs state.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_TRACE_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_TRACE_H_

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

// At most so many writers, and groups and communicators of a writer; what exceeds them is left out.
inline constexpr size_t kMaxWriters = size_t{1} << 16;
inline constexpr size_t kMaxGroups = 64;
// The last calls of a process on a communicator that are kept: fewer if there are many.
inline constexpr size_t kMaxCalls = 8192;
inline constexpr size_t kMaxCallsInAll = size_t{1} << 20;

// All files that are added are of one job.
//
//   LogTraceBuilder builder;
//   builder.BeginFile(…); builder.Add(fact) …
//   Trace trace = builder.Finish();
//
// Ranks. A line's writer is known by the rank in its prefix or statement, by its process (whose
// rank NCCL's "Init COMPLETE" lines state), by its local rank if the job ran on one node, or by the
// number in the name of its file, if there are several files that differ in it.
//
// What becomes of it. "The rank waits in #n, has enqueued m and completed k" becomes a member with
// these counts and an open operation; NCCL's lines of calls become the member's events. How far a
// device came is not in them: if the job stood still, an operation is complete that every member
// has called. Ends and exceptions become those of processes. A rank of which nothing is said, while
// all others of the job wait, is a process without calls, whose counts are not known; two or more
// such ranks are missing.
//
// Not thread-safe. Throws std::bad_alloc only.
class LogTraceBuilder {
 public:
  LogTraceBuilder();
  LogTraceBuilder(const LogTraceBuilder&) = delete;
  LogTraceBuilder& operator=(const LogTraceBuilder&) = delete;

  // The facts that follow are of this file.
  void BeginFile(const std::string& path, const std::string& directory, const std::string& name);
  void Add(const LogFact& fact);

  // The job, if no rings or dumps are of it. Empty if nothing is known. Call one of these two,
  // once.
  Trace Finish();
  // Adds what the logs alone know to the job of `trace`: how its ranks ended, and exceptions.
  void AddEnds(Trace* trace);

 private:
  // When something was stated: as a time, and in the order of the lines of a file.
  struct Moment {
    uint32_t file = 0;
    int64_t order = -1;  // -1: never
    int64_t ns = kNoTime;

    // Unknown if they are of two files and one has no time.
    bool IsBefore(const Moment& other) const;
  };
  struct Quote {
    uint32_t file = 0;
    uint64_t line = 0;
    std::string text;
    std::string group;  // or communicator
    uint64_t number = 0;
  };
  struct Wait {
    int64_t number = 0;
    std::string operation;
    int64_t send_count = -1;
    int64_t recv_count = -1;
    int64_t since_ns = kNoTime;
    std::vector<LogFrame> frames;
  };
  // Of a rank in a group of PyTorch's.
  struct Position {
    int32_t group_rank = -1;
    int64_t enqueued = -1;
    int64_t completed = -1;
    std::map<int64_t, Wait> waits;
  };
  // Of a process in a communicator of NCCL's.
  struct Calls {
    std::string address;
    std::string id;  // equal on all members; empty if not known
    int32_t rank = -1;
    int64_t size = -1;
    uint64_t made = 0;
    int64_t first_count = -1;  // opCount of the first call
    int64_t last_count = -1;
    bool counts_rise = true;  // each is larger than the one before
    std::deque<Event> last;
    int64_t last_ns = kNoTime;
    Quote quote;
  };
  struct Writer {
    int32_t rank = -1;
    bool by_group = false;  // `rank` is the rank in the default group; no prefix has stated it
    bool prefixed = false;  // a line that states what it waits in begins with its rank
    int32_t local_rank = -1;
    uint32_t file = 0;
    std::string host;
    int64_t pid = -1;
    int64_t device = -1;
    std::map<std::string, Position> groups;
    std::vector<Calls> communicators;
    std::optional<UncaughtException> exception;
    std::vector<LogFrame> exception_frames;
    bool weak = true;  // only prefixes that any text may have name its rank
    uint32_t exception_file = 0;
    uint64_t exception_line = 0;
    int lines_after_exception = 0;
    // Lines since its end was stated, and the time of the last one.
    int lines_after_end = 0;
    int64_t plain_ns = kNoTime;
    ProcessEnd end;
    Moment ended;
    ring::ExitMark exit_mark = ring::ExitMark::kNone;
    int exit_status = 0;
    std::optional<ErrorClass> ended_by;
    int32_t lacks_id_of = -1;  // it waits for this rank to make a communicator
    std::vector<Quote> quotes;
  };
  struct File {
    std::string path;
    std::string series;  // its path without its number
    int32_t number = -1;
    uint64_t lines = 0;  // that were read
    uint64_t weak = 0;   // of these, with a prefix that ordinary text may have, too
  };
  using Ranks = std::map<int32_t, Writer>;
  class Assembly;

  // Ranks of a communicator that RAS says have launched so many operations.
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

  Writer* WriterOf(const LogFact& fact);
  Writer* WriterOfRank(int32_t rank);
  Writer* WriterOfPid(int64_t pid, const std::string& host);
  Moment Now(const LogFact& fact);
  void NotePlainLine(Writer* writer, const LogFact& fact);
  void NoteWait(const LogFact& fact);
  void AddWait(Writer* writer, const LogFact& fact);
  void AddLacking(const LogFact& fact);
  void AddCall(Writer* writer, const LogFact& fact);
  void AddEnd(Writer* writer, const LogFact& fact);
  void AddException(Writer* writer, const LogFact& fact);
  void AddWorker(const LogFact& fact);
  void AddMpiEnd(const LogFact& fact);
  void AddRas(const LogFact& fact);
  void TakeRas();
  void Restart();
  void AddStatement(const LogFact& fact, std::string statement);
  void AddQuote(Writer* writer, const LogFact& fact, const std::string& group,
                int64_t number) const;
  Quote QuoteOf(const LogFact& fact, const std::string& group, int64_t number) const;
  Calls* CallsOf(Writer* writer, const LogFact& fact) const;
  Ranks Resolve();
  static void Merge(Writer from, Writer* to);
  void DropConsequences(Ranks* ranks) const;

  std::vector<File> files_;
  std::map<std::string, Writer> writers_;  // by what identifies them
  // Writers by the host of their process, which may be unknown, and its number.
  std::map<std::pair<int64_t, std::string>, std::string> pids_;
  Trace trace_;
  Interner interner_;
  int64_t size_ = -1;             // of the job, from statements that are no ordinary text
  std::map<int64_t, int> sizes_;  // from others: how often each was stated
  int64_t year_ns_ = 0;           // what times without a year lack
  int64_t last_ns_ = kNoTime;
  int64_t last_plain_ns_ = kNoTime;  // of lines that state nothing
  bool has_mpi_ = false;
  bool folded_ = false;  // lines of other ranks were left out
  int64_t order_ = 0;
  int64_t last_end_ns_ = kNoTime;  // the time when an end was stated, as far as lines before it say
  Moment first_wait_;
  Moment job_ended_;         // by a user or the batch system
  int lines_after_end_ = 0;  // as for a writer, of lines whose writer is not known
  std::map<std::string, LogFact> node_facts_;  // by the node that failed
  std::vector<RasAnswer> ras_;
  std::optional<LogFact> store_;     // so many of `size` ranks came to the store: `completed`
  std::vector<LogLine> statements_;  // without a process
  size_t calls_kept_ = 0;
  LogFact worker_;  // the report on the worker that failed first, as far as it was read
  bool in_worker_ = false;
  LogFact error_;  // MPI's last error
  LogFact abort_;  // the last call of MPI_Abort
  bool out_of_memory_ = false;
};

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_TRACE_H_
