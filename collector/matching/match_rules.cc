// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/match_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "collector/matching/data_matching.h"
#include "collector/model/messages.h"
#include "proto/datatypes.h"

namespace rollcall {
namespace {

// The weight of the calls with the given indices.
size_t WeightOf(const std::vector<MemberCall>& calls, const std::vector<uint32_t>& some) {
  size_t weight = 0;
  for (const uint32_t i : some) weight += calls[i].weight;
  return weight;
}

// Partitions the calls by a value that must be equal for all.
template <typename Value>
Mismatch Partition(const std::vector<MemberCall>& calls, MismatchKind kind,
                   const std::function<bool(const MemberCall&)>& takes_part,
                   const std::function<Value(const MemberCall&)>& value_of,
                   const std::function<std::string(const Value&)>& text_of) {
  std::map<Value, std::vector<uint32_t>> classes;
  for (uint32_t i = 0; i < calls.size(); ++i) {
    if (takes_part(calls[i])) classes[value_of(calls[i])].push_back(i);
  }
  if (classes.size() < 2) return {};
  auto largest = classes.begin();
  bool tie = false;
  for (auto it = std::next(classes.begin()); it != classes.end(); ++it) {
    const size_t weight = WeightOf(calls, it->second);
    const size_t most = WeightOf(calls, largest->second);
    if (weight == most) tie = true;
    if (weight > most) {
      largest = it;
      tie = false;
    }
  }
  Mismatch mismatch;
  mismatch.kind = kind;
  mismatch.agreeing = largest->second;
  mismatch.agreeing_value = text_of(largest->first);
  std::vector<uint32_t>& rest = tie ? mismatch.others : mismatch.deviating;
  for (const auto& [value, members] : classes) {
    if (value == largest->first) continue;
    if (rest.empty()) mismatch.deviating_value = text_of(value);
    rest.insert(rest.end(), members.begin(), members.end());
  }
  std::ranges::sort(rest);
  return mismatch;
}

std::string RootText(int32_t root) {
  if (root == ring::kRootSelf) return "root MPI_ROOT";
  if (root == ring::kRootNone || root == ring::kProcNullPeer) return "root MPI_PROC_NULL";
  return fmt::format("root {}", root);
}

}  // namespace

std::string OperationName(Operation operation) {
  const OperationInfo info = FindOperation(static_cast<uint16_t>(operation));
  if (!info.name.empty()) return std::string(info.name);
  return fmt::format("call {}", static_cast<uint16_t>(operation));
}

std::string ArgumentsText(const Trace& trace, const Arguments& arguments) {
  const OperationInfo info = FindOperation(static_cast<uint16_t>(arguments.operation));
  std::vector<std::string> parts;
  const auto data = [&](uint32_t datatype, uint64_t count) {
    if (datatype != kNoIndex) parts.push_back(DataText(trace, datatype, count));
  };
  const bool receives = info.kind == Kind::kRecv || info.kind == Kind::kIrecv ||
                        arguments.send_datatype == kNoIndex ||
                        (arguments.flags & ring::kSendInPlace) != 0;
  if (arguments.send_counts == kNoIndex && arguments.recv_counts == kNoIndex) {
    if (receives) {
      data(arguments.recv_datatype, arguments.recv_count);
    } else {
      data(arguments.send_datatype, arguments.send_count);
    }
  } else if (arguments.send_counts == kNoIndex && !receives) {
    data(arguments.send_datatype, arguments.send_count);
  }
  if (arguments.reduce_op != 0) parts.emplace_back(ReduceOpName(arguments.reduce_op));
  if (HasRoot(info.rule) && arguments.root_or_peer != ring::kNoPeer) {
    parts.push_back(RootText(arguments.root_or_peer));
  }
  for (const Message& message : MessagesOf(arguments)) {
    parts.push_back((message.sends ? "to " : "from ") +
                    (message.peer == ring::kAnySource ? std::string("any rank")
                                                      : fmt::format("rank {}", message.peer)));
    if (message.tag == ring::kAnyTag) {
      parts.emplace_back("any tag");
    } else if (message.tag != ring::kNoTag) {
      parts.push_back(fmt::format("tag {}", message.tag));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Mismatch MatchCalls(const Trace& trace, const std::vector<MemberCall>& calls,
                    bool intercommunicator, MatchBudget* budget, std::vector<std::string>* notes) {
  if (calls.size() < 2) return {};
  const auto all = [](const MemberCall&) { return true; };
  Mismatch mismatch = Partition<Operation>(
      calls, MismatchKind::kOperation, all,
      [](const MemberCall& call) { return call.arguments->operation; },
      [](const Operation& operation) { return OperationName(operation); });
  if (mismatch) return mismatch;

  const Rule rule = FindOperation(static_cast<uint16_t>(calls[0].arguments->operation)).rule;
  if (HasRoot(rule)) {
    // In the root's own group of an intercommunicator, the roots are MPI_ROOT and MPI_PROC_NULL.
    // Only the other group specifies a rank.
    mismatch = Partition<int32_t>(
        calls, MismatchKind::kRoot,
        [intercommunicator](const MemberCall& call) {
          const int32_t root = call.arguments->root_or_peer;  // kNoPeer: unknown (PyTorch)
          return intercommunicator ? root >= 0 : root != ring::kNoPeer;
        },
        [](const MemberCall& call) { return call.arguments->root_or_peer; },
        [](const int32_t& root) { return RootText(root); });
    if (mismatch) return mismatch;
  }
  if (Reduces(rule)) {
    mismatch = Partition<uint16_t>(
        calls, MismatchKind::kReduceOp,
        [](const MemberCall& call) {
          const uint16_t op = call.arguments->reduce_op;
          return op != 0 && op != static_cast<uint16_t>(ReduceOp::kUnknown);
        },
        [](const MemberCall& call) { return call.arguments->reduce_op; },
        [](const uint16_t& op) { return std::string(ReduceOpName(op)); });
    if (mismatch) return mismatch;
  }
  return MatchData(trace, calls, rule, intercommunicator, budget, notes);
}

}  // namespace rollcall
