// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "collector/attach/stacks.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall::attach {
namespace {

void Improve(std::vector<LiveFrame>* frames, Symbolizer* symbolizer) {
  std::vector<LiveFrame> better;
  better.reserve(frames->size());
  for (LiveFrame& live : *frames) {
    const SourceFrame& known = live.frame;
    const bool unknown = known.language == Language::kNative && !live.build_id.empty() &&
                         known.detail != FrameDetail::kSourceLine;
    std::vector<SourceFrame> here;
    if (unknown) {
      here = symbolizer->Symbolize({.module_path = known.module,
                                    .build_id = live.build_id,
                                    .vaddr = known.vaddr,
                                    .is_return_address = &live != &frames->front()});
    }
    if (here.empty() || here.back().detail >= known.detail) {
      better.push_back(std::move(live));
      continue;
    }
    for (SourceFrame& frame : here) {
      better.push_back({std::move(frame), live.digest, {}, live.build_id});
    }
  }
  *frames = std::move(better);
}

}  // namespace

void SymbolizeHere(std::vector<HostStacks>* hosts) {
  Symbolizer symbolizer;
  for (HostStacks& host : *hosts) {
    for (ObservedRank& rank : host.ranks) {
      for (RankSample* sample : {&rank.first, &rank.second}) {
        for (ThreadSample& thread : sample->threads) Improve(&thread.frames, &symbolizer);
        for (ThreadSample& helper : sample->helpers) Improve(&helper.frames, &symbolizer);
      }
    }
  }
}

}  // namespace rollcall::attach
