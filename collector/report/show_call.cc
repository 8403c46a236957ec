// SPDX-License-Identifier: Apache-2.0
#include "collector/report/show_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/matching/match_rules.h"
#include "collector/report/stacks.h"

namespace rollcall {
namespace {

bool IsSame(const Event& a, const Event& b) {
  return a.member == b.member && a.sequence == b.sequence && a.start_ns == b.start_ns &&
         a.arguments == b.arguments && a.request == b.request && a.thread == b.thread;
}

}  // namespace

std::string ShownCall(const AlignedTrace& analysis, const Event& event, bool numbered) {
  std::string text = OperationName(analysis.Op(event));
  if (numbered && event.sequence != 0) text += fmt::format(" #{}", event.sequence);
  if (numbered && event.member != kNoIndex) {
    const Member& member = analysis.trace.members[event.member];
    text += " on " + analysis.CommunicatorName(member.communicator);
  }
  const std::string details = ArgumentsText(analysis.trace, analysis.Args(event));
  if (!details.empty()) text += fmt::format("  ({})", details);
  return text;
}

std::string ShownPlace(const AlignedTrace& analysis, const Event& event) {
  if (event.call_path == kNoIndex) return {};
  return FramePlace(analysis.sites.UserFrame(event.call_path));
}

std::string ShownFunction(const AlignedTrace& analysis, const Event& event) {
  return analysis.sites.UserFrame(event.call_path).function;
}

bool IsInside(const Process& process, const Event& event) {
  const auto same = [&event](const auto& open) { return IsSame(open.event, event); };
  if (std::ranges::any_of(process.open_calls, same)) return true;
  return process.device && std::ranges::any_of(process.open_requests, same);
}

std::vector<uint32_t> ProcessesOf(const Trace& trace, int32_t rank) {
  std::vector<uint32_t> processes;
  for (uint32_t world = 0; world < trace.worlds.size(); ++world) {
    const uint32_t process = ProcessOf(trace, world, rank);
    if (process != kNoIndex) processes.push_back(process);
  }
  return processes;
}

std::vector<const Event*> CallsOf(const AlignedTrace& analysis, uint32_t process) {
  std::vector<const Event*> calls = analysis.Timeline(process);
  for (const Event& event : analysis.trace.processes[process].lifecycle) calls.push_back(&event);
  std::ranges::stable_sort(
      calls, [](const Event* a, const Event* b) { return a->start_ns < b->start_ns; });
  return calls;
}

}  // namespace rollcall
