// SPDX-License-Identifier: Apache-2.0
// What the agents of nodes say of a made-up job, as real agents said it once.
#ifndef ROLLCALL_TESTS_SWARM_RECORDED_NODES_H_
#define ROLLCALL_TESTS_SWARM_RECORDED_NODES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/collector.pb.h"
#include "tests/support/ring_job.h"
#include "tests/swarm/sleepers.h"

namespace rollcall::swarm {

using Messages = std::vector<rpc::AgentMessage>;

struct RecordedNode {
  Messages moving;   // from the Hello on, until it has told of all ranks
  Messages stopped;  // what follows when the job stops
  Messages brief;    // the answer to a request for the newest kBriefRecords records of all ranks
};

// Makes each node's ring files below a directory, runs a real agent on them, writes down what it
// says, and removes both. A few nodes at a time, since an agent calls no rank quiet at once. The
// nodes share their ranks' processes.
class NodeRecorder {
 public:
  static constexpr uint64_t kBriefRecords = 4;

  // Before there are threads.
  NodeRecorder(const ring_job::Job& job, int32_t ranks_per_node, std::string directory)
      : job_(job),
        ranks_per_node_(ranks_per_node),
        processes_(ranks_per_node),
        directory_(std::move(directory)) {}

  int32_t nodes() const { return (job_.shape().ranks + ranks_per_node_ - 1) / ranks_per_node_; }
  // Of all nodes.
  std::vector<RecordedNode> RecordAll() const;
  // The answers of these nodes, whose ranks have stopped, each to its request.
  std::vector<Messages> Answer(
      const std::vector<std::pair<int32_t, rpc::SnapshotRequest>>& requests) const;

 private:
  class Node;
  static void RunUntil(std::vector<std::unique_ptr<Node>>* nodes, bool (*done)(const Node&));

  const ring_job::Job& job_;
  const int32_t ranks_per_node_;
  const Sleepers processes_;
  const std::string directory_;
};

}  // namespace rollcall::swarm

#endif  // ROLLCALL_TESTS_SWARM_RECORDED_NODES_H_
