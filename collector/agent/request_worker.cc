// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/request_worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "collector/agent/live_stacks.h"
#include "collector/base/clock.h"
#include "collector/base/result.h"
#include "collector/collect/environment.h"
#include "collector/import/journal.h"
#include "collector/rpc/frames.h"
#include "proto/run_directory.h"

namespace rollcall::agent {

void RequestWorker::Submit(uint64_t connection, const rpc::SymbolRequest& request) {
  worker_.Add([this, connection, request] {
    rpc::AgentMessage answer;
    rpc::SymbolTable* table = answer.mutable_symbols();
    table->set_request(request.request());
    for (const rpc::CodeAddress& address : request.addresses()) {
      rpc::SymbolFrames* frames = table->add_addresses();
      for (const SourceFrame& frame : symbolizer_.Symbolize({.module_path = address.module(),
                                      .build_id = address.build_id(),
                                      .vaddr = address.vaddr(),
                                      .is_return_address = true})) {
        rpc::ToRpc(frame, frames->add_frames());
      }
    }
    reply_(connection, std::move(answer));
  });
}

void RequestWorker::Submit(uint64_t connection, const rpc::LiveStackRequest& request,
                           const StackTarget& target) {
  worker_.Add([this, connection, number = request.request(), target] {
    Result<JournalWriter> journal = JournalWriter::Open(run_directory_ + "/" + kJournalFile);
    const journal::ProcessName name{target.id, target.host, target.own_pid, target.world_rank};
    rpc::AgentMessage answer;
    answer.mutable_live_stacks()->set_request(number);
    answer.mutable_live_stacks()->set_id(target.id);
    if (target.variables) {
      std::vector<VariablesOfFrame> frames =
          TakeVariables(target.pid, target.start_ticks, target.tid, &symbolizer_);
      if (journal && !frames.empty()) {
        journal->Append(journal::VariablesSeen{.process = name,
                                               .activity = target.activity,
                                               .frames = std::move(frames),
                                               .at_ns = Now(CLOCK_REALTIME)});
      }
      return reply_(connection, std::move(answer));
    }
    LiveLook look = TakeLiveStacks(target.pid, target.start_ticks, target.all_here,
                                   target.wait_only, &symbolizer_);
    const int64_t now_ns = Now(CLOCK_REALTIME);
    for (LiveStack& stack : look.stacks) {
      if (!journal || target.wait_only) break;
      journal->Append(
          journal::StackSeen{.process = name, .stack = std::move(stack), .at_ns = now_ns});
    }
    if (journal && !look.stacks.empty()) {
      journal->Append(journal::OutsideWaitSeen{.process = name,
                                               .activity = target.activity,
                                               .wait = look.outside_wait,
                                               .at_ns = now_ns});
    }
    reply_(connection, std::move(answer));
  });
}

void RequestWorker::Submit(uint64_t connection, const rpc::EnvironmentRequest& request,
                           const EnvironmentTarget& target) {
  worker_.Add([this, connection, number = request.request(), target] {
    collect::Variables variables;
    if (target.pid > 0) variables = collect::EnvironmentOf(static_cast<uint32_t>(target.pid));
    // An agent has the environment of the rank, or of the `rollcall run`, that started it.
    const std::string whose =
        variables.empty() ? "the agent" : fmt::format("rank {}", target.world_rank);
    if (variables.empty()) variables = collect::EnvironmentOf(static_cast<uint32_t>(getpid()));
    rpc::AgentMessage answer;
    answer.mutable_environment()->set_request(number);
    answer.mutable_environment()->set_json(collect::DescribeEnvironment(variables, whose));
    reply_(connection, std::move(answer));
  });
}

}  // namespace rollcall::agent
