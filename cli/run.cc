// rollcall run: a job under watch.
//
// The job comes first. Whatever of rollcall cannot be set up is said in one line, and the launcher
// runs all the same, with its own output and exit code.
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/agent_thread.h"
#include "cli/command.h"
#include "cli/job_environment.h"
#include "cli/launcher.h"
#include "cli/report_output.h"
#include "collector/agent/grpc_transport.h"
#include "collector/agent/run_root.h"
#include "collector/import/journal.h"
#include "collector/service/grpc_server.h"
#include "collector/service/monitor.h"
#include "collector/service/secret.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

// The one code that is not the job's: rollcall ended it. No launcher and no shell gives it a
// meaning.
constexpr int kEndedByRollcall = 86;
// Between SIGTERM and SIGKILL when rollcall ends the job.
constexpr int64_t kGraceNs = 5'000'000'000;
// A launcher that is ending the job itself, after a rank's death, is given this long: a signal in
// the middle of that was seen to crash Open MPI 4.1.4's.
constexpr int64_t kLauncherActsNs = 2'000'000'000;

struct RunOptions {
  std::string on_hang = "report";
  double stall_after_s = 30;
  Outputs outputs;
  std::string directory;
  std::string listen = "127.0.0.1:0";
  bool keep = false;
  bool no_stacks = false;
  std::string color = "auto";
  std::string stacks = "user";
  std::vector<std::string> command;
};

