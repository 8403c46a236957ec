// SPDX-License-Identifier: Apache-2.0
// Queues the watchers of a collector and their questions for the monitor's thread.
#ifndef ROLLCALL_COLLECTOR_SERVICE_WATCH_DESK_H_
#define ROLLCALL_COLLECTOR_SERVICE_WATCH_DESK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/service/watch_link.h"

namespace rollcall::service {

// Watch() and Ask() may be called from any thread, the other methods from one.
class WatchDesk : public WatchHandler {
 public:
  struct Asked {
    rpc::Question question;
    OnAnswer on_answer;
  };

  // Answers the remaining questions.
  ~WatchDesk() override;

  void Watch(std::shared_ptr<WatchLink> link) override;
  void Ask(rpc::Question question, OnAnswer on_answer) override;

  // Whether there is a watcher and a new state is due. Making states takes at most a fiftieth of
  // the time.
  bool IsDue(int64_t now_ns);
  // Sends the state that `make` returns to all watchers. A state with an end is the last one;
  // watchers that connect later receive it at once.
  void Publish(int64_t now_ns, const std::function<rpc::WatchState()>& make);
  // The oldest question that was not taken.
  std::optional<Asked> Take();

 private:
  static constexpr size_t kMaxLinks = 64;
  static constexpr size_t kMaxAsked = 16;

  void RefuseAll();

  std::mutex mutex_;
  std::vector<std::shared_ptr<WatchLink>> links_;  // guarded by mutex_
  std::deque<Asked> asked_;                        // likewise
  std::shared_ptr<const rpc::WatchState> last_;    // likewise; null: the job has not ended
  int64_t published_ns_ = 0;
  int64_t cost_ns_ = 0;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_WATCH_DESK_H_
