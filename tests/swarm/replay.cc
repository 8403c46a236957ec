// SPDX-License-Identifier: Apache-2.0
// A load generator for the collector at sizes for which one machine has no room: what the agents of
// a made-up job (tests/support/ring_job.h) say is recorded from real agents, a few nodes at a time,
// and then said again by as many connections as the job would have aggregators, 64 agents each. The
// job stops with a planted fault: the time from there to the verdict is that of the collector, a
// `rollcall collector` of its own process, beside a generator that only sends.
//
//   replay --rollcall FILE [--ranks N] [--ranks-per-node N] [--records N] [--fault NAME]
//          [--compare FILE] [--times N] [--scrapes N]
//
// Simulated are the ranks' calls, the agents' work when the job stops, and the network. Requests
// for whole rings are answered by real agents.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/agent/grpc_transport.h"
#include "collector/base/clock.h"
#include "collector/base/file.h"
#include "collector/service/aggregator_tree.h"
#include "tests/support/ring_job_verdict.h"
#include "tests/swarm/collector_process.h"
#include "tests/swarm/load_generator.h"
#include "tests/swarm/recorded_nodes.h"

namespace rollcall::swarm {
namespace {

constexpr int64_t kHeartbeatNs = 1'000'000'000;
constexpr size_t kMessageBytes = 1 << 20;

// A connection to the collector: the first of its nodes is the aggregator of the others.
class Aggregator {
 public:
  Aggregator(const Collector& collector, const std::vector<RecordedNode>& nodes, int32_t first,
             int32_t end)
      : nodes_(nodes),
        first_(first),
        end_(end),
        transport_(agent::ConnectToCollector(collector.address(), collector.token())) {}

  bool connected() const { return transport_->connection() != 0; }
  std::vector<rpc::CollectorMessage> Receive() const { return transport_->Receive(); }

  void Say(Messages RecordedNode::*what) {
    for (int32_t node = first_; node < end_; ++node) {
      for (const rpc::AgentMessage& message : nodes_[static_cast<size_t>(node)].*what) {
        Add(node, message);
      }
    }
    Flush();
  }
  // The recorded answer of a node, or one of its own.
  void Answer(int32_t node, uint64_t request, const Messages& messages) {
    for (rpc::AgentMessage message : messages) {
      if (message.has_snapshots()) {
        for (rpc::SnapshotChunk& chunk : *message.mutable_snapshots()->mutable_chunks()) {
          chunk.set_request(request);
        }
      }
      Add(node, std::move(message));
    }
    Flush();
  }
  void Beat() {
    rpc::AgentMessage message;
    message.mutable_heartbeat()->set_monotonic_ns(Now(CLOCK_MONOTONIC));
    for (int32_t node = first_; node < end_; ++node) Add(node, message);
    Flush();
  }
  void Send(int32_t node, rpc::AgentMessage message) {
    Add(node, std::move(message));
    Flush();
  }
  // Of a message to one of its agents; 0: to itself.
  int32_t NodeOf(uint64_t agent) const { return first_ + static_cast<int32_t>(agent); }

 private:
  void Add(int32_t node, rpc::AgentMessage message) {
    if (node == first_) {
      transport_->Send(transport_->connection(), std::move(message));
      return;
    }
    queued_bytes_ += message.ByteSizeLong();
    rpc::FromAgent* from = queued_.mutable_from_agents()->add_messages();
    from->set_agent(static_cast<uint64_t>(node - first_));
    *from->mutable_message() = std::move(message);
    if (queued_bytes_ > kMessageBytes) Flush();
  }
  void Flush() {
    if (queued_bytes_ == 0) return;
    while (!transport_->HasRoom()) usleep(500);
    transport_->Send(transport_->connection(), std::exchange(queued_, {}));
    queued_bytes_ = 0;
  }

  const std::vector<RecordedNode>& nodes_;
  const int32_t first_;
  const int32_t end_;
  const std::unique_ptr<agent::Transport> transport_;
  rpc::AgentMessage queued_;
  size_t queued_bytes_ = 0;
};

class Replay {
 public:
  Replay(const NodeRecorder& recorder, const std::vector<RecordedNode>& nodes,
         const Collector& collector)
      : recorder_(recorder), nodes_(nodes) {
    constexpr auto kNodes = static_cast<int32_t>(service::AggregatorTree::kFanOut + 1);
    const auto count = static_cast<int32_t>(nodes.size());
    for (int32_t first = 0; first < count; first += kNodes) {
      const int32_t end = std::min(count, first + kNodes);
      aggregators_.push_back(std::make_unique<Aggregator>(collector, nodes, first, end));
      aggregator_of_.resize(static_cast<size_t>(end), aggregators_.back().get());
    }
  }

