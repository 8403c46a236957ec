// SPDX-License-Identifier: Apache-2.0
// A watched job: the part that `run` and `check` share. Combines run directory, collector, this
// node's agent and the launcher, from set-up to the files that are left on disk.
#ifndef ROLLCALL_COLLECTOR_WATCH_WATCHED_JOB_H_
#define ROLLCALL_COLLECTOR_WATCH_WATCHED_JOB_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/base/result.h"
#include "collector/diagnosis/graph/options.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/import/journal.h"
#include "collector/import/logs/job_logs.h"
#include "collector/launch/launcher.h"
#include "collector/launch/run_root.h"
#include "collector/launch/signal_gate.h"
#include "collector/model/trace.h"
#include "collector/service/grpc_server.h"
#include "collector/service/monitor.h"
#include "collector/watch/agent_thread.h"
#include "collector/watch/steered_run.h"

namespace rollcall {

// The command-line settings for watching a job.
struct WatchSettings {
  double stall_after_s = 30;
  double idle_after_s = 0;  // 0: never
  double kill_after_s = 30;
  std::string directory = {};
  std::string listen = "127.0.0.1:0";
  bool keep = false;
  bool no_stacks = false;
  bool verbose = false;
  std::string data = {};  // as env::kData; empty: as the environment has it
  std::string data_scope = {};
  std::vector<std::string> logs = {};  // where the job writes its output
  std::vector<std::string> command = {};
  // Descriptors for the job, which the caller keeps; -1: those of this process.
  int standard_input = -1;
  int standard_output = -1;
  std::string plan = {};  // of a steered run (proto/steer_plan.h), valid; empty: it is not steered

  service::ProgressTimes Times() const {
    return {.kill_after_ns = static_cast<int64_t>(kill_after_s * 1e9),
            .stall_after_ns = static_cast<int64_t>(stall_after_s * 1e9),
            .idle_after_ns = service::IdleAfterNs(idle_after_s)};
  }
};

// Construct before anything that starts a thread. Not thread-safe except for Request…(). After
// its destruction nothing is left running, or on disk unless Close() kept the traces.
class WatchedJob {
 public:
  using OnReport = std::function<void(const Trace&, const Report&)>;
  struct Callbacks {
    OnReport on_report;  // as in service::MonitorOptions
    OnReport on_update;
    std::function<void(const Report&)> on_due = {};
    std::function<void(const service::Withdrawal&)> on_withdrawal = {};
    // Called on another thread when the job's time is up. The job is ended when this function
    // returns.
    std::function<void()> on_time_up = {};
    service::EvidenceOptions evidence;  // without `write` no bundle is wanted
  };

  explicit WatchedJob(WatchSettings settings);
  ~WatchedJob();
  WatchedJob(const WatchedJob&) = delete;
  WatchedJob& operator=(const WatchedJob&) = delete;

  Result<> SetUp(Callbacks callbacks);

  // Starts the launcher. `no_room`: it failed because no further process can be started.
  Result<> Start(bool* no_room);

  // After Start().
  pid_t launcher() const { return launcher_.pid(); }
  const std::string& directory() const { return directory_.path(); }
  // nullptr if the run is not steered; after SetUp().
  const SteeredRun* steered() const { return steered_.get(); }
  // Thread-safe: some rank has been recorded; the job is being ended, or was asked to stop.
  bool ranks_seen() const { return monitor_->ranks_seen(); }
  bool interrupted() const { return monitor_->interrupted(); }

  // Call after SetUp() or Start() has failed. Prints the problem, and replaces this process by the
  // launcher, so that the job runs as it would without rollcall. On failure prints the reason and
  // returns.
  void RunBare(const std::string& problem);

