// SPDX-License-Identifier: Apache-2.0
#include "collector/import/flight_recorder/operation_name.h"

#include "collector/base/text.h"

namespace rollcall::flight_recorder {

OperationName ParseOperationName(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon != std::string_view::npos) name.remove_prefix(colon + 1);
  const size_t space = name.find(' ');
  const std::string_view peers = space == std::string_view::npos ? "" : name.substr(space + 1);
  name = name.substr(0, space);
  OperationName result;
  if (name == "send" || name == "recv") {
    result.operation = name == "send" ? Operation::kTorchSend : Operation::kTorchRecv;
    const size_t arrow = peers.find(name == "send" ? "->" : "<-");
    if (arrow == std::string_view::npos) return result;
    const std::string_view peer = peers.substr(arrow + 2);
    const int32_t rank = ParseNumber<int32_t>(peer).value_or(-1);
    if (peer == "?") {
      result.peer = ring::kAnySource;
    } else if (rank >= 0) {
      result.peer = rank;
    }
    return result;
  }
  struct Row {
    std::string_view name;
    Operation operation;
  };
  // If one name is a prefix of another, the longer one comes first.
  constexpr Row kRows[] = {
      {"all_reduce_barrier", Operation::kTorchBarrier},
      {"allreduce_barrier", Operation::kTorchBarrier},
      {"barrier", Operation::kTorchBarrier},
      {"all_reduce", Operation::kTorchAllReduce},
      {"allreduce", Operation::kTorchAllReduce},
      {"broadcast", Operation::kTorchBroadcast},
      {"reduce_scatter", Operation::kTorchReduceScatter},
      {"reduce", Operation::kTorchReduce},
      {"all_gather", Operation::kTorchAllGather},
      {"allgather", Operation::kTorchAllGather},
      {"all_to_all", Operation::kTorchAllToAll},
      {"alltoall", Operation::kTorchAllToAll},
      {"gather", Operation::kTorchGather},
      {"scatter", Operation::kTorchScatter},
      {"coalesced", Operation::kTorchCoalesced},
  };
  if (name.starts_with('_')) name.remove_prefix(1);
  for (const Row& row : kRows) {
    if (name.starts_with(row.name)) {
      result.operation = row.operation;
      return result;
    }
  }
  return result;
}

}  // namespace rollcall::flight_recorder
