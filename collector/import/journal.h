// SPDX-License-Identifier: Apache-2.0
// journal.jsonl: the facts that only a live observer can see. It is stored beside the rings so that
// `rollcall analyze` reaches the live verdict. journal.md describes the format.
//
// The file is untrusted, like the rings: a reader uses what it understands and lists the rest as
// problems. Strings are cleaned for terminals when they are read.
#ifndef ROLLCALL_COLLECTOR_IMPORT_JOURNAL_H_
#define ROLLCALL_COLLECTOR_IMPORT_JOURNAL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/base/file.h"
#include "collector/base/result.h"
#include "collector/import/trace_builder.h"
#include "collector/model/trace.h"

namespace rollcall {

namespace journal {

inline constexpr int kVersion = 1;  // of each line

// Identifies a process. The ring's id decides if it is present. A parent (`rollcall exec`) knows
// only the host and the pid.
struct ProcessName {
  uint64_t ring_id = 0;  // RingId(); 0 if unknown
  std::string host;
  uint32_t pid = 0;
  int32_t rank = -1;  // for the user
};

struct Run {  // once, first
  std::string version;
  std::vector<std::string> command;
  std::string host;
  int64_t at_ns = kNoTime;  // CLOCK_REALTIME, here and below
};

struct ProcessSeen {
  ProcessName process;
  std::string ring_name;  // file name in rings/
  int64_t at_ns = kNoTime;
};

struct ProcessEnded {
  ProcessName process;
  ProcessEnd end;  // kAlive: at_ns is when it was observed
};

// A thread that polls tightly: Thread::polls_tightly_since_ns.
struct TightPoll {
  uint32_t tid = 0;
  int64_t since_ns = kNoTime;
  friend bool operator==(const TightPoll&, const TightPoll&) = default;
};

// Two samples found the same activity, the second begun after the first ended.
struct Quiet {
  ProcessName process;
  uint64_t activity = 0;               // RingActivity() at both
  int64_t at_ns = kNoTime;             // of the second one
  std::vector<uint32_t> polling = {};  // threads (tids) that polled in between
  std::vector<TightPoll> tight = {};
  OtherThreads other_threads = OtherThreads::kUnseen;
};

struct StackSeen {
  ProcessName process;
  LiveStack stack;
  int64_t at_ns = kNoTime;
};

// Written with the stacks: whether the process, in this state, waits for the world outside the job.
struct OutsideWaitSeen {
  ProcessName process;
  uint64_t activity = 0;            // RingActivity() before the stacks were taken
  std::optional<OutsideWait> wait;  // nothing: it does not, or that is not certain
  int64_t at_ns = kNoTime;
};

// The variables of the frames of the thread that is in a call: Process::variables.
struct VariablesSeen {
  ProcessName process;
  uint64_t activity = 0;  // RingActivity() before they were read
  std::vector<VariablesOfFrame> frames;
  int64_t at_ns = kNoTime;
};

// The symbols of a code address, from the machine that had the binary.
struct Symbols {
  std::string module_path;
  std::string build_id;  // hex
  uint64_t vaddr = 0;
  std::vector<SourceFrame> frames;  // innermost first
};

// A hang was reported when the process was in this state. If a user ends the process in this state,
// the user had seen the report.
struct Verdict {
  ProcessName process;
  uint64_t activity = 0;  // RingActivity()
  int64_t at_ns = kNoTime;
};

// Only in bundles: the rings of that node are missing.
struct Absent {
  std::string host;
  std::string run_directory;  // their place on that node
  std::string why;
};

// Only in bundles: loops, branches and exits of a source file that is not in the bundle.
struct Source {
  SourceBlocks source;
};

// The offset of the node's CLOCK_REALTIME from the collector's: import/node_clock.h.
struct Clock {
  std::string host;
  NodeClock clock;
  int64_t at_ns = kNoTime;
};

// `rollcall run` was asked to stop by a signal, and passed it on to the launcher.
struct StopRequest {
  int64_t at_ns = kNoTime;
};

struct JobEnd {
  int exit_code = 0;
  bool by_rollcall = false;
  int64_t at_ns = kNoTime;
};

}  // namespace journal

using JournalEvent =
    std::variant<journal::Run, journal::ProcessSeen, journal::ProcessEnded, journal::Quiet,
                 journal::StackSeen, journal::Symbols, journal::Verdict, journal::JobEnd,
                 journal::Absent, journal::Source, journal::Clock, journal::StopRequest,
                 journal::OutsideWaitSeen, journal::VariablesSeen>;

// One line, with its line break. Valid UTF-8 whatever the strings contain.
std::string FormatJournalLine(const JournalEvent& event);

// The event of a line. An empty error: an event, or a version, that this rollcall does not know.
// Another error: not a journal line.
Result<JournalEvent> ParseJournalLine(std::string_view line);

// The problem that a reader of the bundle reports.
Problem ProblemOf(const journal::Absent& absent);

// Appends to a journal to which other processes append as well: one write() per line on an O_APPEND
// descriptor. Thread-safe. Not for network file systems, where O_APPEND is not atomic.
class JournalWriter {
 public:
  // Opens or creates `path`, mode 0600.
  static Result<JournalWriter> Open(const std::string& path);

  // False with errno if the whole line could not be written.
  bool Append(const JournalEvent& event);
  // Whole lines, made by FormatJournalLine() elsewhere.
  bool AppendLines(std::string_view lines);

 private:
  explicit JournalWriter(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

struct Journal {
  std::vector<JournalEvent> events;  // in the file's order
  std::vector<Problem> problems;
  uint64_t unknown = 0;  // lines of a newer version
};

// Reads all lines. A truncated line is skipped. At the end of the file it is no problem, because
// its writer may be writing it or was killed. Elsewhere it is a problem, and a line that was
// appended directly after it is found. Memory is bounded by kMaxJournalBytes.
Journal ReadJournal(ByteSource& bytes, const std::string& source);
inline constexpr uint64_t kMaxJournalBytes = uint64_t{512} << 20;

// Applies journals to the processes added so far:
//   - how they ended, and in which order: the best-informed line counts, and at_ns gives the order;
//   - whether they ended because the job was asked to stop;
//   - quiet, if the activity is still the journaled one;
//   - the time of a reported hang, for processes that have not moved since;
//   - live stacks: the last ones of each thread;
//   - waits for the world outside the job, if the activity is still the journaled one;
//   - variables of frames, if the activity is still the journaled one;
//   - symbols of codes;
//   - nodes without rings, as problems.
// Call it with all journals at once: each application costs time linear in the processes.
void ApplyJournals(std::span<const Journal* const> journals, RingTraceBuilder* builder);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_JOURNAL_H_
