// SPDX-License-Identifier: Apache-2.0
// A job of which no rank records its calls: identifies its ranks on this node and detects that they
// stand still.
#ifndef ROLLCALL_CLI_UNRECORDED_JOB_H_
#define ROLLCALL_CLI_UNRECORDED_JOB_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/job_stacks.h"
#include "collector/base/proc_source.h"

namespace rollcall {

inline constexpr const char* kStacksWithdrawn =
    "the ranks moved again; the verdict above is withdrawn";

// Searches for the ranks on a thread of its own, until a rank records. At first it only reads /proc
// and stops no process. When each rank has used no CPU time, or all that it could, for
// `stall_after_ns`, it takes their stacks, as `rollcall attach` does. It takes them again after
// longer and longer times, because a rank that computes looks like a rank that polls. Its findings
// are *suspected*, and are no reason to end a job.
class UnrecordedJob {
 public:
  using OnReport = std::function<void(const Trace&, const Report&)>;
  struct Options {
    std::vector<std::string> command;
    pid_t launcher = 0;
    std::string run_directory;
    int64_t stall_after_ns = 0;
    bool take_stacks = true;
    std::function<bool()> recorded;     // thread-safe: some rank records
    std::function<bool()> interrupted;  // thread-safe: the job is being ended
    // Called on any thread. on_report: the ranks stand still. on_withdrawal: they moved again.
    OnReport on_report;
    OnReport on_withdrawal;
  };
  explicit UnrecordedJob(Options options);
  ~UnrecordedJob() { Stop(); }
  UnrecordedJob(const UnrecordedJob&) = delete;
  UnrecordedJob& operator=(const UnrecordedJob&) = delete;

  // Thread-safe. If no rank records, takes the stacks now, before the job is ended. The newest
  // report is then of this moment. Takes seconds.
  void Look();
  // Thread-safe. Call after rollcall has ended the job: ends the ranks that the launcher has left
  // running.
  void KillRanks();
  // Ends the thread. Call it before the functions below.
  void Stop();
  // "4 ranks of torchrun (PyTorch 1.13): they made no call that rollcall records"; empty if no rank
  // was seen.
  std::string Text() const;
  // True if all ranks that were seen run PyTorch and have made no calls of MPI and NCCL. The shim
  // would have recorded these calls.
  bool made_no_calls() const { return seen_ && seen_->made_no_calls; }
  // True if the last report was printed and has not been withdrawn.
  bool stands_still() const { return !reported_.empty(); }

 private:
  struct Seen {
    size_t ranks = 0;
    std::string library = {};  // "PyTorch 1.13"
    std::string why = {};      // why none of them records
    bool made_no_calls = false;
  };

  void Watch();
  void Find();
  void Follow(int64_t now_ns);
  void TakeStacks();
  attach::JudgedStacks JudgeStacks(int64_t between_ns);
  bool IsOurs(const attach::FoundJob& job) const;
  Seen Describe(const attach::FoundJob& job) const;
  // Waits for `ns`. False: waited until Stop().
  bool Sleep(int64_t ns);

  const Options options_;
  const ProcSource proc_;
  std::mutex stop_mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::mutex mutex_;  // of the members below, except after Stop()
  attach::FoundJob job_;
  std::optional<Seen> seen_;
  std::map<pid_t, double> busy_s_;  // of each rank, at `followed_ns_`
  int64_t followed_ns_ = 0;
  int64_t still_since_ns_ = 0;
  int64_t taken_ns_ = 0;               // when stacks were taken last
  int64_t spin_ns_ = 0;                // after which stacks of ranks that use the CPU are taken
  std::vector<std::string> reported_;  // titles of the findings
  std::thread thread_;                 // last: uses the others; none if none could be started
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_UNRECORDED_JOB_H_