  struct End {
    int exit_code = 0;      // the launcher's, or 128 + the signal that ended it
    int signal = 0;         // that signal
    int asked_to_stop = 0;  // the last signal that asked this process to stop; 0: none
    bool by_rollcall = false;
    bool timed_out = false;
  };
  // Waits until the launcher has ended. Passes on the signals that the launcher has not received.
  // The job is ended after `time_limit_ns` (-1: never) or after RequestEnd(): by SIGTERM, after 5 s
  // by SIGKILL, and finally by SIGKILL to the ranks that are left.
  End Wait(int64_t time_limit_ns = -1);
  // A command that runs beside the job because of a report.
  struct HangCommand {
    std::string shell_command;
    std::string input;                             // on its standard input
    std::map<std::string, std::string> variables;  // in addition to rollcall's environment
  };
  // Thread-safe; call once at most. Wait() starts the command, in rollcall's own environment, with
  // ROLLCALL_DIR and ROLLCALL_LAUNCHER_PID added. The command does not end the job. Close()
  // waits for the command's end.
  void RequestCommand(HangCommand command);
  // Thread-safe. Ends the job because of a report, for example from on_due. If a culprit's process
  // is gone, the launcher may be ending the job itself and gets some time for it. `why` is printed
  // for the user.
  void RequestEnd(const Report& report, const std::string& why);

  // Runs the final diagnosis; call once, after Wait().
  service::Monitor::Final Finish(service::FinalPass pass);
  // What `rollcall analyze` says of the logs.
  struct LogVerdict {
    Trace trace;
    DiagnoseOptions diagnose = {.job_ended = true};
    Report report;
  };
  // Call it once, after Finish(), if no rank was recorded. Empty if nothing is found, or if the job
  // did not fail by itself: what was asked to stop prints what looks like a failure.
  std::optional<LogVerdict> VerdictOfLogs(const End& end);
  // Returns a line for the user about ranks without a trace, or an empty string if there is nothing
  // to report. `what_ran`: what is known about the program if no rank was recorded; may be empty.
  // Call after Finish() and before Close().
  std::string Unrecorded(const End& end, bool ranks_seen, const std::string& what_ran);
  // Journals the end, and keeps or removes the files on disk; call after Finish().
  void Close(const End& end, bool any_findings);

 private:
  Result<RunDirectory> MakeDirectory() const;
  Result<> StartParts(const Callbacks& callbacks);
  void SetEndRequest(bool launcher_may_act, const std::string& why);
  void EndForTimeLimit();
  void OnSignal(int number);
  void PassOn(const SignalGate::Decided& signal);
  // Processes that end from now on are taken to end because of the interruption.
  void NoteInterrupted(bool by_rollcall);
  void EndJob();
  void StartCommand();
  // Waits for the command for a while, and then ends it.
  void FinishCommand();
  void Journal(const JournalEvent& event);
  void TearDown(bool keep);
  void RemoveFiles(bool keep);
  // A line for the user.
  std::string TraceLocationText() const;

  const WatchSettings settings_;
  SignalGate gate_;                 // initialized before anything starts a thread
  const bool kernel_reports_ends_;  // determined before anything starts a thread
  const uint64_t file_limit_;       // the user's limit, which the job gets, too
  const WakeFd wake_;
  logs::JobLogs logs_{settings_.logs};
  std::string token_;
  RunDirectory directory_;
  std::unique_ptr<SteeredRun> steered_;
  Launcher launcher_;
  std::unique_ptr<service::Monitor> monitor_;
  std::unique_ptr<service::CollectorServer> server_;
  std::unique_ptr<AgentThread> agent_;
  std::vector<std::string> hosts_;  // hosts of the final diagnosis
  bool bundles_ = false;
  std::function<void()> on_time_up_;
  std::atomic<bool> launcher_may_act_ = false;
  std::atomic<bool> end_requested_ = false;
  std::string end_why_;  // written before end_requested_ is set, read after it is seen
  std::atomic<bool> command_requested_ = false;
  HangCommand hang_command_;  // written before command_requested_ is set, read after it is seen
  std::optional<Launcher> command_;
  int asked_to_stop_ = 0;
  bool timed_out_ = false;
  int64_t end_seen_ns_ = 0;
  int64_t end_begun_ns_ = 0;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_WATCH_WATCHED_JOB_H_
