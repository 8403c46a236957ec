// SPDX-License-Identifier: Apache-2.0
#include "collector/live/live_stack.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "collector/base/process_table.h"
#include "collector/live/process_image.h"
#include "collector/live/process_state.h"
#include "collector/live/ptrace_permission.h"
#include "collector/live/syscall_names.h"

namespace rollcall {
namespace {

using Clock = std::chrono::steady_clock;

class Capture {
 public:
  Capture(const ProcSource& proc, pid_t pid, const LiveStackOptions& options, LiveStacks* result)
      : proc_(proc), pid_(pid), options_(options), result_(result), memory_(pid) {}

  void Run(Clock::time_point deadline) {
    const std::string dir = "/proc/" + std::to_string(pid_);
    std::vector<int> tids;
    int status = options_.tid != 0 ? 0 : proc_.ListNumbers(dir + "/task", &tids);
    if (options_.tid != 0) tids = {options_.tid};
    if (status == 0) status = image_.Load(proc_, pid_, &memory_);
    // A sandbox may allow reading /proc but not memory.
    if (status == 0 && !MayReadMemory()) status = EPERM;
    if (status == EACCES || status == EPERM) {
      result_->error = ExplainPtraceDenied(proc_, pid_);
      return;
    }
    if (status != 0) {
      result_->error =
          "process " + std::to_string(pid_) +
          (status == ENOENT || status == ESRCH ? " is gone" : std::string(": ") + strerror(status));
      return;
    }
    // `tids` is sorted by number, so the main thread need not be the first.
    std::stable_partition(tids.begin(), tids.end(), [this](int tid) { return tid == pid_; });
    if (tids.size() > options_.max_threads) {
      result_->threads_left_out = tids.size() - options_.max_threads;
      tids.resize(options_.max_threads);
    }
    const std::string file_root = proc_.root() + dir + "/root";
    Unwinder unwinder(&image_, pid_, file_root);
    python_.emplace(&image_, file_root);
    const SnapshotTaker taker(&proc_, &image_, pid_,
                              options_.ptrace ? options_.ptrace : RealPtrace());
    for (const int tid : tids) {
      const auto state = ReadThreadState(proc_, pid_, tid);
      if (!state) continue;  // it has ended
      LiveThread thread;
      thread.tid = tid;
      thread.name = state->name;
      TakeThread(*state, taker, &unwinder, deadline, &thread);
      result_->threads.push_back(std::move(thread));
    }
    if (result_->threads.empty()) {
      result_->error = options_.tid != 0 ? "thread " + std::to_string(options_.tid) + " is gone"
                                         : "process " + std::to_string(pid_) + " is gone";
    }
  }

