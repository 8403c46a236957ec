// SPDX-License-Identifier: Apache-2.0
// `rollcall attach` on several nodes: sends a request to each of them by ssh, or to all by srun,
// and reads the answers.
#ifndef ROLLCALL_CLI_ATTACH_NODES_H_
#define ROLLCALL_CLI_ATTACH_NODES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/argument_parser.h"
#include "collector/attach/job_finder.h"
#include "collector/attach/stacks.h"

namespace rollcall {

class AttachNodes {
 public:
  // Adds --hosts, --rsh, --slurm, --remote-rollcall and --node-timeout. This object must not move
  // until `parser` has parsed.
  void AddOptions(ArgumentParser* parser);

  // True if the command line requests ranks on other nodes.
  bool wanted() const { return !IsNode() && (!hosts_.empty() || slurm_job_ != 0); }
  // True if this process runs on a node and answers the rollcall that started it.
  bool IsNode() const { return !node_.empty(); }
  // On a node: whether only the ranks' records are requested.
  bool WantsRecords() const { return records_; }
  // On a node: the ranks that are requested.
  attach::RankFilter Filter() const;

  // Returns the stacks of the nodes, in the order in which the nodes were given. Each node runs
  // `rollcall attach` with `options`. A node that does not answer has `absent` set. Prints on
  // stderr the nodes' messages and the problems of their answers. Empty, after a line on stderr, if
  // no node can be reached.
  std::optional<std::vector<attach::HostStacks>> Sample(
      const std::vector<std::string>& options) const;

  // On a node: prints the result of `sample`, and signs of life while it runs. Returns the exit
  // code.
  int Answer(const std::function<attach::HostStacks()>& sample) const;
  // Called in `sample`: returns when all nodes have called it, or are given up.
  void WaitForOthers();

 private:
  std::string NodeName() const;  // the name of this node
  std::vector<std::string> NodeArguments(const std::string& node,
                                         const std::vector<std::string>& options) const;
  std::optional<std::vector<attach::HostStacks>> SampleHosts(
      const std::vector<std::string>& options) const;
  std::optional<std::vector<attach::HostStacks>> SampleSlurm(
      const std::vector<std::string>& options) const;
  // Runs a command for each node, or one that is `shared` by all, and reads what they print.
  std::vector<attach::HostStacks> AnswersOf(const std::vector<std::vector<std::string>>& commands,
                                            const std::vector<std::string>& nodes,
                                            bool shared) const;

  std::vector<std::string> hosts_;
  std::string rsh_ = "ssh -o BatchMode=yes";
  std::string remote_rollcall_;
  uint64_t slurm_job_ = 0;
  double timeout_s_ = 8;
  std::string node_;
  bool records_ = false;
  bool together_ = true;  // on a node: the samples are synchronized with the other nodes
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_ATTACH_NODES_H_
