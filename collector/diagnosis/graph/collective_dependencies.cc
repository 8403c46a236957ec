// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/collective_dependencies.h"

#include <algorithm>
#include <iterator>

namespace rollcall {
namespace {

// Sets `relevant` to the missing members that satisfy `wanted`. If there are none, the dependency
// is not strict.
template <typename Wanted>
void OnlyThose(const CollectiveNode& node, WaitDependency* dependency, const Wanted& wanted) {
  std::copy_if(node.missing.begin(), node.missing.end(), std::back_inserter(dependency->relevant),
               wanted);
  dependency->strict = !dependency->relevant.empty();
  if (dependency->relevant.size() == node.missing.size()) dependency->relevant.clear();  // all
}

// Whether this entry of an array of counts stands for data. An entry that is missing from a
// truncated array counts as data. So does every entry of a w-collective: these are signatures, and
// the signature of no data is not 0.
bool Given(const std::vector<uint64_t>& counts, int32_t rank) {
  return rank < 0 || static_cast<size_t>(rank) >= counts.size() ||
         counts[static_cast<size_t>(rank)] != 0;
}

}  // namespace

// Whether the caller receives nothing from the others. Either there is no data, or the call
// duplicates a communicator, which needs no message of the others (MPI 4.0, 7.4.2, advice to
// implementors).
bool CollectiveDependencies::NeedsNobody(const Arguments& arguments, Rule rule) const {
  const auto empty = [this](uint64_t count, uint32_t datatype) {
    return datatype != kNoIndex && (count == 0 || trace_.datatypes[datatype].bytes == 0);
  };
  const bool no_recv = empty(arguments.recv_count, arguments.recv_datatype);
  const bool no_send = empty(arguments.send_count, arguments.send_datatype);
  if (rule == Rule::kCreate) {
    return arguments.operation == Operation::kComm_dup ||
           arguments.operation == Operation::kComm_dup_with_info ||
           arguments.operation == Operation::kComm_idup ||
           arguments.operation == Operation::kComm_idup_with_info ||
           arguments.operation == Operation::kComm_create;
  }
  switch (EmptyOf(rule)) {
    case Empty::kEither:
      return no_recv || no_send;  // one buffer, or two equal ones
    case Empty::kReceive:
      return no_recv;
    case Empty::kNever:
      break;
  }
  return false;
}

// Data moves from the root or to it.
void CollectiveDependencies::RefineRooted(uint32_t p, const CollectiveNode& node,
                                          const Arguments& arguments, Rule rule,
                                          WaitDependency* dependency) {
  const bool from_root = NeedsOf(rule) == Needs::kRoot;
  if (LocalRank(p, node.communicator) == arguments.root_or_peer) {
    dependency->strict = !from_root;
    return;
  }
  dependency->strict = false;
  for (const uint32_t missing : node.missing) {
    if (LocalRank(missing, node.communicator) != arguments.root_or_peer) continue;
    dependency->relevant = {missing};
    dependency->strict = from_root;
  }
}

void CollectiveDependencies::RefineNeighbors(const CollectiveNode& node,
                                             const std::vector<uint64_t>* counts,
                                             WaitDependency* dependency) {
  const std::vector<int32_t>& in = trace_.members[dependency->event->member].neighbors_in;
  OnlyThose(node, dependency, [&](uint32_t missing) {
    const int32_t rank = LocalRank(missing, node.communicator);
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i] != rank) continue;
      if (counts == nullptr || Given(*counts, static_cast<int32_t>(i))) return true;
    }
    return false;
  });
}

