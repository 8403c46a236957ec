// SPDX-License-Identifier: Apache-2.0
#include "tests/support/trace_builder.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "collector/model/message_counts.h"
#include "collector/model/messages.h"
#include "collector/model/rejections.h"
#include "proto/datatypes.h"
#include "proto/signature.h"

namespace rollcall {
namespace {

bool IsPersistent(Kind kind) {
  return kind == Kind::kPersistentP2p || kind == Kind::kPersistentCollective;
}

Signature Power(uint64_t basics, uint64_t hash) {
  return {hash, Repeat(BasicSignature(0), basics).power};
}

// Computed as in the shim.
uint64_t BufferSignature(const Trace& trace, uint32_t datatype, uint64_t count) {
  if (datatype == kNoIndex) return 0;
  const DatatypeInfo& type = trace.datatypes[datatype];
  const TypeClass type_class = FindBasicType(type.basic).type_class;
  if (type_class != TypeClass::kUnknown) {
    return UniformSignature(static_cast<uint32_t>(type_class), type.basics * count);
  }
  return MixedSignature(Power(type.basics, type.signature), count);
}

// The properties that all ranks of the operation must share, computed as in the shim.
uint64_t SemanticHash(const Arguments& arguments, Rule rule) {
  uint64_t hash = RollHash(0, static_cast<uint64_t>(arguments.operation));
  hash = RollHash(hash, static_cast<uint64_t>(static_cast<int64_t>(arguments.root_or_peer)));
  hash = RollHash(hash, arguments.reduce_op);
  if (rule == Rule::kBcast || rule == Rule::kAllreduce || rule == Rule::kScan ||
      rule == Rule::kReduce || rule == Rule::kReduceScatterBlock) {
    const bool in_place = (arguments.flags & ring::kSendInPlace) != 0;
    hash = RollHash(hash, in_place ? arguments.recv_signature : arguments.send_signature);
  }
  return hash | 1;
}

std::string Bytes(const Arguments& a) {
  std::string key;
  const auto add = [&key](auto value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(a.operation), add(a.flags), add(a.reduce_op), add(a.root_or_peer), add(a.tag), add(a.peer2);
  add(a.tag2), add(a.send_count), add(a.recv_count), add(a.send_signature), add(a.recv_signature);
  add(a.send_datatype), add(a.recv_datatype);
  return key;
}

}  // namespace

TraceBuilder::TraceBuilder(int ranks, int thread_level) {
  trace_.worlds.push_back({.job_key = 1, .size = ranks, .processes = {}});
  std::vector<int32_t> members;
  for (int rank = 0; rank < ranks; ++rank) {
    members.push_back(rank);
    trace_.worlds[0].processes.push_back(static_cast<uint32_t>(rank));
    Process process;
    process.world = 0;
    process.rank = rank;
    process.host = "node0";
    process.pid = 1000 + static_cast<uint32_t>(rank);
    process.executable = "app";
    process.thread_level = thread_level;
    process.other_threads = OtherThreads::kWait;
    process.phase = ring::Phase::kRunning;
    process.phase_ns = now_ns_;
    process.quiet = true;
    process.end.how = ProcessEnd::How::kAlive;
    process.threads.push_back({.tid = process.pid, .name = "app", .main = true});
    trace_.processes.push_back(std::move(process));
  }
  AddCommunicator("MPI_COMM_WORLD", std::move(members));
  trace_.communicators[0].flags = ring::kIsWorld;
}

uint32_t TraceBuilder::AddCommunicator(const std::string& name, std::vector<int32_t> members,
                                       std::vector<int32_t> remote_ranks) {
  const uint32_t index = static_cast<uint32_t>(trace_.communicators.size());
  Communicator communicator;
  communicator.key = 100 + index;
  communicator.name = name;
  communicator.world = 0;
  if (!remote_ranks.empty()) communicator.flags |= ring::kIsInter;
  for (const std::vector<int32_t>* group : {&members, &remote_ranks}) {
    int32_t local = 0;
    for (const int32_t rank : *group) {
      Member member;
      member.process = static_cast<uint32_t>(rank);
      member.communicator = index;
      member.uid = index + 1;
      member.rank = local++;
      communicator.members.push_back(static_cast<uint32_t>(trace_.members.size()));
      trace_.members.push_back(std::move(member));
    }
  }
  communicator.ranks = std::move(members);
  communicator.remote_ranks = std::move(remote_ranks);
  trace_.communicators.push_back(std::move(communicator));
  return index;
}

bool TraceBuilder::SetTopology(uint32_t communicator, ring::MemberFlag flag,
                               const std::vector<std::vector<int32_t>>& in,
                               const std::vector<std::vector<int32_t>>& out) {
  for (const uint32_t index : trace_.communicators[communicator].members) {
    Member& member = trace_.members[index];
    const auto at = static_cast<size_t>(member.rank);
    if (at >= in.size()) return false;
    member.neighbors_in = in[at];
    member.neighbors_out = out[at];
    member.neighbors_known = true;
  }
  trace_.communicators[communicator].flags |= flag;
  return true;
}

uint32_t TraceBuilder::Datatype(const std::string& name) {
  const auto known = datatypes_.find(name);
  if (known != datatypes_.end()) return known->second;
  for (const BasicTypeInfo& info : kBasicTypes) {
    if (info.name != name) continue;
    DatatypeInfo type;
    type.name = name;
    type.basic = info.number;
    type.bytes = info.bytes;
    type.signature = BasicSignature(static_cast<uint32_t>(info.type_class)).hash;
    trace_.datatypes.push_back(std::move(type));
    return datatypes_[name] = static_cast<uint32_t>(trace_.datatypes.size() - 1);
  }
  return kNoIndex;
}

uint32_t TraceBuilder::AddDatatype(const std::string& name, uint32_t of, uint64_t count) {
  DatatypeInfo type = trace_.datatypes[of];
  type.name = name;
  type.signature = Repeat(Power(type.basics, type.signature), count).hash;
  type.basics *= count;
  type.bytes *= count;
  trace_.datatypes.push_back(std::move(type));
  return datatypes_[name] = static_cast<uint32_t>(trace_.datatypes.size() - 1);
}

uint32_t TraceBuilder::MemberOf(int rank, uint32_t communicator) const {
  for (const uint32_t index : trace_.communicators[communicator].members) {
    if (trace_.members[index].process == static_cast<uint32_t>(rank)) return index;
  }
  return kNoIndex;
}

uint32_t TraceBuilder::InternArguments(const Call& call) {
  Arguments arguments = call.arguments;
  arguments.operation = call.operation;
  const OperationInfo info = FindOperation(static_cast<uint16_t>(call.operation));
  if (!(arguments.flags & ring::kSendInPlace)) {
    arguments.send_signature =
        BufferSignature(trace_, arguments.send_datatype, arguments.send_count);
  }
  arguments.recv_signature = BufferSignature(trace_, arguments.recv_datatype, arguments.recv_count);
  arguments.semantic_hash = SemanticHash(arguments, info.rule);
  std::string key = Bytes(arguments);
  for (const auto* counts : {&call.send_counts, &call.recv_counts}) {
    key += '|';
    for (const uint64_t count : *counts) key += std::to_string(count) + ',';
  }
  const auto [entry, added] =
      arguments_.emplace(std::move(key), static_cast<uint32_t>(trace_.arguments.size()));
  if (!added) return entry->second;
  const auto add_counts = [this](const std::vector<uint64_t>& counts) {
    if (counts.empty()) return kNoIndex;
    trace_.count_arrays.push_back(counts);
    return static_cast<uint32_t>(trace_.count_arrays.size() - 1);
  };
  arguments.send_counts = add_counts(call.send_counts);
  arguments.recv_counts = add_counts(call.recv_counts);
  trace_.arguments.push_back(arguments);
  return entry->second;
}

uint32_t TraceBuilder::InternPath(const std::vector<SourceFrame>& path, bool cut,
                                  const std::vector<SourceFrame>& context) {
  if (path.empty()) return kNoIndex;
  const uint32_t context_path = InternPath(context, false);
  std::vector<uint32_t> codes;
  for (const SourceFrame& frame : path) {
    const std::string key = frame.function + '\n' + frame.file + '\n' + std::to_string(frame.line) +
                            '.' + std::to_string(frame.vaddr) + '\n' + frame.module;
    const auto [entry, added] = codes_.emplace(key, static_cast<uint32_t>(trace_.codes.size()));
    if (added) {
      Code code;
      code.module_path = frame.module;
      code.vaddr = 0x1000 + 16 * trace_.codes.size();
      code.frames.push_back(frame);
      trace_.codes.push_back(std::move(code));
    }
    codes.push_back(entry->second);
  }
  const auto [entry, added] = paths_.emplace(std::tuple(codes, cut, context_path),
                                             static_cast<uint32_t>(trace_.call_paths.size()));
  if (added) {
    CallPath call_path;
    call_path.codes = std::move(codes);
    call_path.end = cut ? ring::StackEnd::kDepthLimit : ring::StackEnd::kComplete;
    call_path.context = context_path;
    if (context_path != kNoIndex) call_path.python_end = ring::PythonEnd::kNoFrames;
    trace_.call_paths.push_back(std::move(call_path));
  }
  return entry->second;
}

void TraceBuilder::VerdictGiven() {
  for (Process& process : trace_.processes) {
    if (process.end.order == kNoIndex) process.judged_ns = 0;
  }
}

void TraceBuilder::Raise(int rank, UncaughtException exception) {
  now_ns_ += 1000;
  exception.at_ns = now_ns_;
  process(rank)->exception = std::move(exception);
}

TraceBuilder::Made TraceBuilder::Make(int rank, const Call& call) {
  const OperationInfo info = FindOperation(static_cast<uint16_t>(call.operation));
  Process& process = *this->process(rank);
  Made made;
  ++calls_;
  now_ns_ += 1000;
  Event& event = made.event;
  event.start_ns = now_ns_;
  event.arguments = InternArguments(call);
  event.call_path = InternPath(call.path, call.path_cut, call.context);
  if (!call.requests.empty()) {  // as in a ring: the first request, and their number
    const auto first = requests_.find({rank, call.requests.front()});
    if (first != requests_.end()) event.request = first->second;
    event.detail = call.requests.size();
  }
  event.thread = call.thread;
  while (process.threads.size() <= call.thread) {
    process.threads.push_back({.tid = 50000 + call.thread, .name = "worker"});
  }
  process.threads[call.thread].polling = false;  // until it polls again
  const bool needs_communicator =
      IsCollective(info.kind) || info.rule == Rule::kP2p || info.rule == Rule::kRma;
  if (needs_communicator && (call.arguments.flags & ring::kNullComm) == 0) {
    event.member = MemberOf(rank, call.communicator);
    if (event.member != kNoIndex) made.member = &trace_.members[event.member];
  }
  if (IsCollective(info.kind) && made.member != nullptr) {
    event.sequence = ++made.member->entered;
  }
  if (info.rule == Rule::kP2p && info.kind != Kind::kPersistentP2p) {
    event.detail = Count(rank, event, true);
  }
  if (process.device && info.rule == Rule::kP2p) event.detail = process.p2p.size() + 1;
  if (!call.request.empty()) {
    const uint64_t uid = ++last_request_;
    requests_[{rank, call.request}] = uid;
    event.request = uid;
    OpenRequest request;
    request.uid = uid;
    request.event = event;
    request.event.end_ns = now_ns_ + 500;
    request.state =
        IsPersistent(info.kind) ? ring::RequestState::kInactive : ring::RequestState::kActive;
    if (call.operation == Operation::kPsend_init) request.partitions = call.partitions;
    process.open_requests.push_back(request);
  }
  return made;
}

Channel* TraceBuilder::ChannelOf(int rank, uint32_t member, int32_t peer, int32_t tag) {
  std::vector<Channel>& channels = process(rank)->channels;
  const auto room = channel_room_.find(rank);
  if (room != channel_room_.end() && channels.size() >= room->second && tag != ring::kAnyTag &&
      !channels_.contains({member, peer, tag})) {
    process(rank)->channels_lost = true;
    tag = ring::kAnyTag;
  }
  const auto [entry, added] = channels_.emplace(std::tuple(member, peer, tag), channels.size());
  if (added) channels.push_back({.member = member, .peer = peer, .tag = tag});
  return &channels[entry->second];
}

uint64_t TraceBuilder::Count(int rank, const Event& event, bool sends) {
  uint64_t number = 0;
  for (const Message& message : MessagesOf(trace_.arguments[event.arguments])) {
    if (message.sends != sends || message.probes) continue;
    Channel* channel = ChannelOf(rank, event.member, message.peer, message.tag);
    number = ++(sends ? channel->sent : channel->received);
  }
  return number;
}

void TraceBuilder::MarkReceivesUnseen(int rank, const Event& event) {
  for (const Message& message : MessagesOf(trace_.arguments[event.arguments])) {
    if (message.sends || message.probes) continue;
    ChannelOf(rank, event.member, message.peer, message.tag)->receives_unseen = true;
  }
}

void TraceBuilder::Start(int rank, const Made& made, const Call& call) {
  Process& process = *this->process(rank);
  for (const std::string& name : call.requests) {
    const uint64_t uid = requests_[{rank, name}];
    for (OpenRequest& request : process.open_requests) {
      if (request.uid != uid) continue;
      request.state = ring::RequestState::kActive;
      ++request.starts;
      request.marked = 0;
      request.cancelled = false;
      request.event.start_ns = made.event.start_ns;
      request.event.call_path = made.event.call_path;
      Count(rank, request.event, true);
      Event start = made.event;
      start.request = uid;
      start.detail = 0;
      if (request.event.sequence != 0) {
        start.member = request.event.member;
        start.detail = request.event.sequence << 32 | request.starts;
      }
      (request.event.sequence != 0 ? process.lifecycle : process.p2p).push_back(start);
      AddData(rank, request.event, static_cast<uint32_t>(request.starts), call.data, {true, false});
    }
  }
}

void TraceBuilder::Cancel(int rank, const Call& call) {
  for (const std::string& name : call.requests) {
    const uint64_t uid = requests_[{rank, name}];
    for (OpenRequest& request : process(rank)->open_requests) {
      request.cancelled |= request.uid == uid;
    }
  }
}

void TraceBuilder::Mark(int rank, const Call& call) {
  for (const std::string& name : call.requests) {
    const uint64_t uid = requests_[{rank, name}];
    for (OpenRequest& request : process(rank)->open_requests) {
      if (request.uid == uid) request.marked += std::max(call.partitions, 1u);
    }
  }
}

void TraceBuilder::Finish(int rank, const Call& call) {
  Process& process = *this->process(rank);
  const bool frees = call.operation == Operation::kRequest_free;
  for (const std::string& name : call.requests) {
    const uint64_t uid = requests_[{rank, name}];
    std::erase_if(process.open_requests, [&](OpenRequest& request) {
      if (request.uid != uid) return false;
      AddData(rank, request.event, static_cast<uint32_t>(request.starts), call.data, {false, true});
      const bool active = request.state == ring::RequestState::kActive;
      if (frees) {
        if (active) MarkReceivesUnseen(rank, request.event);
        return true;
      }
      if (active && !request.cancelled) Count(rank, request.event, false);
      request.state = ring::RequestState::kInactive;
      const Operation made_by = trace_.arguments[request.event.arguments].operation;
      return !IsPersistent(FindOperation(static_cast<uint16_t>(made_by)).kind);
    });
  }
}

void TraceBuilder::Complete(int rank, const Call& call) {
  Made made = Make(rank, call);
  made.event.end_ns = now_ns_ + call.took_ns;
  now_ns_ = std::max(now_ns_, made.event.end_ns - 500);
  Process& process = *this->process(rank);
  process.threads[call.thread].last_end_ns = made.event.end_ns;
  const OperationInfo info = FindOperation(static_cast<uint16_t>(call.operation));
  if (IsCollective(info.kind) && made.member != nullptr) {
    made.member->events.push_back(made.event);
    ++made.member->completed;
    AddData(rank, made.event, 0, call.data, {true, true});
    return;
  }
  if (info.kind == Kind::kStart || info.kind == Kind::kStartall) return Start(rank, made, call);
  if (info.kind == Kind::kPready) Mark(rank, call);
  if (info.kind == Kind::kCancel) Cancel(rank, call);
  // These calls do not complete the request that they are given.
  if (info.kind != Kind::kPready && info.kind != Kind::kRequestGetStatus &&
      info.kind != Kind::kCancel) {
    Finish(rank, call);
  }
  if (info.kind == Kind::kRequestFree) return;  // not recorded
  if (call.request.empty()) Count(rank, made.event, false);
  if (call.operation == Operation::kFinalize) process.phase = ring::Phase::kFinalized;
  // Like the importer: calls that start or end MPI are neither messages nor numbered.
  if (info.kind == Kind::kInit || call.operation == Operation::kFinalize) {
    process.lifecycle.push_back(made.event);
    return;
  }
  process.p2p.push_back(made.event);
}

void TraceBuilder::Reject(int rank, const Call& call, ErrorClass error) {
  Made made = Make(rank, call);
  made.event.end_ns = now_ns_ + call.took_ns;
  if (made.event.sequence != 0) {
    --made.member->entered;
    ++made.member->rejected;
  }
  for (const Message& message : MessagesOf(trace_.arguments[made.event.arguments])) {
    if (message.sends) --ChannelOf(rank, made.event.member, message.peer, message.tag)->sent;
  }
  Process& process = *this->process(rank);
  process.threads[call.thread].last_end_ns = made.event.end_ns;
  process.rejected.push_back({.event = made.event, .error = error});
  process.lifecycle.push_back(made.event);
  ++process.errors_seen;
}

void TraceBuilder::Fail(int rank, const Call& call, uint64_t error) {
  Complete(rank, call);
  const uint32_t member = MemberOf(rank, call.communicator);
  AddLifecycle(rank, Operation::kCallError, error, call.path);
  Event& noted = process(rank)->lifecycle.back();
  noted.member = member;
  if (IsCollective(FindOperation(static_cast<uint16_t>(call.operation)).kind)) {
    noted.sequence = trace_.members[member].entered;
  }
}

void TraceBuilder::Open(int rank, const Call& call) {
  Made made = Make(rank, call);
  Process& process = *this->process(rank);
  OpenCall open;
  open.event = made.event;
  for (const std::string& name : call.requests) {
    open.requests.push_back(requests_[{rank, name}]);
    for (OpenRequest& request : process.open_requests) {
      if (request.uid == open.requests.back()) request.waiter = call.thread;
    }
  }
  if (!open.requests.empty()) open.event.request = open.requests.front();
  const OperationInfo info = FindOperation(static_cast<uint16_t>(call.operation));
  if (made.member != nullptr && made.event.sequence != 0) {
    made.member->events.push_back(made.event);
    AddData(rank, made.event, 0, call.data, {true, false});
  } else if (info.kind == Kind::kInit) {
    // One after another is an error, and the phase stays.
    if (process.lifecycle.empty()) process.phase = ring::Phase::kStarting;
    process.lifecycle.push_back(made.event);
  } else if (info.kind == Kind::kFinalize) {
    process.phase = ring::Phase::kFinalizing;
    process.phase_ns = now_ns_;
    process.lifecycle.push_back(made.event);
  } else {
    process.p2p.push_back(open.event);
  }
  process.open_calls.push_back(std::move(open));
}

void TraceBuilder::Enqueue(int rank, const Call& call, bool running) {
  Made made = Make(rank, call);
  Process& process = *this->process(rank);
  if (made.member != nullptr && made.event.sequence != 0) {
    made.member->events.push_back(made.event);
  } else {
    process.p2p.push_back(made.event);
  }
  OpenRequest request;
  request.uid = calls_;
  request.starts = 1;
  request.running = running;
  request.held = process.threads[call.thread].group.depth > 0;
  request.event = made.event;
  process.open_requests.push_back(request);
}

void TraceBuilder::GroupStart(int rank, const Call& call) {
  GroupNesting& group = process(rank)->threads[call.thread].group;
  now_ns_ += 1000;
  if (group.depth++ > 0) return;
  group.call_path = InternPath(call.path, call.path_cut);
  group.since_ns = now_ns_;
}

void TraceBuilder::GroupEnd(int rank, const Call& call) {
  Process& process = *this->process(rank);
  GroupNesting& group = process.threads[call.thread].group;
  now_ns_ += 1000;
  if (group.depth == 0) {
    if (group.stray_ends++ == 0) group.stray_call_path = InternPath(call.path, call.path_cut);
    return;
  }
  if (--group.depth > 0) return;
  group.call_path = kNoIndex;
  for (OpenRequest& request : process.open_requests) {
    if (request.event.thread == call.thread) request.held = false;
  }
}

void TraceBuilder::Create(int rank, const std::string& id, int32_t rank_passed, int32_t size,
                          const Call& call, bool returned) {
  now_ns_ += 1000;
  Creation creation;
  creation.key = ids_.emplace(id, ids_.size() + 1).first->second;
  creation.process = static_cast<uint32_t>(rank);
  creation.rank = rank_passed;
  creation.size = size;
  creation.call = "ncclCommInitRank";
  creation.event.start_ns = now_ns_;
  creation.event.call_path = InternPath(call.path, call.path_cut);
  creation.event.thread = call.thread;
  if (returned) creation.event.end_ns = now_ns_ + call.took_ns;
  trace_.creations.push_back(std::move(creation));
}

void TraceBuilder::ShareProcess(const std::vector<int32_t>& ranks) {
  for (const int32_t rank : ranks) {
    process(rank)->host_process = static_cast<uint32_t>(ranks.front());
    process(rank)->pid = process(ranks.front())->pid;
  }
}

void TraceBuilder::HoldUp() {
  for (Process& held : trace_.processes) {
    if (held.host_process == kNoIndex || !held.open_calls.empty()) continue;
    for (const Process& other : trace_.processes) {
      if (rollcall::ShareProcess(held, other) && !other.open_calls.empty()) {
        held.held_up_by.push_back(static_cast<uint32_t>(other.rank));
      }
    }
  }
}

void TraceBuilder::Poll(int rank, bool tightly, const Call& probe) {
  const Event asks = probe.operation != Operation::kNone ? Make(rank, probe).event : Event{};
  Thread& thread = process(rank)->threads[probe.thread];
  thread.asks = asks;
  thread.polls += 1000;
  thread.polling = true;
  thread.polls_tightly_since_ns = tightly ? now_ns_ : kNoTime;
  if (tightly && probe.polls_tightly_ns != kNoTime) {
    polls_tightly_ns_[{rank, probe.thread}] = probe.polls_tightly_ns;
  }
}

void TraceBuilder::AddLifecycle(int rank, Operation operation, uint64_t detail,
                                const std::vector<SourceFrame>& path) {
  Call call;
  call.operation = operation;
  Event event;
  now_ns_ += 1000;
  event.start_ns = event.end_ns = now_ns_;
  event.arguments = InternArguments(call);
  event.detail = detail;
  event.call_path = InternPath(path, false);
  process(rank)->lifecycle.push_back(event);
  if (operation == Operation::kCallError) ++process(rank)->errors_seen;
}

void TraceBuilder::Leave(int rank, uint64_t count, const Call& call) {
  Event event;
  event.arguments = InternArguments(call);
  event.call_path = InternPath(call.path, call.path_cut, call.context);
  event.detail = count;
  process(rank)->leftovers.push_back(event);
}

// As the importer has it: what is read has no context.
uint32_t TraceBuilder::WithoutContext(uint32_t path) {
  if (path == kNoIndex || trace_.call_paths[path].context == kNoIndex) return path;
  CallPath copy = trace_.call_paths[path];
  copy.context = kNoIndex;
  const bool cut = copy.end != ring::StackEnd::kComplete;
  const auto [entry, added] = paths_.emplace(std::tuple(copy.codes, cut, kNoIndex),
                                             static_cast<uint32_t>(trace_.call_paths.size()));
  if (added) trace_.call_paths.push_back(std::move(copy));
  return entry->second;
}

void TraceBuilder::AddRead(int rank, const Event& event, uint32_t start, DataRead read,
                           MemberData* to) {
  const Arguments& arguments = trace_.arguments[event.arguments];
  read.order = ++reads_[rank];
  read.at_ns = now_ns_;
  read.start = start;
  read.call_path = WithoutContext(event.call_path);
  to->reads.push_back(read);
  ++to->read;
  const auto& info = FindOperation(static_cast<uint16_t>(arguments.operation));
  if (read.IsFinite() || !Reduces(info.rule)) return;
  auto& first = read.side == ring::DataSide::kInput ? to->input : to->result;
  if (first) return;
  const bool receives = arguments.send_datatype == kNoIndex;
  first = FirstNonFinite{
      .sequence = read.sequence,
      .at_ns = read.at_ns,
      .start = start,
      .call_path = read.call_path,
      .operation = arguments.operation,
      .reduce_op = arguments.reduce_op,
      .reading = read.reading,
      .datatype = receives ? arguments.recv_datatype : arguments.send_datatype,
      .count = receives ? arguments.recv_count : arguments.send_count,
      .element = read.non_finite,
      .bits = read.non_finite_bits,
      .nans = read.nans,
      .infinities = read.infinities,
  };
}

void TraceBuilder::AddData(int rank, const Event& event, uint32_t start, const CallData& data,
                           Sides sides) {
  if (!data.Any() || event.sequence == 0 || event.member == kNoIndex) return;
  Member& member = trace_.members[event.member];
  if (member.data == kNoIndex) {
    member.data = static_cast<uint32_t>(trace_.data.size());
    trace_.data.emplace_back().counted = true;
  }
  MemberData& to = trace_.data[member.data];
  process(rank)->reads_data = true;
  if (data.unread) {
    ++to.unread;
    to.unread_why |= data.unread_why;
    if (data.outside) ++to.outside;
    return;
  }
  const Arguments& arguments = trace_.arguments[event.arguments];
  const auto read = [&](const std::string& text, bool input) -> std::optional<DataRead> {
    const bool in_place = (arguments.flags & ring::kSendInPlace) != 0;
    uint32_t type = arguments.send_datatype;
    uint32_t other = arguments.recv_datatype;
    if (!input || in_place) std::swap(type, other);
    if (type == kNoIndex) type = other;
    const TypeClass type_class = type == kNoIndex
                                     ? TypeClass::kUnknown
                                     : FindBasicType(trace_.datatypes[type].basic).type_class;
    const auto bytes =
        DataBytes(text, type_class, data.varies ? static_cast<double>(event.sequence) : 0);
    if (!bytes) {
      if (wrong_data_.empty()) wrong_data_ = text;
      return std::nullopt;
    }
    return ReadBytes(*bytes, type_class, event.sequence, data.sampled);
  };
  const auto add = [&](const std::string& text, ring::DataSide side) {
    if (text.empty()) return;
    std::optional<DataRead> made = read(text, side == ring::DataSide::kInput);
    if (!made) return;
    made->side = side;
    AddRead(rank, event, start, *made, &to);
  };
  const auto add_blocks = [&](const std::string& text, ring::DataSide side) {
    if (text.empty()) return;
    BlockHashes blocks{.sequence = event.sequence,
                       .order = ++reads_[rank],
                       .start = start,
                       .side = side,
                       .hashes = {}};
    if (data.sampled) blocks.reading = ring::DataReading::kSampled;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(';', begin), text.size());
      const auto block =
          read(text.substr(begin, end - begin), side == ring::DataSide::kInputBlocks);
      if (!block) return;
      blocks.hashes.push_back(HashFingerprint(block->words));
      begin = end + 1;
    }
    to.blocks.push_back(std::move(blocks));
  };
  if (sides.input) {
    add(data.input, ring::DataSide::kInput);
    add_blocks(data.input_blocks, ring::DataSide::kInputBlocks);
  }
  if (sides.result) {
    add(data.result, ring::DataSide::kResult);
    add_blocks(data.result_blocks, ring::DataSide::kResultBlocks);
  }
}

