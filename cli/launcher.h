// The launcher as a child of `rollcall run`, and the signals between the two.
#ifndef ROLLCALL_CLI_LAUNCHER_H_
#define ROLLCALL_CLI_LAUNCHER_H_

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall {

// Blocks every signal that is to be passed on, in the calling thread and those it starts later; the
// mask that was there goes to the launcher. Before any thread is started.
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
  const sigset_t& mask_before() const { return before_; }

 private:
  int fd_ = -1;
  sigset_t before_;
};

// The launcher stays in this process' group: it remains the terminal's foreground job, and what the
// terminal sends to the group reaches it once, directly.
class Launcher {
 public:
  // False if it cannot be started; `error` is the errno of execvp(3).
  bool Start(const std::vector<std::string>& command,
             const std::map<std::string, std::string>& environment, const sigset_t& mask,
             int* error);
  pid_t pid() const { return pid_; }
  void Signal(int number) const;
  // The wait status, once it ended. Never blocks.
  std::optional<int> Poll();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_LAUNCHER_H_
