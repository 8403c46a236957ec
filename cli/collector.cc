// SPDX-License-Identifier: Apache-2.0
// rollcall collector: the collector alone, for jobs that another program starts. If it is restarted
// with the same address and token, it resumes the job: agents reconnect and send their whole state
// again.
#include <errno.h>
#include <fmt/core.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/bundle_output.h"
#include "cli/command.h"
#include "cli/report_output.h"
#include "collector/base/address.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/http/server.h"
#include "collector/launch/launcher.h"
#include "collector/rpc/secret.h"
#include "collector/service/grpc_server.h"
#include "collector/service/metrics.h"
#include "collector/service/monitor.h"
#include "proto/environment.h"

namespace rollcall {

namespace {

// Null, after a line on stderr, if the address cannot be bound.
std::unique_ptr<http::Server> ServeMetrics(const std::string& address,
                                           const service::Metrics& metrics) {
  auto server = http::Serve(address, {{.path = "/metrics",
                                       .type = "text/plain; version=0.0.4; charset=utf-8",
                                       .text = [&metrics] { return metrics.Text(); }}});
  if (!server) {
    PrintLine(fmt::format("collector: --metrics: {}", server.error()));
    return nullptr;
  }
  PrintLine(fmt::format("metrics: http://{}/metrics", ReplacePort(address, (*server)->port())));
  return std::move(*server);
}

// A diagnosis of a large job allocates gigabytes, on a thread other than the main one. For such a
// thread, glibc extends the heap by one page per system call, returns all of it in between, and
// maps new pages for each large block. glibc uses huge pages, and caches more than seven freed
// blocks of a size per thread, only if GLIBC_TUNABLES is set accordingly at process start (glibc's
// manual, "Memory Allocation Tunables"). The process therefore executes itself again. All these
// settings together save half of the collector's CPU time (docs/measurements).
void PrepareHeap(int argc, char** argv) {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_MMAP_MAX, 0);
  constexpr char kTunables[] = "GLIBC_TUNABLES";
  if (getenv(kTunables) != nullptr) return;
  std::vector<char*> command(argv, argv + argc);
  command.insert(command.begin(), program_invocation_name);
  command.push_back(nullptr);
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (length <= 0) return;
  path[length] = 0;
  setenv(kTunables, "glibc.malloc.hugetlb=1:glibc.malloc.tcache_count=65535", 1);
  execv(path, command.data());
  unsetenv(kTunables);
}

struct CollectorOptions {
  std::string listen = "127.0.0.1:0";
  double stall_after_s = 30;
  double idle_after_s = 0;
  std::string metrics;
  uint64_t direct_agents = service::kMaxDirectAgents;
  bool verbose = false;

  void AddTo(ArgumentParser* parser) {
    parser->Add("--listen", &listen, "HOST:PORT; port 0 takes any free one",
                {.show_default = true});
    parser->Add("--stall-after", &stall_after_s,
                "seconds without progress before a rank is called stalled",
                {.must = Must::kBePositive, .show_default = true});
    parser->Add("--idle-after", &idle_after_s,
                "seconds after which a rank that waits for the world outside the job is called "
                "stalled as well (default: never)",
                {.must = Must::kBePositive});
    parser->Add(
        "--metrics", &metrics,
        "serve Prometheus metrics at this address, without authentication (docs/metrics.md)",
        {.type = "HOST:PORT"});
    parser->Add("--direct-agents", &direct_agents,
                "the number of agents that connect to the collector itself; further agents connect "
                "to aggregators",
                {.must = Must::kBePositive, .show_default = true});
    parser->Add("--verbose", &verbose, service::kVerboseHelp);
  }
};

// Blocks the signals that stop the collector and returns them. Call before any other thread exists.
sigset_t BlockStopSignals() {
  sigset_t stop;
  sigemptyset(&stop);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stop, number);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file of --output is then incomplete
  return stop;
}

}  // namespace

int RunCollector(int argc, char** argv) {
  ArgumentParser parser(
      "Collects from agents and prints verdicts until it is stopped by a signal. The token comes\n"
      "from ROLLCALL_TOKEN; without one, a new one is made and printed.",
      "rollcall collector");
  CollectorOptions options;
  Outputs outputs;
  BundleSettings bundle_settings;
  TextStyle style;
  options.AddTo(&parser);
  // Standard output has the collector's address, which scripts read.
  outputs.AddOptions(&parser, Outputs::StandardOutput::kJob);
  bundle_settings.AddOptions(&parser);
  style.AddOptions(&parser);
  if (const auto code = parser.Parse(argc, argv)) return *code;
  const std::string listen = WithPort(std::move(options.listen));
  RaiseFileLimit();  // no child process inherits it
  PrepareHeap(argc, argv);

  const std::string given = rpc::GivenToken();
  const std::string token = given.empty() ? rpc::NewToken() : given;
  const sigset_t stop = BlockStopSignals();
  service::SilenceGrpc();

  const service::ProgressTimes times{
      .stall_after_ns = static_cast<int64_t>(options.stall_after_s * 1e9),
      .idle_after_ns = service::IdleAfterNs(options.idle_after_s)};
  ReportOutput output({.style = style, .outputs = outputs, .diagnose = times.Options()});
  BundleOutput bundle(bundle_settings);
  service::Metrics metrics;
  service::Monitor monitor({.times = times,
                            .max_direct_agents = options.direct_agents,
                            .live_stacks = true,
                            .on_report = output.Printing(),
                            .on_update = output.Storing(),
                            .on_withdrawal = bundle.ForWithdrawals(),
                            .evidence = bundle.ForMonitor(),
                            .on_note = [](const std::string& note) { PrintLine(note); },
                            .on_pass = service::PassPrinter(options.verbose),
                            .metrics = options.metrics.empty() ? nullptr : &metrics});
  std::unique_ptr<http::Server> metrics_server;
  if (!options.metrics.empty() && !(metrics_server = ServeMetrics(options.metrics, metrics))) {
    return kUsage;
  }
  const auto server = service::Serve(listen, token, &monitor, {}, monitor.watchers());
  if (!server) {
    PrintLine(fmt::format("collector: {}", server.error()));
    return kUsage;
  }
  // For scripts: the address for agents, and the token if it was generated here.
  fmt::print("{}={}\n", env::kCollector, ReplacePort(listen, (*server)->port()));
  if (given.empty()) fmt::print("{}={}\n", env::kToken, token);
  fflush(stdout);
  int number = 0;
  sigwait(&stop, &number);
  const service::Monitor::Final final = monitor.Finish({.name_code = output.ShowsTraces()});
  if (final.is_new) {
    output.Print(final.trace, final.report, /*job_ended=*/true);
    bundle.Write(final.report, final.evidence);
  }
  (*server)->ShutDownAgents(/*keep=*/true);
  return final.any_findings ? kFindings : kNothingFound;
}

}  // namespace rollcall
