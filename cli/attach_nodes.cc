// SPDX-License-Identifier: Apache-2.0
#include "cli/attach_nodes.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "cli/command.h"
#include "cli/inputs.h"
#include "collector/base/find.h"
#include "collector/base/print_line.h"
#include "collector/base/text.h"
#include "collector/launch/job_environment.h"
#include "collector/launch/node_commands.h"

namespace rollcall {
namespace {

using attach::HostStacks;

// A node's answer passes through shells, ssh and srun. They may print their own lines, mix the
// lines of several nodes, and cut lines after 1,024 bytes. Each line of an answer is therefore
// short and begins with this word, the node's name, and a mark for its type.
constexpr std::string_view kWord = "rollcall-stacks";
constexpr char kAlive = '~';
constexpr char kWaits = '!';    // waits for the other nodes: WaitForOthers()
constexpr char kPart = '+';     // part of a line of the text; more of the line follows
constexpr char kLineEnd = '=';  // the last part of a line
constexpr size_t kPartBytes = 640;
constexpr size_t kMaxNodeName = 256;
constexpr std::chrono::seconds kHeartbeatInterval{1};
constexpr std::chrono::seconds kMaxWait{60};  // for the other nodes
using Clock = std::chrono::steady_clock;

constexpr char kSlurmNode[] = "SLURMD_NODENAME";

constexpr size_t kMaxShownBytes = 512;
constexpr size_t kMaxShownLines = 16;  // per node

std::string NodeLine(std::string_view node, char mark, std::string_view part) {
  return fmt::format("{} {} {}{}\n", kWord, node, mark, part);
}

bool Print(std::string_view text) { return WriteAll(STDOUT_FILENO, text); }

bool PrintText(const std::string& node, std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::string_view line = TakeUntil('\n', &text);
    for (size_t at = 0; at < line.size(); at += kPartBytes) {
      const bool last = at + kPartBytes >= line.size();
      lines += NodeLine(node, last ? kLineEnd : kPart, line.substr(at, kPartBytes));
    }
    if (lines.size() < (1 << 16) && !text.empty()) continue;
    if (!Print(lines)) return false;
    lines.clear();
  }
  return true;
}

// Prints signs of life. If a line cannot be printed, the requester is gone. The process then exits,
// so that it no longer disturbs the ranks.
class Heartbeat {
 public:
  explicit Heartbeat(const std::string& node)
      : thread_([this, line = NodeLine(node, kAlive, "")] {
          std::unique_lock lock(mutex_);
          do {
            if (!Print(line)) _exit(kUsage);
          } while (!wake_.wait_for(lock, kHeartbeatInterval, [this] { return stop_; }));
        }) {}
  ~Heartbeat() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

// The nodes' answers, by node name. All of them are untrusted.
class Answers {
 public:
  // `timeout`: how long nodes that share one command wait for the remaining ones.
  Answers(const std::vector<std::string>& nodes, std::chrono::milliseconds timeout)
      : timeout_(timeout) {
    for (const std::string& node : nodes) texts_[node];
  }

  // Takes a line from the command of `node`. If `node` is empty, the line is from the command of
  // all nodes. Returns true if every node of the command waits, or is given up.
  bool Take(const std::string& node, std::string_view line) {
    std::string_view rest = line;
    std::string name(TakeUntil(' ', &rest) == kWord ? TakeUntil(' ', &rest) : "");
    if (name.empty() || rest.empty()) {
      Show(node, line);
      return false;
    }
    if (!node.empty()) name = node;
    const auto text = texts_.find(name);
    if (text == texts_.end()) {
      Show(node, line);
      return false;
    }
    const char mark = rest.front();
    rest.remove_prefix(1);
    // A node that answers without waiting has no ranks and counts as waiting.
    if (mark != kAlive && waiting_.insert(name).second) newest_ = Clock::now();
    // One byte beyond the limit is enough to detect that the text is too long.
    const bool is_text = mark == kPart || mark == kLineEnd;
    if (is_text && text->second.size() <= attach::kMaxStacksBytes) {
      text->second += rest;
      if (mark == kLineEnd) text->second += '\n';
    }
    if (!node.empty()) return waiting_.contains(name);
    return waiting_.size() == texts_.size() ||
           (!waiting_.empty() && Clock::now() - newest_ >= timeout_);
  }

  // Takes a line of stderr, which may explain why there is no answer.
  void TakeError(const std::string& node, std::string_view line) {
    std::string shown = Show(node, line);
    if (!shown.empty()) shown_errors_[node] = std::move(shown);
  }

