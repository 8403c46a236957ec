// SPDX-License-Identifier: Apache-2.0
#include "collector/live/process_state.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "collector/base/clock.h"
#include "collector/base/proc_stat.h"
#include "collector/base/text.h"

namespace rollcall {
namespace {

constexpr size_t kMaxThreadNameBytes = 64;

uint64_t TicksToNs(uint64_t ticks) {
  static const uint64_t per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return ticks * (1'000'000'000 / per_second);
}

template <typename T>
bool Parse(std::string_view text, T* value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\n";
  for (size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlank, end);
  }
  return words;
}

struct StateName {
  const char* letters;  // in /proc
  RunState state;
  const char* name;
};

constexpr StateName kStates[] = {
    {"RW", RunState::kRunning, "running"},    // W: waking
    {"SP", RunState::kSleeping, "sleeping"},  // P: parked
    {"D", RunState::kDiskWait, "disk wait"}, {"T", RunState::kStopped, "stopped"},
    {"t", RunState::kTraced, "traced"},      {"Z", RunState::kZombie, "zombie"},
    {"Xx", RunState::kDead, "dead"},         {"I", RunState::kIdle, "idle"},
};

RunState ParseState(char letter) {
  for (const StateName& known : kStates) {
    if (std::string_view(known.letters).find(letter) != std::string_view::npos) return known.state;
  }
  return RunState::kUnknown;
}

struct Stat {
  std::string name;
  RunState state = RunState::kUnknown;
  pid_t parent = 0;
  uint64_t user_ticks = 0;
  uint64_t system_ticks = 0;
  uint64_t start_ticks = 0;
};

// "pid (name) state ppid …": the name may hold blanks and brackets, so it ends at the last ')'.
bool ParseStat(std::string_view text, Stat* stat) {
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return false;
  stat->name = CleanText(text.substr(open + 1, close - open - 1), kMaxThreadNameBytes);
  const std::string_view state = ProcStatField(text, 3);
  if (state.empty()) return false;
  stat->state = ParseState(state[0]);
  const auto field = [text](int number, auto* value) {
    return Parse(ProcStatField(text, number), value);
  };
  return field(4, &stat->parent) && field(14, &stat->user_ticks) &&
         field(15, &stat->system_ticks) && field(22, &stat->start_ticks);
}

// "running", "-1 SP PC", or "NR A1 … A6 SP PC", all but NR in hexadecimal with 0x.
std::optional<BlockedCall> ParseSyscall(std::string_view text) {
  const std::vector<std::string_view> words = Split(text);
  BlockedCall call;
  if ((words.size() != 3 && words.size() != 9) || !Parse(words[0], &call.number))
    return std::nullopt;
  const auto hex = [](std::string_view word, uint64_t* value) {
    return word.starts_with("0x") && Parse(word.substr(2), value, 16);
  };
  for (size_t i = 0; i < words.size() - 3; ++i) {
    if (!hex(words[i + 1], &call.arguments[i])) return std::nullopt;
  }
  if (!hex(words[words.size() - 2], &call.stack_pointer) ||
      !hex(words[words.size() - 1], &call.program_counter)) {
    return std::nullopt;
  }
  return call;
}

// Reads a thread's schedstat ("CPU time, time on a run queue, time slices"; Linux,
// Documentation/scheduler/sched-stats.rst). Returns zeros if the kernel has no such file, or if the
// kernel has the file but does not count.
ThreadTimes ReadExactTimes(const ProcSource& proc, const std::string& thread_directory) {
  std::string text;
  ThreadTimes times;
  if (proc.Read(thread_directory + "schedstat", &text) != 0) return {};
  const auto words = Split(text);
  const bool read =
      words.size() == 3 && Parse(words[0], &times.cpu_ns) && Parse(words[1], &times.wait_ns);
  return read ? times : ThreadTimes();
}

std::string ThreadDirectory(pid_t pid, pid_t tid) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/";
}

}  // namespace

const char* RunStateName(RunState state) {
  for (const StateName& known : kStates) {
    if (known.state == state) return known.name;
  }
  return "unknown";
}

