// SPDX-License-Identifier: Apache-2.0
#include "collector/live/library_call.h"

#include <algorithm>

#include "collector/live/mpich_call.h"
#include "collector/live/open_mpi_call.h"

namespace rollcall {

bool Merge(const LibraryCall& other, LibraryCall* call) {
  const bool same_communicator = call->communicator.empty() || other.communicator.empty() ||
                                 call->communicator == other.communicator;
  const bool same_awaited =
      call->awaited < 0 || other.awaited < 0 ||
      (call->awaited == other.awaited && call->also_awaited == other.also_awaited);
  if (!same_communicator || !same_awaited) return false;
  if (call->communicator.empty()) call->communicator = other.communicator;
  if (call->member_runs.empty()) call->member_runs = other.member_runs;
  call->of_collective |= other.of_collective;
  if (call->answered.empty()) call->answered = other.answered;
  call->outside |= other.outside;
  if (call->awaited < 0) {
    call->awaited = other.awaited;
    call->also_awaited = other.also_awaited;
  }
  return true;
}

void SetMembers(std::vector<int32_t> ranks, LibraryCall* call) {
  std::ranges::sort(ranks);
  if (ranks.empty() || ranks.front() < 0) return;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i == 0 || ranks[i] != ranks[i - 1] + 1) {
      call->member_runs.insert(call->member_runs.end(), 2, ranks[i]);
    }
    call->member_runs.back() = ranks[i];
  }
}

std::set<uint64_t> ChangedRegisters(const CallFrame& frame, const CallFrame& caller) {
  std::set<uint64_t> changed;
  for (size_t i = 0; i < frame.registers.preserved.size(); ++i) {
    const uint64_t word = frame.registers.preserved[i];
    if (word != caller.registers.preserved[i] && word != 0) changed.insert(word);
  }
  return changed;
}

std::optional<LibraryCall> ReadLibraryCall(const ProcessImage& image, const std::string& file_root,
                                           std::span<const CallFrame> frames, int32_t world_size) {
  if (auto objects = OpenMpiObjects::In(image, file_root)) return objects->Read(frames);
  if (auto objects = MpichObjects::In(image, file_root, world_size)) {
    return ReadMpichCall(frames, &*objects);
  }
  return std::nullopt;
}

}  // namespace rollcall