  // The result of a node. `failure`: why the node's command failed, or empty.
  HostStacks Of(const std::string& node, const std::string& failure) const {
    const std::string& text = texts_.at(node);
    HostStacks stacks;
    if (text.empty()) {
      stacks.absent = failure.empty() ? "no answer" : failure;
      if (const auto* error = FindOrNull(shown_errors_, node)) stacks.absent += ": " + *error;
    } else {
      std::vector<Problem> problems;
      stacks = attach::ReadStacks(text, node, &problems);
      PrintProblems(problems);
      if (stacks.ranks.empty() && stacks.absent.empty()) {
        stacks.absent = failure.empty() ? "no rank could be read" : failure;
      }
    }
    stacks.host = node;
    return stacks;
  }

 private:
  // Returns the text that was shown.
  std::string Show(const std::string& node, std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);  // printed by ssh
    const std::string name = node.empty() ? "srun" : node;
    if (line.empty() || ++shown_[name] > kMaxShownLines) return "";
    std::string text = CleanText(line, kMaxShownBytes, 8);
    PrintLine(fmt::format("{}: {}", name, shown_[name] == kMaxShownLines ? "…" : text));
    return text;
  }

  const std::chrono::milliseconds timeout_;
  std::map<std::string, std::string> texts_;
  std::set<std::string> waiting_;
  Clock::time_point newest_;  // when the newest of waiting_ was added
  std::map<std::string, size_t> shown_;
  std::map<std::string, std::string> shown_errors_;  // the last error that was shown
};

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = TakeUntil(' ', &text);
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

// The output of a Slurm command. Empty, after a line on stderr, if it fails.
std::optional<std::vector<std::string>> LinesOf(const std::vector<std::string>& command) {
  std::vector<std::string> lines;
  const std::vector<std::string> failures =
      RunNodeCommands({command}, {}, [&](size_t /*index*/, int stream, std::string_view line) {
        const std::string text = CleanText(line, 1 << 16);
        if (stream == 1) {
          if (!text.empty()) lines.push_back(text);
        } else {
          PrintLine(fmt::format("{}: {}", command.front(), text));
        }
        return true;
      });
  if (failures[0].empty() && !lines.empty()) return lines;
  if (!failures[0].empty()) PrintLine(fmt::format("{}: {}", command.front(), failures[0]));
  return std::nullopt;
}

}  // namespace

void AttachNodes::AddOptions(ArgumentParser* parser) {
  parser->Add("--hosts", &hosts_, "the ranks on these hosts, over ssh",
              {.type = "HOST,…", .comma_separated = true, .excludes = "--pid"});
  parser->Add("--rsh", &rsh_,
              "with --hosts: the command that runs a command on a host, called as CMD HOST COMMAND",
              {.type = "CMD", .show_default = true});
  parser->Add("--slurm", &slurm_job_, "the ranks on all nodes of this Slurm job, by srun --overlap",
              {.type = "JOBID", .must = Must::kBePositive, .excludes = "--hosts"});
  parser->Add(
      "--remote-rollcall", &remote_rollcall_,
      "with --hosts or --slurm: the path of rollcall on the nodes (default: the same as here)",
      {.type = "PATH"});
  parser->Add("--node-timeout", &timeout_s_,
              "with --hosts or --slurm: leave out a node that does not answer for this time",
              {.type = "SECONDS", .must = Must::kBePositive, .show_default = true});
  parser->Add("--node", &node_, "answer another rollcall, as this node (internal)",
              {.type = "NAME"});
  parser->Add("--records", &records_, "with --node: answer with what the ranks recorded (internal)",
              {.needs = "--node"});
}

