// SPDX-License-Identifier: Apache-2.0
#include "collector/watch/watched_job.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <utility>

#include "collector/agent/grpc_transport.h"
#include "collector/agent/journal_tail.h"
#include "collector/base/address.h"
#include "collector/base/assert.h"
#include "collector/base/bounded.h"
#include "collector/base/clock.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/launch/collector_file.h"
#include "collector/launch/job_environment.h"
#include "collector/live/process_watch.h"
#include "collector/model/rank_set.h"
#include "collector/model/signal_name.h"
#include "collector/rpc/secret.h"
#include "collector/watch/room.h"
#include "proto/environment.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

// Time between SIGTERM and SIGKILL when rollcall ends the job.
constexpr int64_t kGraceNs = 5'000'000'000;
// Time for a launcher that is ending the job itself after a rank's death: a signal at that moment
// was seen to crash Open MPI 4.1.4's launcher.
constexpr int64_t kLauncherActsNs = 2'000'000'000;

// Time between two checks of a job that is being ended.
constexpr int64_t kEndStepNs = 100'000'000;

// Time for the command of --on-hang after the end of the job.
constexpr int64_t kCommandNs = 30'000'000'000;

// Limits for set-up and tear-down, both of which take forever if gRPC lacks a thread. During set-up
// the host of --listen may have to be looked up. During tear-down the agents of other nodes have
// two seconds to read their last message.
constexpr auto kSetUpLimit = std::chrono::seconds(20);
constexpr auto kTearDownLimit = std::chrono::seconds(4);

constexpr size_t kMaxHostsShown = 8;

int ExitCodeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// The host and port that remote agents are to connect to.
std::string Advertised(const std::string& listen, int port) {
  std::string host = listen.substr(0, listen.rfind(':'));
  if (host == "0.0.0.0" || host == "[::]" || host.empty()) host = HostName();
  return fmt::format("{}:{}", host, port);
}

WatchSettings WithListenPort(WatchSettings settings) {
  settings.listen = WithPort(std::move(settings.listen));
  return settings;
}

// Timeout for poll(2) until `at_ns`, rounded up so that it never ends early.
int MillisecondsUntil(int64_t at_ns) {
  constexpr int64_t kMax = 1 << 30;
  const int64_t left = (at_ns - Now(CLOCK_MONOTONIC) + 999'999) / 1'000'000;
  return static_cast<int>(std::clamp<int64_t>(left, 0, kMax));
}

}  // namespace

WatchedJob::WatchedJob(WatchSettings settings)
    : settings_(WithListenPort(std::move(settings))),
      kernel_reports_ends_(FindEndReports() == EndReports::kToPidfds),
      file_limit_(RaiseFileLimit()) {}

WatchedJob::~WatchedJob() {
  TearDown(false);
  SetFileLimit(file_limit_);  // the next job of this process gets the user's limit, too
}

Result<RunDirectory> WatchedJob::MakeDirectory() const {
  if (settings_.directory.empty()) {
    const RunRoot::Usable root = RunRoot::UsablePath(kSharedMemory);
    if (!root.why.empty()) PrintLine(fmt::format("{}; traces go to {}", root.why, root.path));
    RunRoot::Clean(root.path, kKeepRuns, kKeepRunsNs);
    return RunRoot::Create(root.path);
  }
  Result<RunDirectory> directory = RunRoot::CreateAt(settings_.directory);
  if (!directory) return directory;
  std::error_code error;
  if (!std::filesystem::is_empty(directory->path() + "/" + kRingsDirectory, error) ||
      agent::SawProcesses(directory->path())) {  // the rings may be in memory
    return Error{settings_.directory + " holds the traces of another run"};
  }
  return directory;
}

