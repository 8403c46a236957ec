// SPDX-License-Identifier: Apache-2.0
// rollcall exec: runs a program as its child and records how it ends.
//
// It must be transparent to the program and to the process that started it: same input, output,
// signals, process group and exit status. It starts no thread and keeps none of the program's
// descriptors (a pipe that the parent holds open would never end) except the launcher's.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cli/command.h"
#include "collector/base/clock.h"
#include "collector/base/result.h"
#include "collector/import/journal.h"
#include "collector/launch/job_environment.h"
#include "collector/launch/node_agent.h"
#include "collector/launch/open_mpi.h"
#include "collector/live/cgroup_memory.h"
#include "proto/environment.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

// The same exit codes as a shell's: POSIX.1-2017, 2.8.2 "Exit Status for Commands".
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

struct Child {
  pid_t pid = -1;
  int exec_error = 0;
};

// Starts the program in `file` (if empty, argv[0] is searched for in PATH) with the signal mask
// `mask`. Returns after exec has succeeded or failed.
Child Start(const std::string& file, char** argv, const sigset_t& mask) {
  Child child;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    child.exec_error = errno;
    return child;
  }
  const pid_t parent = getpid();
  child.pid = fork();
  if (child.pid == 0) {
    // Launchers end a rank with SIGKILL to the process that they started, which is this parent.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kNotExecutable);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    if (file.empty()) {
      execvp(argv[0], argv);
    } else {
      execv(file.c_str(), argv);
    }
    const int error = errno;
    if (write(ends[1], &error, sizeof(error)) < 0) _exit(kNotExecutable);
    _exit(kNotExecutable);
  }
  if (child.pid < 0) child.exec_error = errno;
  close(ends[1]);
  int error = 0;
  if (read(ends[0], &error, sizeof(error)) == sizeof(error)) child.exec_error = error;
  close(ends[0]);
  return child;
}

// The rank's connection to Hydra (MPICH) or a similar launcher; 0: none.
unsigned LaunchersDescriptor() {
  const char* text = getenv("PMI_FD");
  const long fd = text == nullptr ? 0 : strtol(text, nullptr, 10);
  return fd > 2 && fd < INT_MAX ? static_cast<unsigned>(fd) : 0;
}

// Closes the program's descriptors in this process, except the launcher's. Hydra sends SIGKILL to
// all processes that it started as soon as a rank's connection closes. That would end this process
// before it has recorded how the rank ended.
void CloseDescriptors() {
  const int null = open("/dev/null", O_RDWR);
  if (null < 0) return;
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  const unsigned kept = LaunchersDescriptor();
  if (kept > 3) close_range(3, kept - 1, 0);
  close_range(kept == 0 ? 3 : kept + 1, ~0U, 0);
}

struct Seen {
  int status = 0;              // as of waitpid()
  int64_t at_ns = kNoTime;     // when waitpid() returned it
  bool asked_to_stop = false;  // this parent was signalled, too: the launcher's clean-up
};

bool AsksToStop(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT ||
         signal == SIGUSR1 || signal == SIGUSR2;
}

// Whether the signal that ended the child was sent to this process as well, as launchers send it to
// a whole process group (Slurm's scancel: killpg()). The child may end by it before this process
// gets it. If the signal is SIGKILL and was sent to this process as well, this function does not
// return. A kill that this process reports was therefore sent to the child alone.
bool GotTheSameSignal(int status) {
  if (!WIFSIGNALED(status)) return false;
  if (!AsksToStop(WTERMSIG(status)) && WTERMSIG(status) != SIGKILL) return false;
  constexpr timespec kSameMoment = {.tv_sec = 0, .tv_nsec = 50'000'000};
  sigset_t same;
  sigemptyset(&same);
  sigaddset(&same, WTERMSIG(status));
  return sigtimedwait(&same, nullptr, &kSameMoment) > 0;
}