  bool connected() const {
    return std::all_of(aggregators_.begin(), aggregators_.end(),
                       [](const auto& aggregator) { return aggregator->connected(); });
  }
  size_t connections() const { return aggregators_.size(); }
  void Say(Messages RecordedNode::*what) {
    for (const auto& aggregator : aggregators_) aggregator->Say(what);
  }
  // Answers what was asked, and lets nobody seem lost.
  void RunOnce() {
    if (Now(CLOCK_MONOTONIC) >= next_beat_ns_) {
      next_beat_ns_ = Now(CLOCK_MONOTONIC) + kHeartbeatNs;
      for (const auto& aggregator : aggregators_) aggregator->Beat();
    }
    std::vector<std::pair<int32_t, rpc::SnapshotRequest>> rare;
    for (const auto& aggregator : aggregators_) {
      for (const rpc::CollectorMessage& message : aggregator->Receive()) {
        const bool relayed = message.has_to_agent();
        Handle(aggregator.get(), aggregator->NodeOf(relayed ? message.to_agent().agent() : 0),
               relayed ? message.to_agent().message() : message, &rare);
      }
    }
    if (rare.empty()) {
      usleep(1000);
      return;
    }
    const std::vector<Messages> answers = recorder_.Answer(rare);
    for (size_t i = 0; i < rare.size(); ++i) {
      const auto& [node, request] = rare[i];
      aggregator_of_[static_cast<size_t>(node)]->Answer(node, request.request(), answers[i]);
    }
  }

 private:
  void Handle(Aggregator* aggregator, int32_t node, const rpc::CollectorMessage& message,
              std::vector<std::pair<int32_t, rpc::SnapshotRequest>>* rare) {
    if (message.has_snapshot()) {
      const rpc::SnapshotRequest& request = message.snapshot();
      if (request.ids().empty() && request.newest_records() == NodeRecorder::kBriefRecords) {
        aggregator->Answer(node, request.request(), nodes_[static_cast<size_t>(node)].brief);
      } else {
        rare->emplace_back(node, request);
      }
    } else if (message.has_symbols()) {
      rpc::AgentMessage answer;
      answer.mutable_symbols()->set_request(message.symbols().request());
      aggregator->Send(node, std::move(answer));
    } else if (message.has_live_stack()) {
      rpc::AgentMessage answer;
      answer.mutable_live_stacks()->set_request(message.live_stack().request());
      answer.mutable_live_stacks()->set_id(message.live_stack().id());
      aggregator->Send(node, std::move(answer));
    }
  }

  const NodeRecorder& recorder_;
  const std::vector<RecordedNode>& nodes_;
  std::vector<std::unique_ptr<Aggregator>> aggregators_;
  std::vector<Aggregator*> aggregator_of_;  // by node
  int64_t next_beat_ns_ = 0;
};

struct ReplayOptions : JobOptions {
  std::string compare = {};
  int times = 1;
  int scrapes = -1;
};

// The bytes of an answer to a request for /metrics.
size_t Scrape(uint16_t port) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr std::string_view kRequest =
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      write(fd.get(), kRequest.data(), kRequest.size()) != ssize_t{kRequest.size()}) {
    throw std::runtime_error("no metrics");
  }
  size_t bytes = 0;
  std::array<char, 1 << 16> buffer;
  for (ssize_t got; (got = read(fd.get(), buffer.data(), buffer.size())) > 0;) {
    bytes += static_cast<size_t>(got);
  }
  return bytes;
}

