// SPDX-License-Identifier: Apache-2.0
#include "tests/swarm/recorded_nodes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "collector/agent/agent.h"
#include "collector/base/file.h"
#include "proto/run_directory.h"
#include "tests/support/fake_transport.h"
#include "tests/support/ring_job_files.h"

namespace rollcall::swarm {
namespace {

using ring_job::RankRing;

constexpr size_t kNodesAtOnce = 64;
constexpr int64_t kSamplePeriodNs = 20'000'000;

}  // namespace

class NodeRecorder::Node {
 public:
  Node(const NodeRecorder& recorder, int32_t node, bool stopped)
      : recorder_(recorder),
        first_(node * recorder.ranks_per_node_),
        end_(std::min(first_ + recorder.ranks_per_node_, recorder.job_.shape().ranks)),
        directory_(fmt::format("{}/{:05}", recorder.directory_, node)) {
    std::filesystem::create_directories(directory_ + "/" + kRingsDirectory);
    WriteRings(stopped);
    agent_ =
        std::make_unique<agent::Agent>(agent::AgentOptions{.run_directory = directory_,
                                                           .host = fmt::format("node{}", node),
                                                           .version = "swarm",
                                                           .sample_period_ns = kSamplePeriodNs},
                                       &transport_);
  }
  ~Node() {
    agent_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Their pages of shared memory are written in place: the agent has them open.
  void WriteRings(bool stopped) const {
    for (int32_t rank = first_; rank < end_; ++rank) {
      const auto bytes = RankRing(recorder_.job_, rank, recorder_.processes_[rank - first_])
                             .Write(stopped ? SIZE_MAX : recorder_.job_.CallsBeforeTheFault());
      const std::string path =
          fmt::format("{}/{}/{:06}{}", directory_, kRingsDirectory, rank, kRingSuffix);
      const UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      if (pwrite(fd.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        throw std::runtime_error("a ring cannot be written");
      }
    }
  }

  void Ask(rpc::SnapshotRequest request) {
    rpc::CollectorMessage message;
    *message.mutable_snapshot() = std::move(request);
    transport_.Ask(std::move(message));
  }
  void Run() {
    agent_->RunOnce(0);
    for (rpc::AgentMessage& message : transport_.Take()) {
      if (message.has_heartbeat()) continue;
      for (const rpc::ProcessDigest& digest : message.digests().processes()) {
        quiet_[digest.id()] = digest.quiet();
      }
      const auto& chunks = message.snapshots().chunks();
      answered_ |= !chunks.empty() && chunks.rbegin()->last();
      shown_errors_.push_back(std::move(message));
    }
  }
  bool KnowsAll() const { return quiet_.size() == static_cast<size_t>(end_ - first_); }
  bool AllQuiet() const {
    return KnowsAll() && std::all_of(quiet_.begin(), quiet_.end(),
                                     [](const auto& entry) { return entry.second; });
  }
  bool answered() const { return answered_; }
  Messages Take() { return std::exchange(shown_errors_, {}); }
  void Stop() {
    WriteRings(/*stopped=*/true);
    for (auto& [id, quiet] : quiet_) quiet = false;
  }

 private:
  const NodeRecorder& recorder_;
  const int32_t first_;
  const int32_t end_;
  const std::string directory_;
  agent::FakeTransport transport_;
  std::unique_ptr<agent::Agent> agent_;
  Messages shown_errors_;
  std::map<uint64_t, bool> quiet_;  // by process, as told last
  bool answered_ = false;
};

void NodeRecorder::RunUntil(std::vector<std::unique_ptr<Node>>* nodes, bool (*done)(const Node&)) {
  for (bool all = false; !all; usleep(1000)) {
    all = true;
    for (const auto& node : *nodes) {
      if (done(*node)) continue;
      node->Run();
      all = false;
    }
  }
}

std::vector<RecordedNode> NodeRecorder::RecordAll() const {
  std::vector<RecordedNode> recorded;
  for (int32_t first = 0; first < nodes(); first += kNodesAtOnce) {
    const int32_t end = std::min(nodes(), first + static_cast<int32_t>(kNodesAtOnce));
    std::vector<std::unique_ptr<Node>> batch;
    for (int32_t node = first; node < end; ++node) {
      batch.push_back(std::make_unique<Node>(*this, node, /*stopped=*/false));
    }
    RunUntil(&batch, [](const Node& node) { return node.KnowsAll(); });
    const size_t at = recorded.size();
    for (const auto& node : batch) {
      recorded.emplace_back().moving = node->Take();
      node->Stop();
    }
    RunUntil(&batch, [](const Node& node) { return node.AllQuiet(); });
    for (size_t i = 0; i < batch.size(); ++i) {
      recorded[at + i].stopped = batch[i]->Take();
      rpc::SnapshotRequest request;
      request.set_newest_records(kBriefRecords);
      request.set_may_compress(true);
      request.set_may_batch(true);
      batch[i]->Ask(request);
    }
    RunUntil(&batch, [](const Node& node) { return node.answered(); });
    for (size_t i = 0; i < batch.size(); ++i) recorded[at + i].brief = batch[i]->Take();
  }
  return recorded;
}

std::vector<Messages> NodeRecorder::Answer(
    const std::vector<std::pair<int32_t, rpc::SnapshotRequest>>& requests) const {
  std::vector<std::unique_ptr<Node>> batch;
  for (const auto& [node, request] : requests) {
    batch.push_back(std::make_unique<Node>(*this, node, /*stopped=*/true));
  }
  RunUntil(&batch, [](const Node& node) { return node.AllQuiet(); });
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i]->Take();
    batch[i]->Ask(requests[i].second);
  }
  RunUntil(&batch, [](const Node& node) { return node.answered(); });
  std::vector<Messages> answers;
  for (const auto& node : batch) answers.push_back(node->Take());
  return answers;
}

}  // namespace rollcall::swarm
