// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/import/logs/log_operations.h"
#include "collector/import/trace_builder.h"
#include "proto/datatypes.h"
#include "proto/operations.h"

namespace rollcall::logs {
namespace {

// The last calls of a process on a communicator that are kept: fewer if there are many.
constexpr size_t kMaxCalls = 8192;
constexpr size_t kMaxCallsInAll = size_t{1} << 20;
// A job whose ranks have called nothing for this time, while its log continues, stands still.
constexpr int64_t kStillNs = 30'000'000'000;

DatatypeInfo NcclDatatype(int64_t number) {
  constexpr int64_t kFirst = static_cast<int64_t>(BasicType::kncclInt8);
  DatatypeInfo info;
  const bool may_be = number >= 0 && number < 20;
  const BasicTypeInfo basic =
      FindBasicType(static_cast<uint16_t>(may_be ? kFirst + number : kFirst + 20));
  info.name = basic.number == 0 ? fmt::format("NCCL type {}", number) : std::string(basic.name);
  info.bytes = basic.bytes;
  info.signature = static_cast<uint64_t>(number) + 2;
  return info;
}

Calls* CallsOf(Writer* writer, const LogFact& fact) {
  std::vector<Calls>& all = writer->communicators;
  const auto known = std::find_if(
      all.rbegin(), all.rend(), [&](const Calls& calls) { return calls.address == fact.address; });
  if (known != all.rend()) return &*known;
  if (all.size() >= kMaxGroups) return nullptr;
  all.emplace_back().address = fact.address;
  return &all.back();
}

Arguments ArgumentsOf(LogJob* job, Operation operation, const LogFact& fact) {
  Arguments arguments;
  arguments.operation = operation;
  arguments.send_count = static_cast<uint64_t>(std::max<int64_t>(fact.send_count, 0));
  arguments.send_datatype = job->interner.Datatype(NcclDatatype(fact.datatype));
  const Rule rule = FindOperation(static_cast<uint16_t>(operation)).rule;
  if (rule == Rule::kBcast || rule == Rule::kReduce) {
    arguments.root_or_peer = static_cast<int32_t>(std::clamp<int64_t>(fact.root, -1, kMaxRanks));
  }
  const bool reduces = operation == Operation::kNcclAllReduce ||
                       operation == Operation::kNcclReduceScatter ||
                       operation == Operation::kNcclReduce;
  if (reduces && fact.reduce_op >= 0 && fact.reduce_op <= 4) {
    arguments.reduce_op =
        static_cast<uint16_t>(static_cast<int64_t>(ReduceOp::kNcclSum) + fact.reduce_op);
  }
  return arguments;
}

struct Caller {
  uint32_t process;
  Calls* calls;
};

// Numbers the calls of all members from the same call on. False: it is not known which that is.
bool Align(std::vector<Caller>* callers) {
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

void AddMembers(LogParts* parts, bool stalled, const std::string& name,
                const std::vector<Caller>& callers) {
  std::vector<int32_t> ranks(
      static_cast<size_t>(std::clamp<int64_t>(callers.front().calls->size, 0, kMaxRanks)), -1);
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  int64_t last_ns = kNoTime;
  for (const Caller& caller : callers) {
    const Calls& calls = *caller.calls;
    if (calls.rank >= 0 && static_cast<size_t>(calls.rank) < ranks.size()) {
      ranks[static_cast<size_t>(calls.rank)] = parts->RankOf(caller.process);
    }
    least = std::min(least, calls.made);
    most = std::max(most, calls.made);
    last_ns = std::max(last_ns, calls.last_ns);
  }
  const bool all_known = std::ranges::find(ranks, -1) == ranks.end();
  const bool here = all_known || callers.size() == ranks.size();
  const bool still = last_ns != kNoTime && parts->job().last_ns - last_ns >= kStillNs;
  const bool stands = stalled || (still && least != most);
  const uint32_t c = parts->AddCommunicator(name, all_known ? ranks : std::vector<int32_t>());
  const uint64_t complete = least - (least == most || !here ? std::min<uint64_t>(least, 1) : 0);
  for (const Caller& caller : callers) {
    Calls& calls = *caller.calls;
    Member& member = parts->AddMember(caller.process, c, calls.rank);
    const auto m = static_cast<uint32_t>(parts->trace().members.size() - 1);
    member.entered = calls.made;
    member.completed = stands ? std::min(complete, calls.made) : calls.made;
    for (Event event : calls.last) {
      event.member = m;
      const bool open = event.sequence > member.completed;
      if (!open) event.end_ns = std::max<int64_t>(event.start_ns, 0);
      member.events.push_back(event);
      if (open) parts->AddOpen(caller.process, event);
    }
    if (calls.made > 0) {
      Quote quote = calls.quote;
      quote.group = name;
      quote.number = calls.made;
      parts->AddQuote(caller.process, std::move(quote));
    }
  }
}

}  // namespace

void AddCommunicator(Writer* writer, const LogFact& fact) {
  if (writer == nullptr) return;
  // An address may be used again, by another communicator.
  Calls* calls = CallsOf(writer, fact);
  if (calls != nullptr && calls->rank >= 0 && calls->made > 0 &&
      writer->communicators.size() < kMaxGroups) {
    calls->address.clear();
    writer->communicators.emplace_back().address = fact.address;
    calls = &writer->communicators.back();
  }
  if (calls == nullptr) return;
  calls->rank = fact.group_rank;
  calls->size = std::min<int64_t>(fact.size, kMaxRanks);
  calls->id = fact.group;
}

void AddCall(LogJob* job, Writer* writer, const LogFact& fact) {
  if (writer == nullptr) return;
  const Operation operation = NcclOperation(fact.operation);
  if (operation == Operation::kNone ||
      FindOperation(static_cast<uint16_t>(operation)).kind != Kind::kNonblocking) {
    return;  // a message
  }
  Calls* calls = CallsOf(writer, fact);
  if (calls == nullptr) return;
  if (calls->size < 0 && fact.size > 0) calls->size = std::min<int64_t>(fact.size, kMaxRanks);
  if (calls->made == 0) calls->first_count = fact.number;
  calls->counts_rise &= fact.number > calls->last_count;
  calls->last_count = fact.number;
  Event event;
  event.arguments = job->interner.Arguments(ArgumentsOf(job, operation, fact));
  event.sequence = ++calls->made;
  event.start_ns = fact.time_ns;
  calls->last.push_back(event);
  calls->last_ns = std::max(calls->last_ns, fact.time_ns);
  calls->quote = job->QuoteOf(fact, "", static_cast<int64_t>(calls->made));
  ++job->calls_kept;
  if (calls->last.size() > kMaxCalls || job->calls_kept > kMaxCallsInAll) {
    calls->last.pop_front();
    --job->calls_kept;
  }
}

bool AddCalls(LogParts* parts, bool stalled) {
  bool any = false;
  std::map<std::string, std::vector<Caller>> all;
  for (uint32_t p = 0; p < parts->writers().size(); ++p) {
    std::map<int64_t, int> made;  // communicators of a size
    if (parts->writers()[p] == nullptr) continue;
    for (Calls& calls : parts->writers()[p]->communicators) {
      const int nth = made[calls.size]++;
      all[calls.id.empty() ? fmt::format("{} of {} ranks", nth, calls.size) : calls.id].push_back(
          {p, &calls});
    }
  }
  int number = 0;
  for (auto& [id, callers] : all) {
    const auto called = static_cast<size_t>(
        std::ranges::count_if(callers, [](const Caller& c) { return c.calls->made > 0; }));
    if (called < 2 || !Align(&callers)) continue;
    any = true;
    AddMembers(
        parts, stalled,
        fmt::format("NCCL communicator {} ({} ranks)", ++number, callers.front().calls->size),
        callers);
  }
  return any;
}

}  // namespace rollcall::logs
