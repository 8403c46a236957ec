// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/gil_wait.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "collector/model/runtime_modules.h"

namespace rollcall {

ptrdiff_t GilFrame(const std::vector<const SourceFrame*>& frames) {
  const auto outside = std::ranges::find_if(
      frames, [](const SourceFrame* frame) { return FamilyOf(frame->module) != ModuleFamily::kC; });
  if (outside == frames.begin() || outside == frames.end()) return -1;
  if ((*outside)->language != Language::kPython) return -1;
  const auto call = std::prev(outside);
  const bool waits = (*call)->function.find("pthread_cond_timedwait") != std::string::npos;
  return waits ? call - frames.begin() : -1;
}

ptrdiff_t GilFrame(const std::vector<SourceFrame>& frames) {
  std::vector<const SourceFrame*> pointers;
  for (const SourceFrame& frame : frames) pointers.push_back(&frame);
  return GilFrame(pointers);
}

}  // namespace rollcall
