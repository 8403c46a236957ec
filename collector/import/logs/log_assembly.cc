// Assembles the Trace of LogTraceBuilder.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <string_view>
#include <utility>

#include "collector/import/logs/log_operations.h"
#include "collector/import/logs/log_trace.h"
#include "collector/import/trace_builder.h"
#include "collector/model/rank_set.h"
#include "proto/operations.h"

namespace rollcall::logs {
namespace {

// A job whose ranks have called nothing for so long, while its log goes on, stands still.
constexpr int64_t kStillNs = 30'000'000'000;
// After an exception that ends a rank, not many lines of it follow.
constexpr int kLinesOfAnEnd = 5;

}  // namespace

// --- Which lines are of one rank.

void LogTraceBuilder::Merge(Writer from, Writer* to) {
  if (to->host.empty()) to->host = std::move(from.host);
  if (to->pid < 0) to->pid = from.pid;
  if (to->local_rank < 0) to->local_rank = from.local_rank;
  to->weak &= from.weak;
  if (to->device < 0) to->device = from.device;
  to->groups.merge(from.groups);
  for (Calls& calls : from.communicators) to->communicators.push_back(std::move(calls));
  if (!to->exception && from.exception) {
    to->exception = std::move(from.exception);
    to->exception_frames = std::move(from.exception_frames);
    to->exception_file = from.exception_file;
    to->exception_line = from.exception_line;
    to->lines_after_exception = from.lines_after_exception;
  }
  const bool other_end = HasEnded(from.end) && !from.end.by_launcher;
  if (!HasEnded(to->end) || (to->end.by_launcher && other_end)) {
    to->end = from.end;
    to->ended = from.ended;
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

LogTraceBuilder::Ranks LogTraceBuilder::Resolve() {
  // Files that differ in one number, from 0 or 1 on, or that say that it is a rank.
  std::map<std::string, std::set<int32_t>> series;
  for (const File& file : files_) {
    if (file.number >= 0) series[file.series].insert(file.number);
  }
  const auto rank_of_file = [&](uint32_t index) {
    const File& file = files_[index];
    const auto found = series.find(file.series);
    if (found == series.end()) return -1;
    const size_t number = file.series.find('*');
    const size_t before = file.series.find_last_not_of("_-.=", number - 1);
    const bool named =
        before != std::string::npos && file.series.substr(0, before + 1).ends_with("rank");
    const bool counts = found->second.size() > 1 && *found->second.begin() == 0;
    return named || counts ? file.number : -1;
  };
  std::set<std::string> hosts;
  int32_t most_local = -1;
  std::map<std::pair<int64_t, std::string>, int32_t> rank_of_pid;
  std::set<int32_t> locals;
  bool local_twice = false;
  for (auto& [key, writer] : writers_) {
    if (writer.rank < 0 && writer.local_rank < 0) writer.rank = rank_of_file(writer.file);
    if (writer.rank < 0) {
      const auto largest =
          std::max_element(writer.communicators.begin(), writer.communicators.end(),
                           [](const Calls& a, const Calls& b) {
                             return std::pair(a.rank >= 0, a.size) < std::pair(b.rank >= 0, b.size);
                           });
      if (largest != writer.communicators.end()) writer.rank = largest->rank;
    }
    if (writer.local_rank >= 0 && !writer.host.empty()) hosts.insert(writer.host);
    most_local = std::max(most_local, writer.local_rank);
    if (writer.rank < 0 && writer.local_rank >= 0) {
      local_twice |= !locals.insert(writer.local_rank).second;
    }
    if (writer.rank >= 0 && writer.pid > 0) rank_of_pid[{writer.pid, writer.host}] = writer.rank;
  }
  // On one node, the local rank is the rank.
  const auto most_stated = std::max_element(sizes_.begin(), sizes_.end(),
                                            [](auto& a, auto& b) { return a.second < b.second; });
  if (size_ < 0 && most_stated != sizes_.end()) size_ = most_stated->first;
  const bool one_node = hosts.size() <= 1 && size_ - 1 <= most_local && !local_twice;
  std::set<int64_t> devices;
  bool by_device = true;
  for (auto& [key, writer] : writers_) {
    // A report on a process may not name its host.
    const auto of_pid = rank_of_pid.lower_bound({writer.pid, writer.host});
    if (writer.rank < 0 && of_pid != rank_of_pid.end() && of_pid->first.first == writer.pid &&
        (writer.host.empty() || of_pid->first.second == writer.host)) {
      const auto next = std::next(of_pid);
      const bool only = next == rank_of_pid.end() || next->first.first != writer.pid;
      if (only || !writer.host.empty()) writer.rank = of_pid->second;
    }
    if (writer.rank < 0 && writer.local_rank >= 0 && one_node) writer.rank = writer.local_rank;
    if (writer.communicators.empty()) continue;
    by_device &= writer.rank < 0 && devices.insert(writer.device).second && writer.device >= 0;
  }
  Ranks ranks;
  std::vector<Writer*> unknown;
  const auto key_of_rank = [](const std::string& key) { return key.starts_with('r'); };
  int32_t highest = -1;
  for (const auto& [key, writer] : writers_) {
    if (writer.prefixed) highest = std::max(highest, writer.rank);
  }
  for (auto& [key, writer] : writers_) {
    if (by_device && !writer.communicators.empty()) {
      writer.rank = static_cast<int32_t>(std::min<int64_t>(writer.device, kMaxRanks - 1));
    }
    // Lines of several ranks that were written at once may make one number of two.
    const bool merged = writer.by_group && highest >= 0 && writer.rank > highest;
    // Ordinary text may look like the prefix of a launcher, which all lines have.
    const File& file = files_[writer.file];
    const bool no_prefix = writer.rank >= 0 && writer.weak && writer.local_rank < 0 &&
                           writer.pid < 0 && key_of_rank(key) &&
                           (highest >= 0 || file.weak * 2 < file.lines);
    const bool doubtful = merged || no_prefix;
    if (writer.rank < 0 || writer.rank >= static_cast<int32_t>(kMaxRanks) || doubtful) {
      if (writer.exception) unknown.push_back(&writer);
      continue;
    }
    const auto [entry, added] = ranks.try_emplace(writer.rank);
    if (added) {
      entry->second = std::move(writer);
    } else {
      Merge(std::move(writer), &entry->second);
    }
  }
  // One traceback without a rank is that of the one rank which is said to have failed.
  std::vector<Writer*> failed;
  for (auto& [rank, writer] : ranks) {
    const bool exited = writer.end.parent_saw && writer.end.how == ProcessEnd::How::kExited;
    if (!writer.exception && (exited || writer.exit_mark != ring::ExitMark::kNone)) {
      failed.push_back(&writer);
    }
  }
  const auto first = std::min_element(failed.begin(), failed.end(), [](auto* a, auto* b) {
    return std::pair(a->end.at_ns, a->end.order) < std::pair(b->end.at_ns, b->end.order);
  });
  if (unknown.size() == 1 && first != failed.end()) Merge(std::move(*unknown[0]), *first);
  return ranks;
}

// What a rank does because its wait ended, or because the job was ended, is no cause.
void LogTraceBuilder::DropConsequences(Ranks* ranks) const {
  for (auto& [rank, writer] : *ranks) {
    const bool waits = std::any_of(writer.groups.begin(), writer.groups.end(),
                                   [](const auto& group) { return !group.second.waits.empty(); });
    const bool went_on = writer.lines_after_exception > kLinesOfAnEnd && !writer.end.parent_saw;
    if (waits || went_on) writer.exception.reset();
    ProcessEnd& end = writer.end;
    if (!HasEnded(end) || writer.exception) continue;
    const bool aborts =
        end.how == ProcessEnd::How::kSignaled && (end.status == SIGABRT || end.status == SIGTERM);
    // The launcher's report of a kill or crash comes after what the others say of it.
    const bool killed = end.how == ProcessEnd::How::kSignaled && end.parent_saw;
    // Between files without times, what came first is not known.
    const bool maybe_later = first_wait_.order >= 0 && !writer.ended.IsBefore(first_wait_);
    const bool later = maybe_later && !end.oom_killed && !killed;
    const bool stopped = job_ended_.IsBefore(writer.ended);
    if (waits || later || stopped || (first_wait_.order >= 0 && aborts)) end = {};
    if (end.how == ProcessEnd::How::kUnknown) writer.ended = {};
  }
  // A text that the job prints may look like a launcher's: the rank goes on, or, where lines have
  // no writer, many of them follow for minutes.
  constexpr int64_t kWentOnNs = 300'000'000'000;
  constexpr int kManyLines = 20;
  const bool job_went_on = last_end_ns_ != kNoTime && lines_after_end_ >= kManyLines &&
                           last_plain_ns_ - last_end_ns_ > kWentOnNs;
  for (auto& [rank, writer] : *ranks) {
    const bool went_on = writer.lines_after_end > kLinesOfAnEnd && last_end_ns_ != kNoTime &&
                         writer.plain_ns - last_end_ns_ > kWentOnNs;
    if ((went_on || job_went_on) && writer.end.at_ns == kNoTime) {
      writer.end = {};
      writer.exit_mark = ring::ExitMark::kNone;
      writer.ended_by.reset();
    }
    // Other ranks lose their connections to one that aborts or ends.
    if (writer.ended_by == ErrorClass::kOTHER && abort_.rank >= 0 && abort_.rank != rank) {
      writer.ended_by.reset();
      writer.end = {};
    }
  }
  for (auto& [rank, writer] : *ranks) {
    const auto node = node_facts_.find(writer.host);
    if (writer.host.empty() || node == node_facts_.end()) continue;
    AddQuote(&writer, node->second, "", 0);
    writer.end = {};
    writer.end.how = ProcessEnd::How::kVanished;
    writer.end.with_node = true;
    writer.end.order = 0;
  }
  if (out_of_memory_) {
    for (auto& [rank, writer] : *ranks) {
      ProcessEnd& end = writer.end;
      end.oom_killed |= end.how == ProcessEnd::How::kSignaled && end.status == SIGKILL;
    }
  }
}

// --- The trace.

class LogTraceBuilder::Assembly {
 public:
  Assembly(LogTraceBuilder* builder, Ranks* ranks)
      : builder_(*builder), trace_(builder->trace_), ranks_(*ranks) {}

  void Build() {
    int64_t size = builder_.size_;
    for (const auto& [rank, writer] : ranks_) {
      size = std::max<int64_t>(size, builder_.size_ >= 0 ? rank + 1 : -1);
      for (const Calls& calls : writer.communicators) size = std::max(size, calls.size);
      stalled_ |= !writer.groups.empty();
    }
    if (size < 0 && stalled_) size = ranks_.rbegin()->first + 1;
    World& world = trace_.worlds.emplace_back();
    world.job_key = 1;
    world.size = static_cast<int32_t>(size);
    world.processes.resize(static_cast<size_t>(std::max<int64_t>(size, ranks_.rbegin()->first + 1)),
                           kNoIndex);
    for (auto& [rank, writer] : ranks_) AddProcess(rank, &writer);
    AddCommunicators();
    if (!has_calls_) AddGroups();
    AddStarts();
    AddLines();
    if (builder_.last_ns_ != kNoTime) trace_.taken_at_ns = builder_.last_ns_;
  }

 private:
  struct MemberOfGroup {
    uint32_t process;
    const Position* position;
  };

  uint32_t AddProcess(int32_t rank, const Writer* writer) {
    const auto index = static_cast<uint32_t>(trace_.processes.size());
    trace_.worlds[0].processes[static_cast<size_t>(rank)] = index;
    Process& process = trace_.processes.emplace_back();
    process.world = 0;
    process.rank = rank;
    process.device = !builder_.has_mpi_;
    process.without_mpi = !builder_.has_mpi_;
    process.phase = ring::Phase::kRunning;
    process.taken_at_ns = builder_.last_ns_;
    process.threads.emplace_back().main = true;
    writers_.push_back(writer);
    if (writer == nullptr) return index;
    process.host = writer->host;
    process.pid = writer->pid > 0 ? static_cast<uint32_t>(writer->pid) : 0;
    process.end = writer->end;
    process.exit_mark = writer->exit_mark;
    process.exit_status = writer->exit_status;
    process.ended_by = writer->ended_by;
    process.source = builder_.files_[writer->file].path;
    if (writer->exception) {
      process.exception = writer->exception;
      process.exception->call_path = PathOf(writer->exception_frames);
      if (!HasEnded(process.end)) process.end.how = ProcessEnd::How::kVanished;
    }
    if (writer->ended_by && !HasEnded(process.end)) process.end.how = ProcessEnd::How::kVanished;
    return index;
  }

  uint32_t PathOf(const std::vector<LogFrame>& frames) {
    CallPath path;
    path.end = ring::StackEnd::kComplete;
    for (auto it = frames.rbegin(); it != frames.rend(); ++it) {
      SourceFrame frame;
      frame.function = it->function;
      frame.file = it->file;
      frame.line = it->line;
      frame.language = Language::kPython;
      frame.detail = FrameDetail::kSourceLine;
      path.codes.push_back(builder_.interner_.PythonCode(frame, 0));
    }
    return path.codes.empty() ? kNoIndex : builder_.interner_.CallPath(path);
  }

  uint32_t AddCommunicator(const std::string& name, std::vector<int32_t> ranks) {
    const auto index = static_cast<uint32_t>(trace_.communicators.size());
    Communicator& comm = trace_.communicators.emplace_back();
    comm.key = index + 1;
    comm.world = 0;
    comm.name = name;
    comm.ranks = std::move(ranks);
    by_name_[name] = index;
    return index;
  }

  Member& AddMember(uint32_t process, uint32_t communicator, int32_t rank) {
    Communicator& comm = trace_.communicators[communicator];
    comm.members.push_back(static_cast<uint32_t>(trace_.members.size()));
    Member& member = trace_.members.emplace_back();
    member.process = process;
    member.communicator = communicator;
    member.uid = static_cast<uint32_t>(comm.members.size());
    member.rank = rank;
    return member;
  }

  void AddOpen(uint32_t process, const Event& event) {
    OpenRequest request;
    request.uid = ++requests_;
    request.starts = 1;
    request.event = event;
    std::vector<OpenRequest>& open = trace_.processes[process].open_requests;
    const auto later = [](const OpenRequest& a, const OpenRequest& b) {
      return a.event.start_ns < b.event.start_ns;
    };
    open.insert(std::upper_bound(open.begin(), open.end(), request, later), request);
  }

  // --- NCCL's communicators.

  struct Caller {
    uint32_t process;
    Calls* calls;
  };

  void AddCommunicators() {
    std::map<std::string, std::vector<Caller>> all;
    for (uint32_t p = 0; p < writers_.size(); ++p) {
      std::map<int64_t, int> made;  // communicators of a size
      if (writers_[p] == nullptr) continue;
      for (Calls& calls : ranks_.at(trace_.processes[p].rank).communicators) {
        const int nth = made[calls.size]++;
        all[calls.id.empty() ? fmt::format("{} of {} ranks", nth, calls.size) : calls.id].push_back(
            {p, &calls});
      }
    }
    int number = 0;
    for (auto& [id, callers] : all) {
      const auto called = static_cast<size_t>(std::count_if(
          callers.begin(), callers.end(), [](const Caller& c) { return c.calls->made > 0; }));
      if (called < 2 || !Align(&callers)) continue;
      has_calls_ = true;
      AddCalls(
          fmt::format("NCCL communicator {} ({} ranks)", ++number, callers.front().calls->size),
          callers);
    }
  }

  // Numbers the calls of all members from the same call on. False: it is not known which that is.
  static bool Align(std::vector<Caller>* callers) {
    bool from_start = true;
    int64_t base = 0;
    std::set<int32_t> ranks;
    for (const Caller& caller : *callers) {
      from_start &= caller.calls->rank >= 0;
      base = std::max(base, caller.calls->first_count);
      if (caller.calls->rank >= 0 && !ranks.insert(caller.calls->rank).second) return false;
    }
    // Where each call has the next number, a missing number is a line that was lost.
    for (const Caller& caller : *callers) {
      const Calls& calls = *caller.calls;
      if (calls.counts_rise && calls.made > 1 &&
          calls.last_count - calls.first_count + 1 != static_cast<int64_t>(calls.made)) {
        return false;
      }
    }
    if (from_start) return true;
    for (Caller& caller : *callers) {
      Calls& calls = *caller.calls;
      if (calls.made == 0 || calls.first_count < 0) return false;
      const auto skip = static_cast<uint64_t>(base - calls.first_count);
      if (skip >= calls.made) return false;
      calls.made -= skip;
      while (!calls.last.empty() && calls.last.front().sequence <= skip) calls.last.pop_front();
      for (Event& event : calls.last) event.sequence -= skip;
    }
    return true;
  }

  void AddCalls(const std::string& name, const std::vector<Caller>& callers) {
    std::vector<int32_t> ranks(
        static_cast<size_t>(std::clamp<int64_t>(callers.front().calls->size, 0, kMaxRanks)), -1);
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    int64_t last_ns = kNoTime;
    for (const Caller& caller : callers) {
      const Calls& calls = *caller.calls;
      if (calls.rank >= 0 && static_cast<size_t>(calls.rank) < ranks.size()) {
        ranks[static_cast<size_t>(calls.rank)] = trace_.processes[caller.process].rank;
      }
      least = std::min(least, calls.made);
      most = std::max(most, calls.made);
      last_ns = std::max(last_ns, calls.last_ns);
    }
    const bool all_known = std::find(ranks.begin(), ranks.end(), -1) == ranks.end();
    const bool here = all_known || callers.size() == ranks.size();
    const bool still = last_ns != kNoTime && builder_.last_ns_ - last_ns >= kStillNs;
    const bool stands = stalled_ || (still && least != most);
    const uint32_t c = AddCommunicator(name, all_known ? ranks : std::vector<int32_t>());
    const uint64_t complete = least - (least == most || !here ? std::min<uint64_t>(least, 1) : 0);
    for (const Caller& caller : callers) {
      Calls& calls = *caller.calls;
      Member& member = AddMember(caller.process, c, calls.rank);
      const auto m = static_cast<uint32_t>(trace_.members.size() - 1);
      member.entered = calls.made;
      member.completed = stands ? std::min(complete, calls.made) : calls.made;
      for (Event event : calls.last) {
        event.member = m;
        const bool open = event.sequence > member.completed;
        if (!open) event.end_ns = std::max<int64_t>(event.start_ns, 0);
        member.events.push_back(event);
        if (open) AddOpen(caller.process, event);
      }
      if (calls.made > 0) {
        Quote quote = calls.quote;
        quote.group = name;
        quote.number = calls.made;
        quotes_.emplace_back(caller.process, std::move(quote));
      }
    }
  }

  // --- PyTorch's groups.

  void AddGroups() {
    std::map<std::string, std::vector<MemberOfGroup>> groups;
    for (uint32_t p = 0; p < writers_.size(); ++p) {
      if (writers_[p] == nullptr) continue;
      for (const auto& [name, position] : writers_[p]->groups) {
        groups[name].push_back({p, &position});
      }
    }
    for (auto& [name, members] : groups) {
      if (IsOutOfStep(name, members)) continue;
      std::set<int32_t> seen;
      bool clear = true;
      bool waits = false;
      for (const MemberOfGroup& member : members) {
        clear &= member.position->group_rank < 0 || seen.insert(member.position->group_rank).second;
        waits |= !member.position->waits.empty();
      }
      // Two groups with one name cannot be told apart.
      if (clear && waits) AddGroup(name, members);
    }
  }

  // Operations complete on all members or on none. If some have completed what others wait in, an
  // earlier call was not the same on all, and the numbers no longer belong together.
  bool IsOutOfStep(const std::string& name, const std::vector<MemberOfGroup>& members) {
    std::map<int64_t, std::vector<int32_t>> waiting;  // ranks by the first operation they wait in
    int64_t most = -1;
    for (const MemberOfGroup& member : members) {
      if (member.position->waits.empty()) continue;
      const int64_t number = member.position->waits.begin()->first;
      waiting[number].push_back(trace_.processes[member.process].rank);
      most = std::max(most, number);
    }
    if (waiting.empty()) return false;
    std::vector<int32_t> behind;
    for (const MemberOfGroup& member : members) {
      const Position& position = *member.position;
      if (position.waits.empty() && position.enqueued >= 0 && position.enqueued < most) {
        behind.push_back(trace_.processes[member.process].rank);
      }
    }
    // One call too many on some ranks, or one too few on most.
    const bool few_wait =
        behind.size() > members.size() - behind.size() && name != "monitored_barrier";
    if (waiting.begin()->first == most && !few_wait) return false;
    std::string text;
    if (few_wait) {
      text = fmt::format("{} {} in #{}, which {} {} not called", RanksPhrase(waiting[most]),
                         Verb(waiting[most], "waits", "wait"), most, RanksPhrase(behind),
                         Verb(behind, "has", "have"));
      waiting.clear();
    }
    for (const auto& [number, ranks] : waiting) {
      text += fmt::format("{}{} {} in #{}", text.empty() ? "" : ", ", RanksPhrase(ranks),
                          Verb(ranks, "waits", "wait"), number);
    }
    AddStatement(members, fmt::format("the ranks of {} are out of step: {}", name, text));
    return true;
  }

  // In one operation, as far as the lines say.
  static bool AllWaitAlike(const std::vector<MemberOfGroup>& members) {
    const Wait* one = nullptr;
    for (const MemberOfGroup& member : members) {
      if (member.position->waits.empty()) return false;
      const Wait& wait = member.position->waits.begin()->second;
      if (wait.operation.empty()) continue;
      if (one == nullptr) one = &wait;
      if (wait.operation != one->operation) return false;
      const bool own_sizes = HasOwnSizes(TorchOperation(wait.operation));
      if (!own_sizes && wait.send_count != one->send_count) return false;
    }
    return true;
  }

  void AddUnknownGroup(const std::string& name, const std::vector<MemberOfGroup>& members) {
    std::vector<int32_t> ranks;
    ranks.reserve(members.size());
    for (const MemberOfGroup& member : members)
      ranks.push_back(trace_.processes[member.process].rank);
    const Wait& wait = members.front().position->waits.begin()->second;
    AddStatement(
        members,
        fmt::format("{} {} in {} #{} of group {}; the log does not say which other ranks are in it",
                    RanksPhrase(ranks), Verb(ranks, "waits", "wait"),
                    wait.operation.empty() ? "operation" : wait.operation, wait.number, name));
  }

  void AddStatement(const std::vector<MemberOfGroup>& members, std::string statement) {
    const Quote& quote = writers_[members.front().process]->quotes.front();
    LogLine line;
    line.file = builder_.files_[quote.file].path;
    line.line = quote.line;
    line.text = quote.text;
    line.statement = std::move(statement);
    trace_.log_lines.insert(trace_.log_lines.begin(), std::move(line));
  }

  void AddGroup(const std::string& name, const std::vector<MemberOfGroup>& members) {
    const bool whole = name == "default_pg" || name == "monitored_barrier";
    std::vector<int32_t> ranks;
    if (whole) {
      for (int32_t rank = 0; rank < trace_.worlds[0].size; ++rank) ranks.push_back(rank);
    }
    // The log does not say who else is in it.
    if (!whole && AllWaitAlike(members)) return AddUnknownGroup(name, members);
    const uint32_t c = AddCommunicator(name, std::move(ranks));
    std::map<int64_t, std::string> operations;  // by number, where all members that say it agree
    for (const MemberOfGroup& member : members) {
      for (const auto& [number, wait] : member.position->waits) {
        if (!wait.operation.empty()) operations.try_emplace(number, wait.operation);
      }
    }
    std::set<uint32_t> in_group;
    for (const MemberOfGroup& member : members) {
      in_group.insert(member.process);
      AddPosition(c, member, operations);
    }
    if (!whole) return;
    // Ranks whose calls on it are not known: those of which something else is, and one of which
    // nothing is, if it is the only one.
    std::vector<int32_t> silent;
    for (size_t rank = 0; rank < trace_.worlds[0].processes.size(); ++rank) {
      const uint32_t p = trace_.worlds[0].processes[rank];
      if (p != kNoIndex && in_group.contains(p)) continue;
      const bool known = p != kNoIndex && (IsGone(trace_.processes[p]) ||
                                           !trace_.processes[p].open_requests.empty());
      if (known) {
        AddMember(p, c, static_cast<int32_t>(rank)).counted = false;
      } else {
        silent.push_back(static_cast<int32_t>(rank));
      }
    }
    if (silent.size() == 1 && !builder_.folded_ && in_group.size() > 1) {
      uint32_t p = trace_.worlds[0].processes[static_cast<size_t>(silent[0])];
      if (p == kNoIndex) p = AddProcess(silent[0], nullptr);
      AddMember(p, c, silent[0]).counted = false;
    }
  }

  void AddPosition(uint32_t c, const MemberOfGroup& of,
                   const std::map<int64_t, std::string>& operations) {
    const Position& position = *of.position;
    Member& member = AddMember(of.process, c, position.group_rank);
    const auto m = static_cast<uint32_t>(trace_.members.size() - 1);
    const int64_t first = position.waits.empty() ? -1 : position.waits.begin()->first;
    const int64_t last = position.waits.empty() ? -1 : position.waits.rbegin()->first;
    member.entered = static_cast<uint64_t>(std::max<int64_t>({position.enqueued, last, 0}));
    member.completed = static_cast<uint64_t>(
        position.completed >= 0 ? position.completed : std::max<int64_t>(first - 1, 0));
    member.counted = position.enqueued >= 0;
    for (const auto& [number, wait] : position.waits) {
      const bool stated = !wait.operation.empty();
      const auto other = operations.find(number);
      Event event;
      event.member = m;
      event.sequence = static_cast<uint64_t>(std::max<int64_t>(number, 1));
      event.start_ns = wait.since_ns;
      event.call_path = PathOf(wait.frames);
      event.arguments =
          ArgumentsOf(stated || other == operations.end() ? wait.operation : other->second,
                      stated ? wait.send_count : -1, stated ? wait.recv_count : -1);
      if (stated) trace_.members[m].events.push_back(event);
      AddOpen(of.process, event);
    }
  }

  uint32_t ArgumentsOf(const std::string& name, int64_t send_count, int64_t recv_count) {
    Arguments arguments;
    arguments.operation = TorchOperation(name);
    if (!HasOwnSizes(arguments.operation)) {
      DatatypeInfo element;
      element.name = "element";
      element.signature = 1;
      const uint32_t type = builder_.interner_.Datatype(element);
      const bool receives = arguments.operation == Operation::kTorchReduceScatter ||
                            arguments.operation == Operation::kTorchAllReduce;
      const bool sends = arguments.operation != Operation::kTorchReduceScatter;
      if (sends && send_count >= 0) {
        arguments.send_count = static_cast<uint64_t>(send_count);
        arguments.send_datatype = type;
      }
      if (receives && recv_count >= 0) {
        arguments.recv_count = static_cast<uint64_t>(recv_count);
        arguments.recv_datatype = type;
      }
    }
    return builder_.interner_.Arguments(arguments);
  }

  // Ranks that wait until all ranks have come: to the store, or to the making of a communicator.
  void AddStarts() {
    if (builder_.store_) AddStore();
    std::map<int32_t, std::vector<uint32_t>> waiting;  // by the rank that they wait for
    for (uint32_t p = 0; p < writers_.size(); ++p) {
      if (writers_[p] != nullptr && writers_[p]->lacks_id_of >= 0) {
        waiting[writers_[p]->lacks_id_of].push_back(p);
      }
    }
    for (const auto& [lacking, processes] : waiting) {
      if (static_cast<size_t>(lacking) >= trace_.worlds[0].processes.size()) continue;
      if (trace_.worlds[0].processes[static_cast<size_t>(lacking)] == kNoIndex) {
        AddProcess(lacking, nullptr);
      }
      std::vector<int32_t> expected{lacking};
      for (const uint32_t p : processes) expected.push_back(trace_.processes[p].rank);
      std::sort(expected.begin(), expected.end());
      constexpr size_t kMaxWaiting = 4096;  // each holds the list
      if (processes.size() > kMaxWaiting) continue;
      for (const uint32_t p : processes) AddCreation(p, "ncclCommInitRank", expected);
    }
  }

  void AddStore() {
    std::vector<int32_t> silent;
    for (size_t rank = 0; rank < trace_.worlds[0].processes.size(); ++rank) {
      if (trace_.worlds[0].processes[rank] == kNoIndex) {
        silent.push_back(static_cast<int32_t>(rank));
      }
    }
    const int64_t lacking = builder_.store_->size - builder_.store_->completed;
    constexpr int64_t kMaxSilent = 64;
    if (static_cast<int64_t>(silent.size()) != lacking || lacking > kMaxSilent) return;
    for (uint32_t p = 0; p < writers_.size(); ++p) AddCreation(p, "init_process_group", {});
    for (const int32_t rank : silent) AddProcess(rank, nullptr);
  }

  void AddCreation(uint32_t process, const char* call, const std::vector<int32_t>& expected) {
    Creation creation;
    creation.key = 1;
    creation.process = process;
    creation.rank = trace_.processes[process].rank;
    creation.size =
        expected.empty() ? trace_.worlds[0].size : static_cast<int32_t>(expected.size());
    creation.expected = expected;  // empty: the whole job
    creation.call = call;
    Arguments arguments;
    arguments.operation = Operation::kNcclCommInitRank;
    creation.event.arguments = builder_.interner_.Arguments(arguments);
    trace_.creations.push_back(std::move(creation));
    // It waited for the whole of its time limit.
    trace_.processes[process].judged_ns = std::max<int64_t>(builder_.last_ns_, 0);
  }

  void AddLines() {
    for (uint32_t p = 0; p < writers_.size(); ++p) {
      if (writers_[p] == nullptr) continue;
      for (const Quote& quote : writers_[p]->quotes) quotes_.emplace_back(p, quote);
    }
    for (const auto& [process, quote] : quotes_) {
      const auto comm = by_name_.find(quote.group);
      trace_.log_lines.push_back({process, comm == by_name_.end() ? kNoIndex : comm->second,
                                  quote.number, builder_.files_[quote.file].path, quote.line,
                                  quote.text});
    }
  }

  LogTraceBuilder& builder_;
  Trace& trace_;
  Ranks& ranks_;
  std::vector<const Writer*> writers_;       // by process; nullptr: the log has no line of it
  std::map<std::string, uint32_t> by_name_;  // communicators
  std::vector<std::pair<uint32_t, Quote>> quotes_;
  uint64_t requests_ = 0;
  bool stalled_ = false;  // operations timed out
  bool has_calls_ = false;
};

Trace LogTraceBuilder::Finish() {
  TakeRas();
  Ranks ranks = Resolve();
  DropConsequences(&ranks);
  trace_.evidence = Trace::Evidence::kLogs;
  trace_.log_lines = std::move(statements_);
  if (ranks.empty()) return std::move(trace_);
  Assembly(this, &ranks).Build();
  return std::move(trace_);
}

void LogTraceBuilder::AddEnds(Trace* trace) {
  if (trace->worlds.size() != 1) return;
  Ranks ranks = Resolve();
  DropConsequences(&ranks);
  for (const auto& [rank, writer] : ranks) {
    const uint32_t p = ProcessOf(*trace, 0, rank);
    if (p == kNoIndex) continue;
    Process& process = trace->processes[p];
    if (!HasEnded(process.end) && writer.end.parent_saw) {
      process.end = writer.end;
      process.end.order = kNoIndex;  // the other ends have numbers of their own
    }
    if (process.exception || !writer.exception) continue;
    process.exception = writer.exception;
  }
}

}  // namespace rollcall::logs