void TraceBuilder::AddReplica(int rank, const std::string& name, const CallData& data,
                              TypeClass type, const std::vector<SourceFrame>& path) {
  const uint64_t sequence = ++replicas_[{rank, name}];
  now_ns_ += 1000;
  const auto bytes = DataBytes(data.input, type, data.varies ? static_cast<double>(sequence) : 0);
  if (!bytes) {
    if (wrong_data_.empty()) wrong_data_ = data.input;
    return;
  }
  // Its bytes have no type.
  DataRead read = ReadBytes(*bytes, TypeClass::kByte, sequence, data.sampled);
  read.side = ring::DataSide::kReplica;
  read.order = ++reads_[rank];
  read.at_ns = now_ns_;
  read.call_path = InternPath(path, false);
  process(rank)->replicas.push_back({name, read});
}

void TraceBuilder::AddValue(int rank, const std::string& name, const std::string& text,
                            const std::vector<SourceFrame>& path) {
  RecordedValue value;
  value.at_ns = now_ns_ += 1000;
  value.call_path = InternPath(path, false);
  if (text.starts_with('\'')) {
    value.type = ring::ValueType::kHash;
    value.bits = std::hash<std::string>()(text);
  } else if (text.find_first_of(".n") != std::string::npos) {
    value.type = ring::ValueType::kFloat;
    value.bits = std::bit_cast<uint64_t>(std::stod(text));
  } else {
    value.type = text.ends_with('u') ? ring::ValueType::kUnsigned : ring::ValueType::kSigned;
    value.bits =
        text.starts_with('-') ? static_cast<uint64_t>(std::stoll(text)) : std::stoull(text);
  }
  std::vector<NamedValues>& all = process(rank)->values;
  auto values = std::ranges::find(all, name, &NamedValues::name);
  if (values == all.end()) values = all.insert(all.end(), {name, {}});
  value.number = values->recent.empty() ? 1 : values->recent.back().number + 1;
  values->recent.push_back(value);
  if (values->recent.size() > ring::kRecentValues) values->recent.erase(values->recent.begin());
}