// Forwards signals until the child ends. The terminal sends its signals (SI_KERNEL) to the whole
// process group, which includes the child.
Seen WaitForEnd(pid_t child, const sigset_t& all) {
  Seen seen;
  for (;;) {
    siginfo_t info;
    const int signal = sigwaitinfo(&all, &info);
    if (signal < 0) continue;
    if (signal != SIGCHLD) {
      seen.asked_to_stop |= AsksToStop(signal);
      if (info.si_code == SI_KERNEL) continue;
      if (info.si_code == SI_QUEUE) {
        sigqueue(child, signal, info.si_value);
      } else {
        kill(child, signal);
      }
      continue;
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
      if (WIFSTOPPED(status)) {
        // The process that waits for this one sees this one stop, as it would have seen the program
        // stop.
        raise(SIGSTOP);
        kill(child, SIGCONT);
        continue;
      }
      seen.status = status;
      seen.at_ns = Now(CLOCK_REALTIME);
      seen.asked_to_stop = seen.asked_to_stop || GotTheSameSignal(status);
      return seen;
    }
  }
}

// Ends this process in the same way as the child ended.
[[noreturn]] void EndLike(int status) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);  // the program's own core is enough
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  _exit(128 + signal);
}

void JournalEnd(const std::string& directory, pid_t pid, const Seen& seen, bool oom_killed) {
  ProcessEnd end;
  end.how = WIFSIGNALED(seen.status) ? ProcessEnd::How::kSignaled : ProcessEnd::How::kExited;
  end.status = WIFSIGNALED(seen.status) ? WTERMSIG(seen.status) : WEXITSTATUS(seen.status);
  end.oom_killed = oom_killed;
  end.by_launcher = seen.asked_to_stop && !oom_killed;
  end.at_ns = seen.at_ns;
  Result<JournalWriter> journal = JournalWriter::Open(directory + "/" + kJournalFile);
  if (!journal) return;
  journal->Append(journal::ProcessEnded{
      .process = {.ring_id = 0, .host = HostName(), .pid = static_cast<uint32_t>(pid), .rank = -1},
      .end = end});
}

}  // namespace

int RunExec(int argc, char** argv) {
  int first = 1;
  if (first < argc && strcmp(argv[first], "--") == 0) ++first;
  if (first >= argc || (first == 1 && argv[first][0] == '-')) {
    const bool help = first < argc && strcmp(argv[first], "--help") == 0;
    fprintf(help ? stdout : stderr, "usage: rollcall exec -- PROGRAM [ARGUMENT...]\n\n%s\n",
            kExecDescription);
    return help ? 0 : kUsage;
  }
  char** program = argv + first;

  AdoptLauncherEnvironment();
  const char* directory = getenv(env::kRunDirectory);
  std::string run_directory;
  if (directory != nullptr && directory[0] != '\0') {
    run_directory = directory;
    PreloadIntoThisEnvironment();
    EnsureNodeAgent(run_directory);
  }

  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  // If SIGCHLD were inherited as ignored, the child's status would be discarded.
  signal(SIGCHLD, SIG_DFL);
  const std::string file = FileOfOpenMpi(program[0]);
  std::string name = program[0] + RankIndex(argv[0]);
  program[0] = name.data();
  const Child child = Start(file, program, before);
  if (child.exec_error != 0) {
    fprintf(stderr, "rollcall exec: %s: %s\n", program[0], strerror(child.exec_error));
    return child.exec_error == ENOENT ? kNotFound : kNotExecutable;
  }
  CloseDescriptors();
  const ProcSource proc;
  const std::string oom_counter = run_directory.empty() ? "" : OomCounterPath(proc, child.pid);
  const uint64_t oom_kills = ReadOomKills(proc, oom_counter).value_or(0);
  const Seen seen = WaitForEnd(child.pid, all);
  if (!run_directory.empty()) {
    const bool killed = WIFSIGNALED(seen.status) && WTERMSIG(seen.status) == SIGKILL;
    JournalEnd(run_directory, child.pid, seen,
               killed && ReadOomKills(proc, oom_counter).value_or(0) > oom_kills);
  }
  EndLike(seen.status);
}

}  // namespace rollcall
