// SPDX-License-Identifier: Apache-2.0
#include "collector/service/job_pace.h"

#include <algorithm>

#include "collector/base/find.h"

namespace rollcall::service {
namespace {

constexpr int64_t kHalfWindowNs = 5'000'000'000;
constexpr int64_t kMinSpanNs = 500'000'000;
// A rank is late if others have waited for this long. kLateNs applies if one message shows it,
// because its samples are of one moment. kLateElsewhereNs applies if two messages show it, because
// they may have been transferred and queued for different times.
constexpr int64_t kLateNs = 1'000'000;
constexpr int64_t kLateElsewhereNs = 100'000'000;
// Communicators of lost agents are forgotten only beyond this number.
constexpr size_t kCommunicatorsKept = 1 << 16;

// The open call in which the process made that collective; null if there is none.
const JobState::OpenCall* OpenCallOf(const JobState::Process& process, uint64_t key,
                                     uint64_t sequence) {
  for (const JobState::OpenCall& call : process.open_calls) {
    if (call.key == key && call.sequence == sequence) return &call;
  }
  return nullptr;
}

bool IsInsideCollective(const JobState::Process& process) {
  return std::ranges::any_of(process.open_calls,
                             [](const JobState::OpenCall& call) { return call.sequence != 0; });
}

}  // namespace

void Slope::Add(int64_t now_ns, int64_t value) {
  value = std::max(value, last_);
  if (base_.at_ns == 0) base_ = next_ = {now_ns, value};
  if (now_ns - next_.at_ns >= kHalfWindowNs) {
    base_ = next_;
    next_ = {now_ns, value};
  }
  if (value != last_) grown_ns_ = now_ns;
  last_ = value;
}

double Slope::PerNs(int64_t now_ns, int64_t value) const {
  if (base_.at_ns == 0 || now_ns - base_.at_ns < kMinSpanNs) return 0;
  return static_cast<double>(value - base_.value) / static_cast<double>(now_ns - base_.at_ns);
}

double Slope::PerSecond(int64_t now_ns) const {
  return now_ns - grown_ns_ > kHalfWindowNs ? 0 : PerNs(now_ns, last_) * 1e9;
}

void JobPace::OnDigests(const JobState& state, const rpc::DigestBatch& digests, int64_t now_ns) {
  const auto for_each = [&](const auto& visit) {
    for (const rpc::ProcessDigest& digest : digests.processes()) {
      const auto found = state.processes().find(digest.id());
      if (found != state.processes().end()) visit(found->second);
    }
  };
  for_each([&](const JobState::Process& process) { NoteArrivals(process, now_ns); });
  for_each([&](const JobState::Process& process) { Measure(process, now_ns); });
}

void JobPace::NoteArrivals(const JobState::Process& process, int64_t now_ns) {
  for (const JobState::Member& member : process.members) {
    if (member.entered == 0) continue;
    if (communicators_.size() >= kCommunicatorsKept) communicators_.clear();
    Communicator& communicator = communicators_[member.key];
    communicator.completed.Add(now_ns, static_cast<int64_t>(member.completed));
    const JobState::OpenCall* const open = OpenCallOf(process, member.key, member.entered);
    const Arrival arrival{member.entered, open != nullptr ? open->since_ns : now_ns, now_ns};
    auto& arrivals = communicator.arrivals;
    const auto at = std::ranges::lower_bound(arrivals, arrival.sequence, {}, &Arrival::sequence);
    if (at != arrivals.end() && at->sequence == arrival.sequence) {
      if (arrival.at_ns < at->at_ns) *at = arrival;
    } else if (at != arrivals.begin()) {
      std::move(arrivals.begin() + 1, at, arrivals.begin());  // drops the oldest
      *(at - 1) = arrival;
    }
  }
}

void JobPace::Measure(const JobState::Process& process, int64_t now_ns) {
  Process& pace = processes_[process.id];
  int64_t entered = 0;
  for (const JobState::Member& member : process.members) {
    entered += static_cast<int64_t>(member.entered);
  }
  pace.calls.Add(now_ns, entered);
  if (pace.is_inside) pace.inside_ns += now_ns - pace.seen_ns;
  pace.inside.Add(now_ns, pace.inside_ns);
  ++pace.lateness.samples;
  if (pace.late_first_ns != 0) EndLateness(process, now_ns, &pace);
  if (pace.late_first_ns == 0) BeginLateness(process, now_ns, &pace);
  pace.is_inside = IsInsideCollective(process);
  pace.quiet = process.quiet;
  pace.seen_ns = now_ns;
}

void JobPace::EndLateness(const JobState::Process& process, int64_t now_ns, Process* pace) {
  const auto member = std::ranges::find(process.members, pace->late_key, &JobState::Member::key);
  const bool arrived = member == process.members.end() || member->entered >= pace->late_sequence;
  if (!arrived && JobState::IsLive(process)) {
    pace->late_ns = now_ns - pace->late_first_ns;
    return;
  }
  if (const auto* open = OpenCallOf(process, pace->late_key, pace->late_sequence)) {
    pace->late_ns = std::max(pace->late_ns, open->since_ns - pace->late_first_ns);
  } else if (pace->quiet) {
    // It stood still until now: the agent reports at once when a rank moves again.
    pace->late_ns = now_ns - pace->late_first_ns;
  }
  Lateness& lateness = pace->lateness;
  ++lateness.late;
  lateness.total_ns += pace->late_ns;
  lateness.most_ns = std::max(lateness.most_ns, pace->late_ns);
  pace->late_first_ns = 0;
}

void JobPace::BeginLateness(const JobState::Process& process, int64_t now_ns, Process* pace) const {
  // A rank inside a call waits itself, so other ranks may be the reason for its lateness.
  if (!JobState::IsLive(process) || process.in_call() || process.polling) return;
  for (const JobState::Member& member : process.members) {
    const Communicator* communicator = FindOrNull(communicators_, member.key);
    if (communicator == nullptr) continue;
    for (const Arrival& arrival : communicator->arrivals) {
      const int64_t late_ns = now_ns - arrival.at_ns;
      const int64_t least_ns = arrival.reported_ns == now_ns ? kLateNs : kLateElsewhereNs;
      if (arrival.sequence <= member.entered || late_ns < least_ns) continue;
      if (pace->late_first_ns != 0 && arrival.at_ns >= pace->late_first_ns) continue;
      pace->late_key = member.key;
      pace->late_sequence = arrival.sequence;
      pace->late_first_ns = arrival.at_ns;
      pace->late_ns = late_ns;
    }
  }
}

void JobPace::Prune(const JobState& state) {
  std::erase_if(processes_,
                [&](const auto& entry) { return !state.processes().contains(entry.first); });
}

double JobPace::CollectivesPerSecond(uint64_t communicator, int64_t now_ns) const {
  const Communicator* pace = FindOrNull(communicators_, communicator);
  return pace == nullptr ? 0 : pace->completed.PerSecond(now_ns);
}

double JobPace::CallsPerSecond(uint64_t process, int64_t now_ns) const {
  const Process* pace = FindOrNull(processes_, process);
  return pace == nullptr ? 0 : pace->calls.PerSecond(now_ns);
}

double JobPace::ShareInside(uint64_t process, int64_t now_ns) const {
  const Process* pace = FindOrNull(processes_, process);
  if (pace == nullptr) return 0;
  const int64_t now_inside_ns = pace->is_inside ? now_ns - pace->seen_ns : 0;
  return pace->inside.PerNs(now_ns, pace->inside_ns + now_inside_ns);
}

JobPace::Lateness JobPace::LatenessOf(const JobState::Process& process, int64_t now_ns) const {
  const auto found = processes_.find(process.id);
  if (found == processes_.end()) return {};
  const Process& pace = found->second;
  Lateness lateness = pace.lateness;
  if (pace.late_first_ns != 0) {
    lateness.now_ns = pace.quiet ? now_ns - pace.late_first_ns : pace.late_ns;
  }
  return lateness;
}

}  // namespace rollcall::service
