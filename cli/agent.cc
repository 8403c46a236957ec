// SPDX-License-Identifier: Apache-2.0
// rollcall agent: the agent of a node that does not run `rollcall run`. `rollcall exec` starts it
// on a node that has no agent.
#include "collector/agent/agent.h"

#include <fmt/core.h>
#include <signal.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "cli/argument_parser.h"
#include "cli/command.h"
#include "collector/agent/grpc_transport.h"
#include "collector/aggregate/aggregating_transport.h"
#include "collector/base/clock.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/base/result.h"
#include "collector/launch/job_environment.h"
#include "collector/launch/run_root.h"
#include "collector/service/grpc_server.h"
#include "proto/environment.h"

namespace rollcall {
namespace {

// The agent exits when it has had neither a collector nor a live rank for this long.
constexpr int64_t kLonelyNs = 30'000'000'000;

volatile sig_atomic_t g_stop = 0;

std::string FromEnvironment(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

int RunAgent(int argc, char** argv) {
  ArgumentParser parser(
      "Watches the ranks of this node. The run's token comes from ROLLCALL_TOKEN.",
      "rollcall agent");
  std::string directory = FromEnvironment(env::kRunDirectory);
  std::string collector = FromEnvironment(env::kCollector);
  parser.Add("--dir", &directory, "the run directory on this node (ROLLCALL_DIR)", {.type = "DIR"});
  parser.Add("--collector", &collector, "HOST:PORT of the collector (ROLLCALL_COLLECTOR)");
  if (const auto code = parser.Parse(argc, argv)) return *code;
  // The token is not an option, because users who can list processes could read it.
  const std::string token = FromEnvironment(env::kToken);
  if (directory.empty() || collector.empty() || token.empty()) {
    PrintLine("agent: needs --dir, --collector and ROLLCALL_TOKEN");
    return kUsage;
  }
  Result<RunDirectory> run = RunRoot::CreateAt(directory);
  if (!run) {
    PrintLine(fmt::format("agent: {}", run.error()));
    return kUsage;
  }
  if (!RunRoot::TakeAgentLock(&*run)) {
    PrintLine(fmt::format("agent: {} has an agent", directory));
    return 0;
  }
  struct sigaction stop = {};
  stop.sa_handler = [](int) { g_stop = 1; };
  sigaction(SIGTERM, &stop, nullptr);
  sigaction(SIGINT, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a line of the journal is lost, but the agent continues
  RaiseFileLimit();  // a rank takes two descriptors, and no child process inherits the limit
  service::SilenceGrpc();
  bool keep = true;
  {
    auto connection = agent::ConnectToCollector(collector, token, [&](const std::string& reason) {
      PrintLine(fmt::format("agent: the collector at {} refuses it: {}; it tries again", collector,
                            reason));
    });
    aggregate::AggregatingTransport transport(std::move(connection), collector, token);
    agent::Agent agent(
        {.run_directory = run->path(), .host = HostName(), .version = ROLLCALL_VERSION},
        &transport);
    int64_t needed_ns = Now(CLOCK_MONOTONIC);
    while (g_stop == 0 && !agent.shut_down() && Now(CLOCK_MONOTONIC) - needed_ns < kLonelyNs) {
      agent.RunOnce(1000);
      if (agent.connected() || agent.alive() > 0) needed_ns = Now(CLOCK_MONOTONIC);
    }
    keep = !agent.shut_down() || agent.shut_down_keeps();
    if (keep) agent.PreserveRings();
  }
  *run = {};
  if (!keep) RunRoot::Remove(directory);
  return 0;
}

}  // namespace rollcall