void TraceBuilder::LoseFirst(int rank, uint64_t count) {
  process(rank)->threads[0].lost_collectives += count;
}

void TraceBuilder::LoseWithin(int rank, uint32_t communicator, uint64_t sequence, uint64_t count) {
  holes_.push_back({MemberOf(rank, communicator), sequence, count});
  process(rank)->records_unreadable += count;
}

void TraceBuilder::Overwrite(int rank, size_t room) {
  Process& process = *this->process(rank);
  if (process.p2p.size() > room) {
    const size_t gone = process.p2p.size() - room;
    process.p2p.erase(process.p2p.begin(), process.p2p.begin() + static_cast<ptrdiff_t>(gone));
    process.threads[0].lost_p2p += gone;
  }
  std::vector<int64_t> starts;  // of all communicators
  for (const Member& member : trace_.members) {
    if (member.process != static_cast<uint32_t>(rank)) continue;
    for (const Event& event : member.events) starts.push_back(event.start_ns);
  }
  if (starts.size() <= room) return;
  std::sort(starts.begin(), starts.end());
  const size_t gone = starts.size() - room;
  const int64_t oldest_ns = starts[gone];
  for (Member& member : trace_.members) {
    if (member.process != static_cast<uint32_t>(rank)) continue;
    std::erase_if(member.events,
                  [oldest_ns](const Event& event) { return event.start_ns < oldest_ns; });
  }
  process.threads[0].lost_collectives += gone;
}

