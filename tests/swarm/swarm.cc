// A load generator for the collector: as many agents as a large job has nodes, each with its own
// connection over loopback, and rings of a made-up job (tests/support/ring_job.h) that stops with a
// planted fault, or that moves. Prints what the collector, a `rollcall collector` of its own
// process, took: time from the stop to the verdict, CPU time, memory, and bytes that travelled.
//
//   swarm --rollcall FILE [--ranks N] [--ranks-per-node N] [--records N] [--fault NAME]
//         [--moving SECONDS] [--sample-period MS]
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
#include "collector/base/clock.h"
#include "collector/base/file.h"
#include "collector/base/proc_stat.h"
#include "collector/service/grpc_server.h"
#include "proto/environment.h"
#include "tests/support/ring_job_files.h"
#include "tests/support/ring_job_verdict.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;
using namespace ring_job;

struct Options {
  std::string rollcall;
  int32_t ranks = 1024;
  int32_t ranks_per_node = 8;
  uint32_t records = 2000;
  std::string fault = "skipped";
  int moving_s = 0;
  int patience_s = 100;
  int sample_period_ms = 100;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

int64_t LoopbackBytes() { return std::stoll(ReadFile("/sys/class/net/lo/statistics/rx_bytes")); }

// Processes that stand for ranks; the last one ends them all.
class Sleepers {
 public:
  explicit Sleepers(int32_t count) {
    const pid_t parent = getpid();
    for (int32_t i = 0; i < count; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(0);
        for (;;) pause();
      }
      if (pid < 0) throw std::runtime_error("fork");
      const std::string stat = ReadFile(fmt::format("/proc/{}/stat", pid));
      processes_.push_back({static_cast<uint32_t>(pid), ProcStatStartTicks(stat)});
    }
  }
  ~Sleepers() {
    for (const RankProcess& process : processes_) kill(static_cast<pid_t>(process.pid), SIGKILL);
    for (const RankProcess& process : processes_) {
      waitpid(static_cast<pid_t>(process.pid), nullptr, 0);
    }
  }
  const RankProcess& operator[](int32_t rank) const {
    return processes_[static_cast<size_t>(rank)];
  }

 private:
  std::vector<RankProcess> processes_;
};

// `rollcall collector`, and what it has taken so far.
class Collector {
 public:
  Collector(const std::string& rollcall, const std::string& report) {
    int out[2];
    if (pipe(out) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      close(out[0]);
      close(out[1]);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execl(rollcall.c_str(), "rollcall", "collector", "--listen", "127.0.0.1:0", "--output",
            ("json=" + report).c_str(), nullptr);
      _exit(127);
    }
    close(out[1]);
    FILE* lines = fdopen(out[0], "r");
    char line[512];
    const std::string address = std::string(env::kCollector) + "=";
    const std::string token = std::string(env::kToken) + "=";
    while ((address_.empty() || token_.empty()) && fgets(line, sizeof(line), lines) != nullptr) {
      std::string text = line;
      text.erase(text.find_last_not_of("\r\n") + 1);
      if (text.starts_with(address)) address_ = text.substr(address.size());
      if (text.starts_with(token)) token_ = text.substr(token.size());
    }
    fclose(lines);
    if (address_.empty()) throw std::runtime_error("no collector");
  }
  ~Collector() {
    kill(pid_, SIGINT);
    waitpid(pid_, nullptr, 0);
  }
  const std::string& address() const { return address_; }
  const std::string& token() const { return token_; }
  double CpuSeconds() const {
    const std::string stat = ReadFile(fmt::format("/proc/{}/stat", pid_));
    double ticks = 0;  // in user mode and in the kernel
    for (const int field : {14, 15}) ticks += std::stod(std::string(ProcStatField(stat, field)));
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  double PeakMb() const {
    const std::string status = ReadFile(fmt::format("/proc/{}/status", pid_));
    const size_t at = status.find("VmHWM:");
    return at == std::string::npos ? 0 : std::stod(status.substr(at + 6)) / 1024;
  }

 private:
  pid_t pid_ = -1;
  std::string address_;
  std::string token_;
};

// One node: its run directory, its agent and the thread that runs it.
class Node {
 public:
  Node(const std::string& directory, std::string host, const Collector& collector,
       int64_t sample_period_ns)
      : directory_(directory),
        transport_(agent::ConnectToCollector(collector.address(), collector.token())),
        agent_({.run_directory = directory,
                .host = std::move(host),
                .version = "swarm",
                .sample_period_ns = sample_period_ns},
               transport_.get()),
        thread_([this] {
          while (!stop_) agent_.RunOnce(1000);
        }) {}
  ~Node() {
    stop_ = true;
    agent_.Wake();
    thread_.join();
  }
  bool connected() const { return transport_->connection() != 0; }

