// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/import/trace_builder.h"

namespace rollcall::logs {
namespace {

// Files whose names differ in one number.
class Series {
 public:
  explicit Series(const std::vector<File>& files) : files_(files) {
    for (const File& file : files) {
      if (file.number >= 0) numbers_[file.series].insert(file.number);
    }
  }

  // The number in the name of a file. -1 unless the series counts from 0 or its name has "rank".
  int32_t RankOf(uint32_t index) const {
    const File& file = files_[index];
    const auto found = numbers_.find(file.series);
    if (found == numbers_.end()) return -1;
    const size_t number = file.series.find('*');
    const size_t before = file.series.find_last_not_of("_-.=", number - 1);
    const bool named =
        before != std::string::npos && file.series.substr(0, before + 1).ends_with("rank");
    const bool counts = found->second.size() > 1 && *found->second.begin() == 0;
    return named || counts ? file.number : -1;
  }

 private:
  const std::vector<File>& files_;
  std::map<std::string, std::set<int32_t>> numbers_;
};

int32_t RankInLargestCommunicator(const Writer& writer) {
  const std::vector<Calls>& all = writer.communicators;
  const auto largest = std::ranges::max_element(all, [](const Calls& a, const Calls& b) {
    return std::pair(a.rank >= 0, a.size) < std::pair(b.rank >= 0, b.size);
  });
  return largest == all.end() ? -1 : largest->rank;
}

// On one node, the local rank is the rank.
bool RanOnOneNode(const LogJob& job) {
  std::set<std::string> hosts;
  std::set<int32_t> without_rank;
  int32_t most = -1;
  for (const auto& [key, writer] : job.writers) {
    if (writer.local_rank < 0) continue;
    if (!writer.host.empty()) hosts.insert(writer.host);
    most = std::max(most, writer.local_rank);
    if (writer.rank < 0 && !without_rank.insert(writer.local_rank).second) return false;
  }
  return hosts.size() <= 1 && job.size - 1 <= most;
}

// Ranks by the number and the host, which may be unknown, of their process.
using RankOfPid = std::map<std::pair<int64_t, std::string>, int32_t>;

// -1: unknown. A report on a process may not name its host.
int32_t FindRank(const RankOfPid& ranks, const Writer& writer) {
  const auto found = ranks.lower_bound({writer.pid, writer.host});
  if (found == ranks.end() || found->first.first != writer.pid) return -1;
  if (!writer.host.empty()) return found->first.second == writer.host ? found->second : -1;
  const auto next = std::next(found);
  const bool only = next == ranks.end() || next->first.first != writer.pid;
  return only ? found->second : -1;
}

// Sets `rank` of writers that no line has named.
void NameWriters(LogJob* job) {
  const Series series(job->files);
  RankOfPid rank_of_pid;
  for (auto& [key, writer] : job->writers) {
    if (writer.rank < 0 && writer.local_rank < 0) writer.rank = series.RankOf(writer.file);
    if (writer.rank < 0) writer.rank = RankInLargestCommunicator(writer);
    if (writer.rank >= 0 && writer.pid > 0) rank_of_pid[{writer.pid, writer.host}] = writer.rank;
  }
  const bool one_node = RanOnOneNode(*job);
  std::set<int64_t> devices;
  bool by_device = true;
  for (auto& [key, writer] : job->writers) {
    if (writer.rank < 0) writer.rank = FindRank(rank_of_pid, writer);
    if (writer.rank < 0 && one_node) writer.rank = writer.local_rank;
    if (writer.communicators.empty()) continue;
    by_device &= writer.rank < 0 && writer.device >= 0 && devices.insert(writer.device).second;
  }
  if (!by_device) return;
  for (auto& [key, writer] : job->writers) {
    if (writer.communicators.empty()) continue;
    writer.rank = static_cast<int32_t>(std::min<int64_t>(writer.device, kMaxRanks - 1));
  }
}

// Ordinary text may look like the prefix of a launcher: "3: ". A launcher puts the prefix in front
// of all lines.
bool IsOrdinaryText(const LogJob& job, const Writer& writer, bool others_have_prefix) {
  const bool only_rank = writer.local_rank < 0 && writer.pid < 0 && writer.named;
  const File& file = job.files[writer.file];
  const bool is_task = job.has_tasks && only_rank;
  return writer.weak && only_rank &&
         (is_task || others_have_prefix || file.weak * 2 < file.plain_lines);
}

bool Exited(const Writer& writer) {
  return writer.end.parent_saw && writer.end.how == ProcessEnd::How::kExited;
}

// The rank that is said to have failed first, and that has no exception.
Writer* FailedFirst(Ranks* ranks) {
  Writer* first = nullptr;
  for (auto& [rank, writer] : *ranks) {
    const bool failed = Exited(writer) || writer.exit_mark != ring::ExitMark::kNone;
    if (!failed || writer.exception) continue;
    const auto when = [](const Writer& of) { return std::pair(of.end.at_ns, of.end.order); };
    if (first == nullptr || when(writer) < when(*first)) first = &writer;
  }
  return first;
}

// Tracebacks without a rank say that ranks lacked others. The ranks that exited when `first` did
// may have printed them, unless only `first` did, and one other exception has no rank.
void MarkThoseWhoMayLackOthers(LogJob* job, Ranks* ranks, const Writer& first,
                               std::vector<Writer*>* unknown) {
  const auto at_once = [&first](int64_t ns) {
    constexpr int64_t kAtOnceNs = 2'000'000'000;
    return ns == kNoTime || first.end.at_ns == kNoTime || ns < first.end.at_ns + kAtOnceNs;
  };
  std::vector<Writer*> exited;
  for (auto& [rank, writer] : *ranks) {
    if (Exited(writer) && !writer.exception && at_once(writer.end.at_ns)) {
      exited.push_back(&writer);
    }
  }
  const auto listed = std::ranges::count_if(job->listed_exits, at_once);
  if (!unknown->empty() && static_cast<int64_t>(exited.size()) + listed < 2) return;
  for (Writer* writer : exited) writer->lacks_others = true;
  if (unknown->empty()) return;
  const Writer& raised = *unknown->front();
  job->AddStatement(
      raised.quotes.front(),
      fmt::format("{} was raised; the log does not say by which rank", raised.exception->type));
  unknown->clear();
}

// Both are one rank. What `to` states wins.
void Merge(Writer from, Writer* to) {
  if (to->host.empty()) to->host = std::move(from.host);
  if (to->pid < 0) to->pid = from.pid;
  if (to->local_rank < 0) to->local_rank = from.local_rank;
  to->weak &= from.weak;
  if (to->device < 0) to->device = from.device;
  to->groups.merge(from.groups);
  for (Calls& calls : from.communicators) to->communicators.push_back(std::move(calls));
  to->lacks_others |= from.lacks_others;
  if (!to->exception && from.exception) {
    to->exception = std::move(from.exception);
    to->exception_frames = std::move(from.exception_frames);
    to->raised = from.raised;
    to->lines_after_exception = from.lines_after_exception;
  }
  const bool other_end = HasEnded(from.end) && !from.end.by_launcher;
  const bool earlier = from.end.at_ns != kNoTime && from.end.at_ns < to->end.at_ns;
  if (!HasEnded(to->end) || (other_end && (to->end.by_launcher || earlier))) {
    to->end = from.end;
    to->ended = from.ended;
    to->end_is_listed = from.end_is_listed;
    to->end_lacks_frame = from.end_lacks_frame;
    to->lines_after_end = from.lines_after_end;
  }
  to->plain_ns = std::max(to->plain_ns, from.plain_ns);
  if (to->exit_mark == ring::ExitMark::kNone) {
    to->exit_mark = from.exit_mark;
    to->exit_status = from.exit_status;
  }
  if (!to->ended_by) to->ended_by = from.ended_by;
  for (Quote& quote : from.quotes) to->quotes.push_back(std::move(quote));
}

}  // namespace

FoundRanks FindRanks(LogJob* job) {
  const auto most_stated =
      std::ranges::max_element(job->sizes, [](auto& a, auto& b) { return a.second < b.second; });
  if (job->size < 0 && most_stated != job->sizes.end()) job->size = most_stated->first;
  NameWriters(job);
  int32_t highest = -1;
  for (const auto& [key, writer] : job->writers) {
    if (writer.prefixed) highest = std::max(highest, writer.rank);
  }
  FoundRanks found;
  std::vector<Writer*> unknown;
  bool lacks_others = false;  // a rank that is not known
  for (auto& [key, writer] : job->writers) {
    // Lines of several ranks that were written at the same time may make one number of two.
    const bool merged = writer.by_group && highest >= 0 && writer.rank > highest;
    const bool in_job = writer.rank >= 0 && writer.rank < static_cast<int32_t>(kMaxRanks);
    if (!in_job || merged || IsOrdinaryText(*job, writer, highest >= 0)) {
      if (writer.exception) unknown.push_back(&writer);
      lacks_others |= writer.lacks_others;
      continue;
    }
    const auto [entry, added] = found.ranks.try_emplace(writer.rank);
    if (added) {
      entry->second = std::move(writer);
    } else {
      Merge(std::move(writer), &entry->second);
    }
  }
  Writer* failed = FailedFirst(&found.ranks);
  if (lacks_others && failed != nullptr) {
    MarkThoseWhoMayLackOthers(job, &found.ranks, *failed, &unknown);
  }
  if (unknown.size() == 1) found.unknown = std::move(*unknown[0]);
  return found;
}

void AssignUnknown(FoundRanks* found) {
  Writer* failed = FailedFirst(&found->ranks);
  if (found->unknown && failed != nullptr) Merge(std::move(*found->unknown), failed);
}

}  // namespace rollcall::logs
