// SPDX-License-Identifier: Apache-2.0
// A load generator for the collector: as many agents as a large job has nodes, each with its own
// connection over loopback, and rings of a made-up job (tests/support/ring_job.h) that stops with a
// planted fault, or that moves. Prints what the collector, a `rollcall collector` of its own
// process, took: time from the stop to the verdict, CPU time, memory, and bytes that travelled. The
// job moves until its agents know all ranks; the time begins when the first rank stops.
//
//   swarm --rollcall FILE [--ranks N] [--ranks-per-node N] [--records N] [--fault NAME]
//         [--moving SECONDS] [--sample-period MS] [--kill collector|agents|both --moving SECONDS]
//         [--direct-agents N]
//
// With --direct-agents all others attach to some of these, the aggregators (docs/measurements).
// With --kill these are killed and replaced every --kill-every seconds while the job moves. Nobody
// may say a word then, and the job stops right after the last kill.
//
// The agents are spread over as many processes as their descriptors need: of each rank an agent
// holds the ring and a pidfd. Each rank is a process that sleeps: its ring is what a shim would
// have left. What is simulated: that the ranks' calls happened, and that the nodes are several
// machines. Here all agents share the processors: --sample-period makes them look more rarely than
// every 100 ms, as real agents do.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "collector/agent/agent.h"
#include "collector/agent/grpc_transport.h"
#include "collector/aggregate/aggregating_transport.h"
#include "collector/base/clock.h"
#include "collector/base/file.h"
#include "tests/support/ring_job_files.h"
#include "tests/support/ring_job_verdict.h"
#include "tests/swarm/collector_process.h"
#include "tests/swarm/load_generator.h"
#include "tests/swarm/sleepers.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;
using namespace ring_job;
using namespace swarm;

struct Options : JobOptions {
  int moving_s = 0;
  int sample_period_ms = 100;
  std::string kill = {};  // "collector", "agents" or "both": while the job moves
  double kill_every_s = 5;
  uint64_t direct_agents = 0;  // 0: the collector's own default
};

// One node: its run directory, its agent and the thread that runs it.
class Node {
 public:
  Node(const std::string& directory, std::string host, const Collector& collector,
       int64_t sample_period_ns)
      : directory_(directory),
        transport_(agent::ConnectToCollector(collector.address(), collector.token()),
                   collector.address(), collector.token()),
        agent_({.run_directory = directory,
                .host = std::move(host),
                .version = "swarm",
                .sample_period_ns = sample_period_ns},
               &transport_),
        thread_([this] {
          while (!stop_) agent_.RunOnce(1000);
        }) {}
  ~Node() {
    stop_ = true;
    agent_.Wake();
    thread_.join();
  }
  bool connected() const { return transport_.connection() != 0; }

 private:
  const std::string directory_;
  aggregate::AggregatingTransport transport_;
  agent::Agent agent_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// Nodes `first` to `end`, without it, in a process of their own that lives as long as this object.
class NodeProcess {
 public:
  using MakeNode = std::function<std::unique_ptr<Node>(int32_t node)>;
  NodeProcess(int32_t first, int32_t end, MakeNode make)
      : first_(first), end_(end), make_(std::move(make)) {
    Start();
  }
  ~NodeProcess() { End(); }
  void Replace() {
    End();
    Start();
  }
  double CpuSeconds() const { return CpuSecondsOf(pid_); }
  void WaitUntilConnected() const {
    pollfd entry{ready_.get(), POLLIN, 0};
    char byte;
    if (poll(&entry, 1, kConnectMs) != 1 || read(ready_.get(), &byte, 1) != 1) {
      throw std::runtime_error("agents do not connect");
    }
  }

 private:
  static constexpr int kConnectMs = 60'000;