std::optional<ThreadTimes> ReadThreadTimes(const ProcSource& proc, pid_t pid, pid_t tid) {
  const ThreadTimes exact = ReadExactTimes(proc, ThreadDirectory(pid, tid));
  if (exact.cpu_ns != 0) return exact;
  const std::optional<ThreadState> thread = ReadThreadState(proc, pid, tid);
  if (!thread) return std::nullopt;
  return ThreadTimes{.cpu_ns = thread->cpu_ns};
}

std::optional<uint64_t> ReadIoBytes(const ProcSource& proc, pid_t pid) {
  std::string text;
  if (proc.Read("/proc/" + std::to_string(pid) + "/io", &text) != 0) return std::nullopt;
  uint64_t bytes = 0;
  for (const std::string_view name : {"rchar: ", "wchar: "}) {
    const size_t at = text.find(name);
    uint64_t count = 0;
    if (at == std::string::npos ||
        std::from_chars(text.data() + at + name.size(), text.data() + text.size(), count).ec !=
            std::errc()) {
      return std::nullopt;
    }
    bytes += count;
  }
  return bytes;
}

std::optional<ThreadState> ReadThreadState(const ProcSource& proc, pid_t pid, pid_t tid) {
  const std::string dir = ThreadDirectory(pid, tid);
  std::string text;
  Stat stat;
  if (proc.Read(dir + "stat", &text) != 0 || !ParseStat(text, &stat)) return std::nullopt;
  ThreadState thread;
  thread.tid = tid;
  thread.name = stat.name;
  thread.state = stat.state;
  thread.user_ns = TicksToNs(stat.user_ticks);
  thread.system_ns = TicksToNs(stat.system_ticks);
  thread.start_ticks = stat.start_ticks;
  thread.cpu_ns = thread.user_ns + thread.system_ns;
  if (const ThreadTimes exact = ReadExactTimes(proc, dir); exact.cpu_ns != 0) {
    thread.cpu_ns = exact.cpu_ns;
  }
  if (proc.Read(dir + "wchan", &text) == 0 && text != "0") {
    thread.wchan = CleanText(text, kMaxThreadNameBytes);
  }
  if (proc.Read(dir + "syscall", &text) == 0) thread.blocked_call = ParseSyscall(text);
  return thread;
}

const ThreadState* FindSame(const ProcessState& process, const ThreadState& wanted) {
  for (const ThreadState& thread : process.threads) {
    if (thread.tid == wanted.tid && thread.start_ticks == wanted.start_ticks) return &thread;
  }
  return nullptr;
}

Result<ProcessState> ReadProcessState(const ProcSource& proc, pid_t pid,
                                      uint64_t expected_start_ticks) {
  const std::string dir = "/proc/" + std::to_string(pid) + "/";
  ProcessState process;
  process.pid = pid;
  process.sampled_ns = static_cast<uint64_t>(Now(CLOCK_MONOTONIC));
  std::string text;
  Stat stat;
  const std::string gone = "process " + std::to_string(pid) + " is gone";
  if (const int status = proc.Read(dir + "stat", &text); status != 0) {
    const bool is_gone = status == ENOENT || status == ESRCH;
    return Error{is_gone ? gone : dir + "stat: " + std::strerror(status)};
  }
  if (!ParseStat(text, &stat)) return Error{dir + "stat is not as expected"};
  if (expected_start_ticks != 0 && stat.start_ticks != expected_start_ticks) {
    return Error{gone + ": its number belongs to another process now"};
  }
  process.name = stat.name;
  process.state = stat.state;
  process.parent_pid = stat.parent;
  process.user_ns = TicksToNs(stat.user_ticks);
  process.system_ns = TicksToNs(stat.system_ticks);
  process.start_ticks = stat.start_ticks;
  if (proc.Read(dir + "status", &text) == 0) {
    Parse(ProcStatusField(text, "TracerPid"), &process.tracer_pid);
  }
  std::vector<int> tids;
  if (proc.ListNumbers(dir + "task", &tids) != 0) return Error{gone};
  for (const int tid : tids) {
    if (auto thread = ReadThreadState(proc, pid, tid))
      process.threads.push_back(std::move(*thread));
  }
  return process;
}

}  // namespace rollcall
