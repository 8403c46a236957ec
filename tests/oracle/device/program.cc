// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/device/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::oracle::device {

int Program::LocalRank(int comm, int rank) const {
  const std::vector<int>& members = Members(comm);
  const auto found = std::find(members.begin(), members.end(), rank);
  return found == members.end() ? kNone : static_cast<int>(found - members.begin());
}

std::string_view Name(Do what) {
  constexpr std::string_view kNames[] = {"ncclAllReduce",
                                         "ncclAllGather",
                                         "ncclReduceScatter",
                                         "ncclBroadcast",
                                         "ncclReduce",
                                         "ncclSend",
                                         "ncclRecv",
                                         "group-start",
                                         "group-end",
                                         "cudaStreamSynchronize",
                                         "cudaDeviceSynchronize",
                                         "Barrier",
                                         "End",
                                         "Die",
                                         "Exit",
                                         "Stall"};
  return kNames[static_cast<size_t>(what)];
}

std::string Call(const Op& op) {
  std::string text(Name(op.what));
  if (!IsOnDevice(op.what)) return text;
  text += fmt::format(" on=c{}", op.comm);
  if (IsMessage(op.what)) text += fmt::format(" peer={}", op.peer);
  if (IsRooted(op.what)) text += fmt::format(" root={}", op.peer);
  if (Reduces(op.what)) text += op.reduction == 0 ? " sum" : " max";
  return text + fmt::format(" {}x{}", op.count, op.type == 0 ? "ncclFloat32" : "ncclFloat64");
}

std::string Text(const Program& program) {
  std::string text = fmt::format("ranks {}{}", program.ranks, program.mpi ? ", MPI" : "");
  for (size_t c = 0; c < program.comms.size(); ++c) {
    text += fmt::format(", comm {} on stream {}: {}", c, program.streams[c],
                        fmt::join(program.comms[c], ","));
  }
  if (program.frozen_comm != kNone) {
    text += fmt::format(", frozen: #{} on {}", program.frozen_number, program.frozen_comm);
  }
  for (size_t r = 0; r < program.code.size(); ++r) {
    text += fmt::format("\nrank {}:", r);
    for (size_t at = 0; at < program.code[r].size(); ++at) {
      const Op& op = program.code[r][at];
      if (op.iteration != kNone) text += fmt::format("  [{}]", op.iteration);
      text += fmt::format("  {} {}", op.line, Call(op));
      if (op.what == Do::kSyncStream) text += fmt::format(" on=c{}", op.comm);
      const bool stuck =
          static_cast<int>(r) == program.stuck_rank && static_cast<int>(at) == program.stuck_at;
      text += stuck ? " (its device stands still);" : ";";
    }
  }
  return text + "\n";
}

}  // namespace rollcall::oracle::device
