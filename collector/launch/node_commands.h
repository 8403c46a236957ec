// SPDX-License-Identifier: Apache-2.0
// Runs one command per node, all at once, and reports their output lines.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_NODE_COMMANDS_H_
#define ROLLCALL_COLLECTOR_LAUNCH_NODE_COMMANDS_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

struct NodeCommandLimits {
  std::chrono::milliseconds silence{8000};   // a command without output for this long is ended
  std::chrono::milliseconds total{180'000};  // per command, from its start
  size_t output_bytes = size_t{64} << 20;    // per command, both streams together
};

inline constexpr size_t kMaxNodeCommands = 256;

// Receives the command's index, 1 or 2 for its stream, and a line without its end. The line is
// unmodified and untrusted; lines longer than 64 KiB arrive in pieces of that size. Returns true
// when the command starts to wait for the others.
using OnNodeLine = std::function<bool(size_t index, int stream, std::string_view line)>;

// Each command is a program with its arguments. No shell is involved here. There are at most
// kMaxNodeCommands commands, each the leader of its own process group. When all commands that still
// run are waiting, each gets one line end on its standard input and no other input. A command that
// exceeds a limit is sent SIGTERM, then SIGKILL. Returns for each command the reason for its
// failure ("no answer for 8 s", "exit code 255"), or an empty string if it exited with 0. Call from
// one thread; reaps only its own children.
std::vector<std::string> RunNodeCommands(const std::vector<std::vector<std::string>>& commands,
                                         const NodeCommandLimits& limits, const OnNodeLine& line);

// Quotes `words` as one word that a POSIX shell splits into them again.
std::string QuotedForShell(const std::vector<std::string>& words);

// Whether `host` may be passed to ssh or its replacement: a name or an address, possibly with a
// user, and nothing that could be taken for an option.
bool IsHostArgument(std::string_view host);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_NODE_COMMANDS_H_
