// SPDX-License-Identifier: Apache-2.0
#include "collector/service/watch_desk.h"

#include <algorithm>

#include "collector/base/clock.h"

namespace rollcall::service {
namespace {

constexpr int64_t kPeriodNs = 500'000'000;
constexpr int64_t kCostFactor = 50;

rpc::Answer Refusal(const char* why) {
  rpc::Answer answer;
  answer.set_text(why);
  return answer;
}

}  // namespace

WatchDesk::~WatchDesk() { RefuseAll(); }

void WatchDesk::Watch(std::shared_ptr<WatchLink> link) {
  const std::lock_guard lock(mutex_);
  if (last_ != nullptr) {
    link->Send(last_);
  } else if (links_.size() < kMaxLinks) {
    links_.push_back(std::move(link));
    published_ns_ = 0;
  }
}

void WatchDesk::Ask(rpc::Question question, OnAnswer on_answer) {
  {
    const std::lock_guard lock(mutex_);
    if (last_ == nullptr && asked_.size() < kMaxAsked) {
      asked_.push_back({std::move(question), std::move(on_answer)});
      return;
    }
  }
  on_answer(Refusal("the job has ended, or others wait for answers"));
}

bool WatchDesk::IsDue(int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  std::erase_if(links_, [](const auto& link) { return link->closed(); });
  return !links_.empty() && now_ns - published_ns_ >= std::max(kPeriodNs, kCostFactor * cost_ns_);
}

void WatchDesk::Publish(int64_t now_ns, const std::function<rpc::WatchState()>& make) {
  const auto state = std::make_shared<const rpc::WatchState>(make());
  {
    const std::lock_guard lock(mutex_);
    for (const auto& link : links_) link->Send(state);
    published_ns_ = now_ns;
    cost_ns_ = Now(CLOCK_MONOTONIC) - now_ns;
    if (state->end().empty()) return;
    last_ = state;
  }
  RefuseAll();
}

void WatchDesk::RefuseAll() {
  while (const auto asked = Take()) asked->on_answer(Refusal("the job has ended"));
}

std::optional<WatchDesk::Asked> WatchDesk::Take() {
  const std::lock_guard lock(mutex_);
  if (asked_.empty()) return std::nullopt;
  Asked asked = std::move(asked_.front());
  asked_.pop_front();
  return asked;
}

}  // namespace rollcall::service
