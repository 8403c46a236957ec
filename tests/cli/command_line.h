// SPDX-License-Identifier: Apache-2.0
// Runs a program and returns its output and status.
#ifndef ROLLCALL_TESTS_CLI_COMMAND_LINE_H_
#define ROLLCALL_TESTS_CLI_COMMAND_LINE_H_

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

namespace rollcall {

struct Outcome {
  int status = 0;  // as of waitpid()
  std::string out;
  std::string err;
  int exit_code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
  int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
};

// `on_output` is called whenever more of stdout arrives, with the pid and all of stdout so far.
inline Outcome RunCommand(std::vector<std::string> words, const std::string& input = "",
                          const std::function<void(pid_t, const std::string&)>& on_output = nullptr,
                          const std::function<void()>& in_child = nullptr) {
  int in[2];
  int out[2];
  int err[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
    abort();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    if (in_child) in_child();
    execvp(arguments[0], arguments.data());
    _exit(99);
  }
  close(in[0]);
  close(out[1]);
  close(err[1]);
  if (write(in[1], input.data(), input.size()) < 0) abort();
  close(in[1]);
  Outcome outcome;
  pollfd entries[] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  while (entries[0].fd >= 0 || entries[1].fd >= 0) {
    if (poll(entries, 2, 60'000) <= 0) {
      kill(pid, SIGKILL);
      break;
    }
    for (pollfd& entry : entries) {
      if (entry.fd < 0 || entry.revents == 0) continue;
      char buffer[4096];
      const ssize_t n = read(entry.fd, buffer, sizeof(buffer));
      if (n <= 0) {
        entry.fd = -1;
      } else if (&entry == &entries[0]) {
        outcome.out.append(buffer, static_cast<size_t>(n));
        if (on_output) on_output(pid, outcome.out);
      } else {
        outcome.err.append(buffer, static_cast<size_t>(n));
      }
    }
  }
  close(out[0]);
  close(err[0]);
  waitpid(pid, &outcome.status, 0);
  return outcome;
}

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_CLI_COMMAND_LINE_H_