std::vector<std::string> AttachNodes::NodeArguments(const std::string& node,
                                                    const std::vector<std::string>& options) const {
  std::vector<std::string> words = {remote_rollcall_.empty() ? OwnPath() : remote_rollcall_,
                                    "attach", "--node", node};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

std::optional<std::vector<HostStacks>> AttachNodes::Sample(
    const std::vector<std::string>& options) const {
  return slurm_job_ != 0 ? SampleSlurm(options) : SampleHosts(options);
}

std::optional<std::vector<HostStacks>> AttachNodes::SampleHosts(
    const std::vector<std::string>& options) const {
  std::vector<std::string> nodes;
  std::vector<std::vector<std::string>> commands;
  const std::vector<std::string> rsh = WordsOf(rsh_);
  for (const std::string& host : hosts_) {
    if (!IsHostArgument(host) || rsh.empty()) {
      PrintLine(rsh.empty() ? "--rsh does not name a command"
                            : fmt::format("--hosts: '{}' is not a host", CleanText(host, 256)));
      return std::nullopt;
    }
    const std::string node = host.substr(host.find('@') + 1);  // npos + 1 is 0
    if (std::ranges::find(nodes, node) != nodes.end()) continue;
    std::vector<std::string> command = rsh;
    command.push_back(host);
    command.push_back(QuotedForShell(NodeArguments(node, options)));
    nodes.push_back(node);
    commands.push_back(std::move(command));
  }
  return AnswersOf(commands, nodes, /*shared=*/false);
}

std::optional<std::vector<HostStacks>> AttachNodes::SampleSlurm(
    const std::vector<std::string>& options) const {
  const std::string job = std::to_string(slurm_job_);
  const auto list = LinesOf({"squeue", "--noheader", "--jobs=" + job, "--format=%N"});
  const auto nodes =
      list ? LinesOf({"scontrol", "show", "hostnames", list->front()}) : std::nullopt;
  if (!nodes) {
    PrintLine(fmt::format("the nodes of Slurm's job {} are not known", job));
    return std::nullopt;
  }
  const std::string count = std::to_string(nodes->size());
  std::vector<std::string> command = {"srun",
                                      "--overlap",
                                      "--jobid=" + job,
                                      "--nodes=" + count,
                                      "--ntasks=" + count,
                                      "--ntasks-per-node=1",
                                      "--mpi=none",
                                      "--input=all"};
  // Unset the variables that would make the process look like a rank.
  command.emplace_back("env");
  for (const char* name : {"SLURM_PROCID", "SLURM_NTASKS"}) {
    command.emplace_back("-u");
    command.emplace_back(name);
  }
  std::vector<std::string> words = NodeArguments("slurm", options);
  words.insert(words.end(), {"--slurm", job});
  command.insert(command.end(), words.begin(), words.end());
  return AnswersOf({command}, *nodes, /*shared=*/true);
}

std::vector<HostStacks> AttachNodes::AnswersOf(
    const std::vector<std::vector<std::string>>& commands, const std::vector<std::string>& nodes,
    bool shared) const {
  NodeCommandLimits limits;
  limits.silence = std::chrono::milliseconds(static_cast<int64_t>(timeout_s_ * 1e3));
  if (shared) limits.output_bytes *= nodes.size();
  Answers answers(nodes, limits.silence);
  const std::vector<std::string> failures =
      RunNodeCommands(commands, limits, [&](size_t index, int stream, std::string_view line) {
        const std::string node = shared ? "" : nodes[index];
        if (stream == 1) return answers.Take(node, line);
        answers.TakeError(node, line);
        return false;
      });
  std::vector<HostStacks> hosts;
  for (size_t i = 0; i < nodes.size(); ++i) {
    hosts.push_back(answers.Of(nodes[i], failures[shared ? 0 : i]));
  }
  return hosts;
}

attach::RankFilter AttachNodes::Filter() const {
  // Several Slurm nodes may be on one host.
  const char* node = getenv(kSlurmNode);
  return {.slurm_job = slurm_job_ == 0 ? "" : std::to_string(slurm_job_),
          .slurm_node = node == nullptr ? "" : node};
}

std::string AttachNodes::NodeName() const {
  const char* slurm_node = getenv(kSlurmNode);
  return CleanText(slurm_job_ != 0 && slurm_node != nullptr ? slurm_node : node_, kMaxNodeName);
}

void AttachNodes::WaitForOthers() {
  Print(NodeLine(NodeName(), kWaits, ""));
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  char word = 0;
  together_ = poll(&input, 1, static_cast<int>(std::chrono::milliseconds(kMaxWait).count())) == 1 &&
              read(STDIN_FILENO, &word, 1) == 1;
}

int AttachNodes::Answer(const std::function<HostStacks()>& sample) const {
  const std::string node = NodeName();
  HostStacks stacks;
  {
    const Heartbeat heartbeat(node);
    stacks = sample();
  }
  stacks.host = node;
  if (!together_) {
    // Stacks that are taken at different times show the ranks of a running job in different calls.
    stacks.ranks.clear();
    stacks.absent = "it did not receive the second request: does --rsh pass standard input on?";
  }
  return PrintText(node, attach::WriteStacks(stacks, ROLLCALL_VERSION)) ? kNothingFound : kUsage;
}

}  // namespace rollcall
