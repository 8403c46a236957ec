// Runs a command for each of many nodes, all at once, and hands out what they print.
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
  std::chrono::milliseconds silence{8000};   // without output: ended
  std::chrono::milliseconds total{180'000};  // for one, from its start
  size_t output_bytes = size_t{64} << 20;    // of one, both streams
};

inline constexpr size_t kMaxNodeCommands = 256;

// Gets the command's index, 1 or 2 for its stream, and a line without its end, as it came:
// untrusted; longer ones come in pieces of 64 KiB. Returns true once the command waits for the
// others.
using OnNodeLine = std::function<bool(size_t index, int stream, std::string_view line)>;

// Each is a program with its arguments; nothing is passed to a shell here; at most
// kMaxNodeCommands. Each is the leader of a process group of its own. When all that still run wait,
// each gets a line end on its standard input, and nothing else ever. One that exceeds a limit is
// sent SIGTERM, then SIGKILL. Returns, for each, why it failed ("no answer for 8 s", "exit code
// 255"); empty: it exited with 0. Call it from one thread; reaps only its own children.
std::vector<std::string> RunNodeCommands(const std::vector<std::vector<std::string>>& commands,
                                         const NodeCommandLimits& limits, const OnNodeLine& line);

// `words` as one word that a POSIX shell splits into them again.
std::string QuotedForShell(const std::vector<std::string>& words);

// Whether `host` may be handed to ssh, or to what stands in its place: a name or an address, maybe
// with a user, and nothing that could be taken for an option.
bool IsHostArgument(std::string_view host);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_NODE_COMMANDS_H_