int64_t Now(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

void Say(const std::string& line) { fmt::print(stderr, "rollcall: {}\n", line); }

int ExitCodeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// The port and host that remote agents are told.
std::string Advertised(const std::string& listen, int port) {
  std::string host = listen.substr(0, listen.rfind(':'));
  if (host == "0.0.0.0" || host == "[::]" || host.empty()) host = HostName();
  return fmt::format("{}:{}", host, port);
}

class Run {
 public:
  explicit Run(RunOptions options)
      : options_(std::move(options)),
        output_({.color = options_.color,
                 .stacks = options_.stacks,
                 .outputs = options_.outputs,
                 .diagnose = {.stall_after_ns = StallAfterNs()}}),
        wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Run() { close(wake_fd_); }

  int Main() {
    const bool watching = SetUp();
    std::map<std::string, std::string> environment = CurrentEnvironment();
    if (watching) {
      std::vector<std::string> notes;
      environment = JobEnvironment(std::move(environment),
                                   {.run_directory = directory_.path(),
                                    .collector = Advertised(options_.listen, server_->port()),
                                    .token = token_,
                                    .stacks = !options_.no_stacks},
                                   &notes);
      for (const std::string& note : notes) Say(note);
    }
    int error = 0;
    if (!launcher_.Start(options_.command, environment, gate_.mask_before(), &error)) {
      Say(fmt::format("{}: {}", options_.command[0], strerror(error)));
      TearDown(false);
      return kUsage;
    }
    const int status = WaitForLauncher();
    const int code = kill_begun_ns_ != 0 ? kEndedByRollcall : ExitCodeOf(status);
    if (watching) Conclude(code);
    return code;
  }

 private:
  int64_t StallAfterNs() const { return static_cast<int64_t>(options_.stall_after_s * 1e9); }
  bool SetUp();
  bool MakeDirectory();
  int WaitForLauncher();
  void PassOn(const SignalGate::Taken& taken);
  void EndJob();
  void OnReport(const Trace& trace, const Report& report);
  void Conclude(int exit_code);
  void TearDown(bool keep);
  void Journal(const JournalEvent& event);

  const RunOptions options_;
  SignalGate gate_;  // before anything that starts a thread
  ReportOutput output_;
  const int wake_fd_;
  std::string token_;
  agent::RunDirectory directory_;
  Launcher launcher_;
  std::unique_ptr<service::Monitor> monitor_;
  std::unique_ptr<service::CollectorServer> server_;
  std::unique_ptr<AgentThread> agent_;
  std::atomic<bool> launcher_may_act_ = false;
  std::atomic<bool> kill_asked_ = false;
  int64_t kill_seen_ns_ = 0;
  int64_t kill_begun_ns_ = 0;
};

bool Run::MakeDirectory() {
  std::string problem;
  if (!options_.directory.empty()) {
    directory_ = agent::RunRoot::CreateAt(options_.directory, &problem);
    std::error_code error;
    if (directory_.valid() &&
        !std::filesystem::is_empty(directory_.path() + "/" + kRingsDirectory, error)) {
      problem = options_.directory + " holds the traces of another run";
      directory_ = {};
    }
  } else {
    const std::string root = agent::RunRoot::UsablePath(kSharedMemory, &problem);
    if (!problem.empty()) Say(fmt::format("{}; traces go to {}", problem, root));
    agent::RunRoot::Clean(root, agent::kKeepRuns, agent::kKeepRunsNs);
    directory_ = agent::RunRoot::Create(root, &problem);
  }
  if (!directory_.valid()) Say(fmt::format("{}; the job runs without rollcall", problem));
  return directory_.valid();
}

bool Run::SetUp() {
  token_ = service::NewToken();
  if (!MakeDirectory() || !agent::RunRoot::TakeAgentLock(&directory_)) return false;
  Journal(journal::Run{.version = ROLLCALL_VERSION,
                       .command = options_.command,
                       .host = HostName(),
                       .at_ns = Now(CLOCK_REALTIME)});
  service::SilenceGrpc();
  monitor_ = std::make_unique<service::Monitor>(service::MonitorOptions{
      .stall_after_ns = StallAfterNs(),
      .live_stacks = !options_.no_stacks,
      .on_report = [this](const Trace& trace, const Report& report) { OnReport(trace, report); },
      .on_update =
          [this](const Trace& trace, const Report& report) {
            output_.Store(trace, report, /*job_ended=*/false, /*only_if_none=*/false);
          },
      .on_note = Say});
  std::string problem;
  server_ = service::Serve(options_.listen, token_, monitor_.get(), &problem);
  if (server_ == nullptr) {
    Say(fmt::format("{}; the job runs without rollcall", problem));
    monitor_.reset();
    TearDown(false);
    return false;
  }
  const std::string host = options_.listen.substr(0, options_.listen.rfind(':'));
  const bool any = host == "0.0.0.0" || host == "[::]" || host.empty();
  agent_ = std::make_unique<AgentThread>(
      agent::AgentOptions{
          .run_directory = directory_.path(), .host = HostName(), .version = ROLLCALL_VERSION},
      agent::ConnectToCollector(fmt::format("{}:{}", any ? "127.0.0.1" : host, server_->port()),
                                token_));
  return true;
}

void Run::Journal(const JournalEvent& event) {
  std::string error;
  auto journal = JournalWriter::Open(directory_.path() + "/" + kJournalFile, &error);
  if (journal.has_value()) journal->Append(event);
}

void Run::OnReport(const Trace& trace, const Report& report) {
  output_.Print(trace, report, /*job_ended=*/false);
  if (options_.on_hang != "kill" || report.status != Report::Status::kHung) return;
  launcher_may_act_ =
      std::any_of(report.findings.begin(), report.findings.end(),
                  [](const Finding& finding) { return finding.kind == VerdictKind::kRankDied; });
  kill_asked_ = true;
  const uint64_t one = 1;
  if (write(wake_fd_, &one, sizeof(one)) < 0) return;  // full: it is readable
}

void Run::PassOn(const SignalGate::Taken& taken) {
  const bool asks_to_stop = taken.number == SIGINT || taken.number == SIGTERM ||
                            taken.number == SIGHUP || taken.number == SIGQUIT;
  if (asks_to_stop && agent_ != nullptr) {
    agent_->Post([](agent::Agent& agent) { agent.NoteInterrupted(/*by_rollcall=*/false); });
  }
  if (!taken.from_terminal) launcher_.Signal(taken.number);
  if (taken.number == SIGTSTP && taken.from_terminal) raise(SIGSTOP);
}

// Called again and again until the launcher is gone.
void Run::EndJob() {
  const int64_t now = Now(CLOCK_MONOTONIC);
  if (kill_seen_ns_ == 0) kill_seen_ns_ = now;
  if (launcher_may_act_ && now - kill_seen_ns_ < kLauncherActsNs) return;
  if (kill_begun_ns_ == 0) {
    kill_begun_ns_ = now;
    Say("ends the job (--on-hang=kill)");
    agent_->Post([](agent::Agent& agent) { agent.NoteInterrupted(/*by_rollcall=*/true); });
    launcher_.Signal(SIGTERM);
  } else if (now - kill_begun_ns_ > kGraceNs) {
    launcher_.Signal(SIGKILL);
  }
}

int Run::WaitForLauncher() {
  for (;;) {
    while (const auto taken = gate_.Take()) {
      if (taken->number != SIGCHLD && taken->number != SIGPIPE) PassOn(*taken);
    }
    if (const std::optional<int> status = launcher_.Poll()) return *status;
    if (kill_asked_) EndJob();
    pollfd entries[] = {{gate_.fd(), POLLIN, 0}, {wake_fd_, POLLIN, 0}};
    poll(entries, 2, kill_asked_ ? 100 : -1);
    uint64_t count;
    if (read(wake_fd_, &count, sizeof(count)) < 0) continue;
  }
}

void Run::Conclude(int exit_code) {
  if (kill_begun_ns_ != 0) {
    // Ranks that the launcher left behind: by pidfd, so never another process.
    agent_->Post([](agent::Agent& agent) { agent.SignalAll(SIGKILL); });
  }
  const service::Monitor::Final final = monitor_->Finish();
  if (final.is_new) {
    output_.Print(final.trace, final.report, /*job_ended=*/true);
  } else {
    output_.Store(final.trace, final.report, /*job_ended=*/true, final.any_findings);
  }
  if (!final.ranks_seen) {
    Say("no rank ever appeared: the program never initialised MPI, or is linked statically");
  }
  Journal(journal::JobEnd{
      .exit_code = exit_code, .by_rollcall = kill_begun_ns_ != 0, .at_ns = Now(CLOCK_REALTIME)});
  const bool keep = options_.keep || final.any_findings || !options_.directory.empty();
  if (keep) {
    if (const size_t lost = agent_->Stop().PreserveRings(); lost > 0) {
      Say(fmt::format("{} of the ranks' traces could not be kept in {}: is its file system full?",
                      lost, directory_.path()));
    }
    if (final.any_findings || options_.keep) {
      Say(fmt::format("traces: {}  (rollcall analyze {})", directory_.path(), directory_.path()));
    }
  }
  TearDown(keep);
}

void Run::TearDown(bool keep) {
  if (server_ != nullptr) server_->ShutDownAgents(keep);
  agent_.reset();
  server_.reset();
  monitor_.reset();
  const std::string path = directory_.path();
  directory_ = {};
  if (!keep && !path.empty()) agent::RunRoot::Remove(path);
}

}  // namespace

