#include "collector/import/append_trace.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rollcall {
namespace {

void Move(uint32_t by, uint32_t* index) {
  if (*index != kNoIndex) *index += by;
}

template <typename T>
void MoveAll(std::vector<T>* from, std::vector<T>* to) {
  to->insert(to->end(), std::make_move_iterator(from->begin()),
             std::make_move_iterator(from->end()));
}

}  // namespace

void AppendTrace(Trace from, Trace* to) {
  if (to->processes.empty() && to->problems.empty() && to->worlds.empty()) {
    *to = std::move(from);
    return;
  }
  const auto size = [](const auto& list) { return static_cast<uint32_t>(list.size()); };
  const uint32_t worlds = size(to->worlds);
  const uint32_t processes = size(to->processes);
  const uint32_t communicators = size(to->communicators);
  const uint32_t members = size(to->members);
  const uint32_t arguments = size(to->arguments);
  const uint32_t paths = size(to->call_paths);
  const uint32_t codes = size(to->codes);
  const uint32_t datatypes = size(to->datatypes);
  const uint32_t counts = size(to->count_arrays);
  const auto move_event = [&](Event* event) {
    Move(arguments, &event->arguments);
    Move(paths, &event->call_path);
    Move(members, &event->member);
  };
  for (World& world : from.worlds) {
    for (uint32_t& process : world.processes) Move(processes, &process);
  }
  for (Process& process : from.processes) {
    Move(worlds, &process.world);
    Move(paths, &process.exit_call_path);
    if (process.exception) Move(paths, &process.exception->call_path);
    Move(processes, &process.host_process);
    for (uint32_t& other : process.held_up_by) Move(processes, &other);
    for (Thread& thread : process.threads) {
      Move(paths, &thread.group.call_path);
      Move(paths, &thread.group.stray_call_path);
      move_event(&thread.asks);
    }
    for (Event& event : process.p2p) move_event(&event);
    for (Event& event : process.lifecycle) move_event(&event);
    for (Event& event : process.leftovers) move_event(&event);
    for (RejectedCall& call : process.rejected) move_event(&call.event);
    for (OpenCall& call : process.open_calls) move_event(&call.event);
    for (OpenRequest& request : process.open_requests) move_event(&request.event);
    for (Channel& channel : process.channels) Move(members, &channel.member);
  }
  for (Communicator& communicator : from.communicators) {
    Move(communicators, &communicator.parent);
    Move(worlds, &communicator.world);
    for (uint32_t& member : communicator.members) Move(members, &member);
  }
  for (Member& member : from.members) {
    Move(processes, &member.process);
    Move(communicators, &member.communicator);
    for (Event& event : member.events) move_event(&event);
  }
  for (Creation& creation : from.creations) {
    Move(processes, &creation.process);
    Move(paths, &creation.event.call_path);
  }
  for (Arguments& call : from.arguments) {
    Move(datatypes, &call.send_datatype);
    Move(datatypes, &call.recv_datatype);
    Move(counts, &call.send_counts);
    Move(counts, &call.recv_counts);
  }
  for (CallPath& path : from.call_paths) {
    for (uint32_t& code : path.codes) Move(codes, &code);
    for (uint32_t& code : path.native) Move(codes, &code);
    for (PythonFrame& frame : path.python) Move(codes, &frame.code);
    Move(paths, &path.context);
  }
  MoveAll(&from.worlds, &to->worlds);
  MoveAll(&from.processes, &to->processes);
  MoveAll(&from.communicators, &to->communicators);
  MoveAll(&from.members, &to->members);
  MoveAll(&from.creations, &to->creations);
  MoveAll(&from.arguments, &to->arguments);
  MoveAll(&from.call_paths, &to->call_paths);
  MoveAll(&from.codes, &to->codes);
  MoveAll(&from.datatypes, &to->datatypes);
  MoveAll(&from.count_arrays, &to->count_arrays);
  MoveAll(&from.sources, &to->sources);
  MoveAll(&from.problems, &to->problems);
  to->taken_at_ns = std::max(to->taken_at_ns, from.taken_at_ns);
}

}  // namespace rollcall
