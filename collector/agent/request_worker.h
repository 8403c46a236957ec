// SPDX-License-Identifier: Apache-2.0
// Answers requests that may take long: symbols, live stacks, environments. These requests read
// files or other processes. They run in a separate thread, so that they do not delay the sampling.
#ifndef ROLLCALL_COLLECTOR_AGENT_REQUEST_WORKER_H_
#define ROLLCALL_COLLECTOR_AGENT_REQUEST_WORKER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "collector/base/worker.h"
#include "collector/symbolize/symbolizer.h"
#include "proto/collector.pb.h"

namespace rollcall::agent {

// The process of a live stack request; copied from the agent's tables when the request arrives.
struct StackTarget {
  uint64_t id = 0;
  std::string host;
  pid_t pid = 0;         // in the agent's pid namespace
  uint32_t own_pid = 0;  // in its own pid namespace
  uint64_t start_ticks = 0;
  int32_t world_rank = -1;
  uint64_t activity = 0;  // RingActivity()
  bool wait_only = false;
  bool variables = false;  // only those of thread `tid`, or of the main thread if it is 0
  pid_t tid = 0;           // in the agent's pid namespace
  bool all_here = false;   // this node has all ranks of its job, and sees their processes
};

// The process whose environment represents the node's environment. pid 0: no rank lives, and the
// agent's environment is used.
struct EnvironmentTarget {
  pid_t pid = 0;  // in the agent's pid namespace
  int32_t world_rank = -1;
};

class RequestWorker {
 public:
  // Called from the answering thread with each answer. Must be thread-safe.
  using Reply = std::function<void(uint64_t connection, rpc::AgentMessage)>;

  // Live stacks are appended to the journal of `run_directory` before they are answered.
  // The destructor waits for the answer in progress, and drops the other requests.
  RequestWorker(std::string run_directory, Reply reply)
      : run_directory_(std::move(run_directory)), reply_(std::move(reply)) {}

  void Submit(uint64_t connection, const rpc::SymbolRequest& request);
  void Submit(uint64_t connection, const rpc::LiveStackRequest& request, const StackTarget& target);

  void Submit(uint64_t connection, const rpc::EnvironmentRequest& request,
              const EnvironmentTarget& target);

  // Further requests beyond this queue length are refused: the collector must be faulty.
  static constexpr size_t kMaxRequests = 4096;

 private:
  const std::string run_directory_;
  const Reply reply_;
  Symbolizer symbolizer_;        // used only by the answering thread
  Worker worker_{kMaxRequests};  // declared last: it uses everything above
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_REQUEST_WORKER_H_
