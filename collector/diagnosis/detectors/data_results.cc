// SPDX-License-Identifier: Apache-2.0
// Finds differences between data that the standard requires to be equal: results of broadcasts,
// results of reductions that every member gets (MPI-4.1, 6.9.6), gathered data, and data that one
// member sent and another received.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "collector/diagnosis/detectors/data_calls.h"
#include "collector/diagnosis/detectors/data_compare.h"

namespace rollcall {
namespace {

using What = Incident::What;

// A larger difference is not the rounding of one sum. Each member may compute a reduction in
// another order, or with another precision of intermediate results.
constexpr uint64_t kLastBitsUlps = 4;

// Members with equal data.
struct Group {
  const DataRead* data = nullptr;  // of the first member
  std::vector<size_t> members;
};

// The groups of equal results; empty if they cannot be compared.
std::vector<Group> GroupResults(const DataCall& call) {
  std::vector<Group> groups;
  std::unordered_map<uint64_t, size_t> known;  // by hash
  for (size_t m = 0; m < call.members.size(); ++m) {
    const DataRead* data = call.members[m].result;
    if (data == nullptr) continue;
    if (!groups.empty() && !AreComparable(*data, *groups.front().data)) return {};
    const auto [entry, added] = known.emplace(HashFingerprint(data->words), groups.size());
    if (added) groups.push_back({data, {}});
    groups[entry->second].members.push_back(m);
  }
  return groups;
}

// Whether rounding cannot change the result.
bool IsExact(TypeClass type) {
  switch (type) {
    case TypeClass::kByte:
    case TypeClass::kChar:
    case TypeClass::kI8:
    case TypeClass::kI16:
    case TypeClass::kI32:
    case TypeClass::kI64:
    case TypeClass::kU8:
    case TypeClass::kU16:
    case TypeClass::kU32:
    case TypeClass::kU64:
    case TypeClass::kBool:
    case TypeClass::kLogical:
    case TypeClass::kAint:
    case TypeClass::kOffset:
    case TypeClass::kCount:
      return true;
    default:
      return false;
  }
}

// Whether all members must have the same result. Only predefined operations give one result, and
// NaNs may have different bits.
bool IsReproducible(const DataCall& call, const Arguments& arguments) {
  if (arguments.reduce_op == static_cast<uint16_t>(ReduceOp::kNone) ||
      arguments.reduce_op > static_cast<uint16_t>(ReduceOp::kMinloc)) {
    return false;
  }
  std::optional<TypeClass> type;
  for (const MemberCallData& member : call.members) {
    if (member.result == nullptr) continue;
    const TypeClass own = member.result->type_class;
    // The shim does not scan other types, such as pairs, for NaN.
    if (member.result->nans != 0 || (!IsExact(own) && !IsFloatingPoint(own))) return false;
    if (type.value_or(own) != own) return false;
    type = own;
  }
  return true;
}

size_t RootOf(const DataCall& call, const Arguments& arguments) {
  for (size_t m = 0; m < call.members.size(); ++m) {
    if (call.histories->members[m].member->rank == arguments.root_or_peer) return m;
  }
  return call.members.size();
}

class ResultFinder {
 public:
  ResultFinder(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis), incidents_(*incidents) {}

  void Look(const DataCall& call) {
    const Arguments& arguments = call.Args(analysis_);
    const Rule rule = FindOperation(static_cast<uint16_t>(arguments.operation)).rule;
    if (Padded(arguments)) return;
    switch (rule) {
      case Rule::kBcast:
        return LookAtBcast(call, RootOf(call, arguments));
      case Rule::kAllreduce:
        if (IsReproducible(call, arguments)) LookAtResults(call, true);
        return;
      case Rule::kAllgather:
      case Rule::kAllgatherv:
        if (LookAtResults(call, false)) return;
        for (size_t to = 0; to < call.members.size(); ++to) LookAtGathered(call, to);
        break;
      case Rule::kGather:
      case Rule::kGatherv:
        LookAtGathered(call, RootOf(call, arguments));
        break;
      case Rule::kScatter:
      case Rule::kScatterv:
        LookAtScattered(call, RootOf(call, arguments));
        break;
      case Rule::kAlltoall:
      case Rule::kAlltoallv:
      case Rule::kAlltoallw:
        LookAtExchanged(call);
        break;
      default:
        return;
    }
    AddTransfers(call);
  }

 private:
  struct Transfer {
    size_t from;
    size_t to;
    bool sampled;
  };

