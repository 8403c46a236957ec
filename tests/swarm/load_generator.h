// SPDX-License-Identifier: Apache-2.0
// What the load generators of this directory share: the job, a place for files, and how they run.
#ifndef ROLLCALL_TESTS_SWARM_LOAD_GENERATOR_H_
#define ROLLCALL_TESTS_SWARM_LOAD_GENERATOR_H_

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>

#include "collector/base/file.h"
#include "collector/service/grpc_server.h"
#include "tests/support/ring_job.h"

namespace rollcall::swarm {

struct JobOptions {
  std::string rollcall = {};
  int32_t ranks = 0;
  int32_t ranks_per_node = 8;
  uint32_t records = 0;
  std::string fault = "skipped";
  int patience_s = 100;

  void AddTo(CLI::App* app) {
    app->add_option("--rollcall", rollcall, "the rollcall command to load")->required();
    app->add_option("--ranks", ranks, "a multiple of 32");
    app->add_option("--ranks-per-node", ranks_per_node);
    app->add_option("--records", records, "records that each ring holds");
    app->add_option("--fault", fault, "what stops the job");
    app->add_option("--patience", patience_s, "seconds to wait for the verdict");
  }
};

inline ring_job::Fault FaultOf(const std::string& name) {
  using ring_job::kFaultNames;
  const auto found = std::find(std::begin(kFaultNames), std::end(kFaultNames), name);
  if (found == std::end(kFaultNames)) throw std::runtime_error("no fault " + name);
  return static_cast<ring_job::Fault>(found - std::begin(kFaultNames));
}

// In memory where there is such a file system; removed with everything in it.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    namespace fs = std::filesystem;
    const fs::path parent =
        fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
    path_ = parent / "rollcall-swarm-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs a load generator, and says why it failed.
template <typename Generator>
int RunGenerator(const char* name, const Generator& generator) {
  RaiseFileLimit();
  signal(SIGPIPE, SIG_IGN);
  service::SilenceGrpc();
  try {
    return generator();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 2;
  }
}

}  // namespace rollcall::swarm

#endif  // ROLLCALL_TESTS_SWARM_LOAD_GENERATOR_H_