Result<> WatchedJob::SetUp(Callbacks callbacks) {
  const std::string lack = MissingResource();
  if (!lack.empty()) return Error{"cannot be set up: " + lack};
  token_ = rpc::GivenToken();
  if (token_.empty()) token_ = rpc::NewToken();
  Result<RunDirectory> directory = MakeDirectory();
  if (!directory) return Error{directory.error()};
  if (!RunRoot::TakeAgentLock(&*directory)) {
    return Error{directory->path() + " is another agent's"};  // do not remove it
  }
  directory_ = std::move(*directory);
  if (!settings_.plan.empty()) {
    auto steered = SteeredRun::Create(directory_.path(), settings_.plan);
    if (!steered) return Error{steered.error()};
    if (SteeringLibrary().empty()) return Error{"librollcall-steer.so is not installed"};
    steered_ = std::move(*steered);
  }
  const auto started = std::make_shared<Result<>>();  // the work may outlive this call
  const bool ended = EndsWithin(kSetUpLimit, [this, callbacks = std::move(callbacks), started] {
    try {
      *started = StartParts(callbacks);
    } catch (const std::exception& error) {  // no thread, or no memory
      *started = Error{fmt::format("cannot be set up: {}", error.what())};
    }
  });
  return ended ? *started : Error{"cannot be set up: it takes too long"};
}

Result<> WatchedJob::StartParts(const Callbacks& callbacks) {
  Journal(journal::Run{.version = ROLLCALL_VERSION,
                       .command = settings_.command,
                       .host = HostName(),
                       .at_ns = Now(CLOCK_REALTIME)});
  service::SilenceGrpc();
  bundles_ = static_cast<bool>(callbacks.evidence.write);
  on_time_up_ = callbacks.on_time_up;
  const auto add_logs = [this](Trace* trace, bool job_ended) { logs_.AddEnds(trace, job_ended); };
  monitor_ = std::make_unique<service::Monitor>(
      service::MonitorOptions{.times = settings_.Times(),
                              .live_stacks = !settings_.no_stacks,
                              .on_report = callbacks.on_report,
                              .on_update = callbacks.on_update,
                              .on_due = callbacks.on_due,
                              .on_withdrawal = callbacks.on_withdrawal,
                              .evidence = callbacks.evidence,
                              .add_to_trace = add_logs,
                              .on_note = PrintLine,
                              .on_pass = service::PassPrinter(settings_.verbose)});
  auto server = service::Serve(settings_.listen, token_, monitor_.get(), {}, monitor_->watchers());
  if (!server) return Error{server.error()};
  server_ = std::move(*server);
  const std::string host = settings_.listen.substr(0, settings_.listen.rfind(':'));
  const bool any = host == "0.0.0.0" || host == "[::]" || host.empty();
  const std::string address = fmt::format("{}:{}", any ? "127.0.0.1" : host, server_->port());
  // Without the file, the user has to give the address to `rollcall top`. The job is not affected.
  if (!WriteCollectorFile(directory_.path(), {.address = address, .token = token_})) {
    PrintLine("rollcall top will not find this run: " + directory_.path() + " is not writable");
  }
  agent_ = std::make_unique<AgentThread>(
      agent::AgentOptions{
          .run_directory = directory_.path(), .host = HostName(), .version = ROLLCALL_VERSION},
      agent::ConnectToCollector(address, token_));
  return {};
}

void WatchedJob::Journal(const JournalEvent& event) {
  auto journal = JournalWriter::Open(directory_.path() + "/" + kJournalFile);
  if (journal) journal->Append(event);
}

Result<> WatchedJob::Start(bool* no_room) {
  ROLLCALL_ASSERT(server_ != nullptr && launcher_.pid() <= 0);
  std::vector<std::string> notes;
  const std::map<std::string, std::string> environment =
      JobEnvironment(CurrentEnvironment(),
                     {.run_directory = directory_.path(),
                      .collector = Advertised(settings_.listen, server_->port()),
                      .token = token_,
                      .stacks = !settings_.no_stacks,
                      .data = settings_.data,
                      .data_scope = settings_.data_scope,
                      .steer = steered_ == nullptr ? "" : steered_->path(),
                      .command = settings_.command,
                      .kernel_reports_ends = kernel_reports_ends_},
                     &notes);
  for (const std::string& note : notes) PrintLine(note);
  int error = 0;
  // Sets the limit in this process because posix_spawn() has no attribute for limits. Before the
  // job starts, the collector needs few descriptors.
  SetFileLimit(file_limit_);
  const bool started = launcher_.Start(settings_.command, environment, gate_.before(), &error,
                                       settings_.standard_input, settings_.standard_output);
  RaiseFileLimit();
  if (started) return {};
  *no_room = error == EAGAIN || error == ENOMEM;
  return Error{fmt::format("{}: {}", settings_.command[0], strerror(error))};
}

