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

// Few lines of a rank follow after an exception that ends it.
constexpr int kLinesOfAnEnd = 5;

bool StartsWithAny(std::string_view text, std::initializer_list<std::string_view> begins) {
  return std::any_of(begins.begin(), begins.end(),
                     [text](std::string_view begin) { return text.starts_with(begin); });
}
bool ContainsAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

// An exception that only states that another rank is gone or does not come, or that the job was
// ended.
bool IsConsequence(const LogFact& exception) {
  const std::string_view type = exception.function;
  const std::string_view name = type.substr(type.rfind('.') + 1);
  if (StartsWithAny(
          name, {"DistBackendError", "DistNetworkError", "DistStoreError", "KeyboardInterrupt",
                 "SystemExit", "SignalException", "SIGTERMException", "ChildFailedError",
                 "ProcessRaisedException", "ProcessExitedException", "RayTaskError",
                 "EngineDeadError", "RayActorError", "BrokenPipeError", "ConnectionResetError"})) {
    return true;
  }
  return ContainsAny(
      exception.message,
      {"Watchdog caught", "NCCL communicator was aborted", "Connection closed by peer",
       "Connection reset by peer", "Broken pipe", "Timed out waiting",
       "failed to recv, got 0 bytes", "wait timeout after", "Socket Timeout", "ncclRemoteError",
       "remote process exited", "NCCL error", "but received errors while waiting",
       "failed to pass monitoredBarrier", "Detected mismatch between collectives",
       "got signal:", "timed out in monitoredBarrier", "Tried to allocate more than 1EB"});
}

// Open MPI prints the name of the class, MPICH its text.
ErrorClass ErrorClassOf(std::string text) {
  const std::string name = text;
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  const auto known = std::find_if(
      std::begin(kErrorClasses), std::end(kErrorClasses),
      [&](const ErrorClassInfo& info) { return info.name == name || info.text == text; });
  return known == std::end(kErrorClasses) ? ErrorClass::kNone : known->error;
}

// Ends and exceptions that follow from a wait or from the end of the job.
void DropLateEnds(const LogJob& job, Writer* writer) {
  const bool waits = std::any_of(writer->groups.begin(), writer->groups.end(),
                                 [](const auto& group) { return !group.second.waits.empty(); });
  const bool continued = writer->lines_after_exception > kLinesOfAnEnd && !writer->end.parent_saw;
  if (waits || continued) writer->exception.reset();
  ProcessEnd& end = writer->end;
  if (!HasEnded(end) || writer->exception) return;
  const bool aborts =
      end.how == ProcessEnd::How::kSignaled && (end.status == SIGABRT || end.status == SIGTERM);
  // The launcher reports a kill or a crash after the other ranks report its consequences.
  const bool killed = end.how == ProcessEnd::How::kSignaled && end.parent_saw;
  const bool any_wait = job.first_wait.order >= 0;
  // An end that may be later is taken for later: between files without times the order is unknown.
  const bool later =
      any_wait && !writer->ended.IsBefore(job.first_wait) && !end.oom_killed && !killed;
  const bool stopped = job.ended.IsBefore(writer->ended);
  if (waits || later || stopped || (any_wait && aborts)) end = {};
  if (end.how == ProcessEnd::How::kUnknown) writer->ended = {};
}

// Text that the job prints may look like a launcher's report of an end. Then more lines follow.
bool ContinuedAfterEnd(const LogJob& job, const Writer& writer) {
  // A launcher of MPI prints its report last; a job that runs other jobs, as tests do, continues.
  constexpr int kLinesAfterLauncher = 60;
  const Moment& report = job.launcher_ended;
  if (job.lines_after_launcher > kLinesAfterLauncher && !report.IsBefore(writer.ended)) return true;
  if (job.last_end_ns == kNoTime || writer.end.at_ns != kNoTime) return false;
  constexpr int64_t kContinuedNs = 300'000'000'000;
  constexpr int kManyLines = 20;
  return (writer.lines_after_end > kLinesOfAnEnd &&
          writer.plain_ns - job.last_end_ns > kContinuedNs) ||
         (job.lines_after_end >= kManyLines && job.last_plain_ns - job.last_end_ns > kContinuedNs);
}

void DropEnd(Writer* writer) {
  writer->end = {};
  writer->exit_mark = ring::ExitMark::kNone;
  writer->ended_by.reset();
}

void EndWithNode(const LogJob& job, Writer* writer) {
  const auto node = job.failed_nodes.find(writer->host);
  if (writer->host.empty() || node == job.failed_nodes.end()) return;
  job.AddQuote(writer, node->second, "", 0);
  writer->end = {};
  writer->end.how = ProcessEnd::How::kVanished;
  writer->end.with_node = true;
  writer->end.order = 0;
}

bool IsKilled(const Writer& writer) {
  const ProcessEnd& end = writer.end;
  return end.how == ProcessEnd::How::kSignaled && end.status == SIGKILL && end.parent_saw;
}

