// SPDX-License-Identifier: Apache-2.0
#include "collector/import/append_trace.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rollcall {
namespace {

// Adjusts an index: appended elements come after those of `before`.
template <typename T>
void Move(const std::vector<T>& before, uint32_t* index) {
  if (*index != kNoIndex) *index += static_cast<uint32_t>(before.size());
}

void MoveEvent(const Trace& to, Event* event) {
  Move(to.arguments, &event->arguments);
  Move(to.call_paths, &event->call_path);
  Move(to.members, &event->member);
}

void MoveProcess(const Trace& to, Process* process) {
  Move(to.worlds, &process->world);
  Move(to.call_paths, &process->exit_call_path);
  if (process->exception) Move(to.call_paths, &process->exception->call_path);
  Move(to.processes, &process->host_process);
  for (uint32_t& other : process->held_up_by) Move(to.processes, &other);
  for (Thread& thread : process->threads) {
    Move(to.call_paths, &thread.group.call_path);
    Move(to.call_paths, &thread.group.stray_call_path);
    MoveEvent(to, &thread.asks);
  }
  for (Event& event : process->p2p) MoveEvent(to, &event);
  for (Event& event : process->lifecycle) MoveEvent(to, &event);
  for (Event& event : process->leftovers) MoveEvent(to, &event);
  for (RejectedCall& call : process->rejected) MoveEvent(to, &call.event);
  for (OpenCall& call : process->open_calls) MoveEvent(to, &call.event);
  for (OpenRequest& request : process->open_requests) MoveEvent(to, &request.event);
  for (Channel& channel : process->channels) Move(to.members, &channel.member);
  for (PeerCount& sum : process->peer_counts) Move(to.members, &sum.member);
  for (NamedValues& values : process->values) {
    for (RecordedValue& value : values.recent) Move(to.call_paths, &value.call_path);
  }
  for (ReplicaRead& replica : process->replicas) Move(to.call_paths, &replica.data.call_path);
}

void MoveData(const Trace& to, MemberData* data) {
  for (DataRead& read : data->reads) Move(to.call_paths, &read.call_path);
  for (std::optional<FirstNonFinite>* first : {&data->input, &data->result}) {
    if (!*first) continue;
    Move(to.call_paths, &(*first)->call_path);
    Move(to.datatypes, &(*first)->datatype);
  }
}

template <typename T>
void Append(std::vector<T>* from, std::vector<T>* to) {
  to->insert(to->end(), std::make_move_iterator(from->begin()),
             std::make_move_iterator(from->end()));
}

void MoveIndices(const Trace& to, Trace* trace) {
  for (World& world : trace->worlds) {
    for (uint32_t& process : world.processes) Move(to.processes, &process);
  }
  for (Process& process : trace->processes) MoveProcess(to, &process);
  for (Communicator& communicator : trace->communicators) {
    Move(to.communicators, &communicator.parent);
    Move(to.worlds, &communicator.world);
    for (uint32_t& member : communicator.members) Move(to.members, &member);
  }
  for (Member& member : trace->members) {
    Move(to.processes, &member.process);
    Move(to.communicators, &member.communicator);
    for (Event& event : member.events) MoveEvent(to, &event);
    Move(to.data, &member.data);
  }
  for (MemberData& data : trace->data) MoveData(to, &data);
  for (Creation& creation : trace->creations) {
    Move(to.processes, &creation.process);
    Move(to.call_paths, &creation.event.call_path);
  }
  for (Arguments& call : trace->arguments) {
    Move(to.datatypes, &call.send_datatype);
    Move(to.datatypes, &call.recv_datatype);
    Move(to.count_arrays, &call.send_counts);
    Move(to.count_arrays, &call.recv_counts);
  }
  for (LogLine& line : trace->log_lines) {
    Move(to.processes, &line.process);
    Move(to.communicators, &line.communicator);
  }
  for (CallPath& path : trace->call_paths) {
    for (uint32_t& code : path.codes) Move(to.codes, &code);
    for (uint32_t& code : path.native) Move(to.codes, &code);
    for (PythonFrame& frame : path.python) Move(to.codes, &frame.code);
    Move(to.call_paths, &path.context);
  }
}

}  // namespace

void AppendTrace(Trace from, Trace* to) {
  if (to->processes.empty() && to->problems.empty() && to->worlds.empty()) {
    *to = std::move(from);
    return;
  }
  if (to->processes.empty()) to->evidence = from.evidence;
  MoveIndices(*to, &from);
  Append(&from.worlds, &to->worlds);
  Append(&from.processes, &to->processes);
  Append(&from.communicators, &to->communicators);
  Append(&from.members, &to->members);
  Append(&from.creations, &to->creations);
  Append(&from.arguments, &to->arguments);
  Append(&from.call_paths, &to->call_paths);
  Append(&from.codes, &to->codes);
  Append(&from.datatypes, &to->datatypes);
  Append(&from.count_arrays, &to->count_arrays);
  Append(&from.data, &to->data);
  Append(&from.sources, &to->sources);
  Append(&from.log_lines, &to->log_lines);
  Append(&from.problems, &to->problems);
  to->taken_at_ns = std::max(to->taken_at_ns, from.taken_at_ns);
}

}  // namespace rollcall
