// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/node_commands.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <optional>
#include <utility>

#include "collector/base/argument_vector.h"
#include "collector/base/file.h"

namespace rollcall {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kPieceBytes = 64 << 10;
constexpr int kReadsAtOnce = 32;  // more than a pipe can hold
constexpr milliseconds kTermToKill{1000};
constexpr milliseconds kStep{100};  // how late a limit may be noticed

// Not thread-safe.
class NodeProcess {
 public:
  using OnLine = std::function<bool(int stream, std::string_view line)>;  // true: the command waits

  NodeProcess(size_t index, const std::vector<std::string>& words, const NodeCommandLimits& limits)
      : index_(index), limits_(limits), started_(Clock::now()), last_line_time_(started_) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (pipe2(out.data(), O_CLOEXEC) != 0) {
      Fail(std::strerror(errno));
      return;
    }
    streams_[0].fd.reset(out[0]);
    const UniqueFd out_end(out[1]);
    if (pipe2(err.data(), O_CLOEXEC) != 0) {
      Fail(std::strerror(errno));
      return;
    }
    streams_[1].fd.reset(err[0]);
    const UniqueFd err_end(err[1]);
    for (const Stream& stream : streams_) fcntl(stream.fd.get(), F_SETFL, O_NONBLOCK);
    // A socket, because a write to it can be made without SIGPIPE.
    std::array<int, 2> in{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) != 0) {
      Fail(std::strerror(errno));
      return;
    }
    input_.reset(in[0]);
    const UniqueFd in_end(in[1]);
    Spawn(words, in_end.get(), out_end.get(), err_end.get());
  }
  ~NodeProcess() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  size_t index() const { return index_; }
  const std::string& failure() const { return failure_; }
  bool done() const { return pid_ <= 0; }
  bool waits() const { return waits_; }

  void Release() {
    if (!input_) return;
    send(input_.get(), "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    input_.reset(-1);
  }

  void AddTo(std::vector<pollfd>* entries) const {
    for (const Stream& stream : streams_) {
      if (stream.fd) entries->push_back({stream.fd.get(), POLLIN, 0});
    }
  }

  // Reads available output, checks the limits, and checks whether the command has ended. Never
  // blocks.
  void Advance(const OnLine& line) {
    for (size_t i = 0; i < streams_.size(); ++i) Drain(&streams_[i], static_cast<int>(i) + 1, line);
    const Clock::time_point now = Clock::now();
    if (!stopping_) {
      if (now - last_line_time_ >= limits_.silence) {
        Stop(now, "no answer for " + Seconds(limits_.silence));
      } else if (now - started_ >= limits_.total) {
        Stop(now, "it takes longer than " + Seconds(limits_.total));
      } else if (bytes_ > limits_.output_bytes) {
        Stop(now, "it printed more than the limit");
      }
    } else if (now - *stopping_ >= kTermToKill) {
      kill(-pid_, SIGKILL);
    }
    siginfo_t ended{};
    const bool lost =
        waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 &&
        errno == ECHILD;
    if (!lost && ended.si_pid != pid_) return;
    for (size_t i = 0; i < streams_.size(); ++i) {
      Drain(&streams_[i], static_cast<int>(i) + 1, line);
      if (!streams_[i].rest.empty()) waits_ |= line(static_cast<int>(i) + 1, streams_[i].rest);
    }
    // Kills processes that the command left, before waitpid() frees the group's number for reuse.
    int status = 0;
    if (!lost) {
      kill(-pid_, SIGKILL);
      waitpid(pid_, &status, 0);
    }
    pid_ = -1;
    if (!failure_.empty()) return;
    if (WIFSIGNALED(status)) failure_ = "ended by signal " + std::to_string(WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
      failure_ = "exit code " + std::to_string(WEXITSTATUS(status));
    }
  }

 private:
  struct Stream {
    UniqueFd fd;
    std::string rest;  // an incomplete line
  };

  static std::string Seconds(milliseconds time) {
    const auto count = time.count();
    return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
  }
  void Fail(std::string why) { failure_ = std::move(why); }

  void Spawn(const std::vector<std::string>& words, int in, int out, int err) {
    const std::vector<char*> arguments = ArgumentVector(words);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_adddup2(&files, err, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int error =
        posix_spawnp(&pid_, arguments[0], &files, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error == 0) return;
    pid_ = -1;
    Fail(words.front() + ": " + std::strerror(error));
  }

  void Stop(Clock::time_point now, std::string why) {
    stopping_ = now;
    Fail(std::move(why));
    kill(-pid_, SIGTERM);
  }

  void Drain(Stream* stream, int number, const OnLine& line) {
    std::array<char, kPieceBytes> buffer;
    // A command that prints faster than it is read must not delay the limits and the other
    // commands.
    for (int i = 0; i < kReadsAtOnce && stream->fd; ++i) {
      const ssize_t got = read(stream->fd.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return stream->fd.reset(-1);
      last_line_time_ = Clock::now();
      bytes_ += static_cast<size_t>(got);
      if (bytes_ > limits_.output_bytes) return;
      Split(stream, {buffer.data(), static_cast<size_t>(got)}, number, line);
    }
  }

  void Split(Stream* stream, std::string_view text, int number, const OnLine& line) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      stream->rest += text.substr(0, end);
      if (end == std::string_view::npos && stream->rest.size() < kPieceBytes) return;
      waits_ |= line(number, stream->rest);
      stream->rest.clear();
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }

  const size_t index_;
  const NodeCommandLimits& limits_;
  const Clock::time_point started_;
  Clock::time_point last_line_time_;
  std::optional<Clock::time_point> stopping_;
  std::array<Stream, 2> streams_;
  UniqueFd input_;
  bool waits_ = false;
  size_t bytes_ = 0;
  pid_t pid_ = -1;
  std::string failure_;
};

}  // namespace

std::vector<std::string> RunNodeCommands(const std::vector<std::vector<std::string>>& commands,
                                         const NodeCommandLimits& limits, const OnNodeLine& line) {
  std::vector<std::string> failures(commands.size());
  std::list<NodeProcess> running;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (i < kMaxNodeCommands) {
      running.emplace_back(i, commands[i], limits);
    } else {
      failures[i] = "too many nodes at once";
    }
  }
  while (!running.empty()) {
    std::vector<pollfd> entries;
    for (const NodeProcess& process : running) process.AddTo(&entries);
    poll(entries.data(), entries.size(), static_cast<int>(kStep.count()));
    for (auto process = running.begin(); process != running.end();) {
      const size_t index = process->index();
      if (!process->done()) {
        process->Advance(
            [&](int stream, std::string_view text) { return line(index, stream, text); });
      }
      if (!process->done()) {
        ++process;
        continue;
      }
      failures[index] = process->failure();
      process = running.erase(process);
    }
    const bool all_wait = std::ranges::all_of(running, &NodeProcess::waits);
    if (!all_wait) continue;
    for (NodeProcess& process : running) process.Release();
  }
  return failures;
}

std::string QuotedForShell(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += '\'';
    for (const char c : word) {
      if (c == '\'') {
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return line;
}

bool IsHostArgument(std::string_view host) {
  constexpr std::string_view kOther = ".-_:@%[]";
  return !host.empty() && host.size() <= 256 && host.front() != '-' &&
         std::ranges::all_of(host, [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  kOther.find(c) != std::string_view::npos;
         });
}

}  // namespace rollcall
