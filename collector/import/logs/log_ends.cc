// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_ends.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>

#include "collector/base/text.h"

namespace rollcall::logs {
namespace {

constexpr int kLinesOfAnEnd = 5;  // of a rank, after an exception that ends it

bool StartsWithAny(std::string_view text, std::initializer_list<std::string_view> begins) {
  return std::ranges::any_of(begins,
                             [text](std::string_view begin) { return text.starts_with(begin); });
}
bool ContainsAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [text](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

std::string_view TypeName(const LogFact& exception) {
  const std::string_view type = exception.function;
  return type.substr(type.rfind('.') + 1);
}

// An exception that only states that the job was ended.
bool IsEndOfJob(const LogFact& exception) {
  return StartsWithAny(TypeName(exception),
                       {"KeyboardInterrupt", "SystemExit", "SignalException", "SIGTERMException",
                        "ChildFailedError", "ProcessRaisedException", "ProcessExitedException",
                        "RayTaskError", "EngineDeadError", "RayActorError"}) ||
         ContainsAny(exception.message, {"got signal:"});
}

// An exception that only states that another rank is gone or does not come.
bool LacksOthers(const LogFact& exception) {
  if (StartsWithAny(TypeName(exception),
                    {"DistBackendError", "DistNetworkError", "DistStoreError", "BrokenPipeError",
                     "ConnectionResetError", "HorovodInternalError"})) {
    return true;
  }
  return ContainsAny(exception.message,
                     {"Watchdog caught", "NCCL communicator was aborted",
                      "Connection closed by peer", "Connection reset by peer", "Broken pipe",
                      "Timed out waiting", "failed to recv, got 0 bytes", "wait timeout after",
                      "Socket Timeout", "ncclRemoteError", "remote process exited", "NCCL error",
                      "but received errors while waiting", "failed to pass monitoredBarrier",
                      "Detected mismatch between collectives", "timed out in monitoredBarrier",
                      "Horovod has been shut down", "Tried to allocate more than 1EB"});
}

// Open MPI prints the name of the class, MPICH its text.
ErrorClass ErrorClassOf(std::string text) {
  const std::string name = text;
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  const auto known = std::ranges::find_if(kErrorClasses, [&](const ErrorClassInfo& info) {
    return info.name == name || info.text == text;
  });
  return known == std::end(kErrorClasses) ? ErrorClass::kNone : known->error;
}

// Text that the job prints may look like a launcher's report of an end. Limits for it:
constexpr uint64_t kLinesAfterReport = 60;         // of the job, after a report without its frame
constexpr int kLinesOfAJobThatContinues = 20;      // of unknown writers, for a time of
constexpr int64_t kContinuedNs = 300'000'000'000;  // which is as long as many time limits of waits

void DropEnd(Writer* writer) {
  writer->end = {};
  writer->exit_mark = ring::ExitMark::kNone;
  writer->ended_by.reset();
}

// An exception of a rank that continued, or that only ended a wait.
void DropContinuedException(Writer* writer, bool waits) {
  const bool continued = writer->lines_after_exception > kLinesOfAnEnd && !writer->end.parent_saw;
  if (waits || continued) writer->exception.reset();
}

// An end that follows from a wait, from the end of another rank, or from the end of the job.
void DropLateEnd(const LogJob& job, Writer* writer, bool waits) {
  ProcessEnd& end = writer->end;
  if (writer->exception) return;
  if (job.ended.IsBefore(writer->ended)) return DropEnd(writer);
  if (!HasEnded(end)) return;
  const bool aborts =
      end.how == ProcessEnd::How::kSignaled && (end.status == SIGABRT || end.status == SIGTERM);
  // The launcher reports a kill or a crash after the other ranks report its consequences.
  const bool killed = end.how == ProcessEnd::How::kSignaled && end.parent_saw;
  const bool any_wait = job.first_wait.order >= 0;
  // An end that may be later is taken for later: between files without times the order is unknown.
  const bool later =
      any_wait && !writer->ended.IsBefore(job.first_wait) && !end.oom_killed && !killed;
  const bool exits = end.how == ProcessEnd::How::kExited;
  const bool follows = writer->lacks_others && (exits || aborts);
  if (waits || later || follows || (any_wait && aborts)) end = {};
  writer->failed_later = follows;
  if (end.how == ProcessEnd::How::kUnknown) writer->ended = {};
}

bool ContinuedAfterEnd(const LogJob& job, const Writer& writer) {
  if (writer.ended.order >= 0) {
    const uint64_t last = job.files[writer.ended.file].last_plain_line;
    if (writer.end_lacks_frame && last > writer.ended.line + kLinesAfterReport) return true;
    const bool same_file = writer.ended.file == job.tests_passed.file;
    if (same_file && writer.ended.order < job.tests_passed.order) return true;
  }
  if (job.last_end_ns == kNoTime || writer.end.at_ns != kNoTime) return false;
  return (writer.lines_after_end > kLinesOfAnEnd &&
          writer.plain_ns - job.last_end_ns > kContinuedNs) ||
         (job.lines_after_end >= kLinesOfAJobThatContinues &&
          job.last_plain_ns - job.last_end_ns > kContinuedNs);
}

void EndWithNode(const LogJob& job, Writer* writer) {
  const auto node = job.failed_nodes.find(writer->host);
  if (writer->host.empty() || node == job.failed_nodes.end()) return;
  writer->quotes.push_back(node->second);
  writer->end = {};
  writer->end.how = ProcessEnd::How::kVanished;
  writer->end.with_node = true;
  writer->end.order = 0;
}

bool IsKilled(const Writer& writer) {
  const ProcessEnd& end = writer.end;
  return end.how == ProcessEnd::How::kSignaled && end.status == SIGKILL && end.parent_saw;
}

// What a process prints precedes its end by SIGKILL, in whatever order the files of a log are read.
bool IsKilledAtLast(const Writer& writer) { return IsKilled(writer) && !writer.end.oom_killed; }

// A launcher kills the other ranks when one ends. Hydra then lists all ranks in their order, and
// srun may name them in one line. Neither says which rank ended first.
void DropKillsOfLauncher(LogJob* job, Ranks* ranks) {
  std::vector<Writer*> killed;
  bool victim_known = false;  // the kernel or srun names the process that ran out of memory
  bool others = false;
  bool ordered = false;
  for (auto& [rank, writer] : *ranks) {
    victim_known |= writer.end.oom_killed;
    others |= writer.exception || writer.exit_mark != ring::ExitMark::kNone || writer.ended_by;
    if (!IsKilled(writer)) {
      others |= HasEnded(writer.end) && !writer.end.by_launcher;
      continue;
    }
    killed.push_back(&writer);
    const bool one_line = killed.front()->ended.file == writer.ended.file &&
                          killed.front()->ended.line == writer.ended.line;
    ordered |= !writer.end_is_listed && !one_line;
  }
  if (victim_known) {
    for (Writer* writer : killed) {
      if (!writer->end.oom_killed) writer->end = {};
    }
    return;
  }
  // Slurm states how many processes ran out of memory, and not which.
  if (job->ran_out_of_memory > 0 && static_cast<int64_t>(killed.size()) <= job->ran_out_of_memory) {
    for (Writer* writer : killed) writer->end.oom_killed = true;
    return;
  }
  if (ordered || killed.empty() || (killed.size() < 2 && !others)) return;
  if (!others) {
    job->AddStatement(killed.front()->quotes.front(),
                      "the log reports SIGKILL for several ranks, and does not say which of them "
                      "ended first");
  }
  for (Writer* writer : killed) writer->end = {};
}

bool StatesFailure(const LogJob& job, const Ranks& ranks) {
  return job.first_wait.order >= 0 || !job.statements.empty() ||
         std::ranges::any_of(ranks, [](const auto& rank) {
           const Writer& writer = rank.second;
           return HasEnded(writer.end) || writer.failed_later ||
                  writer.exit_mark != ring::ExitMark::kNone || writer.ended_by;
         });
}

// The traceback of an exception that nothing handles begins where the program or a thread begins.
bool BeginsWithProgram(const std::vector<LogFrame>& frames) {
  constexpr std::string_view kBegins[] = {"<module>", "_run_module_as_main", "_bootstrap",
                                          "_wrap",    "spawn_main",          "wrapper"};
  return frames.empty() || std::ranges::any_of(kBegins, [&](std::string_view begin) {
           return frames.front().function.starts_with(begin);
         });
}

// Programs print tracebacks of exceptions that they handle, and continue. In a log that states no
// failure, all exceptions are kept or none.
void DropHandledExceptions(const LogJob& job, Ranks* ranks) {
  constexpr uint64_t kManyLines = 50;
  for (const auto& [rank, writer] : *ranks) {
    if (!writer.exception) continue;
    const Moment& raised = writer.raised;
    uint64_t last = job.files[raised.file].last_plain_line;
    if (job.ended.order >= 0 && job.ended.file == raised.file) {
      last = std::min(last, job.ended.line);
    }
    if (last <= raised.line + kManyLines || BeginsWithProgram(writer.exception_frames)) return;
  }
  for (auto& [rank, writer] : *ranks) writer.exception.reset();
}

// An exception right after the time limit: the end of the job raised it.
bool IsOfTimeLimit(const LogJob& job) {
  const Moment& ended = job.ended;
  const bool later = ended.ns != kNoTime && job.last_plain_ns - ended.ns > kContinuedNs;
  return job.ended_by_limit && ended.file == job.file() && !later &&
         job.lines_after_ended < kLinesOfAJobThatContinues;
}

}  // namespace

void AddEnd(LogJob* job, Writer* writer, const LogFact& fact) {
  if (writer == nullptr || fact.exit == 0 || fact.signal == 0) return;
  const Moment now = job->Now(fact);
  ProcessEnd& end = writer->end;
  if (HasEnded(end) && !(end.by_launcher && fact.says == Says::kEnded)) return;  // the first one
  const bool stopped = fact.says == Says::kStopped || fact.signal == SIGTERM;
  end.how = fact.signal > 0  ? ProcessEnd::How::kSignaled
            : fact.exit >= 0 ? ProcessEnd::How::kExited
                             : ProcessEnd::How::kVanished;
  end.status = fact.signal > 0 ? fact.signal : std::max(fact.exit, 0);
  end.by_launcher = stopped;
  end.oom_killed |= fact.out_of_memory;
  end.parent_saw = !stopped;
  end.at_ns = fact.time_ns;
  if (writer->exit_mark == ring::ExitMark::kNone) writer->ended = now;  // an abort came first
  writer->end_is_listed = fact.listed;
  writer->end_lacks_frame = fact.lacks_frame;
  writer->lines_after_end = 0;
  end.order = static_cast<uint32_t>(writer->ended.order);
  job->last_end_ns = job->last_ns;
  job->lines_after_end = 0;
  if (!stopped) job->AddQuote(writer, fact, "", 0);
}

void AddOutOfMemory(LogJob* job, const LogFact& fact) {
  job->ran_out_of_memory += std::max<int64_t>(fact.many, 1);
  Writer* writer = job->WriterOfPid(fact.pid, fact.host);
  if (writer == nullptr) return;
  AddEnd(job, writer, fact);
  writer->end.oom_killed = true;
}

void AddException(LogJob* job, Writer* writer, const LogFact& fact) {
  if (writer == nullptr || IsEndOfJob(fact) || IsOfTimeLimit(*job)) return;
  if (LacksOthers(fact)) {
    writer->lacks_others = true;
    return;
  }
  if (!fact.replaces) ++writer->exceptions;
  if (writer->exception && !fact.replaces) return;  // the first one
  UncaughtException exception;
  exception.kind = ring::ExceptionKind::kPython;
  exception.type = fact.function;
  exception.message = fact.message;
  exception.at_ns = fact.time_ns;
  writer->exception = std::move(exception);
  writer->exception_frames = fact.frames;
  writer->raised = job->Now(fact);
  writer->lines_after_exception = 0;
  job->AddQuote(writer, fact, "", 0);
}

void AddWorker(LogJob* job, const LogFact& fact) {
  const auto set_end = [&](LogFact* report) {
    report->says = Says::kEnded;
    report->line = fact.line;
    report->text = fact.text;
    if (Writer* writer = job->WriterOf(*report)) {
      writer->end = {};  // what was said of its process before is this end
      AddEnd(job, writer, *report);
    }
  };
  if (fact.says == Says::kReport) {
    job->worker = {};
    job->in_worker = true;
    return;
  }
  // torchrun lists all workers that failed at once. One that a signal ended, other than by an abort
  // or by torchrun, did not fail because of the others.
  if (!job->in_worker && fact.time_ns != kNoTime) job->listed_ns = fact.time_ns;
  const bool listed = fact.rank >= 0 && fact.local_rank >= 0 && !fact.weak;
  if (listed && !job->in_worker) {
    job->worker = {};
    job->listed_rank = fact.rank;
    return;
  }
  if (const int32_t rank = std::exchange(job->listed_rank, -1); rank >= 0) {
    LogFact report = fact;
    report.rank = rank;
    if (fact.signal > 0 && fact.signal != SIGABRT && fact.signal != SIGTERM) set_end(&report);
    const bool counts = fact.exit > 0 && job->listed_exits.size() < kMaxWriters;
    if (counts) job->listed_exits.push_back(job->listed_ns);
    return;
  }
  job->in_worker |= fact.pid > 0 && fact.rank >= 0 && !fact.weak;  // "RANK 6 PID 2447 RUNNING AT"
  if (!job->in_worker) return;
  if (fact.rank >= 0 && !fact.weak) job->worker.rank = fact.rank;
  if (fact.pid > 0) job->worker.pid = fact.pid;
  if (!fact.host.empty()) job->worker.host = fact.host;
  if (fact.time_ns != kNoTime) job->worker.time_ns = fact.time_ns;
  job->worker.exit = fact.exit;
  job->worker.signal = fact.signal;
  job->worker.listed = fact.listed;
  if (job->worker.rank >= 0 && (fact.exit >= 0 || fact.signal > 0)) {
    set_end(&job->worker);
    job->in_worker = false;
  }
}

void AddMpiEnd(LogJob* job, const LogFact& fact) {
  job->has_mpi = true;
  job->last_end_ns = job->last_ns;
  if (fact.says == Says::kAborted) {
    if (fact.rank >= 0) job->mpi_abort = fact;
    Writer* writer = job->WriterOfRank(job->mpi_abort.rank);
    if (writer == nullptr) return;
    if (writer->exit_mark == ring::ExitMark::kNone) job->AddQuote(writer, fact, "", 0);
    writer->exit_mark = ring::ExitMark::kMpiAbort;
    if (fact.exit >= 0) writer->exit_status = fact.exit;
    if (IsKilledAtLast(*writer)) writer->end = {};
    if (writer->end.order != kNoIndex) return;
    writer->ended = job->Now(fact);
    writer->end.order = static_cast<uint32_t>(writer->ended.order);
    return;
  }
  if (fact.says == Says::kMpiError) job->mpi_error = fact;
  if (fact.says == Says::kErrorRank) job->mpi_error.rank = fact.rank;
  if (fact.says == Says::kErrorClass || !fact.message.empty())
    job->mpi_error.message = fact.message;
  // MPICH says in one line that the error ends the rank.
  const bool fatal = fact.says == Says::kErrorFatal ||
                     (fact.says == Says::kMpiError && fact.rank >= 0 && !fact.message.empty());
  Writer* writer = fatal ? job->WriterOfRank(job->mpi_error.rank) : nullptr;
  if (writer == nullptr || job->mpi_error.message.empty()) return;
  writer->ended_by = ErrorClassOf(job->mpi_error.message);
  if (!HasEnded(writer->end) || IsKilledAtLast(*writer)) {
    writer->end = {};
    writer->end.how = ProcessEnd::How::kExited;
    writer->end.status = 1;
    writer->ended = job->Now(fact);
    writer->end.order = static_cast<uint32_t>(writer->ended.order);
  }
  job->AddQuote(writer, job->mpi_error, "", 0);
}

// What ranks still print when they are ended takes less time than kContinuedNs. Plain lines of the
// end of a large file are read last; those in front of a statement are of the run that made it. A
// first run that failed by itself is judged, whatever follows.
bool RunsAgain(LogJob* job, const LogFact& fact) {
  const Moment& ended = job->ended;
  if (ended.order < 0 || ended.file != job->file() || job->first_wait.order >= 0) return false;
  const bool late = fact.line > job->files.back().last_stated_line && fact.time_ns > ended.ns;
  if (fact.time_ns == kNoTime || !late) return false;
  if (job->first_after_ended_ns == kNoTime) job->first_after_ended_ns = fact.time_ns;
  if (job->lines_after_ended < kLinesOfAJobThatContinues ||
      fact.time_ns - job->first_after_ended_ns <= kContinuedNs) {
    return false;
  }
  return std::ranges::none_of(job->writers, [](const auto& named) {
    const Writer& writer = named.second;
    return writer.exception || (HasEnded(writer.end) && !writer.end.by_launcher);
  });
}

void NoteLineAfterException(const LogJob& job, Writer* writer, const LogFact& fact) {
  if (writer == nullptr || !writer->exception) return;
  const bool later = writer->raised.file == job.file() && writer->raised.line < fact.line;
  if (later) ++writer->lines_after_exception;
}

void AddPlainLine(LogJob* job, Writer* writer, const LogFact& fact) {
  File& file = job->files.back();
  ++file.plain_lines;
  file.last_plain_line = std::max(file.last_plain_line, fact.line);
  file.weak += fact.weak ? 1 : 0;
  job->last_plain_ns = std::max(job->last_plain_ns, fact.time_ns);
  if (job->ended.order >= 0 && job->ended.file == job->file()) ++job->lines_after_ended;
  const bool known = fact.rank >= 0 || fact.local_rank >= 0 || fact.pid >= 0;
  if (!known && job->last_end_ns != kNoTime) ++job->lines_after_end;
  if (writer == nullptr) return;
  writer->plain_ns = std::max(writer->plain_ns, fact.time_ns);
  if (writer->ended.order >= 0) ++writer->lines_after_end;
  NoteLineAfterException(*job, writer, fact);
}

void DropConsequences(LogJob* job, Ranks* ranks) {
  for (auto& [rank, writer] : *ranks) {
    const bool waits = std::ranges::any_of(
        writer.groups, [](const auto& group) { return !group.second.waits.empty(); });
    DropContinuedException(&writer, waits);
    DropLateEnd(*job, &writer, waits);
    if (ContinuedAfterEnd(*job, writer)) DropEnd(&writer);
    // Other ranks lose their connections to a rank that aborts.
    const int32_t aborted = job->mpi_abort.rank;
    if (writer.ended_by == ErrorClass::kOTHER && aborted >= 0 && aborted != rank) DropEnd(&writer);
    EndWithNode(*job, &writer);
  }
  DropKillsOfLauncher(job, ranks);
  if (!StatesFailure(*job, *ranks)) DropHandledExceptions(*job, ranks);
}

}  // namespace rollcall::logs
