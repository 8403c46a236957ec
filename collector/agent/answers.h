// What the agent answers that may take long: symbols, live stacks, environments. All
// of it reads files or other processes, so it has a thread of its own, and the sampling keeps its
// beat.
#ifndef ROLLCALL_COLLECTOR_AGENT_ANSWERS_H_
#define ROLLCALL_COLLECTOR_AGENT_ANSWERS_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "collector/symbolize/symbolizer.h"
#include "proto/collector.pb.h"

namespace rollcall::agent {

// Who a live stack is of; copied from the agent's tables when the question comes.
struct StackTarget {
  uint64_t id = 0;
  std::string host;
  pid_t pid = 0;         // as seen from here
  uint32_t own_pid = 0;  // as the process sees itself
  uint64_t start_ticks = 0;
  int32_t world_rank = -1;
};

// Whose environment stands for the node's; pid 0: no rank lives, and the agent's does.
struct EnvironmentTarget {
  pid_t pid = 0;  // as seen from here
  int32_t world_rank = -1;
};

class Answers {
 public:
  // Called from the answering thread with each answer. Must be thread-safe.
  using Reply = std::function<void(uint64_t connection, rpc::AgentMessage)>;

  // Live stacks are appended to the journal of `run_directory` before they are answered.
  Answers(std::string run_directory, Reply reply);
  // Waits for the answer in work; drops the rest.
  ~Answers();
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  void Submit(uint64_t connection, const rpc::SymbolRequest& request);
  void Submit(uint64_t connection, const rpc::LiveStackRequest& request, const StackTarget& target);

  void Submit(uint64_t connection, const rpc::EnvironmentRequest& request,
              const EnvironmentTarget& target);

  // More questions than this in the queue are refused: they come from a collector that went wrong.
  static constexpr size_t kMaxQuestions = 4096;

 private:
  void Enqueue(std::function<void()> work);
  void Work();
  void AnswerSymbols(uint64_t connection, const rpc::SymbolRequest& request);
  void AnswerStacks(uint64_t connection, uint64_t request, const StackTarget& target);

  void AnswerEnvironment(uint64_t connection, uint64_t request, const EnvironmentTarget& target);

  const std::string run_directory_;
  const Reply reply_;
  Symbolizer symbolizer_;  // used by the answering thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_ANSWERS_H_