  bool Padded(const Arguments& arguments) const {
    for (const uint32_t type : {arguments.send_datatype, arguments.recv_datatype}) {
      if (type == kNoIndex) continue;
      if (HasPadding(FindBasicType(analysis_.trace.datatypes[type].basic).type_class)) return true;
    }
    return false;
  }

  // Every member must have the data of the root's buffer, unless the root's buffer changed.
  void LookAtBcast(const DataCall& call, size_t root) {
    std::vector<Group> groups = GroupResults(call);
    const MemberCallData* of_root = root < call.members.size() ? &call.members[root] : nullptr;
    const DataRead* sent = of_root == nullptr ? nullptr : of_root->input;
    if (sent != nullptr && of_root->result != nullptr) {
      if (!AreComparable(*sent, *of_root->result)) return;
      if (sent->words != of_root->result->words) {
        // It is unknown which data the root sent. The others may have received either.
        return Add(call, {root}, {}, *of_root->result, *sent, true, false);
      }
    } else if (sent != nullptr && !groups.empty()) {
      if (!AreComparable(*sent, *groups.front().data)) return;
      const auto same = std::ranges::find_if(
          groups, [&](const Group& group) { return group.data->words == sent->words; });
      if (same == groups.end()) {
        groups.push_back({sent, {root}});
      } else {
        same->members.push_back(root);
      }
    }
    // Without its input, the root's buffer may be the one that changed.
    AddGroups(call, &groups, sent != nullptr ? root : call.members.size(), false);
  }

  bool LookAtResults(const DataCall& call, bool reduces) {
    std::vector<Group> groups = GroupResults(call);
    return AddGroups(call, &groups, call.members.size(), reduces);
  }

  // `reference`: the member whose data is right if there is no majority.
  bool AddGroups(const DataCall& call, std::vector<Group>* groups, size_t reference, bool reduces) {
    if (groups->size() < 2) return false;
    size_t members = 0;
    for (const Group& group : *groups) members += group.members.size();
    auto right = std::ranges::max_element(*groups, [](const Group& a, const Group& b) {
      return a.members.size() < b.members.size();
    });
    bool tie = false;
    if (2 * right->members.size() <= members) {
      const auto of_reference = std::ranges::find_if(
          *groups, [&](const Group& group) { return Contains(group.members, reference); });
      tie = of_reference == groups->end();
      if (!tie) right = of_reference;
    }
    std::vector<size_t> deviating;
    const DataRead* first = nullptr;
    for (auto group = groups->begin(); group != groups->end(); ++group) {
      if (group == right) continue;
      if (first == nullptr) first = group->data;
      deviating.insert(deviating.end(), group->members.begin(), group->members.end());
    }
    std::ranges::sort(deviating);
    std::ranges::sort(right->members);
    const bool exact = !reduces || IsExact(first->type_class);
    // It is not defined which of two zeros is the larger one.
    const bool min_or_max = IsMinOrMax(call.Args(analysis_).reduce_op);
    if (!exact && ((min_or_max && AllDiffer(*groups, *right->data, MayDifferInSignsOnly)) ||
                   AllDiffer(*groups, *right->data, IsRounding))) {
      Add(call, deviating, right->members, *first, *right->data, false, tie, What::kLastBits);
    } else {
      Add(call, deviating, right->members, *first, *right->data, exact, tie);
    }
    return true;
  }

  static bool IsRounding(const DataRead& deviating, const DataRead& right) {
    const DataDifference difference = FindDifference(deviating, right);
    return difference.exact && difference.has_ulps && difference.ulps <= kLastBitsUlps;
  }

  // Whether all groups except that of `right` differ from `right` in this way.
  static bool AllDiffer(const std::vector<Group>& groups, const DataRead& right,
                        bool (*how)(const DataRead& deviating, const DataRead& right)) {
    return std::ranges::all_of(groups, [&](const Group& group) {
      return group.data->words == right.words || how(*group.data, right);
    });
  }

  void Add(const DataCall& call, const std::vector<size_t>& deviating,
           const std::vector<size_t>& agreeing, const DataRead& other, const DataRead& right,
           bool exact, bool tie, What what = What::kResults) {
    Incident incident = DataIncident(call, what, deviating, agreeing);
    incident.tie = tie;
    auto& details = incident.Set<DataDetails>();
    details.exact_type = exact;
    details.sampled = other.reading == ring::DataReading::kSampled;
    details.difference = FindDifference(other, right);
    Report(call, std::move(incident));
  }

