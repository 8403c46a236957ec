// SPDX-License-Identifier: Apache-2.0
#include "collector/schedules/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "collector/base/text.h"
#include "collector/diagnosis/graph/aligned_trace.h"
#include "collector/schedules/message_races.h"
#include "proto/mix.h"
#include "proto/steer_plan.h"

namespace rollcall {
namespace {

// The two that need no choice come first.
constexpr int kSynchronous = 1000;
constexpr int kBarriers = 999;
// Those by chance come last.
constexpr int kByChance = -1'000'000;

// Times of delays, long for messages and short for tests.
constexpr std::array<uint32_t, 4> kDelaysMs = {5, 20, 80, 300};
constexpr std::array<uint32_t, 3> kSlowUs = {200, 2000, 20'000};

constexpr std::string_view kTitle = "# ";
constexpr size_t kMaxTitle = 4096;  // bytes that are shown

class Finder {
 public:
  Finder(const AlignedTrace& aligned, uint64_t seed)
      : aligned_(aligned), trace_(aligned.trace), random_(Mix64(seed, 1)) {}

  std::vector<Schedule> Find(size_t count, uint64_t seed) {
    const bool too_large = std::ranges::any_of(trace_.processes, [](const Process& process) {
      return process.rank >= static_cast<int32_t>(steer::kMaxRanks);
    });
    if (too_large) return {};
    Count();
    if (sends_ != 0) {
      found_.push_back({.title = "standard sends wait for their receives",
                        .lines = "synchronous\n",
                        .suspicion = kSynchronous});
    }
    // A collective that MPI rejects on some rank has no effect there, and so no barrier either.
    const bool rejected = std::ranges::any_of(trace_.processes, [](const Process& process) {
      return process.errors_seen != 0 || !process.rejected.empty();
    });
    const bool one_world = trace_.worlds.size() == 1;  // the ranks of another are not steered
    if (early_ != 0 && !rejected && one_world) {
      found_.push_back({.title = "collectives wait for all their members",
                        .lines = "barriers\n",
                        .suspicion = kBarriers});
    }
    if (one_world) {
      for (Schedule& schedule : FindMessageRaces(aligned_, seed)) {
        found_.push_back(std::move(schedule));
      }
    }
    std::ranges::stable_sort(
        found_, [](const Schedule& a, const Schedule& b) { return a.suspicion > b.suspicion; });
    if (found_.size() > count) found_.resize(count);
    Fill(count);
    return std::move(found_);
  }

 private:
  using Counts = std::array<uint32_t, steer::kCallsNames.size()>;

  void Count() {
    counts_.resize(trace_.processes.size());
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      for (const Event* event : aligned_.Timeline(p)) {
        const OperationInfo& info = FindOperation(static_cast<uint16_t>(aligned_.Op(*event)));
        sends_ += steer::IsStandardSend(info.operation) ? 1 : 0;
        early_ += steer::MayReturnEarly(info) ? 1 : 0;
        const steer::Calls calls = steer::CallsOf(info.kind);
        if (calls != steer::Calls::kNone) ++counts_[p][static_cast<size_t>(calls)];
      }
    }
  }

  // A number below `end`.
  uint64_t Random(uint64_t end) {
    random_ = Mix64(random_, end);
    return (random_ >> 16) % end;
  }

  // Slow ranks and delayed calls in turn.
  void Fill(size_t count) {
    std::vector<uint32_t> ranks;
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      const bool calls = std::ranges::any_of(counts_[p], [](uint32_t n) { return n != 0; });
      if (calls && trace_.processes[p].world == 0 && trace_.processes[p].rank >= 0)
        ranks.push_back(p);
    }
    if (ranks.empty()) return;
    for (size_t i = ranks.size() - 1; i > 0; --i) std::swap(ranks[i], ranks[Random(i + 1)]);
    for (size_t i = 0; found_.size() < count; ++i) {
      const uint32_t p = ranks[(i / 2) % ranks.size()];
      found_.push_back(i % 2 == 0 ? Slow(p) : Delayed(p));
      found_.back().suspicion = kByChance;
    }
  }

  Schedule Slow(uint32_t p) {
    const uint32_t us = kSlowUs[Random(kSlowUs.size())];
    const int32_t rank = aligned_.RankOf(p);
    return {.title = fmt::format("rank {} is slow: {} ms before each call", rank,
                                 static_cast<double>(us) / 1000),
            .lines = fmt::format("slow {} {}\n", rank, us)};
  }

  Schedule Delayed(uint32_t p) {
    uint32_t total = 0;
    for (const uint32_t count : counts_[p]) total += count;
    auto number = static_cast<uint32_t>(Random(total));
    size_t calls = 0;
    while (number >= counts_[p][calls]) number -= counts_[p][calls++];
    const uint32_t ms = kDelaysMs[Random(kDelaysMs.size())];
    const int32_t rank = aligned_.RankOf(p);
    const std::string_view name = steer::kCallsNames[calls];
    return {
        .title = fmt::format("rank {} waits {} ms before its {} {}", rank, ms, name, number + 1),
        .lines = fmt::format("delay {} {} {} {}\n", rank, name, number + 1, ms)};
  }

  const AlignedTrace& aligned_;
  const Trace& trace_;
  uint64_t random_;
  std::vector<Counts> counts_;  // by process
  uint64_t sends_ = 0;
  uint64_t early_ = 0;
  std::vector<Schedule> found_;
};

}  // namespace

std::vector<Schedule> FindSchedules(const Trace& trace, const DiagnoseOptions& options,
                                    size_t count, uint64_t seed) {
  const AlignedTrace aligned(trace, options);
  return Finder(aligned, seed).Find(count, seed);
}

std::string PlanText(const Schedule& schedule, const std::string& host, uint32_t bound_ms) {
  return fmt::format("{}\n{}{}\nhost {}\nbound {}\n{}", steer::kPlanHeader, kTitle, schedule.title,
                     host, bound_ms, schedule.lines);
}

std::string TitleOf(const std::string& plan) {
  const size_t begin = plan.find("\n" + std::string(kTitle));
  if (begin == std::string::npos) return "";
  const size_t text = begin + 1 + kTitle.size();
  return CleanText(std::string_view(plan).substr(text, plan.find('\n', text) - text), kMaxTitle);
}

}  // namespace rollcall
