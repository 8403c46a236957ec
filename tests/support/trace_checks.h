// SPDX-License-Identifier: Apache-2.0
// Invariants of every trace that an importer makes, even from damaged input: the diagnosis does not
// check indices.
#ifndef ROLLCALL_TESTS_SUPPORT_TRACE_CHECKS_H_
#define ROLLCALL_TESTS_SUPPORT_TRACE_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/model/trace.h"

namespace rollcall {

// Empty if all indices of `trace` are in range and all orders are as trace.h specifies; otherwise
// the first violation.
inline std::string FindInconsistency(const Trace& trace) {
  const auto bad = [](uint32_t index, size_t size) { return index != kNoIndex && index >= size; };
  const auto check_event = [&](const Event& event, size_t threads) -> std::string {
    if (event.arguments >= trace.arguments.size()) return "event without arguments";
    if (bad(event.call_path, trace.call_paths.size())) return "call path of an event";
    if (bad(event.member, trace.members.size())) return "member of an event";
    if (event.thread >= threads && event.thread != 0) return "thread of an event";
    return {};
  };
  for (const Arguments& arguments : trace.arguments) {
    if (bad(arguments.send_datatype, trace.datatypes.size()) ||
        bad(arguments.recv_datatype, trace.datatypes.size()) ||
        bad(arguments.send_counts, trace.count_arrays.size()) ||
        bad(arguments.recv_counts, trace.count_arrays.size())) {
      return "reference in arguments";
    }
  }
  for (const CallPath& path : trace.call_paths) {
    for (const uint32_t code : path.codes) {
      if (code >= trace.codes.size()) return "code of a call path";
    }
    for (const PythonFrame& frame : path.python) {
      if (frame.code >= trace.codes.size()) return "code of a Python frame";
      if (trace.codes[frame.code].frames.size() != 1) return "a place in Python is not one frame";
    }
    if (bad(path.context, trace.call_paths.size())) return "context of a call path";
    if (path.context != kNoIndex && trace.call_paths[path.context].context != kNoIndex) {
      return "a context has a context";
    }
  }
  for (const Communicator& communicator : trace.communicators) {
    if (bad(communicator.parent, trace.communicators.size())) return "parent";
    if (communicator.world >= trace.worlds.size()) return "world of a communicator";
    if (communicator.members.empty()) return "a communicator without members";
    for (const uint32_t member : communicator.members) {
      if (member >= trace.members.size()) return "member of a communicator";
    }
  }
  for (const Member& member : trace.members) {
    if (member.process >= trace.processes.size()) return "process of a member";
    if (member.communicator >= trace.communicators.size()) return "communicator";
    const size_t threads = trace.processes[member.process].threads.size();
    uint64_t last = 0;
    for (const Event& event : member.events) {
      if (event.sequence <= last) return "sequence numbers do not rise";
      last = event.sequence;
      if (std::string problem = check_event(event, threads); !problem.empty()) return problem;
    }
    if (bad(member.data, trace.data.size())) return "data of a member";
    last = 0;
    for (const Checkpoint& checkpoint : member.checkpoints) {
      if (checkpoint.sequence <= last) return "checkpoints do not rise";
      last = checkpoint.sequence;
    }
  }
  for (const MemberData& data : trace.data) {
    uint64_t order = 0;
    for (const DataRead& read : data.reads) {
      if (bad(read.call_path, trace.call_paths.size())) return "call path of data";
      if (read.order <= order) return "reads of data do not rise";
      order = read.order;
    }
    for (const auto* first : {&data.input, &data.result}) {
      if (*first && (bad((*first)->call_path, trace.call_paths.size()) ||
                     bad((*first)->datatype, trace.datatypes.size()))) {
        return "reference in data";
      }
    }
  }
  for (const Process& process : trace.processes) {
    for (const ReplicaRead& replica : process.replicas) {
      if (bad(replica.data.call_path, trace.call_paths.size())) return "call path of a replica";
    }
    if (process.world >= trace.worlds.size()) return "world of a process";
    if (bad(process.exit_call_path, trace.call_paths.size())) return "call path of an exit";
    for (const auto* events : {&process.p2p, &process.lifecycle}) {
      for (const Event& event : *events) {
        if (std::string problem = check_event(event, process.threads.size()); !problem.empty()) {
          return problem;
        }
      }
    }
    for (const OpenCall& call : process.open_calls) {
      if (call.event.end_ns != kNoTime) return "an open call has ended";
      if (std::string problem = check_event(call.event, process.threads.size()); !problem.empty()) {
        return problem;
      }
    }
    for (const OpenRequest& request : process.open_requests) {
      if (bad(request.waiter, process.threads.size())) return "waiter";
      if (std::string problem = check_event(request.event, process.threads.size());
          !problem.empty()) {
        return problem;
      }
    }
    for (const Channel& channel : process.channels) {
      if (channel.member >= trace.members.size()) return "member of a channel";
    }
    for (const PeerCount& sum : process.peer_counts) {
      if (sum.member >= trace.members.size()) return "member of a sum of messages";
    }
    for (const NamedValues& values : process.values) {
      for (const RecordedValue& value : values.recent) {
        if (bad(value.call_path, trace.call_paths.size())) return "call path of a value";
      }
    }
  }
  for (const World& world : trace.worlds) {
    for (size_t rank = 0; rank < world.processes.size(); ++rank) {
      const uint32_t process = world.processes[rank];
      if (bad(process, trace.processes.size())) return "process of a world";
      if (process != kNoIndex && trace.processes[process].rank != static_cast<int32_t>(rank)) {
        return "rank of a process";
      }
    }
  }
  return {};
}

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_TRACE_CHECKS_H_