  void Start() {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ends[0]);
      std::vector<std::unique_ptr<Node>> nodes;
      for (int32_t node = first_; node < end_; ++node) nodes.push_back(make_(node));
      while (!std::all_of(nodes.begin(), nodes.end(),
                          [](const auto& node) { return node->connected(); })) {
        usleep(10'000);
      }
      if (write(ends[1], "", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ends[1]);
    ready_ = UniqueFd(ends[0]);
  }
  void End() const {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  const int32_t first_;
  const int32_t end_;
  const MakeNode make_;
  pid_t pid_ = -1;
  UniqueFd ready_;
};

class Swarm {
 public:
  explicit Swarm(const Options& options)
      : options_(options),
        job_({options.ranks, options.records,
              options.moving_s > 0 && options.kill.empty() ? Fault::kNone
                                                           : FaultOf(options.fault)}) {}

  int Run() {
    const Sleepers sleepers(options_.ranks);
    std::vector<std::string> direct;
    if (options_.direct_agents != 0) {
      direct = {"--direct-agents", std::to_string(options_.direct_agents)};
    }
    collector_ = std::make_unique<Collector>(options_.rollcall, report(), words(), direct);
    for (int32_t node = 0; node < Nodes(); ++node) {
      fs::create_directories(Directory(node) + "/" + kRingsDirectory);
    }
    const auto make = [this](int32_t node) {
      rings_.clear();  // in the agents' process: they need the descriptors
      return std::make_unique<Node>(Directory(node), fmt::format("node{}", node), *collector_,
                                    options_.sample_period_ms * int64_t{1'000'000});
    };
    for (int32_t first = 0; first < Nodes(); first += NodesPerProcess()) {
      const int32_t end = std::min(Nodes(), first + NodesPerProcess());
      agents_.push_back(std::make_unique<NodeProcess>(first, end, make));
    }
    for (const auto& agents : agents_) agents->WaitUntilConnected();
    WriteRings(sleepers);
    return options_.moving_s > 0 && options_.kill.empty() ? Move() : Hang(sleepers);
  }

 private:
  int32_t Nodes() const {
    return (options_.ranks + options_.ranks_per_node - 1) / options_.ranks_per_node;
  }
  // An agent has about 16 descriptors besides those of its ranks. A process is killed as a whole:
  // not more than an eighth of all agents are to end at once.
  int32_t NodesPerProcess() const {
    const int32_t each = 16 + 2 * options_.ranks_per_node;
    const int32_t most = std::max(1, static_cast<int32_t>(sysconf(_SC_OPEN_MAX)) / 2 / each);
    return options_.kill.empty() ? most : std::min(most, (Nodes() + 7) / 8);
  }
  std::string Directory(int32_t node) const { return fmt::format("{}/{:05}", root_.path(), node); }
  std::string report() const { return root_.path() + "/report.json"; }
  std::string words() const { return root_.path() + "/words"; }
  std::string Ring(int32_t rank) const {
    return fmt::format("{}/{}/{:06}{}", Directory(rank / options_.ranks_per_node), kRingsDirectory,
                       rank, kRingSuffix);
  }

  // As they are while the job moves, and what changes in each when it stops.
  void WriteRings(const Sleepers& sleepers) {
    for (int32_t rank = 0; rank < options_.ranks; ++rank) {
      const RingFileBuilder::Bytes moving =
          RankRing(job_, rank, sleepers[rank]).Write(job_.CallsBeforeTheFault());
      const int fd = open(Ring(rank).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      rings_.emplace_back(fd);
      WriteAt(fd, moving.data(), moving.size(), 0);
      ring::FileHeader header;
      std::memcpy(&header, moving.data(), sizeof(header));
      for (const ring::Section& section : header.sections) {
        if (section.kind != static_cast<uint32_t>(ring::SectionKind::kThreads)) continue;
        calls_at_ = section.offset + offsetof(ring::ThreadEntry, calls_ended);
      }
      std::memcpy(&calls_.emplace_back(), moving.data() + calls_at_, sizeof(uint64_t));
      if (job_.shape().fault != Fault::kNone) {
        AddChanges(moving, RankRing(job_, rank, sleepers[rank]).Write());
      }
    }
  }
  static void WriteAt(int fd, const void* bytes, size_t size, size_t at) {
    if (pwrite(fd, bytes, size, static_cast<off_t>(at)) != static_cast<ssize_t>(size)) {
      throw std::runtime_error("a ring cannot be written");
    }
  }

  // Blocks of a ring that are not the same.
  void AddChanges(const RingFileBuilder::Bytes& before, const RingFileBuilder::Bytes& after) {
    if (before.size() != after.size()) throw std::runtime_error("rings of different sizes");
    changes_.emplace_back();
    for (size_t at = 0; at < after.size(); at += kBlockBytes) {
      const size_t size = std::min(kBlockBytes, after.size() - at);
      if (std::memcmp(&before[at], &after[at], size) == 0) continue;
      const auto begin = after.begin() + static_cast<ptrdiff_t>(at);
      changes_.back().push_back({at, {begin, begin + static_cast<ptrdiff_t>(size)}});
    }
  }

  // Every rank makes calls, so often that no sample finds it still.
  void Step(double seconds) {
    const int64_t until = Now(CLOCK_MONOTONIC) + static_cast<int64_t>(seconds * 1e9);
    while (Now(CLOCK_MONOTONIC) < until) {
      for (size_t rank = 0; rank < rings_.size(); ++rank) {
        ++calls_[rank];
        WriteAt(rings_[rank].get(), &calls_[rank], sizeof(uint64_t), calls_at_);
      }
      usleep(static_cast<useconds_t>(400 * options_.sample_period_ms));
    }
  }
  void Stop() {
    for (size_t rank = 0; rank < rings_.size(); ++rank) {
      for (const Block& block : changes_[rank]) {
        WriteAt(rings_[rank].get(), block.bytes.data(), block.bytes.size(), block.at);
      }
    }
  }

  // While the job moves. The collector and one process of agents in turn, or only one of the two.
  void KillAgainAndAgain() {
    size_t kills = 0;
    for (const int64_t until = Now(CLOCK_MONOTONIC) + options_.moving_s * int64_t{1'000'000'000};
         Now(CLOCK_MONOTONIC) < until; ++kills) {
      Step(options_.kill_every_s);
      const bool agents = options_.kill == "agents" || (options_.kill == "both" && kills % 2 == 1);
      if (agents) {
        agents_[kills / 2 % agents_.size()]->Replace();
      } else {
        collector_->Replace();
      }
    }
    fmt::print("        {} kills, {} bytes of words meanwhile\n", kills, ReadFile(words()).size());
    if (!ReadFile(words()).empty()) fmt::print("{}\n", ReadFile(words()));
  }

  int Hang(const Sleepers& sleepers) {
    Step(kMovesFirstS + options_.ranks * kMovesFirstSPerRank);
    if (!options_.kill.empty()) KillAgainAndAgain();
    const bool quiet = ReadFile(words()).empty();
    const double cpu = collector_->CpuSeconds();
    const double agents_cpu = AgentsCpuSeconds();
    const int64_t bytes = LoopbackBytes();
    const int64_t begin = Now(CLOCK_MONOTONIC);
    Stop();
    if (job_.shape().fault == Fault::kExited) {
      usleep(300'000);
      for (const int32_t rank : job_.Culprits()) {
        kill(static_cast<pid_t>(sleepers[rank].pid), SIGKILL);
      }
    }
    std::string said;
    const int64_t until = begin + options_.patience_s * int64_t{1'000'000'000};
    while (said.empty() && Now(CLOCK_MONOTONIC) < until) {
      usleep(5'000);
      said = collector_->Said();
    }
    const int64_t end = Now(CLOCK_MONOTONIC);
    const std::string culprits = FoldRanks(job_.Culprits());
    fmt::print(
        "{:>7} {:>6} {:>9} {:>7.2f} s {:>8.1f} MB {:>7.2f} s CPU {:>7.0f} MB memory, agents {:.2f} "
        "s "
        "CPU  {}\n",
        options_.ranks, Nodes(), options_.fault, Seconds(end - begin),
        static_cast<double>(LoopbackBytes() - bytes) * 1e-6, collector_->CpuSeconds() - cpu,
        collector_->PeakMb(), AgentsCpuSeconds() - agents_cpu, said.empty() ? "no verdict" : said);
    // Those that were killed come back to the collector first.
    const bool relayed = options_.direct_agents == 0 || !options_.kill.empty() ||
                         collector_->DirectAgents() <= static_cast<int>(options_.direct_agents);
    if (!relayed) fmt::print("        {} agents are direct\n", collector_->DirectAgents());
    const bool noted = !said.empty() && SaysWhatItRestsOn();
    if (!said.empty() && !noted) {
      fmt::print("        the report does not say that only the newest records were read:\n{}\n",
                 ReadFile(report()));
    }
    const bool right = said.find(" " + culprits + ",") != std::string::npos;
    if (!said.empty() && !right) {
      fmt::print("        it does not name {}:\n{}\n", culprits, ReadFile(report()));
    }
    return quiet && noted && relayed && right ? 0 : 1;
  }

  double AgentsCpuSeconds() const {
    double seconds = 0;
    for (const auto& agents : agents_) seconds += agents->CpuSeconds();
    return seconds;
  }

  int Move() {
    Step(kMovesFirstS);
    const double cpu = collector_->CpuSeconds();
    const double agents_cpu = AgentsCpuSeconds();
    const int64_t bytes = LoopbackBytes();
    const int64_t begin = Now(CLOCK_MONOTONIC);
    Step(options_.moving_s);
    const double seconds = Seconds(Now(CLOCK_MONOTONIC) - begin);
    const double sent = static_cast<double>(LoopbackBytes() - bytes);
    fmt::print(
        "{:>7} {:>6}    moving {:>7.0f} B per rank and s {:>7.1f} % of a core "
        "{:>7.0f} MB memory, agents {:.3f} % of a core per rank  {}\n",
        options_.ranks, Nodes(), sent / seconds / options_.ranks,
        100 * (collector_->CpuSeconds() - cpu) / seconds, collector_->PeakMb(),
        100 * (AgentsCpuSeconds() - agents_cpu) / seconds / options_.ranks,
        collector_->Said().empty() ? "nothing said" : collector_->Said());
    return collector_->Said().empty() ? 0 : 1;
  }

  bool SaysWhatItRestsOn() const {
    const auto notes =
        nlohmann::json::parse(ReadFile(report())).value("notes", nlohmann::json::array());
    return std::any_of(notes.begin(), notes.end(), [](const nlohmann::json& note) {
      return note.get<std::string>().find("the newest") != std::string::npos;
    });
  }

  // Before the job stops it moves for so long that the agents find all rings.
  static constexpr double kMovesFirstS = 3;
  static constexpr double kMovesFirstSPerRank = 1e-3;
  static constexpr size_t kBlockBytes = 4096;
  struct Block {
    size_t at;
    RingFileBuilder::Bytes bytes;
  };

  const Options options_;
  const Job job_;
  const ScratchDirectory root_;              // outlives those below, which write there
  std::vector<UniqueFd> rings_;              // by rank
  std::vector<uint64_t> calls_;              // by rank: calls ended
  uint64_t calls_at_ = 0;                    // in each ring
  std::vector<std::vector<Block>> changes_;  // by rank
  std::unique_ptr<Collector> collector_;
  std::vector<std::unique_ptr<NodeProcess>> agents_;
};

}  // namespace
}  // namespace rollcall

int main(int argc, char** argv) {
  rollcall::Options options{{.ranks = 1024, .records = 2000}};
  CLI::App app("Loads a collector with the agents of a large job.", "swarm");
  options.AddTo(&app);
  app.add_option("--moving", options.moving_s, "seconds: the job moves instead");
  app.add_option("--sample-period", options.sample_period_ms,
                 "milliseconds between looks of agents");
  app.add_option("--direct-agents", options.direct_agents,
                 "agents that attach to the collector itself");
  app.add_option("--kill", options.kill, "collector, agents or both, while the job moves");
  app.add_option("--kill-every", options.kill_every_s, "seconds");
  CLI11_PARSE(app, argc, argv);
  return rollcall::swarm::RunGenerator("swarm", [&] { return rollcall::Swarm(options).Run(); });
}