void WatchedJob::RunBare(const std::string& problem) {
  PrintLine(problem + "; the job runs without rollcall");
  RemoveFiles(/*keep=*/false);
  SetFileLimit(file_limit_);
  gate_.Restore();
  const int error = Become(settings_.command);  // ends all threads
  PrintLine(fmt::format("{}: {}", settings_.command[0], strerror(error)));
}

void WatchedJob::NoteInterrupted(bool by_rollcall) {
  monitor_->NoteInterrupted();
  agent_->Post([by_rollcall, now = Now(CLOCK_MONOTONIC)](agent::Agent& agent) {
    agent.NoteInterrupted(by_rollcall, now);
  });
}

void WatchedJob::OnSignal(int number) {
  if (number != SIGINT && number != SIGTERM && number != SIGHUP && number != SIGQUIT) return;
  asked_to_stop_ = number;
  NoteInterrupted(/*by_rollcall=*/false);
  Journal(journal::StopRequest{.at_ns = Now(CLOCK_REALTIME)});
}

void WatchedJob::PassOn(const SignalGate::Decided& signal) {
  if (!signal.to_group || !launcher_.InThisGroup()) launcher_.Signal(signal.number);
  if (signal.to_group && signal.number == SIGTSTP) raise(SIGSTOP);
}

void WatchedJob::RequestEnd(const Report& report, const std::string& why) {
  SetEndRequest(std::ranges::any_of(report.findings,
                                    [](const Finding& finding) {
                                      return BasisOf(finding.kind) == KindBasis::kFact &&
                                             finding.culprit_gone;
                                    }),
                why);
}

void WatchedJob::SetEndRequest(bool launcher_may_act, const std::string& why) {
  if (end_requested_) return;
  launcher_may_act_ = launcher_may_act;
  end_why_ = why;
  end_requested_ = true;
  wake_.Wake();
}

void WatchedJob::RequestCommand(HangCommand command) {
  hang_command_ = std::move(command);
  command_requested_ = true;
  wake_.Wake();
}

void WatchedJob::StartCommand() {
  NoteInterrupted(/*by_rollcall=*/true);  // the command may end the job
  std::map<std::string, std::string> environment = std::move(hang_command_.variables);
  environment[env::kRunDirectory] = directory_.path();
  environment["ROLLCALL_LAUNCHER_PID"] = std::to_string(launcher_.pid());
  environment.merge(CurrentEnvironment());
  // A file and not a pipe: the command may read it late, or not at all.
  const UniqueFd input(memfd_create("verdict", MFD_CLOEXEC));
  WriteAll(input.get(), hang_command_.input);
  lseek(input.get(), 0, SEEK_SET);
  // The shell sets the user's limit, which the job got, too. If this process set the limit, the
  // limit would also apply to the collector, whose connections may need more descriptors by now.
  const std::string script =
      fmt::format("ulimit -S -n {} 2>/dev/null\n{}", file_limit_, hang_command_.shell_command);
  int error = 0;
  if (!command_.emplace().Start({"/bin/sh", "-c", script}, environment, gate_.before(), &error,
                                input.get())) {
    PrintLine(fmt::format("{}: {}", hang_command_.shell_command, strerror(error)));
    command_.reset();
  }
}

