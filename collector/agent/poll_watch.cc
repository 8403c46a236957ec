// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/poll_watch.h"

#include <algorithm>

namespace rollcall::agent {

void PollWatch::Add(const PollSample& sample) {
  const bool same = window_ && window_->streak == sample.streak && sample.polls >= window_->polls;
  if (!same) {
    window_ = sample;
    since_ns_ = sample.at_ns - kFirstSampleNs;
    waited_ns_ = 0;
    tight_ = false;
    return;
  }
  const int64_t elapsed_ns = sample.at_ns - window_->at_ns;
  if (elapsed_ns < kWindowNs) return;
  const uint64_t polls = sample.polls - window_->polls;
  const bool known =
      sample.times && window_->times && sample.times->cpu_ns >= window_->times->cpu_ns;
  const uint64_t cpu_ns = known ? sample.times->cpu_ns - window_->times->cpu_ns : 0;
  if (known && sample.times->wait_ns > window_->times->wait_ns) {
    const uint64_t waited_ns = sample.times->wait_ns - window_->times->wait_ns;
    waited_ns_ += std::min(static_cast<int64_t>(waited_ns), elapsed_ns);
  }
  const uint64_t percent_ns = static_cast<uint64_t>(elapsed_ns) / 100;
  const auto inside_ns =
      static_cast<uint64_t>(static_cast<double>(elapsed_ns) * sample.inside_share);
  const uint64_t outside_ns = cpu_ns > inside_ns ? cpu_ns - inside_ns : 0;
  tight_ =
      known && polls > 0 &&
      (cpu_ns <= percent_ns * kMaxCpuPercent || outside_ns <= percent_ns * kMaxOutsidePercent ||
       outside_ns <= polls * kMaxOutsidePerPollNs);
  if (!tight_) {
    since_ns_ = sample.at_ns;
    waited_ns_ = 0;
  }
  window_ = sample;
}

std::optional<int64_t> PollWatch::TightSince() const {
  if (!window_ || !tight_) return std::nullopt;
  const int64_t not_counted_ns = std::min(waited_ns_, (window_->at_ns - since_ns_) / 2);
  return since_ns_ + not_counted_ns / kWindowNs * kWindowNs;
}

}  // namespace rollcall::agent
