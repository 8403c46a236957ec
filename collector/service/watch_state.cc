// SPDX-License-Identifier: Apache-2.0
#include "collector/service/watch_state.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/base/text.h"
#include "collector/model/rank_set.h"
#include "proto/operations.h"

namespace rollcall::service {
namespace {

constexpr size_t kMaxRanksBytes = 512;

// The ranks at one place.
struct Class {
  std::vector<int32_t> ranks;
  std::set<uint64_t> communicators;
  uint64_t first_sequence = UINT64_MAX;
  uint64_t last_sequence = 0;
  int64_t longest_ns = 0;
  double per_second = 0;
  double share_inside = 0;
};

// Ranks that move are at different sequence numbers of many communicators that look alike.
// Therefore only ranks that stand still are distinguished by sequence number. All ranks are
// distinguished by the size of the communicator.
using Place = std::tuple<uint64_t, std::string_view, uint32_t, int32_t, uint64_t>;

class RankClasses {
 public:
  RankClasses(const JobPace& pace, int64_t now_ns) : pace_(pace), now_ns_(now_ns) {}

  void Add(const JobState::Process& process) {
    const JobState::OpenCall call =
        process.in_call() ? process.open_calls.front() : JobState::OpenCall{};
    const auto member = std::ranges::find(process.members, call.key, &JobState::Member::key);
    const int32_t size = member == process.members.end() ? 0 : member->size;
    Class& one = classes_[{process.job_key, JobState::ActivityOf(process), call.operation, size,
                           JobState::StandsStill(process) ? call.sequence : 0}];
    one.ranks.push_back(process.world_rank);
    if (call.key != 0) one.communicators.insert(call.key);
    one.first_sequence = std::min(one.first_sequence, call.sequence);
    one.last_sequence = std::max(one.last_sequence, call.sequence);
    one.longest_ns = std::max(
        one.longest_ns, now_ns_ - (process.in_call() ? call.since_ns : process.idle_since_ns));
    one.per_second += pace_.CallsPerSecond(process.id, now_ns_);
    one.share_inside += pace_.ShareInside(process.id, now_ns_);
  }

  void Fill(rpc::WatchState* state) {
    for (auto& [place, one] : classes_) {
      const auto& [job_key, activity, operation, size, sequence] = place;
      std::ranges::sort(one.ranks);
      rpc::RankClass* out = state->add_classes();
      out->set_job_key(job_key);
      out->set_count(static_cast<uint32_t>(one.ranks.size()));
      out->set_first_rank(one.ranks.front());
      out->set_ranks(CleanText(FoldRanks(one.ranks), kMaxRanksBytes));
      out->set_activity(std::string(activity));
      if (operation != 0) {
        out->set_operation(std::string(FindOperation(static_cast<uint16_t>(operation)).name));
      }
      if (one.communicators.size() == 1) out->set_communicator(*one.communicators.begin());
      out->set_communicators(static_cast<uint32_t>(one.communicators.size()));
      out->set_size(size);
      out->set_first_sequence(one.first_sequence);
      out->set_last_sequence(one.last_sequence);
      out->set_longest_ns(one.longest_ns);
      const auto ranks = static_cast<double>(one.ranks.size());
      out->set_per_second(one.per_second / ranks);
      out->set_share_inside(one.share_inside / ranks);
    }
  }

 private:
  const JobPace& pace_;
  const int64_t now_ns_;
  std::map<Place, Class> classes_;
};

void AddCommunicators(const JobState& state, const JobPace& pace, const CommunicatorNames& names,
                      int64_t now_ns, rpc::WatchState* out) {
  std::vector<JobState::Progress> all = state.Communicators(now_ns);
  std::erase_if(all, [](const JobState::Progress& one) { return one.size == 1; });
  if (all.size() > kWatchedCommunicators) {
    out->set_communicators_left_out(static_cast<uint32_t>(all.size() - kWatchedCommunicators));
    all.resize(kWatchedCommunicators);
  }
  for (const JobState::Progress& one : all) {
    rpc::CommunicatorState* communicator = out->add_communicators();
    communicator->set_key(one.key);
    communicator->set_job_key(one.job);
    const auto name = names.find(one.key);
    communicator->set_name(name != names.end() ? name->second : state.NameOfCommunicator(one.key));
    communicator->set_size(one.size);
    communicator->set_entered_by_first(one.entered_by_first);
    communicator->set_entered_by_all(one.entered_by_last);
    communicator->set_completed_by_all(one.completed_by_all);
    communicator->set_waiting(static_cast<uint32_t>(one.waiting));
    communicator->set_longest_ns(one.longest_wait_ns);
    communicator->set_per_second(pace.CollectivesPerSecond(one.key, now_ns));
  }
}

void AddLate(const JobState& state, const JobPace& pace, int64_t now_ns, rpc::WatchState* out) {
  std::vector<std::pair<int64_t, rpc::LateRank>> late;
  for (const auto& [id, process] : state.processes()) {
    const JobPace::Lateness one = pace.LatenessOf(process, now_ns);
    if (one.late == 0 && one.now_ns == 0) continue;
    rpc::LateRank rank;
    rank.set_job_key(process.job_key);
    rank.set_rank(process.world_rank);
    rank.set_samples(one.samples);
    rank.set_late(one.late);
    rank.set_total_ns(one.total_ns);
    rank.set_most_ns(one.most_ns);
    rank.set_now_ns(one.now_ns);
    late.emplace_back(one.total_ns + one.now_ns, std::move(rank));
  }
  std::ranges::sort(late, [](const auto& a, const auto& b) {
    return std::tuple(-a.first, a.second.rank()) < std::tuple(-b.first, b.second.rank());
  });
  if (late.size() > kWatchedLateRanks) late.resize(kWatchedLateRanks);
  for (auto& [total_ns, rank] : late) *out->add_late() = std::move(rank);
}

}  // namespace

std::string_view ReasonText(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      break;
    case Reason::kSomeWait:
      return "some ranks wait while others go on";
    case Reason::kAllWait:
      return "all ranks wait";
    case Reason::kEnded:
      return "a rank ended while others wait";
    case Reason::kMismatch:
      return "calls of one number differ between ranks";
    case Reason::kStalled:
      return "a rank is outside every call for long while others wait";
  }
  return "";
}

rpc::WatchState MakeWatchState(const JobState& state, const JobPace& pace,
                               const CommunicatorNames& names, int64_t now_ns) {
  rpc::WatchState out;
  RankClasses classes(pace, now_ns);
  std::map<uint64_t, int32_t> worlds;  // their sizes, by job
  uint32_t live = 0;
  for (const auto& [id, process] : state.processes()) {
    classes.Add(process);
    worlds[process.job_key] = std::max(worlds[process.job_key], process.world_size);
    live += JobState::IsLive(process) ? 1 : 0;
  }
  out.set_ranks(live);
  out.set_ended_ranks(static_cast<uint32_t>(state.processes().size()) - live);
  for (const auto& [job, size] : worlds) {
    out.set_expected_ranks(out.expected_ranks() + static_cast<uint32_t>(std::max(size, 0)));
  }
  classes.Fill(&out);
  AddCommunicators(state, pace, names, now_ns, &out);
  AddLate(state, pace, now_ns, &out);
  return out;
}

}  // namespace rollcall::service
