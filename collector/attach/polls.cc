// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/polls.h"

#include <algorithm>
#include <utility>

#include "collector/attach/frame_meaning.h"
#include "proto/operations.h"

namespace rollcall::attach {
namespace {

StackMeaning MeaningOfCallee(const std::string& callee) {
  SourceFrame frame;
  frame.function = callee;
  return MeaningOf({&frame});
}

const SourceBlock* InnermostLoop(const Trace& trace, const SourceFrame& frame) {
  const auto source = std::ranges::find(trace.sources, frame.file, &SourceBlocks::file);
  return source == trace.sources.end()
             ? nullptr
             : InnermostBlock(source->blocks, SourceBlock::Kind::kLoop, frame.line);
}

// The call by which the loop around the sleep polls for messages. Without an operation if there is
// no such call, or if the loop does anything else.
StackMeaning PollOf(const Trace& trace, const Place& place) {
  for (const SourceFrame& frame : place.sleeper) {
    const SourceBlock* loop = InnermostLoop(trace, frame);
    if (loop == nullptr) continue;
    StackMeaning poll;
    bool sleeps = false;
    for (const NearbyCall& call : place.nearby) {
      const bool inside =
          call.function == frame.function && call.file == frame.file && loop->Holds(call.line);
      if (!inside) continue;
      const StackMeaning meaning = MeaningOfCallee(call.callee);
      const Kind kind = FindOperation(static_cast<uint16_t>(meaning.operation)).kind;
      if (meaning.meaning == FrameMeaning::kSleep) {
        sleeps = true;
      } else if (meaning.meaning == FrameMeaning::kMpi && kind == Kind::kIprobe) {
        poll = meaning;
      } else {
        return {};
      }
    }
    // If the calls of a function are unknown, its poll is unknown, too.
    return sleeps ? poll : StackMeaning{};
  }
  return {};
}

}  // namespace

void FindPolls(Trace* trace) {
  for (Process& process : trace->processes) {
    Place& place = *process.place;
    if (!place.timed || place.nearby.empty()) continue;
    StackMeaning poll = PollOf(*trace, place);
    if (poll.operation == Operation::kNone) continue;
    poll.frame = place.meaning.frame;
    place.meaning = std::move(poll);
    place.timed = false;
  }
}

}  // namespace rollcall::attach
