// SPDX-License-Identifier: Apache-2.0
// The operations that logs name.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_OPERATIONS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_OPERATIONS_H_

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "collector/import/flight_recorder/operation_name.h"
#include "proto/operations.h"

namespace rollcall::logs {

// By the name of c10::OpType: "ALLREDUCE", "_REDUCE_SCATTER_BASE".
inline Operation TorchOperation(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return flight_recorder::ParseOperationName(name).operation;
}

// By NCCL's name: "AllReduce". kNone: unknown.
inline Operation NcclOperation(std::string_view name) {
  for (const OperationInfo& info : kNcclOperations) {
    if (info.name.substr(std::string_view("nccl").size()) == name) return info.operation;
  }
  return Operation::kNone;
}

// Whether its sizes may differ between ranks.
inline bool HasOwnSizes(Operation operation) {
  return operation == Operation::kTorchAllToAll || operation == Operation::kTorchCoalesced ||
         operation == Operation::kTorchGather || operation == Operation::kTorchScatter ||
         operation == Operation::kTorchOther || operation == Operation::kTorchBarrier;
}

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_OPERATIONS_H_