void TraceBuilder::ShiftClock(int rank, int64_t ns) {
  const auto shift = [ns](int64_t* at) {
    if (*at != kNoTime) *at += ns;
  };
  const auto shift_event = [&](Event* event) {
    shift(&event->start_ns);
    shift(&event->end_ns);
  };
  Process& process = *this->process(rank);
  process.clock.reset();  // the measured offset is no longer valid
  for (Event& event : process.p2p) shift_event(&event);
  for (Event& event : process.lifecycle) shift_event(&event);
  for (RejectedCall& call : process.rejected) shift_event(&call.event);
  for (OpenCall& call : process.open_calls) shift_event(&call.event);
  for (OpenRequest& request : process.open_requests) shift_event(&request.event);
  for (Thread& thread : process.threads) {
    shift(&thread.last_end_ns);
    shift(&thread.group.since_ns);
    shift(&thread.polls_tightly_since_ns);
    shift_event(&thread.asks);
  }
  for (Member& member : trace_.members) {
    if (member.process != static_cast<uint32_t>(rank)) continue;
    for (Event& event : member.events) shift_event(&event);
    if (member.data == kNoIndex) continue;
    MemberData& data = trace_.data[member.data];
    for (DataRead& read : data.reads) shift(&read.at_ns);
    for (auto* first : {&data.input, &data.result}) {
      if (*first) shift(&(*first)->at_ns);
    }
  }
  for (ReplicaRead& replica : process.replicas) shift(&replica.data.at_ns);
  for (Creation& creation : trace_.creations) {
    if (creation.process == static_cast<uint32_t>(rank)) shift_event(&creation.event);
  }
  for (int64_t* at : {&process.phase_ns, &process.exit_ns, &process.end.at_ns,
                      &process.idle_since_ns, &process.taken_at_ns}) {
    shift(at);
  }
  if (process.exception) shift(&process.exception->at_ns);
}