 private:
  void TakeThread(const ThreadState& state, const SnapshotTaker& taker, Unwinder* unwinder,
                  Clock::time_point deadline, LiveThread* thread) {
    if (state.state == RunState::kZombie || state.state == RunState::kDead) {
      thread->detail = "the thread has ended";
      return;
    }
    if (Clock::now() >= deadline) {
      thread->detail = "no time was left for this thread";
      return;
    }
    PythonStack python;
    const uint64_t native_id =
        OwnNumber(proc_, "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(thread->tid));
    const SnapshotCallback read_python = [&](const ThreadSnapshot& snapshot) {
      python = python_->Read(native_id, snapshot.thread_pointer, thread->tid == pid_,
                             options_.python_locals, options_.python_asked);
    };
    if (const auto snapshot = taker.TakeBlocked(thread->tid, read_python)) {
      Keep(unwinder->Unwind(*snapshot, options_.max_frames), CaptureMethod::kUndisturbed,
           std::exchange(python, {}), thread);
      const bool whole =
          thread->end == ring::StackEnd::kComplete || thread->end == ring::StackEnd::kDepthLimit;
      if (whole && thread->python.end != ring::PythonEnd::kUnchecked) return;
    }
    if (options_.undisturbed_only) {
      if (thread->detail.empty())
        thread->detail = "the thread is running, and stopping was not requested";
      return;
    }
    // Reads the state again: the thread may have entered a call since. A race of microseconds
    // remains.
    const auto now = ReadThreadState(proc_, pid_, thread->tid);
    if (!now) {
      thread->detail = "the thread has ended";
      return;
    }
    if (now->blocked_call && FailsWhenStopped(now->blocked_call->number)) {
      thread->detail = "not stopped for the rest: its " + SyscallName(now->blocked_call->number) +
                       " would fail with EINTR";
      return;
    }
    if (now->state == RunState::kDiskWait) {
      thread->detail = "in an uninterruptible wait, where no thread can be stopped";
      return;
    }
    int error = 0;
    const auto stop_by = std::min(deadline, Clock::now() + options_.stop_deadline);
    if (const auto snapshot = taker.TakeStopped(thread->tid, stop_by, &error, read_python)) {
      Keep(unwinder->Unwind(*snapshot, options_.max_frames), CaptureMethod::kStopped,
           std::move(python), thread);
      TakeMoreDigests(taker, unwinder, deadline, thread);
      return;
    }
    switch (error) {
      case ESRCH:
        thread->detail = "the thread has ended";
        break;
      case ETIMEDOUT:
        thread->detail = "the thread did not stop in time: it is in an uninterruptible wait";
        break;
      case EPERM:
      case EACCES:
      case ENOSYS:
        if (result_->error.empty()) result_->error = ExplainPtraceDenied(proc_, pid_);
        thread->detail = "no permission";
        break;
      default:
        thread->detail = std::string("ptrace: ") + strerror(error);
    }
  }

  void TakeMoreDigests(const SnapshotTaker& taker, Unwinder* unwinder, Clock::time_point deadline,
                       LiveThread* thread) {
    for (int i = 0; i < options_.more_digests && Clock::now() < deadline; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      // As above: the thread may have entered a call since.
      const auto now = ReadThreadState(proc_, pid_, thread->tid);
      if (!now || now->blocked_call || now->state == RunState::kDiskWait) return;
      int error = 0;
      const auto stop_by = std::min(deadline, Clock::now() + options_.stop_deadline);
      const auto snapshot = taker.TakeStopped(thread->tid, stop_by, &error);
      if (!snapshot) return;
      const uint64_t digest = unwinder->Unwind(*snapshot, options_.max_frames).digest;
      if (digest != 0) thread->more_digests.push_back(digest);
    }
  }

  // The kernel checks the permission before the address: see process_vm_readv(2), ERRORS.
  bool MayReadMemory() const {
    char nothing = 0;
    errno = 0;
    return memory_.Read(0, &nothing, 1) != 0 || (errno != EPERM && errno != ENOSYS);
  }

  static void Keep(UnwoundStack&& stack, CaptureMethod method, PythonStack&& python,
                   LiveThread* thread) {
    // Keeps the longer stack. The stack read without stopping may be longer, if unwind tables fail
    // for the other one.
    const bool shorter = stack.frames.size() < thread->frames.size();
    if (!shorter || thread->python.frames.empty()) thread->python = std::move(python);
    if (shorter) return;
    thread->method = method;
    thread->end = stack.end;
    thread->detail = std::move(stack.detail);
    thread->frames = std::move(stack.frames);
    thread->digests = std::move(stack.digests);
    thread->registers = std::move(stack.registers);
    thread->digest = stack.digest;
  }

  const ProcSource& proc_;
  const pid_t pid_;
  const LiveStackOptions& options_;
  LiveStacks* result_;
  ProcessMemory memory_;
  ProcessImage image_;
  std::optional<PythonReader> python_;
};

}  // namespace

LiveStacks CaptureLiveStacks(const ProcSource& proc, pid_t pid, const LiveStackOptions& options) {
  LiveStacks result;
  const Clock::time_point begin = Clock::now();
  // Signals for this process must be handled by its other threads, not by the one that holds a rank
  // stopped.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread tracer;
  try {
    tracer =
        std::thread([&] { Capture(proc, pid, options, &result).Run(begin + options.deadline); });
  } catch (const std::system_error& error) {
    result.error = fmt::format("no thread can be started: {}", error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (tracer.joinable()) tracer.join();
  result.took = Clock::now() - begin;
  return result;
}

}  // namespace rollcall
