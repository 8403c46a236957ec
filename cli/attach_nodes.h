// `rollcall attach` on several nodes: asks each of them by ssh, or all by srun, and hears the
// answers.
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
  // Adds --hosts, --rsh, --slurm, --remote-rollcall and --node-timeout. This object must stay where
  // it is until `parser` has parsed.
  void AddOptions(ArgumentParser* parser);

  // Ranks elsewhere are asked for.
  bool wanted() const { return !IsNode() && (!hosts_.empty() || slurm_job_ != 0); }
  // This is the process that was started on a node, and answers.
  bool IsNode() const { return !node_.empty(); }
  // In it: what the ranks recorded is asked for, and nothing else.
  bool WantsRecords() const { return records_; }
  // In it: which ranks count.
  attach::RankFilter Filter() const;

  // What the nodes see, in the order of their names as given: each runs `rollcall attach` with
  // `options`. A node that does not answer has `absent`. Says on stderr what the nodes print and
  // what is wrong with their answers. Nothing, after a line on stderr, if nobody can be asked.
  std::optional<std::vector<attach::HostStacks>> Look(
      const std::vector<std::string>& options) const;

  // On a node: prints what `look` sees, and meanwhile signs of life. Returns the exit code.
  int Answer(const std::function<attach::HostStacks()>& look) const;
  // In `look`: returns when all nodes have come as far, or are given up.
  void WaitForOthers();

 private:
  std::string NodeName() const;  // of this node
  std::vector<std::string> NodeWords(const std::string& node,
                                     const std::vector<std::string>& options) const;
  std::optional<std::vector<attach::HostStacks>> LookByHosts(
      const std::vector<std::string>& options) const;
  std::optional<std::vector<attach::HostStacks>> LookBySlurm(
      const std::vector<std::string>& options) const;

  std::vector<std::string> hosts_;
  std::string rsh_ = "ssh -o BatchMode=yes";
  std::string remote_rollcall_;
  uint64_t slurm_job_ = 0;
  double timeout_s_ = 8;
  std::string node_;
  bool records_ = false;
  bool together_ = true;  // on a node: the looks are at the time of the others'
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_ATTACH_NODES_H_