void CollectiveDependencies::RefineByEdges(const CollectiveNode& node,
                                           const std::vector<OddEdge>& odd,
                                           WaitDependency* dependency) {
  if (odd.empty()) return;
  const Arguments& arguments = trace_.arguments[dependency->event->arguments];
  const Kind kind = FindOperation(static_cast<uint16_t>(arguments.operation)).kind;
  if (kind == Kind::kPersistentCollective && node.start == 0) return;
  const Member& member = trace_.members[dependency->event->member];
  const std::vector<uint64_t>* counts =
      arguments.recv_counts == kNoIndex ? nullptr : &trace_.count_arrays[arguments.recv_counts];
  const auto is_missing = [&](int32_t rank) {
    return std::ranges::any_of(node.missing, [&](uint32_t process) {
      return LocalRank(process, node.communicator) == rank;
    });
  };
  const std::vector<int32_t>& in = member.neighbors_in;
  for (const OddEdge& edge : odd) {
    if (edge.to != member.rank || edge.from_lists || is_missing(edge.from)) continue;
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i] != edge.from) continue;
      dependency->unanswered |=
          counts == nullptr ? arguments.recv_count != 0 : Given(*counts, static_cast<int32_t>(i));
    }
  }
  dependency->strict |= dependency->unanswered;
}

void CollectiveDependencies::Refine(uint32_t p, const CollectiveNode& node,
                                    WaitDependency* dependency) {
  if (node.missing.empty()) return;
  const Arguments& arguments = trace_.arguments[dependency->event->arguments];
  const OperationInfo& info = FindOperation(static_cast<uint16_t>(arguments.operation));
  const Rule rule = info.rule;
  const bool inter = (trace_.communicators[node.communicator].flags & ring::kIsInter) != 0;
  // An initialization moves no data.
  const bool initialises = info.kind == Kind::kPersistentCollective && node.start == 0;
  if (initialises || NeedsNobody(arguments, rule)) {
    dependency->strict = false;
    return;
  }
  const auto own = [&] { return LocalRank(p, node.communicator); };
  const std::vector<uint64_t>* counts =
      arguments.recv_counts == kNoIndex ? nullptr : &trace_.count_arrays[arguments.recv_counts];
  const auto gives = [&](uint32_t missing) {
    return Given(*counts, LocalRank(missing, node.communicator));
  };
  switch (NeedsOf(rule)) {
    case Needs::kRoot:
    case Needs::kMembers:
    case Needs::kCountedMembers:
      if (inter) {
        dependency->strict = false;
      } else if (NeedsOf(rule) == Needs::kCountedMembers && counts != nullptr &&
                 own() == arguments.root_or_peer) {
        OnlyThose(node, dependency, gives);
      } else {
        RefineRooted(p, node, arguments, rule, dependency);
      }
      return;
    case Needs::kLower: {
      const int32_t mine = own();
      return OnlyThose(node, dependency, [&](uint32_t missing) {
        return LocalRank(missing, node.communicator) < mine;
      });
    }
    case Needs::kCounted:
      if (counts == nullptr) return;
      return OnlyThose(node, dependency, [&](uint32_t missing) {
        return !(inter && SameGroup(p, missing, node.communicator)) && gives(missing);
      });
    case Needs::kNeighbors:
      return RefineNeighbors(node, counts, dependency);
    case Needs::kAllIfCounted:
      if (counts != nullptr) dependency->strict = Given(*counts, own());
      break;
    case Needs::kAll:
      break;
    case Needs::kUnknown:
      return;
  }
  if (inter) OnlyOtherGroup(p, node, dependency);
}

// The caller receives from the other group only (MPI 4.0, 6.2.3).
void CollectiveDependencies::OnlyOtherGroup(uint32_t p, const CollectiveNode& node,
                                            WaitDependency* dependency) const {
  if (!dependency->strict) return;
  OnlyThose(node, dependency,
            [&](uint32_t missing) { return !SameGroup(p, missing, node.communicator); });
}

bool CollectiveDependencies::SameGroup(uint32_t a, uint32_t b, uint32_t communicator) const {
  const std::vector<int32_t>& members = trace_.communicators[communicator].ranks;
  const auto within = [&](uint32_t p) {
    return std::ranges::find(members, trace_.processes[p].rank) != members.end();
  };
  return within(a) == within(b);
}

int32_t CollectiveDependencies::LocalRank(uint32_t process, uint32_t communicator) {
  auto [entry, added] = local_ranks_.try_emplace(communicator);
  if (added) {
    for (const MemberHistory& history : histories_[communicator].members) {
      entry->second[history.process] = history.member->rank;
    }
  }
  const auto found = entry->second.find(process);
  return found == entry->second.end() ? -1 : found->second;
}

}  // namespace rollcall