// What metrics cost while all ranks stand still: to renew them, and to ask for them.
void MeasureMetrics(int scrapes, const std::string& words, const Collector& collector,
                    const std::function<void()>& run_once) {
  constexpr int64_t kStillNs = 20'000'000'000;
  const double idle_cpu = collector.CpuSeconds();
  for (const int64_t until = Now(CLOCK_MONOTONIC) + kStillNs; Now(CLOCK_MONOTONIC) < until;) {
    run_once();
  }
  fmt::print("        {:.1f} ms CPU a second while all stand still",
             (collector.CpuSeconds() - idle_cpu) * 1e3 / Seconds(kStillNs));
  constexpr std::string_view kBegin = "metrics: http://127.0.0.1:";
  const std::string said = ReadFile(words);
  const size_t at = said.rfind(kBegin);
  if (scrapes > 0 && at != std::string::npos) {
    const auto port = static_cast<uint16_t>(std::stoi(said.substr(at + kBegin.size())));
    const double cpu = collector.CpuSeconds();
    const int64_t begin = Now(CLOCK_MONOTONIC);
    size_t bytes = 0;
    for (int i = 0; i < scrapes; ++i) bytes = Scrape(port);
    fmt::print(", {} scrapes of {} bytes: {:.2f} ms, {:.2f} ms CPU each", scrapes, bytes,
               Seconds(Now(CLOCK_MONOTONIC) - begin) * 1e3 / scrapes,
               (collector.CpuSeconds() - cpu) * 1e3 / scrapes);
  }
  fmt::print("\n");
}

// Whether the verdict is right.
bool Load(const ReplayOptions& options, const ring_job::Job& job, const std::string& root,
          const NodeRecorder& recorder, const std::vector<RecordedNode>& nodes) {
  const std::string report = root + "/report.json";
  std::filesystem::remove(report);
  std::vector<std::string> arguments;
  if (options.scrapes > 0) arguments = {"--metrics", "127.0.0.1:0"};
  Collector collector(options.rollcall, report, root + "/words", arguments);
  Replay replay(recorder, nodes, collector);
  while (!replay.connected()) usleep(10'000);
  replay.Say(&RecordedNode::moving);
  // Until the collector has dealt with it.
  constexpr int64_t kMovesNs = 5'000'000'000;
  for (const int64_t until = Now(CLOCK_MONOTONIC) + kMovesNs; Now(CLOCK_MONOTONIC) < until;) {
    replay.RunOnce();
  }
  const double cpu = collector.CpuSeconds();
  const double own_cpu = CpuSecondsOf(getpid());
  const int64_t bytes = LoopbackBytes();
  const int64_t begin = Now(CLOCK_MONOTONIC);
  replay.Say(&RecordedNode::stopped);
  std::string said;
  const int64_t until = begin + options.patience_s * int64_t{1'000'000'000};
  while (said.empty() && Now(CLOCK_MONOTONIC) < until) {
    replay.RunOnce();
    said = collector.Said();
  }
  fmt::print(
      "{:>7} {:>6} {:>4} connections {:>9} {:>7.2f} s {:>8.1f} MB {:>7.2f} s CPU {:>7.0f} MB "
      "memory, generator {:.2f} s CPU  {}\n",
      options.ranks, nodes.size(), replay.connections(), options.fault,
      Seconds(Now(CLOCK_MONOTONIC) - begin), static_cast<double>(LoopbackBytes() - bytes) * 1e-6,
      collector.CpuSeconds() - cpu, collector.PeakMb(), CpuSecondsOf(getpid()) - own_cpu,
      said.empty() ? "no verdict" : said);
  if (options.scrapes >= 0) {
    MeasureMetrics(options.scrapes, root + "/words", collector, [&] { replay.RunOnce(); });
  }
  fflush(stdout);
  return said.find(" " + FoldRanks(job.Culprits()) + ",") != std::string::npos;
}

int Run(ReplayOptions options) {
  const ring_job::Job job({options.ranks, options.records, FaultOf(options.fault)});
  const ScratchDirectory directory;
  const NodeRecorder recorder(job, options.ranks_per_node, directory.path());
  const std::vector<RecordedNode> nodes = recorder.RecordAll();
  const std::string rollcall = options.rollcall;
  bool right = true;
  for (int i = 0; i < options.times; ++i) {
    for (const std::string& command : {rollcall, options.compare}) {
      if (command.empty()) continue;
      options.rollcall = command;
      right &= Load(options, job, directory.path(), recorder, nodes);
    }
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace rollcall::swarm

int main(int argc, char** argv) {
  rollcall::swarm::ReplayOptions options{{.ranks = 16384, .records = 200}};
  CLI::App app("Loads a collector with what agents of a very large job said.", "replay");
  options.AddTo(&app);
  app.add_option("--compare", options.compare, "another rollcall command, loaded likewise in turn");
  app.add_option("--times", options.times, "how often each is loaded");
  app.add_option("--scrapes", options.scrapes,
                 "ask for metrics so often, and measure what they cost; 0: what no metrics cost");
  CLI11_PARSE(app, argc, argv);
  return rollcall::swarm::RunGenerator("replay", [&] { return rollcall::swarm::Run(options); });
}
