// SPDX-License-Identifier: Apache-2.0
#include "collector/import/flight_recorder/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "collector/base/find.h"
#include "collector/base/text.h"
#include "collector/import/flight_recorder/operation_name.h"
#include "collector/import/trace_builder.h"

namespace rollcall::flight_recorder {
namespace {

constexpr size_t kMaxName = 256;

std::string Clean(std::string_view text) { return CleanText(text, kMaxName); }

// The bytes of a scalar type, by torch's name; 0 if it is not listed.
uint64_t BytesOf(std::string_view dtype) {
  struct Row {
    std::string_view name;
    uint64_t bytes;
  };
  constexpr Row kRows[] = {{"Byte", 1},   {"Char", 1},         {"Bool", 1},
                           {"Short", 2},  {"Half", 2},         {"BFloat16", 2},
                           {"Int", 4},    {"Float", 4},        {"Long", 8},
                           {"Double", 8}, {"ComplexFloat", 8}, {"ComplexDouble", 16}};
  for (const Row& row : kRows) {
    if (dtype == row.name) return row.bytes;
  }
  return dtype.starts_with("Float8") ? 1 : 0;
}

bool IsDefault(const Dump& dump, const Group& group) {
  if (group.desc != kNoIndex && dump.strings.Get(group.desc) == "default_pg") return true;
  return dump.strings.Get(group.name) == "0";
}

// The sizes of an all_to_all can be compared from version 2.4 on.
bool HasAllToAllSizes(std::string_view version) {
  const size_t dot = version.find('.');
  const std::optional<int64_t> major = ParseNumber<int64_t>(version.substr(0, dot));
  if (!major || dot == std::string_view::npos) return false;
  const std::optional<int64_t> minor = ParseNumber<int64_t>(version.substr(dot + 1));
  return *major > 2 || (*major == 2 && minor && *minor >= 4);
}

}  // namespace

struct FlightTraceBuilder::Adding {
  const Dump& dump;
  uint32_t process = kNoIndex;
  std::unordered_map<uint32_t, uint32_t> members;  // by the group's name
  std::vector<uint32_t> paths;                     // by the dump's own index
  std::vector<uint32_t> datatypes;                 // by string
  std::unordered_map<uint32_t, uint32_t> threads;  // by string
  std::unordered_map<uint32_t, OperationName> operations;
  bool out_of_order = false;
};

void FlightTraceBuilder::Add(const Dump& dump) {
  for (const Problem& problem : dump.problems) trace_.problems.push_back(problem);
  if (!dump.usable) return;
  const auto add_problem = [&](ProblemCode code, std::string message) {
    trace_.problems.push_back({code, std::move(message), dump.source});
  };
  if (dump.rank < 0 || dump.rank >= static_cast<int32_t>(kMaxRanks)) {
    return add_problem(ProblemCode::kUnnamed,
                       "the file's name has no rank at its end; --rank-pattern says where it is");
  }
  const uint32_t world = WorldOf(dump);
  if (world == kNoIndex) {
    return add_problem(ProblemCode::kDuplicate,
                       fmt::format("a second dump of rank {}: it is left out", dump.rank));
  }

  Adding adding{dump, static_cast<uint32_t>(trace_.processes.size()), {}, {}, {}, {}, {}, false};
  adding.paths.assign(dump.paths.size(), kNoIndex);
  trace_.worlds[world].processes[static_cast<size_t>(dump.rank)] = adding.process;
  Process& process = trace_.processes.emplace_back();
  process.world = world;
  process.rank = dump.rank;
  process.device = true;
  process.without_mpi = true;
  process.phase = ring::Phase::kRunning;
  process.taken_at_ns = dump.taken_at_ns;
  process.source = dump.source;
  trace_.taken_at_ns = std::max(trace_.taken_at_ns, dump.taken_at_ns);
  AddGroups(&adding);
  for (const Entry& entry : dump.entries) AddEntry(&adding, entry);
  AddStatuses(&adding);
  if (adding.out_of_order) {
    add_problem(ProblemCode::kDamaged,
                "numbers do not increase: entries out of their group's order are left out");
  }
}

uint32_t FlightTraceBuilder::WorldOf(const Dump& dump) {
  std::string ranks;
  size_t size = 0;
  for (const Group& group : dump.groups) {
    if (!IsDefault(dump, group)) continue;
    const std::vector<int32_t> list =
        group.ranks_text == kNoIndex ? group.ranks : ParseRanks(dump.strings.Get(group.ranks_text));
    size = list.size();
    for (const int32_t rank : list) ranks += std::to_string(rank) + ',';
    break;
  }
  std::vector<Job>& jobs = jobs_[dump.directory];
  const auto rank = static_cast<size_t>(dump.rank);
  // A damaged dump may have lost its groups.
  const auto fits = [&](const Job& other) {
    return other.ranks == ranks || other.ranks.empty() || ranks.empty();
  };
  Job* job = nullptr;
  for (Job& other : jobs) {
    if (other.prefix == dump.prefix && fits(other)) job = &other;
  }
  const auto taken = [&](const Job& other) {
    return ProcessOf(trace_, other.world, dump.rank) != kNoIndex;
  };
  if (job != nullptr && taken(*job)) return kNoIndex;
  if (job == nullptr) {
    // A host name may precede the rank, so the dumps of one job may have different prefixes.
    for (Job& other : jobs) {
      if (job == nullptr && fits(other) && !taken(other)) job = &other;
    }
  }
  if (job == nullptr) {
    jobs.push_back({static_cast<uint32_t>(trace_.worlds.size()), dump.prefix, ranks});
    job = &jobs.back();
    trace_.worlds.emplace_back().job_key = trace_.worlds.size();
  }
  if (size != 0) {
    job->ranks = ranks;
    trace_.worlds[job->world].size = static_cast<int32_t>(size);
  }
  std::vector<uint32_t>& processes = trace_.worlds[job->world].processes;
  processes.resize(std::max({processes.size(), size, rank + 1}), kNoIndex);
  return job->world;
}

uint32_t FlightTraceBuilder::MemberOf(Adding* adding, uint32_t name, uint32_t desc,
                                      const std::vector<int32_t>& ranks,
                                      const std::string& ranks_key) {
  const auto [known, is_new] =
      adding->members.try_emplace(name, static_cast<uint32_t>(trace_.members.size()));
  if (!is_new) return known->second;
  const Dump& dump = adding->dump;
  const uint32_t world = trace_.processes[adding->process].world;
  const std::string key = fmt::format("{}\n{}\n{}", world, dump.strings.Get(name), ranks_key);
  const auto [entry, added] =
      communicators_.try_emplace(key, static_cast<uint32_t>(trace_.communicators.size()));
  if (added) {
    Communicator& comm = trace_.communicators.emplace_back();
    has_p2p_.push_back(false);
    comm.key = entry->second + 1;
    comm.world = world;
    comm.ranks = ranks;
    const std::string number = Clean(dump.strings.Get(name));
    const std::string text = desc == kNoIndex ? "" : Clean(dump.strings.Get(desc));
    comm.name = text.empty() || text == "undefined" ? "group " + number
                : text == "default_pg"              ? text
                                                    : fmt::format("{} ({})", text, number);
  }
  Communicator& comm = trace_.communicators[entry->second];
  comm.members.push_back(known->second);
  Member& member = trace_.members.emplace_back();
  counters_.emplace_back();
  member.process = adding->process;
  member.communicator = entry->second;
  member.uid = static_cast<uint32_t>(adding->members.size());
  const auto rank = std::ranges::find(comm.ranks, dump.rank);
  if (rank != comm.ranks.end()) {
    member.rank = static_cast<int32_t>(rank - comm.ranks.begin());
  }
  return known->second;
}

void FlightTraceBuilder::AddGroups(Adding* adding) {
  const Dump& dump = adding->dump;
  for (const Group& group : dump.groups) {
    if (group.ranks_text == kNoIndex) {
      std::string key;
      for (const int32_t rank : group.ranks) key += std::to_string(rank) + ',';
      MemberOf(adding, group.name, group.desc, group.ranks, key);
      continue;
    }
    const std::string text(dump.strings.Get(group.ranks_text));
    const auto [known, is_new] = rank_lists_.try_emplace(text);
    if (is_new) {
      known->second = ParseRanks(text);
      if (known->second.empty()) {
        trace_.problems.push_back(
            {ProblemCode::kDamaged,
             fmt::format("the ranks of group {} cannot be read: {}",
                         Clean(dump.strings.Get(group.name)), CleanText(text, 60)),
             dump.source});
      }
    }
    MemberOf(adding, group.name, group.desc, known->second, text);
  }
}

void FlightTraceBuilder::AddStatuses(Adding* adding) {
  const Dump& dump = adding->dump;
  std::map<int64_t, uint32_t> names;  // by local id
  for (const Entry& entry : dump.entries) {
    if (entry.pg_id >= 0 && entry.pg_name != kNoIndex)
      names.try_emplace(entry.pg_id, entry.pg_name);
  }
  // The other ids are matched by order.
  std::vector<std::pair<int64_t, uint32_t>> sorted_names;
  for (const Group& group : dump.groups) {
    const std::optional<int64_t> number = ParseNumber<int64_t>(dump.strings.Get(group.name));
    if (number) sorted_names.emplace_back(*number, group.name);
  }
  std::vector<int64_t> sorted_ids;
  for (const GroupStatus& status : dump.statuses) sorted_ids.push_back(status.pg_id);
  std::ranges::sort(sorted_names);
  std::ranges::sort(sorted_ids);
  bool in_step =
      sorted_names.size() == dump.groups.size() && sorted_names.size() == sorted_ids.size();
  for (size_t i = 0; in_step && i < sorted_ids.size(); ++i) {
    const auto known = names.find(sorted_ids[i]);
    in_step = known == names.end() || known->second == sorted_names[i].second;
  }
  for (size_t i = 0; in_step && i < sorted_ids.size(); ++i) {
    names.try_emplace(sorted_ids[i], sorted_names[i].second);
  }
  for (const GroupStatus& status : dump.statuses) {
    const uint32_t* name = FindOrNull(names, status.pg_id);
    const uint32_t* member = name == nullptr ? nullptr : FindOrNull(adding->members, *name);
    if (member == nullptr) continue;
    Counters& counters = counters_[*member];
    counters.enqueued = std::max<int64_t>(status.enqueued, 0);
    counters.completed = std::max<int64_t>(status.completed, 0);
  }
  // Records are numbered from 0 (from 1 after a reset): nothing was overwritten if all are present.
  const bool whole =
      !dump.entries.empty() && dump.entries.front().record_id <= 1 &&
      dump.entries.back().record_id - dump.entries.front().record_id + 1 == dump.entries.size();
  for (const auto& [group, member] : adding->members) {
    counters_[member].whole_ring = whole;
  }
  if (!whole) {
    std::vector<Thread>& threads = trace_.processes[adding->process].threads;
    if (threads.empty()) threads.emplace_back();
    threads.front().lost_p2p = 1;
  }
}

uint32_t FlightTraceBuilder::DatatypeOf(Adding* adding, uint32_t name) {
  if (name == kNoIndex) return kNoIndex;
  if (name >= adding->datatypes.size()) adding->datatypes.resize(name + 1, kNoIndex);
  uint32_t& known = adding->datatypes[name];
  if (known != kNoIndex) return known;
  DatatypeInfo info;
  info.name = Clean(adding->dump.strings.Get(name));
  info.bytes = BytesOf(info.name);
  info.signature = 1;
  for (const char c : info.name) info.signature = info.signature * 1099511628211u + uint8_t(c);
  return known = interner_.Datatype(info);
}

uint32_t FlightTraceBuilder::PathOf(Adding* adding, uint32_t path) {
  if (path == kNoIndex) return kNoIndex;
  uint32_t& known = adding->paths[path];
  if (known != kNoIndex) return known;
  const Dump& dump = adding->dump;
  CallPath result;
  result.end = ring::StackEnd::kComplete;
  for (const uint32_t index : dump.paths[path]) {
    const Frame& frame = dump.frames[index];
    SourceFrame made;
    if (frame.function != kNoIndex) made.function = Clean(dump.strings.Get(frame.function));
    if (frame.file != kNoIndex) made.file = CleanText(dump.strings.Get(frame.file), 4 * kMaxName);
    made.line = frame.line;
    // C++ frames are in the same list.
    made.language = made.file.ends_with(".py") || made.file.starts_with("<") ? Language::kPython
                                                                             : Language::kNative;
    made.detail = made.line != 0 ? FrameDetail::kSourceLine : FrameDetail::kSymbol;
    result.codes.push_back(interner_.PythonCode(made, index));
  }
  return known = interner_.CallPath(result);
}

uint32_t FlightTraceBuilder::ArgumentsOf(Adding* adding, const Entry& entry) {
  auto [operation, is_new] = adding->operations.try_emplace(entry.profiling_name);
  if (is_new && entry.profiling_name != kNoIndex) {
    operation->second = ParseOperationName(adding->dump.strings.Get(entry.profiling_name));
  }
  Arguments arguments;
  arguments.operation = operation->second.operation;
  const bool p2p =
      arguments.operation == Operation::kTorchSend || arguments.operation == Operation::kTorchRecv;
  if (p2p) arguments.root_or_peer = operation->second.peer;
  const auto send = [&] {
    if (!entry.input.known) return;
    arguments.send_count = entry.input.elements;
    arguments.send_datatype = DatatypeOf(adding, entry.input.dtype);
  };
  const auto recv = [&] {
    if (!entry.output.known) return;
    arguments.recv_count = entry.output.elements;
    arguments.recv_datatype = DatatypeOf(adding, entry.output.dtype);
  };
  switch (arguments.operation) {
    case Operation::kTorchAllToAll:
      if (!HasAllToAllSizes(adding->dump.version)) break;
      [[fallthrough]];
    case Operation::kTorchAllReduce:
      send();
      recv();
      break;
    case Operation::kTorchReduceScatter:
    case Operation::kTorchScatter:
    case Operation::kTorchRecv:
      recv();
      break;
    case Operation::kTorchBarrier:
    case Operation::kTorchCoalesced:
      break;
    default:
      send();
  }
  return interner_.Arguments(arguments);
}

void FlightTraceBuilder::AddEntry(Adding* adding, const Entry& entry) {
  if (entry.pg_name == kNoIndex) return;
  const uint32_t m = MemberOf(adding, entry.pg_name, entry.pg_desc, {}, "");
  Member& member = trace_.members[m];
  Counters& counters = counters_[m];
  Process& process = trace_.processes[adding->process];
  Event event;
  event.member = m;
  event.start_ns = entry.created_ns;
  const bool open = entry.state != State::kCompleted;
  if (!open) event.end_ns = std::max(entry.completed_ns, entry.created_ns);
  event.call_path = PathOf(adding, entry.path);
  event.arguments = ArgumentsOf(adding, entry);
  const auto [thread, is_new] =
      adding->threads.try_emplace(entry.thread_name, static_cast<uint32_t>(process.threads.size()));
  if (is_new) {
    Thread& made = process.threads.emplace_back();
    if (entry.thread_name != kNoIndex)
      made.name = Clean(adding->dump.strings.Get(entry.thread_name));
    made.main = process.threads.size() == 1;
  }
  event.thread = thread->second;
  int64_t& last = process.threads[event.thread].last_end_ns;
  last = std::max({last, entry.created_ns, entry.started_ns, entry.completed_ns});

  counters.has_entries = true;
  counters.seen = std::max(counters.seen, entry.collective_seq);
  const Operation operation = trace_.arguments[event.arguments].operation;
  const bool message = operation == Operation::kTorchSend || operation == Operation::kTorchRecv;
  if (message || entry.is_p2p) {
    has_p2p_[member.communicator] = true;
    if (!message) return;  // encloses messages that have entries of their own
    event.detail = entry.p2p_seq;
    process.p2p.push_back(event);
  } else {
    if (entry.collective_seq == 0) return;
    event.sequence = entry.collective_seq;
    if (open && (counters.first_open == 0 || event.sequence < counters.first_open)) {
      counters.first_open = event.sequence;
    }
    if (!member.events.empty() && event.sequence <= member.events.back().sequence) {
      Event& before = member.events.back();
      // Calls of one coalesced group share a number. They are one operation, which is complete when
      // all of them are complete.
      if (event.sequence < before.sequence) {
        adding->out_of_order = true;
        return;
      }
      if (before.arguments != event.arguments) {
        Arguments coalesced;
        coalesced.operation = Operation::kTorchCoalesced;
        before.arguments = interner_.Arguments(coalesced);
      }
      if (!open || before.end_ns == kNoTime) return;
      before.end_ns = kNoTime;
      event.arguments = before.arguments;
    } else {
      member.events.push_back(event);
    }
  }
  if (!open) return;
  OpenRequest request;
  request.uid = entry.record_id + 1;
  request.running = entry.state == State::kStarted || entry.started_ns != kNoTime;
  request.starts = 1;
  request.event = event;
  process.open_requests.push_back(request);
}

Trace FlightTraceBuilder::Finish() {
  for (size_t m = 0; m < trace_.members.size(); ++m) {
    Member& member = trace_.members[m];
    const Counters& counters = counters_[m];
    member.entered = counters.seen;
    member.completed = counters.first_open != 0 ? counters.first_open - 1 : counters.seen;
    member.counted = counters.has_entries || counters.whole_ring;
    if (!has_p2p_[member.communicator] && counters.enqueued >= 0) {
      member.entered = std::max(member.entered, static_cast<uint64_t>(counters.enqueued));
      const auto completed = static_cast<uint64_t>(counters.completed);
      if (counters.first_open == 0) {
        member.completed = std::min(member.entered, completed);
      } else if (completed < member.completed) {
        // Newer entries have overwritten the entries of open operations.
        member.completed = completed;
        Process& process = trace_.processes[member.process];
        if (process.table_overflows++ == 0) {
          trace_.problems.push_back(
              {ProblemCode::kMissingCalls,
               "operations that have not completed were overwritten: the job needs a larger "
               "TORCH_FR_BUFFER_SIZE (once TORCH_NCCL_TRACE_BUFFER_SIZE)",
               process.source});
        }
      }
      member.counted = true;
    }
    member.events.shrink_to_fit();
  }
  return std::move(trace_);
}

}  // namespace rollcall::flight_recorder