void TraceBuilder::AddCheckpoints(Member* member) const {
  uint64_t hash = 0;
  for (const Event& event : member->events) {
    hash = RollHash(hash, trace_.arguments[event.arguments].semantic_hash);
    // As in a ring: evenly spaced from the beginning.
    if (event.sequence % 16 == 0) member->checkpoints.push_back({event.sequence, hash, 0});
  }
}

Trace TraceBuilder::Finish() {
  for (Process& process : trace_.processes) {
    process.peer_counts = SumByPeer(process.channels);
    const auto room = peer_room_.find(process.rank);
    if (room == peer_room_.end() || process.peer_counts.size() <= room->second) continue;
    process.peer_counts.resize(room->second);
    process.peer_counts_lost = true;
  }
  ResolveRejections(&trace_);
  HoldUp();
  for (Member& member : trace_.members) {
    AddCheckpoints(&member);
    // A device completes operations in order: an open one and all later ones are not complete.
    const Process& process = trace_.processes[member.process];
    if (!process.device) continue;
    member.completed = member.entered;
    for (const Event& event : member.events) {
      if (event.end_ns != kNoTime) continue;
      member.completed = event.sequence - 1;
      break;
    }
  }
  for (const Process& process : trace_.processes) {
    uint64_t lose = process.threads[0].lost_collectives;
    for (Member& member : trace_.members) {
      if (member.process != static_cast<uint32_t>(process.rank)) continue;
      const size_t gone = std::min<size_t>(lose, member.events.size());
      member.events.erase(member.events.begin(),
                          member.events.begin() + static_cast<ptrdiff_t>(gone));
      lose -= gone;
    }
  }
  for (const auto& [rank, room] : record_room_) Overwrite(rank, room);
  for (const Member& member : trace_.members) {
    const auto lost = lost_data_.find(static_cast<int>(member.process));
    if (lost == lost_data_.end() || member.data == kNoIndex) continue;
    const auto is_lost = [&](const auto& read) { return read.order <= lost->second; };
    std::erase_if(trace_.data[member.data].reads, is_lost);
    std::erase_if(trace_.data[member.data].blocks, is_lost);
  }
  for (const Hole& hole : holes_) {
    std::erase_if(trace_.members[hole.member].events, [&hole](const Event& event) {
      return event.sequence >= hole.first && event.sequence - hole.first < hole.count;
    });
  }
  now_ns_ += idle_ns_;
  trace_.taken_at_ns = now_ns_;
  for (const auto& [thread, ns] : polls_tightly_ns_) {
    process(thread.first)->threads[thread.second].polls_tightly_since_ns = now_ns_ - ns;
  }
  for (Process& process : trace_.processes) {
    process.taken_at_ns = now_ns_;
    process.idle_since_ns = process.quiet ? now_ns_ - idle_ns_ : now_ns_;
  }
  for (const auto& [rank, ns] : clock_ahead_ns_) ShiftClock(rank, ns);
  for (const Process& process : trace_.processes) {
    trace_.taken_at_ns = std::max(trace_.taken_at_ns, process.taken_at_ns);
  }
  for (const int rank : missing_) {
    trace_.worlds[0].processes[static_cast<size_t>(rank)] = kNoIndex;
  }
  // A rank without a trace has no process and no members; the others keep their indices.
  for (Communicator& communicator : trace_.communicators) {
    std::erase_if(communicator.members, [this](uint32_t index) {
      const int32_t rank = trace_.processes[trace_.members[index].process].rank;
      return std::find(missing_.begin(), missing_.end(), rank) != missing_.end();
    });
  }
  if (!missing_.empty()) {
    std::vector<uint32_t> moved(trace_.processes.size(), kNoIndex);
    std::vector<Process> kept;
    for (Process& process : trace_.processes) {
      if (std::find(missing_.begin(), missing_.end(), process.rank) != missing_.end()) continue;
      moved[static_cast<size_t>(process.rank)] = static_cast<uint32_t>(kept.size());
      trace_.worlds[0].processes[static_cast<size_t>(process.rank)] =
          static_cast<uint32_t>(kept.size());
      kept.push_back(std::move(process));
    }
    trace_.processes = std::move(kept);
    for (Process& process : trace_.processes) {
      if (process.host_process == kNoIndex) continue;
      for (uint32_t& other : process.held_up_by) other = moved[other];
      std::erase(process.held_up_by, kNoIndex);
    }
    for (Member& member : trace_.members) {
      member.process = moved[member.process];
    }
    for (Creation& creation : trace_.creations) creation.process = moved[creation.process];
    std::erase_if(trace_.creations,
                  [](const Creation& creation) { return creation.process == kNoIndex; });
  }
  return std::move(trace_);
}

}  // namespace rollcall
