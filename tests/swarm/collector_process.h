// SPDX-License-Identifier: Apache-2.0
// A `rollcall collector` under load, and what it takes.
#ifndef ROLLCALL_TESTS_SWARM_COLLECTOR_PROCESS_H_
#define ROLLCALL_TESTS_SWARM_COLLECTOR_PROCESS_H_

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "collector/base/proc_stat.h"
#include "collector/model/rank_set.h"
#include "proto/environment.h"

namespace rollcall::swarm {

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

inline int64_t LoopbackBytes() {
  return std::stoll(ReadFile("/sys/class/net/lo/statistics/rx_bytes"));
}

// Established connections over IPv4 to `port` (proc(5), /proc/net/tcp).
inline int ConnectionsTo(int port) {
  std::istringstream table(ReadFile("/proc/net/tcp"));
  const std::string remote = fmt::format(":{:04X}", port);
  std::string line;
  std::getline(table, line);  // titles
  int connections = 0;
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string number, local_address, remote_address, state;
    fields >> number >> local_address >> remote_address >> state;
    connections += remote_address.ends_with(remote) && state == "01";
  }
  return connections;
}

inline double CpuSecondsOf(pid_t pid) {
  const std::string stat = ReadFile(fmt::format("/proc/{}/stat", pid));
  double ticks = 0;  // in user mode and in the kernel
  for (const int field : {14, 15}) ticks += std::stod(std::string(ProcStatField(stat, field)));
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// `rollcall collector`, and what it has taken so far. Its words go to `words`.
class Collector {
 public:
  Collector(std::string rollcall, std::string report, std::string words,
            std::vector<std::string> options)
      : rollcall_(std::move(rollcall)),
        report_(std::move(report)),
        words_(std::move(words)),
        options_(std::move(options)) {
    options_.insert(options_.end(), {"--output", "json=" + report_});
    Start();
    if (address_.empty() || token_.empty()) throw std::runtime_error("no collector");
  }
  ~Collector() { End(SIGINT); }
  // Without a word to anybody; another one takes its place.
  void Replace() {
    End(SIGKILL);
    Start();
  }
  const std::string& address() const { return address_; }
  const std::string& token() const { return token_; }
  // Agents that attach to it, and not to an aggregator.
  int DirectAgents() const {
    return ConnectionsTo(std::stoi(address_.substr(address_.rfind(':') + 1)));
  }
  // Of the newest one.
  double CpuSeconds() const { return CpuSecondsOf(pid_); }
  double PeakMb() const {
    const std::string status = ReadFile(fmt::format("/proc/{}/status", pid_));
    const size_t at = status.find("VmHWM:");
    return at == std::string::npos ? 0 : std::stod(status.substr(at + 6)) / 1024;
  }

  // "kind ranks, certainty; …" of the newest report.
  std::string Said() const {
    const auto report_json = nlohmann::json::parse(ReadFile(report_), nullptr, false);
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

 private:
  void Start() {
    int out[2];
    if (pipe(out) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      close(out[0]);
      close(out[1]);
      const int words = open(words_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      dup2(words, STDERR_FILENO);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (!token_.empty()) setenv(env::kToken, token_.c_str(), 1);
      const std::string listen = address_.empty() ? "127.0.0.1:0" : address_;
      std::vector<const char*> arguments = {"rollcall", "collector", "--listen", listen.c_str()};
      for (const std::string& option : options_) arguments.push_back(option.c_str());
      arguments.push_back(nullptr);
      execv(rollcall_.c_str(), const_cast<char* const*>(arguments.data()));
      _exit(127);
    }
    close(out[1]);
    FILE* lines = fdopen(out[0], "r");
    char line[512];
    const std::string address = std::string(env::kCollector) + "=";
    const std::string token = std::string(env::kToken) + "=";
    bool listens = false;
    while ((!listens || token_.empty()) && fgets(line, sizeof(line), lines) != nullptr) {
      std::string text = line;
      text.erase(text.find_last_not_of("\r\n") + 1);
      if (text.starts_with(address)) address_ = text.substr(address.size());
      if (text.starts_with(token)) token_ = text.substr(token.size());
      listens |= text.starts_with(address);
    }
    fclose(lines);
    if (!listens) throw std::runtime_error("the collector does not listen");
  }
  void End(int signal) const {
    kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
  }

  const std::string rollcall_;
  const std::string report_;
  const std::string words_;
  std::vector<std::string> options_;
  pid_t pid_ = -1;
  std::string address_;
  std::string token_;
};

}  // namespace rollcall::swarm

#endif  // ROLLCALL_TESTS_SWARM_COLLECTOR_PROCESS_H_
