// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/launcher.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collector/base/argument_vector.h"
#include "collector/launch/job_environment.h"

namespace rollcall {
bool Launcher::Start(const std::vector<std::string>& command,
                     const std::map<std::string, std::string>& environment,
                     const SignalGate::Before& signals, int* error, int standard_input,
                     int standard_output) {
  const std::vector<char*> arguments = ArgumentVector(command);
  const std::vector<std::string> lines = EnvironmentLines(environment);
  const std::vector<char*> variables = ArgumentVector(lines);

  // posix_spawn() runs no atfork handlers and copies no pages. gRPC's threads exist by now.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &signals.mask);
  posix_spawnattr_setsigdefault(&attributes, &signals.defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (standard_input >= 0) {
    posix_spawn_file_actions_adddup2(&files, standard_input, STDIN_FILENO);
  }
  if (standard_output >= 0) {
    posix_spawn_file_actions_adddup2(&files, standard_output, STDOUT_FILENO);
  }
  *error =
      posix_spawnp(&pid_, arguments[0], &files, &attributes, arguments.data(), variables.data());
  if (*error == ENOEXEC) {
    // A script without an interpreter line runs when started from a shell, so it must run here,
    // too.
    static constexpr const char* kShell[] = {"/bin/sh", "-c", "exec \"$0\" \"$@\""};
    std::vector<char*> words;
    for (const char* word : kShell) words.push_back(const_cast<char*>(word));
    words.insert(words.end(), arguments.begin(), arguments.end());
    *error = posix_spawn(&pid_, words[0], &files, &attributes, words.data(), variables.data());
  }
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (*error != 0) pid_ = -1;
  return *error == 0;
}

int Become(const std::vector<std::string>& command) {
  const std::vector<char*> arguments = ArgumentVector(command);
  execvp(arguments[0], arguments.data());
  return errno;
}

void Launcher::Signal(int number) const {
  // The launcher is not reaped yet, so its pid has not been reused.
  if (pid_ > 0 && !status_.has_value()) kill(pid_, number);
}

bool Launcher::InThisGroup() const { return pid_ > 0 && getpgid(pid_) == getpgrp(); }

std::optional<int> Launcher::Poll() {
  if (!status_.has_value()) {
    int status = 0;
    const pid_t pid = waitpid(pid_, &status, WNOHANG);
    if (pid == pid_) status_ = status;
    if (pid < 0 && errno == ECHILD) status_ = 0;
  }
  return status_;
}

}  // namespace rollcall
