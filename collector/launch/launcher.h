// The launcher as a child process of `rollcall run`, and the forwarding of signals to it. Also
// starts the command of --on-hang=exec.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_LAUNCHER_H_
#define ROLLCALL_COLLECTOR_LAUNCH_LAUNCHER_H_

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall {

// Blocks every signal that is to be forwarded, in the calling thread and the threads that it starts
// later. Ignores SIGPIPE and SIGXFSZ, since the job goes on even if its output is no longer read,
// or rollcall's files would exceed the limit of file sizes. The launcher gets the original signal
// settings. Construct before any thread is started.
class SignalGate {
 public:
  SignalGate();
  ~SignalGate();
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;

  int fd() const { return fd_; }  // readable when Take() has something
  struct Taken {
    int number = 0;
    // Sent by the terminal: the whole foreground process group has received it, including the
    // launcher.
    bool from_terminal = false;
  };
  std::optional<Taken> Take();
  // The original settings, which the launcher gets.
  struct Before {
    sigset_t mask;
    sigset_t defaults;  // signals that are ignored here only
  };
  const Before& before() const { return before_; }
  // Restores them in this process, for a program that replaces it.
  void Restore() const;

 private:
  int fd_ = -1;
  Before before_;
  bool child_ignored_ = false;
};

// Replaces this process by the command, with its environment. Returns only on failure: the errno of
// execvp(3).
int Become(const std::vector<std::string>& command);

// The launcher stays in this process's group: it remains the terminal's foreground job, and signals
// from the terminal reach it once, directly.
class Launcher {
 public:
  // False if it cannot be started; `error` is the errno of execvp(3). `standard_input`: a
  // descriptor, which stays the caller's; -1: that of this process.
  bool Start(const std::vector<std::string>& command,
             const std::map<std::string, std::string>& environment,
             const SignalGate::Before& signals, int* error, int standard_input = -1);
  pid_t pid() const { return pid_; }
  void Signal(int number) const;
  // The wait status after the launcher has ended. Never blocks.
  std::optional<int> Poll();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_LAUNCHER_H_