void WatchedJob::FinishCommand() {
  if (!command_) return;
  const int64_t deadline = Now(CLOCK_MONOTONIC) + kCommandNs;
  std::optional<int> status;
  bool ended = false;
  while (!(status = command_->Poll())) {
    const int64_t now = Now(CLOCK_MONOTONIC);
    if (now > deadline + kGraceNs) {
      command_->Signal(SIGKILL);
    } else if (now > deadline && !std::exchange(ended, true)) {
      PrintLine(fmt::format("ends the command of --on-hang: it ran for {} s after the job's end",
                            kCommandNs / 1'000'000'000));
      command_->Signal(SIGTERM);
    }
    pollfd signals{gate_.fd(), POLLIN, 0};
    poll(&signals, 1, 100);
    while (gate_.Take()) continue;
    for (const SignalGate::Decided& signal : gate_.TakeDecided()) {
      if (!signal.to_group) command_->Signal(signal.number);  // it is in the group
    }
  }
  if (*status != 0) {
    PrintLine(fmt::format("the command of --on-hang ended with exit code {}", ExitCodeOf(*status)));
  }
  command_.reset();
}

// Diagnoses the job a last time before all processes are killed.
void WatchedJob::EndForTimeLimit() {
  timed_out_ = true;
  monitor_->DiagnoseNow([this] {
    if (on_time_up_) on_time_up_();
    SetEndRequest(/*launcher_may_act=*/false, "its time is up");
  });
}

// Called repeatedly until the launcher has ended.
void WatchedJob::EndJob() {
  const int64_t now = Now(CLOCK_MONOTONIC);
  if (end_seen_ns_ == 0) end_seen_ns_ = now;
  if (launcher_may_act_ && now - end_seen_ns_ < kLauncherActsNs) return;
  if (end_begun_ns_ == 0) {
    end_begun_ns_ = now;
    PrintLine(fmt::format("ends the job ({})", end_why_));
    // A rank that was only slow must not be judged as if the others had waited for it long enough.
    NoteInterrupted(/*by_rollcall=*/!timed_out_);
    launcher_.Signal(SIGTERM);
  } else if (now - end_begun_ns_ > kGraceNs) {
    launcher_.Signal(SIGKILL);
  }
}

WatchedJob::End WatchedJob::Wait(int64_t time_limit_ns) {
  int64_t deadline = time_limit_ns < 0 ? -1 : Now(CLOCK_MONOTONIC) + time_limit_ns;
  for (;;) {
    while (const std::optional<int> number = gate_.Take()) OnSignal(*number);
    for (const SignalGate::Decided& signal : gate_.TakeDecided()) PassOn(signal);
    if (const std::optional<int> status = launcher_.Poll()) {
      const bool ended = end_begun_ns_ != 0;
      // Another process killed the launcher, and the launcher's ranks end with it.
      if (WIFSIGNALED(*status) && !ended) NoteInterrupted(/*by_rollcall=*/false);
      // Kills ranks that the launcher has left running; by pidfd, so never another process.
      if (ended) {
        agent_->Post([](agent::Agent& agent) { agent.SignalAll(SIGKILL); });
      }
      return {.exit_code = ExitCodeOf(*status),
              .signal = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0,
              .asked_to_stop = asked_to_stop_,
              .by_rollcall = ended,
              .timed_out = ended && timed_out_};
    }
    if (deadline >= 0 && !end_requested_ && Now(CLOCK_MONOTONIC) >= deadline) {
      deadline = -1;
      EndForTimeLimit();
    }
    if (command_requested_.exchange(false)) StartCommand();
    if (end_requested_) EndJob();
    pollfd entries[] = {{gate_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    std::optional<int64_t> next = gate_.next_ns();
    if (deadline >= 0) next = std::min(next.value_or(deadline), deadline);
    if (end_requested_) next = Now(CLOCK_MONOTONIC) + kEndStepNs;
    poll(entries, 2, next ? MillisecondsUntil(*next) : -1);
    wake_.Clear();
  }
}

service::Monitor::Final WatchedJob::Finish(service::FinalPass pass) {
  ROLLCALL_ASSERT(monitor_ != nullptr);
  pass.await_agent = true;  // the agent of this process
  service::Monitor::Final final = monitor_->Finish(pass);
  hosts_ = final.hosts;
  return final;
}

std::string WatchedJob::TraceLocationText() const {
  const std::string path = directory_.path();
  const bool all_here = hosts_.empty() || hosts_ == std::vector<std::string>{HostName()};
  if (all_here) return fmt::format("traces: {}  (rollcall analyze {})", path, path);
  // Each node keeps its own traces.
  const size_t shown = std::min(hosts_.size(), kMaxHostsShown);
  return fmt::format(
      "traces: {} on each of {}{}{}", path,
      fmt::join(hosts_.begin(), hosts_.begin() + static_cast<ptrdiff_t>(shown), ", "),
      shown < hosts_.size() ? fmt::format(" and {} more", hosts_.size() - shown) : "",
      bundles_ ? "" : "  (--bundle FILE packs them into one file to analyze)");
}

std::string WatchedJob::Unrecorded(const End& end, bool ranks_seen, const std::string& what_ran) {
  std::promise<std::map<std::string, uint64_t>> promise;
  agent_->Post([&promise](agent::Agent& agent) { promise.set_value(agent.refusals()); });
  const std::map<std::string, uint64_t> refusals = promise.get_future().get();
  std::string reasons;
  for (const auto& [reason, count] : refusals) {
    reasons += fmt::format("{}{} could not record: {}", reasons.empty() ? "" : "; ",
                           CountText(count, "rank"), reason);
  }
  if (ranks_seen) return reasons;
  std::string why = reasons.empty() ? what_ran : reasons;
  if (why.empty() && end.by_rollcall) {
    why = "the job was ended before any rank initialized MPI, or the program is linked statically";
  } else if (why.empty() && end.signal != 0) {
    why = "the launcher was ended by " + SignalName(end.signal);
  } else if (why.empty() && end.exit_code != 0) {
    why = fmt::format("the launcher ended with exit code {}; its message, if any, is above",
                      end.exit_code);
  } else if (why.empty()) {
    why =
        "the program never initialized MPI, is linked statically, or printed above why it cannot "
        "record";
  }
  return "no rank was recorded: " + why;
}

std::optional<WatchedJob::LogVerdict> WatchedJob::VerdictOfLogs(const End& end) {
  if (end.exit_code == 0 || end.by_rollcall || end.asked_to_stop != 0) return std::nullopt;
  std::optional<Trace> trace = logs_.TraceOfLogs();
  if (!trace) return std::nullopt;
  LogVerdict verdict{.trace = std::move(*trace), .report = {}};
  verdict.report = Diagnose(verdict.trace, verdict.diagnose);
  if (verdict.report.findings.empty()) return std::nullopt;
  return verdict;
}

void WatchedJob::Close(const End& end, bool any_findings) {
  FinishCommand();
  for (const std::string& problem : logs_.Problems()) PrintLine(problem);
  Journal(journal::JobEnd{
      .exit_code = end.exit_code, .by_rollcall = end.by_rollcall, .at_ns = Now(CLOCK_REALTIME)});
  const bool keep = settings_.keep || any_findings || !settings_.directory.empty();
  if (keep) {
    if (const size_t lost = agent_->Stop().PreserveRings(); lost > 0) {
      PrintLine(
          fmt::format("{} of the ranks' traces could not be kept in {}: is its file system full?",
                      lost, directory_.path()));
    }
    if (any_findings || settings_.keep) {
      PrintLine(TraceLocationText());
    }
  }
  TearDown(keep);
}

void WatchedJob::TearDown(bool keep) {
  // A set-up that hangs continues to use these objects.
  if (monitor_ != nullptr && !WorkWasLeft()) {
    if (server_ != nullptr) server_->ShutDownAgents(keep);
    EndsWithin(kTearDownLimit,
               [agent = agent_.get(), server = server_.get(), monitor = monitor_.get()] {
                 delete agent;
                 delete server;
                 delete monitor;
               });
  }
  static_cast<void>(agent_.release());
  static_cast<void>(server_.release());
  static_cast<void>(monitor_.release());
  RemoveFiles(keep);
}

void WatchedJob::RemoveFiles(bool keep) {
  const std::string path = directory_.path();
  if (!path.empty()) RemoveCollectorFile(path);  // the file contains the token
  directory_ = {};
  if (!keep && !path.empty()) RunRoot::Remove(path);
}

}  // namespace rollcall