int RunRun(int argc, char** argv) {
  CLI::App app("Runs a job under watch. Exits as the job does, or with 86 when rollcall ended it.",
               "rollcall run");
  RunOptions options;
  app.add_option("--on-hang", options.on_hang,
                 "report: print and leave the job alone; kill: end it")
      ->check(CLI::IsMember({"report", "kill"}))
      ->capture_default_str();
  app.add_option("--stall-after", options.stall_after_s,
                 "seconds without progress before a rank is called stalled")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options.outputs.AddOptions(&app, Outputs::StandardOutput::kJob);
  app.add_option("--dir", options.directory, "the run directory; kept after the run");
  app.add_option("--listen", options.listen,
                 "HOST:PORT for agents of other nodes; port 0 takes any free one")
      ->capture_default_str();
  app.add_flag("--keep", options.keep, "keep the run directory after a clean end, too");
  app.add_flag("--no-stacks", options.no_stacks, "record no call paths, take no live stacks");
  app.add_option("--color", options.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  AddStacksOption(&app, &options.stacks);
  app.add_option("command", options.command, "the launcher and its arguments, after --")
      ->required();
  app.positionals_at_end();
  if (const auto code = ParseArguments(app, argc, argv)) return *code;
  if (options.listen.find(':') == std::string::npos) options.listen += ":0";
  return Run(std::move(options)).Main();
}

}  // namespace rollcall
