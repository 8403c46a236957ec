// SPDX-License-Identifier: Apache-2.0
#include "collector/model/place.h"

#include "collector/model/rank_set.h"

namespace rollcall {

std::string_view MeaningText(FrameMeaning meaning) {
  switch (meaning) {
    case FrameMeaning::kExit:
      return "exiting";
    case FrameMeaning::kMpi:
    case FrameMeaning::kTorch:
    case FrameMeaning::kNccl:
      return "waiting";
    case FrameMeaning::kRendezvous:
      return "waiting for the other ranks to appear";
    case FrameMeaning::kDevice:
      return "waiting for its device";
    case FrameMeaning::kLoader:
      return "waiting for its data loader";
    case FrameMeaning::kGil:
      return "waiting for Python's lock";
    case FrameMeaning::kLock:
      return "waiting for a lock or a thread";
    case FrameMeaning::kSleep:
      return "asleep";
    case FrameMeaning::kIo:
      return "reading or writing";
    case FrameMeaning::kCode:
      return "computing";
  }
  return "";
}

bool LibraryCall::HasMember(int32_t rank) const {
  for (size_t i = 0; i + 1 < member_runs.size(); i += 2) {
    if (member_runs[i] <= rank && rank <= member_runs[i + 1]) return true;
  }
  return false;
}

std::vector<int32_t> LibraryCall::AllAwaited() const {
  if (awaited < 0) return {};
  std::vector<int32_t> all = also_awaited;
  all.push_back(awaited);
  Normalize(&all);
  return all;
}

bool Place::Waits() const { return WaitsForRanks(meaning.meaning) && !IsLocal(kind()); }

}  // namespace rollcall