 private:
  const std::string directory_;
  std::unique_ptr<agent::Transport> transport_;
  agent::Agent agent_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// Nodes `first` to `end`, without it, in a process of their own that lives as long as this object.
class NodeProcess {
 public:
  using MakeNode = std::function<std::unique_ptr<Node>(int32_t node)>;
  NodeProcess(int32_t first, int32_t end, const MakeNode& make) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ends[0]);
      std::vector<std::unique_ptr<Node>> nodes;
      for (int32_t node = first; node < end; ++node) nodes.push_back(make(node));
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
  ~NodeProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  void WaitUntilConnected() const {
    pollfd entry{ready_.get(), POLLIN, 0};
    char byte;
    if (poll(&entry, 1, kConnectMs) != 1 || read(ready_.get(), &byte, 1) != 1) {
      throw std::runtime_error("agents do not connect");
    }
  }

 private:
  static constexpr int kConnectMs = 60'000;
  pid_t pid_ = -1;
  UniqueFd ready_;
};

class Swarm {
 public:
  explicit Swarm(const Options& options)
      : options_(options),
        job_({options.ranks, options.records,
              options.moving_s > 0 ? Fault::kNone : FaultOf(options.fault)}),
        root_((fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
              "rollcall-swarm-XXXXXX") {
    if (mkdtemp(root_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  }
  ~Swarm() {
    agents_.clear();
    collector_.reset();  // it writes there
    fs::remove_all(root_);
  }

  int Run() {
    const Sleepers sleepers(options_.ranks);  // before there are threads
    collector_ = std::make_unique<Collector>(options_.rollcall, report());
    WriteRings(sleepers);
    const auto make = [this](int32_t node) {
      return std::make_unique<Node>(Directory(node), fmt::format("node{}", node), *collector_,
                                    options_.sample_period_ms * int64_t{1'000'000});
    };
    for (int32_t first = 0; first < Nodes(); first += NodesPerProcess()) {
      const int32_t end = std::min(Nodes(), first + NodesPerProcess());
      agents_.push_back(std::make_unique<NodeProcess>(first, end, make));
    }
    for (const auto& agents : agents_) agents->WaitUntilConnected();
    usleep(1'000'000);
    return options_.moving_s > 0 ? Move() : Hang(sleepers);
  }

 private:
  static Fault FaultOf(const std::string& name) {
    const auto found = std::find(std::begin(kFaultNames), std::end(kFaultNames), name);
    if (found == std::end(kFaultNames)) throw std::runtime_error("no fault " + name);
    return static_cast<Fault>(found - std::begin(kFaultNames));
  }
  int32_t Nodes() const {
    return (options_.ranks + options_.ranks_per_node - 1) / options_.ranks_per_node;
  }
  // An agent has about 16 descriptors besides those of its ranks.
  int32_t NodesPerProcess() const {
    const int32_t each = 16 + 2 * options_.ranks_per_node;
    return std::max(1, static_cast<int32_t>(sysconf(_SC_OPEN_MAX)) / 2 / each);
  }
  std::string Directory(int32_t node) const { return fmt::format("{}/{:05}", root_, node); }
  std::string report() const { return root_ + "/report.json"; }
  std::string Ring(int32_t rank) const {
    return fmt::format("{}/{}/{:06}{}", Directory(rank / options_.ranks_per_node), kRingsDirectory,
                       rank, kRingSuffix);
  }

  // Under another name: agents see them when the job stops.
  void WriteRings(const Sleepers& sleepers) {
    for (int32_t node = 0; node < Nodes(); ++node) {
      fs::create_directories(Directory(node) + "/" + kRingsDirectory);
    }
    for (int32_t rank = 0; rank < options_.ranks; ++rank) {
      const RingFileBuilder::Bytes bytes = RankRing(job_, rank, sleepers[rank]).Write();
      std::ofstream(Ring(rank) + ".later", std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
  }
  void ShowRings() {
    for (int32_t rank = 0; rank < options_.ranks; ++rank) {
      fs::rename(Ring(rank) + ".later", Ring(rank));
    }
  }

  int Hang(const Sleepers& sleepers) {
    const double cpu = collector_->CpuSeconds();
    const int64_t bytes = LoopbackBytes();
    ShowRings();
    const int64_t begin = Now(CLOCK_MONOTONIC);
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
      said = Said();
    }
    const int64_t end = Now(CLOCK_MONOTONIC);
    const std::string culprits = FoldRanks(job_.Culprits());
    fmt::print("{:>7} {:>6} {:>9} {:>7.2f} s {:>8.1f} MB {:>7.2f} s CPU {:>7.0f} MB memory  {}\n",
               options_.ranks, Nodes(), options_.fault, Seconds(end - begin),
               static_cast<double>(LoopbackBytes() - bytes) * 1e-6, collector_->CpuSeconds() - cpu,
               collector_->PeakMb(), said.empty() ? "no verdict" : said);
    const bool noted = !said.empty() && SaysWhatItRestsOn();
    if (!noted)
      fmt::print("        the report does not say that only the newest records were read\n");
    return noted && said.find(" " + culprits + ",") != std::string::npos ? 0 : 1;
  }

  // Every rank makes calls, so often that no sample finds it still.
  int Move() {
    std::vector<int> files;
    std::vector<uint64_t> calls;
    uint64_t at = 0;
    for (int32_t rank = 0; rank < options_.ranks; ++rank) {
      const int fd = open((Ring(rank) + ".later").c_str(), O_RDWR | O_CLOEXEC);
      files.push_back(fd);
      ring::FileHeader header;
      if (pread(fd, &header, sizeof(header), 0) != sizeof(header)) return 1;
      header.phase = static_cast<uint64_t>(ring::Phase::kRunning);  // it goes on
      if (pwrite(fd, &header, sizeof(header), 0) != sizeof(header)) return 1;
      for (const ring::Section& section : header.sections) {
        if (section.kind != static_cast<uint32_t>(ring::SectionKind::kThreads)) continue;
        at = section.offset + offsetof(ring::ThreadEntry, calls_ended);
      }
      uint64_t ended = 0;
      if (pread(fd, &ended, sizeof(ended), static_cast<off_t>(at)) != sizeof(ended)) return 1;
      calls.push_back(ended);
    }
    const auto step = [&](int seconds) {
      const int64_t until = Now(CLOCK_MONOTONIC) + seconds * int64_t{1'000'000'000};
      while (Now(CLOCK_MONOTONIC) < until) {
        for (size_t rank = 0; rank < files.size(); ++rank) {
          ++calls[rank];
          if (pwrite(files[rank], &calls[rank], 8, static_cast<off_t>(at)) != 8) return;
        }
        usleep(40'000);
      }
    };
    ShowRings();
    step(3);
    const double cpu = collector_->CpuSeconds();
    const int64_t bytes = LoopbackBytes();
    const int64_t begin = Now(CLOCK_MONOTONIC);
    step(options_.moving_s);
    const double seconds = Seconds(Now(CLOCK_MONOTONIC) - begin);
    const double sent = static_cast<double>(LoopbackBytes() - bytes);
    fmt::print(
        "{:>7} {:>6}    moving {:>7.0f} B per rank and s {:>7.1f} % of a core "
        "{:>7.0f} MB memory  {}\n",
        options_.ranks, Nodes(), sent / seconds / options_.ranks,
        100 * (collector_->CpuSeconds() - cpu) / seconds, collector_->PeakMb(),
        Said().empty() ? "nothing said" : Said());
    for (const int fd : files) close(fd);
    return Said().empty() ? 0 : 1;
  }

  bool SaysWhatItRestsOn() const {
    const auto notes =
        nlohmann::json::parse(ReadFile(report())).value("notes", nlohmann::json::array());
    return std::any_of(notes.begin(), notes.end(), [](const nlohmann::json& note) {
      return note.get<std::string>().find("the newest") != std::string::npos;
    });
  }

  // "kind ranks, certainty; …" of the newest report.
  std::string Said() const {
    const auto report_json = nlohmann::json::parse(ReadFile(report()), nullptr, false);
    if (!report_json.is_object()) return "";
    std::string said;
    for (const auto& finding : report_json.value("findings", nlohmann::json::array())) {
      std::vector<int32_t> culprits = finding.value("culprits", std::vector<int32_t>{});
      said +=
          fmt::format("{}{} {}, {}", said.empty() ? "" : "; ", finding.value("kind", std::string()),
                      FoldRanks(culprits), finding.value("certainty", std::string()));
    }
    return said;
  }

  const Options options_;
  const Job job_;
  std::string root_;
  std::unique_ptr<Collector> collector_;
  std::vector<std::unique_ptr<NodeProcess>> agents_;
};

}  // namespace
}  // namespace rollcall

int main(int argc, char** argv) {
  rollcall::Options options;
  CLI::App app("Loads a collector with the agents of a large job.", "swarm");
  app.add_option("--rollcall", options.rollcall, "the rollcall command to load")->required();
  app.add_option("--ranks", options.ranks, "a multiple of 32");
  app.add_option("--ranks-per-node", options.ranks_per_node);
  app.add_option("--records", options.records, "records that each ring holds");
  app.add_option("--fault", options.fault, "what stops the job");
  app.add_option("--moving", options.moving_s, "seconds: the job moves instead");
  app.add_option("--sample-period", options.sample_period_ms,
                 "milliseconds between looks of agents");
  app.add_option("--patience", options.patience_s, "seconds to wait for the verdict");
  CLI11_PARSE(app, argc, argv);
  rollcall::RaiseFileLimit();
  signal(SIGPIPE, SIG_IGN);
  rollcall::service::SilenceGrpc();
  try {
    return rollcall::Swarm(options).Run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "swarm: {}\n", error.what());
    return 2;
  }
}