  // Repetitions at one place are one incident.
  void Report(const DataCall& call, Incident incident) {
    const uint64_t site = analysis_.sites.Id(call.event->call_path);
    const auto [entry, added] = known_.emplace(std::pair(incident.what, site), incidents_.size());
    if (added) {
      incidents_.push_back(std::move(incident));
    } else {
      ++incidents_[entry->second].repeated;
    }
  }

  // ---- Data that one member sent and another received ----

  static uint64_t HashOf(const DataRead* data) {
    return data == nullptr || HasPadding(data->type_class) ? 0 : HashFingerprint(data->words);
  }

  void Compare(size_t from, size_t to, uint64_t sent, uint64_t received, bool sampled) {
    if (sent == 0 || received == 0) return;
    if (sent != received) transfers_.push_back({from, to, sampled});
  }

  void LookAtGathered(const DataCall& call, size_t root) {
    if (root >= call.members.size()) return;
    const BlockHashes* received = call.members[root].result_blocks;
    if (received == nullptr) return;
    for (size_t m = 0; m < call.members.size(); ++m) {
      const auto rank = static_cast<size_t>(call.histories->members[m].member->rank);
      if (rank >= received->hashes.size()) continue;
      Compare(m, root, HashOf(call.members[m].input), received->hashes[rank],
              received->reading == ring::DataReading::kSampled);
    }
  }

  void LookAtScattered(const DataCall& call, size_t root) {
    if (root >= call.members.size()) return;
    const BlockHashes* sent = call.members[root].input_blocks;
    if (sent == nullptr) return;
    for (size_t m = 0; m < call.members.size(); ++m) {
      const auto rank = static_cast<size_t>(call.histories->members[m].member->rank);
      if (rank >= sent->hashes.size()) continue;
      Compare(root, m, sent->hashes[rank], HashOf(call.members[m].result),
              sent->reading == ring::DataReading::kSampled);
    }
  }

  void LookAtExchanged(const DataCall& call) {
    const auto rank_of = [&](size_t m) {
      return static_cast<size_t>(call.histories->members[m].member->rank);
    };
    for (size_t from = 0; from < call.members.size(); ++from) {
      const BlockHashes* sent = call.members[from].input_blocks;
      if (sent == nullptr) continue;
      for (size_t to = 0; to < call.members.size(); ++to) {
        const BlockHashes* received = call.members[to].result_blocks;
        if (received == nullptr || rank_of(to) >= sent->hashes.size() ||
            rank_of(from) >= received->hashes.size()) {
          continue;
        }
        Compare(from, to, sent->hashes[rank_of(to)], received->hashes[rank_of(from)],
                sent->reading == ring::DataReading::kSampled ||
                    received->reading == ring::DataReading::kSampled);
      }
    }
  }

  // If one member is the only sender of several wrong transfers, it deviates. Otherwise the
  // receivers deviate, because they must have the data that was sent.
  void AddTransfers(const DataCall& call) {
    const std::vector<Transfer> transfers = std::exchange(transfers_, {});
    if (transfers.empty()) return;
    std::vector<size_t> from;
    std::vector<size_t> to;
    for (const Transfer& transfer : transfers) {
      from.push_back(transfer.from);
      to.push_back(transfer.to);
    }
    for (std::vector<size_t>* side : {&from, &to}) {
      std::ranges::sort(*side);
      side->erase(std::unique(side->begin(), side->end()), side->end());
    }
    const bool sender = from.size() == 1 && to.size() > 1;
    Incident incident = sender ? DataIncident(call, What::kResults, from, Minus(to, from))
                               : DataIncident(call, What::kResults, to, Minus(from, to));
    auto& details = incident.Set<DataDetails>();
    details.transfer = true;
    details.from_sender = sender;
    details.exact_type = true;
    details.sampled =
        std::ranges::any_of(transfers, [](const Transfer& transfer) { return transfer.sampled; });
    Report(call, std::move(incident));
  }

  static std::vector<size_t> Minus(std::vector<size_t> all, const std::vector<size_t>& some) {
    std::erase_if(all, [&](size_t m) { return Contains(some, m); });
    return all;
  }

  const Analysis& analysis_;
  std::vector<Incident>& incidents_;
  std::map<std::pair<What, uint64_t>, size_t> known_;
  std::vector<Transfer> transfers_;
};

}  // namespace

void FindDifferingData(const Analysis& analysis, const CommunicatorHistory& histories,
                       std::vector<Incident>* incidents) {
  ResultFinder finder(analysis, incidents);
  VisitDataCalls(analysis, histories, [&](const DataCall& call) { finder.Look(call); });
}

}  // namespace rollcall
