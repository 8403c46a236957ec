// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/import/logs/log_operations.h"
#include "collector/model/rank_set.h"
#include "proto/operations.h"

namespace rollcall::logs {
namespace {

constexpr size_t kMaxWaits = 64;

// The group of a wait whose line does not name it.
std::string UnnamedGroup(int32_t rank) { return fmt::format("a group of rank {}", rank); }

struct MemberOfGroup {
  uint32_t process;
  const Position* position;
};

// In one operation, as far as the lines say.
bool AllWaitAlike(const std::vector<MemberOfGroup>& members) {
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

// Operations complete on all members or on none. If some have completed what others wait in, an
// earlier call was not the same on all, and the numbers no longer belong together.
bool IsOutOfStep(LogParts* parts, const std::string& name,
                 const std::vector<MemberOfGroup>& members) {
  std::map<int64_t, std::vector<int32_t>> waiting;  // ranks by the first operation they wait in
  int64_t most = -1;
  for (const MemberOfGroup& member : members) {
    if (member.position->waits.empty()) continue;
    const int64_t number = member.position->waits.begin()->first;
    waiting[number].push_back(parts->RankOf(member.process));
    most = std::max(most, number);
  }
  if (waiting.empty()) return false;
  std::vector<int32_t> lagging;
  for (const MemberOfGroup& member : members) {
    const Position& position = *member.position;
    if (position.waits.empty() && position.enqueued >= 0 && position.enqueued < most) {
      lagging.push_back(parts->RankOf(member.process));
    }
  }
  for (const int32_t rank : lagging) {
    const Writer* writer = parts->writers()[parts->processes()[static_cast<size_t>(rank)]];
    const auto unnamed = writer->groups.find(UnnamedGroup(rank));
    if (unnamed == writer->groups.end() || unnamed->second.waits.empty()) continue;
    parts->AddStatement(members.front().process,
                        fmt::format("rank {} waits in #{} of a group that the log does not name",
                                    rank, unnamed->second.waits.begin()->first));
    return true;
  }
  // One call too many on some ranks, or one too few on most.
  const bool few_wait =
      lagging.size() > members.size() - lagging.size() && name != kMonitoredBarrier;
  if (waiting.begin()->first == most && !few_wait) return false;
  std::string text;
  if (few_wait) {
    text =
        fmt::format("{} in #{}, which {} not called", RanksPhrase(waiting[most], "waits", "wait"),
                    most, RanksPhrase(lagging, "has", "have"));
    waiting.clear();
  }
  for (const auto& [number, ranks] : waiting) {
    text += fmt::format("{}{} in #{}", text.empty() ? "" : ", ",
                        RanksPhrase(ranks, "waits", "wait"), number);
  }
  parts->AddStatement(members.front().process,
                      fmt::format("the ranks of {} are out of step: {}", name, text));
  return true;
}

void AddUnknownGroup(LogParts* parts, const std::string& name,
                     const std::vector<MemberOfGroup>& members) {
  std::vector<int32_t> ranks;
  ranks.reserve(members.size());
  for (const MemberOfGroup& member : members) ranks.push_back(parts->RankOf(member.process));
  const Wait& wait = members.front().position->waits.begin()->second;
  parts->AddStatement(
      members.front().process,
      fmt::format("{} in {} #{} of group {}; the log does not say which other ranks are in it",
                  RanksPhrase(ranks, "waits", "wait"),
                  wait.operation.empty() ? "operation" : wait.operation, wait.number, name));
}

uint32_t ArgumentsOf(LogParts* parts, const std::string& name, int64_t send_count,
                     int64_t recv_count) {
  Arguments arguments;
  arguments.operation = TorchOperation(name);
  if (!HasOwnSizes(arguments.operation)) {
    DatatypeInfo element;
    element.name = "element";
    element.signature = 1;
    const uint32_t type = parts->interner().Datatype(element);
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
  return parts->interner().Arguments(arguments);
}

void AddPosition(LogParts* parts, uint32_t c, const MemberOfGroup& of,
                 const std::map<int64_t, std::string>& operations) {
  const Position& position = *of.position;
  Member& member = parts->AddMember(of.process, c, position.group_rank);
  const auto m = static_cast<uint32_t>(parts->trace().members.size() - 1);
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
    event.call_path = PathOf(wait.frames, &parts->interner());
    event.arguments =
        ArgumentsOf(parts, stated || other == operations.end() ? wait.operation : other->second,
                    stated ? wait.send_count : -1, stated ? wait.recv_count : -1);
    if (stated) parts->trace().members[m].events.push_back(event);
    parts->AddOpen(of.process, event);
  }
}

void AddGroup(LogParts* parts, const std::string& name, const std::vector<MemberOfGroup>& members) {
  const bool whole = name == kDefaultGroup || name == kMonitoredBarrier;
  std::vector<int32_t> ranks;
  if (whole) {
    for (int32_t rank = 0; rank < parts->trace().worlds[0].size; ++rank) ranks.push_back(rank);
  }
  // The log does not say who else is in it.
  if (!whole && AllWaitAlike(members)) return AddUnknownGroup(parts, name, members);
  const uint32_t c = parts->AddCommunicator(name, std::move(ranks));
  std::map<int64_t, std::string> operations;  // by number, where all members that say it agree
  for (const MemberOfGroup& member : members) {
    for (const auto& [number, wait] : member.position->waits) {
      if (!wait.operation.empty()) operations.try_emplace(number, wait.operation);
    }
  }
  std::set<uint32_t> in_group;
  for (const MemberOfGroup& member : members) {
    in_group.insert(member.process);
    AddPosition(parts, c, member, operations);
  }
  if (!whole) return;
  // Ranks whose calls on it are not known: those of which something else is, and one of which
  // nothing is, if it is the only one.
  std::vector<int32_t> silent;
  for (size_t rank = 0; rank < parts->processes().size(); ++rank) {
    const uint32_t p = parts->processes()[rank];
    if (p != kNoIndex && in_group.contains(p)) continue;
    const bool known = p != kNoIndex && (IsGone(parts->trace().processes[p]) ||
                                         !parts->trace().processes[p].open_requests.empty());
    if (known) {
      parts->AddMember(p, c, static_cast<int32_t>(rank)).counted = false;
    } else {
      silent.push_back(static_cast<int32_t>(rank));
    }
  }
  if (silent.size() == 1 && !parts->job().folded && in_group.size() > 1) {
    uint32_t p = parts->processes()[static_cast<size_t>(silent[0])];
    if (p == kNoIndex) p = parts->AddProcess(silent[0], nullptr);
    parts->AddMember(p, c, silent[0]).counted = false;
  }
}

// "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2977, OpType=…" names the
// operation and not the group; other lines name the group and the number.
void MoveWaitsToStatedGroups(Writer* writer) {
  const auto stated_in = [writer](int64_t number) {
    return std::ranges::count_if(writer->groups, [number](const auto& group) {
      const auto wait = group.second.waits.find(number);
      return wait != group.second.waits.end() && wait->second.in_stated_group;
    });
  };
  for (auto& group : writer->groups) {
    Position& position = group.second;
    const bool by_default = group.first == kDefaultGroup;
    // With two groups, the log does not say in which of them the operation is.
    for (auto& [number, wait] : position.waits) {
      if (!wait.of_unnamed || stated_in(number) < 2) continue;
      wait.operation.clear();
      wait.send_count = wait.recv_count = -1;
    }
    std::erase_if(position.waits, [&](const auto& numbered) {
      const Wait& wait = numbered.second;
      if (wait.in_stated_group) return false;
      for (auto& [name, stated] : writer->groups) {
        const auto same = stated.waits.find(wait.number);
        if (same == stated.waits.end() || !same->second.in_stated_group) continue;
        Wait& to = same->second;
        if (!to.operation.empty() && to.operation != wait.operation) continue;
        to = wait;
        to.in_stated_group = true;
        return true;
      }
      // Its number shows that the group is not the default one.
      if (!by_default || position.enqueued < 0 || wait.number <= position.enqueued) return false;
      Position& unnamed = writer->groups[UnnamedGroup(writer->rank)];
      unnamed.group_rank = position.group_rank;
      unnamed.waits.emplace(wait.number, wait);
      return true;
    });
  }
}

}  // namespace

void AddWait(LogJob* job, Writer* writer, const LogFact& fact) {
  if (writer == nullptr) return;
  // Messages have numbers of their own.
  const std::string& operation = fact.operation;
  if (operation.starts_with("SEND") || operation.starts_with("RECV")) return;
  std::string group = fact.group.empty() ? std::string(kDefaultGroup) : fact.group;
  if (fact.group.empty() && fact.rank >= 0 && fact.group_rank >= 0 &&
      fact.rank != fact.group_rank) {
    group = UnnamedGroup(fact.rank);
  }
  if (!writer->groups.contains(group) && writer->groups.size() >= kMaxGroups) return;
  Position& position = writer->groups[group];
  job->NoteWait(fact);
  if (fact.group_rank >= 0) position.group_rank = fact.group_rank;
  position.enqueued = std::max(position.enqueued, fact.enqueued);
  position.completed = std::max(position.completed, fact.completed);
  int64_t number = fact.number;
  if (fact.says == Says::kWaits && number < 0) number = 1;  // before PyTorch 2.0
  if (fact.says == Says::kWaits &&
      (position.waits.contains(number) || position.waits.size() < kMaxWaits)) {
    Wait& wait = position.waits[number];
    wait.number = number;
    wait.in_stated_group |= !fact.group.empty();
    // What PyTorch 1.13 prints of another rank may be wrong.
    const bool named_before = fact.group.empty() && !wait.operation.empty() && !wait.of_unnamed;
    if (!operation.empty() && !named_before && !(fact.of_another && wait.of_itself)) {
      wait.of_itself = !fact.of_another;
      wait.operation = operation;
      wait.of_unnamed = fact.group.empty();
      wait.send_count = fact.send_count;
      wait.recv_count = fact.recv_count;
    }
    if (fact.time_ns != kNoTime && fact.duration_ms >= 0 && fact.duration_ms < int64_t{1} << 40) {
      wait.since_ns = fact.time_ns - fact.duration_ms * 1'000'000;
    }
  }
  job->AddQuote(writer, fact, group, fact.says == Says::kWaits ? number : fact.enqueued);
}

void AddLacking(LogJob* job, const LogFact& fact) {
  LogFact waits = fact;
  waits.says = Says::kWaits;
  waits.operation = "BARRIER";
  waits.number = 1;
  waits.ranks.clear();
  waits.group = kMonitoredBarrier;
  waits.duration_ms = -1;  // the whole of its time limit, however short
  if (waits.rank < 0) waits.rank = std::max(fact.group_rank, 0);
  AddWait(job, job->WriterOf(waits), waits);
  for (const int32_t rank : fact.ranks) {
    Writer* writer = job->WriterOfRank(rank);
    if (writer == nullptr) continue;
    Position& position = writer->groups[waits.group];
    position.group_rank = rank;
    position.enqueued = position.completed = 0;
    job->AddQuote(writer, fact, waits.group, 0);
  }
}

void AddGroups(LogParts* parts) {
  std::map<std::string, std::vector<MemberOfGroup>> groups;
  for (uint32_t p = 0; p < parts->writers().size(); ++p) {
    if (parts->writers()[p] == nullptr) continue;
    MoveWaitsToStatedGroups(parts->writers()[p]);
    for (const auto& [name, position] : parts->writers()[p]->groups) {
      groups[name].push_back({p, &position});
    }
  }
  for (auto& [name, members] : groups) {
    if (IsOutOfStep(parts, name, members)) continue;
    std::set<int32_t> seen;
    bool clear = true;
    bool waits = false;
    for (const MemberOfGroup& member : members) {
      clear &= member.position->group_rank < 0 || seen.insert(member.position->group_rank).second;
      waits |= !member.position->waits.empty();
    }
    if (!waits) continue;
    if (clear) {
      AddGroup(parts, name, members);
    } else {
      parts->AddStatement(members.front().process,
                          fmt::format("ranks wait in several groups that are named {}", name));
    }
  }
}

}  // namespace rollcall::logs
