// The launcher as a child of `rollcall run`, and the signals between the two.
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

// Blocks every signal that is to be passed on, in the calling thread and those it starts later, and
// ignores SIGPIPE, since the job goes on where nobody reads any more. What was there before goes to
// the launcher. Before any thread is started.
class SignalGate {
 public:
  SignalGate();
  ~SignalGate();
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;

  int fd() const { return fd_; }  // readable when Take() has something
  struct Taken {
    int number = 0;
    // From the terminal: the whole foreground group has it, the launcher too.
    bool from_terminal = false;
  };
  std::optional<Taken> Take();
  // As the launcher is to find them.
  struct Before {
    sigset_t mask;
    bool pipe_ignored = false;
  };
  const Before& before() const { return before_; }

 private:
  int fd_ = -1;
  Before before_;
};

// The launcher stays in this process' group: it remains the terminal's foreground job, and what the
// terminal sends to the group reaches it once, directly.
class Launcher {
 public:
  // False if it cannot be started; `error` is the errno of execvp(3).
  bool Start(const std::vector<std::string>& command,
             const std::map<std::string, std::string>& environment,
             const SignalGate::Before& signals, int* error);
  pid_t pid() const { return pid_; }
  void Signal(int number) const;
  // The wait status, once it ended. Never blocks.
  std::optional<int> Poll();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_LAUNCHER_H_