// A launcher kills all ranks when one ends, and Hydra and srun report each kill. The kernel names
// the process that ran out of memory; Slurm does not.
void DropKillsOfLauncher(LogJob* job, Ranks* ranks) {
  std::vector<int32_t> killed;
  bool kernel_names = false;
  bool all = true;
  for (const auto& [rank, writer] : *ranks) {
    kernel_names |= writer.end.oom_killed;
    all &= IsKilled(writer);
    if (IsKilled(writer)) killed.push_back(rank);
  }
  for (const int32_t rank : killed) {
    Writer& writer = ranks->at(rank);
    if (kernel_names && !writer.end.oom_killed) DropEnd(&writer);
    writer.end.oom_killed |= job->out_of_memory && !kernel_names;
  }
  if (killed.size() < 2 || !all || job->out_of_memory) return;
  const Quote& quote = ranks->at(killed.front()).quotes.front();
  job->statements.push_back({.file = job->files[quote.file].path,
                             .line = quote.line,
                             .text = quote.text,
                             .statement = "all ranks were killed by SIGKILL; the log does not say "
                                          "which of them ended first"});
  for (auto& [rank, writer] : *ranks) DropEnd(&writer);
}

bool StatesFailure(const LogJob& job, const Ranks& ranks) {
  return job.first_wait.order >= 0 || !job.statements.empty() ||
         std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) {
           const Writer& writer = rank.second;
           return HasEnded(writer.end) || writer.exit_mark != ring::ExitMark::kNone ||
                  writer.ended_by;
         });
}

// Programs print tracebacks of exceptions that they handle. Many lines of the job follow.
void DropCaughtExceptions(const LogJob& job, Ranks* ranks) {
  constexpr uint64_t kManyLines = 50;
  for (auto& [rank, writer] : *ranks) {
    if (!writer.exception) continue;
    const Moment& raised = writer.raised;
    uint64_t last = job.files[raised.file].last_line;
    if (job.ended.order >= 0 && job.ended.file == raised.file) {
      last = std::min(last, job.ended.line);
    }
    if (last > raised.line + kManyLines) writer.exception.reset();
  }
}

}  // namespace

void AddEnd(LogJob* job, Writer* writer, const LogFact& fact) {
  if (writer == nullptr || fact.exit == 0 || fact.signal == 0) return;
  const Moment now = job->Now(fact);
  if (fact.ends_job) {
    job->launcher_ended = now;
    job->lines_after_launcher = 0;
  }
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
  writer->ended = now;
  writer->lines_after_end = 0;
  end.order = static_cast<uint32_t>(writer->ended.order);
  job->last_end_ns = job->last_ns;
  job->lines_after_end = 0;
  if (!stopped) job->AddQuote(writer, fact, "", 0);
}

void AddOutOfMemory(LogJob* job, const LogFact& fact) {
  job->out_of_memory = true;
  Writer* writer = job->WriterOfPid(fact.pid, fact.host);
  if (writer == nullptr) return;
  AddEnd(job, writer, fact);
  writer->end.oom_killed = true;
}

void AddException(LogJob* job, Writer* writer, const LogFact& fact) {
  if (writer == nullptr || IsConsequence(fact)) return;
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
  job->in_worker |= fact.pid > 0;  // Intel MPI's report begins with the line that has the process
  if (!job->in_worker) return;
  if (fact.rank >= 0 && !fact.weak) job->worker.rank = fact.rank;
  if (fact.pid > 0) job->worker.pid = fact.pid;
  if (!fact.host.empty()) job->worker.host = fact.host;
  if (fact.time_ns != kNoTime) job->worker.time_ns = fact.time_ns;
  job->worker.exit = fact.exit;
  job->worker.signal = fact.signal;
  job->worker.ends_job = fact.ends_job;
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
    if (writer->end.order == kNoIndex) writer->end.order = static_cast<uint32_t>(job->order++);
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
  if (!HasEnded(writer->end)) {
    writer->end.how = ProcessEnd::How::kExited;
    writer->end.status = 1;
    writer->ended = job->Now(fact);
    writer->end.order = static_cast<uint32_t>(writer->ended.order);
  }
  job->AddQuote(writer, job->mpi_error, "", 0);
}

void AddPlainLine(LogJob* job, Writer* writer, const LogFact& fact) {
  File& file = job->files.back();
  ++file.lines;
  file.last_line = std::max(file.last_line, fact.line);
  file.weak += fact.weak ? 1 : 0;
  job->last_plain_ns = std::max(job->last_plain_ns, fact.time_ns);
  const bool known = fact.rank >= 0 || fact.local_rank >= 0 || fact.pid >= 0;
  if (!known && job->last_end_ns != kNoTime) ++job->lines_after_end;
  const auto follows = [&](const Moment& moment) {
    return moment.order >= 0 && moment.file == job->file() && moment.line < fact.line;
  };
  if (!known && follows(job->launcher_ended)) ++job->lines_after_launcher;
  if (writer == nullptr) return;
  writer->plain_ns = std::max(writer->plain_ns, fact.time_ns);
  if (writer->ended.order >= 0) ++writer->lines_after_end;
  if (writer->exception && follows(writer->raised)) ++writer->lines_after_exception;
}

void DropConsequences(LogJob* job, Ranks* ranks) {
  for (auto& [rank, writer] : *ranks) {
    DropLateEnds(*job, &writer);
    if (ContinuedAfterEnd(*job, writer)) DropEnd(&writer);
    // Other ranks lose their connections to a rank that aborts.
    const int32_t aborted = job->mpi_abort.rank;
    if (writer.ended_by == ErrorClass::kOTHER && aborted >= 0 && aborted != rank) DropEnd(&writer);
    EndWithNode(*job, &writer);
  }
  DropKillsOfLauncher(job, ranks);
  if (!StatesFailure(*job, *ranks)) DropCaughtExceptions(*job, ranks);
}

}  // namespace rollcall::logs
