// SPDX-License-Identifier: Apache-2.0
// Finds ranks that all pass the same data to reductions, call after call, as if each had the same
// part of the problem. Also finds data that was equal on all ranks, or is meant to be, and is not
// equal any more.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "collector/diagnosis/detectors/data_calls.h"
#include "collector/diagnosis/detectors/data_compare.h"

namespace rollcall {
namespace {

constexpr uint64_t kCallsInARow = 8;
constexpr uint64_t kLeastElements = 64;
// With two ranks there is no majority, so neither is named.
constexpr size_t kLeastMembers = 3;

bool SumsUp(const Analysis& analysis, const DataCall& call) {
  const Arguments& arguments = call.Args(analysis);
  if (arguments.reduce_op != static_cast<uint16_t>(ReduceOp::kSum)) return false;
  switch (FindOperation(static_cast<uint16_t>(arguments.operation)).rule) {
    case Rule::kAllreduce:
    case Rule::kReduce:
    case Rule::kReduceScatter:
    case Rule::kReduceScatterBlock:
      return true;
    default:
      return false;
  }
}

// Whether the inputs of the call can be judged: they are comparable, and they are not the few
// values that unrelated computations have in common (zeros, ones, counts).
bool TellsInputs(const DataCall& call) {
  if (!call.HasAllInputs()) return false;
  const DataRead& one = *call.members.front().input;
  return std::ranges::all_of(call.members, [&](const MemberCallData& member) {
    const DataRead& input = *member.input;
    return AreComparable(input, one) && input.type_class != TypeClass::kUnknown &&
           input.bytes / ElementBytes(input.type_class) >= kLeastElements &&
           input.distinct >= ring::kMaxDistinct;
  });
}

// The members whose input differs from that of the majority.
struct Minority {
  std::vector<size_t> members;
  size_t agreeing = 0;
};

// Empty if no input is common to more than half of the members. In most jobs all inputs differ, so
// the search is linear.
std::optional<Minority> MinorityOf(const DataCall& call) {
  const auto words = [&](size_t m) -> const Fingerprint& { return call.members[m].input->words; };
  Minority minority;
  size_t lead = 0;  // votes for `agreeing`, by Boyer and Moore's majority vote
  for (size_t m = 0; m < call.members.size(); ++m) {
    if (lead == 0) minority.agreeing = m;
    words(m) == words(minority.agreeing) ? ++lead : --lead;
  }
  for (size_t m = 0; m < call.members.size(); ++m) {
    if (words(m) != words(minority.agreeing)) minority.members.push_back(m);
  }
  if (2 * minority.members.size() >= call.members.size()) return std::nullopt;
  return minority;
}

std::vector<size_t> Others(const DataCall& call, const std::vector<size_t>& some) {
  std::vector<size_t> others;
  for (size_t m = 0; m < call.members.size(); ++m) {
    if (!Contains(some, m)) others.push_back(m);
  }
  return others;
}

// The calls from one call site.
struct SiteInputs {
  uint64_t run = 0;  // calls so far with inputs that are equal on all members
  std::optional<Fingerprint> before;
  std::optional<Incident> same;
  std::optional<Incident> drift;
  bool varied = false;  // the inputs became unequal for another reason than a drift
};

class InputFinder {
 public:
  explicit InputFinder(const Analysis& analysis) : analysis_(analysis) {}

  void Look(const DataCall& call) {
    if (!SumsUp(analysis_, call)) return;
    const std::optional<uint64_t> site = SiteOf(call);
    if (!site) return;
    SiteInputs& at = sites_[*site];
    if (!TellsInputs(call)) {
      at.run = 0;
      return;
    }
    const std::optional<Minority> minority = MinorityOf(call);
    if (minority && minority->members.empty()) {
      AddEqual(call, &at);
    } else if (at.drift) {
      at.varied |= !minority;
    } else if (at.run >= kCallsInARow && minority && call.members.size() >= kLeastMembers) {
      AddDrift(call, *minority, &at);
    } else {
      at.run = 0;
    }
    if (!minority || !minority->members.empty()) at.before.reset();
  }

  void Take(std::vector<Incident>* incidents) {
    for (auto& [site, at] : sites_) {
      if (at.drift && !at.varied) {
        incidents->push_back(std::move(*at.drift));
      } else if (at.same) {
        incidents->push_back(std::move(*at.same));
      }
    }
  }

 private:
  // Empty if the members made the call from several places.
  std::optional<uint64_t> SiteOf(const DataCall& call) const {
    std::optional<uint64_t> site;
    for (size_t m = 0; m < call.members.size(); ++m) {
      const uint64_t own = analysis_.sites.Id(call.PathOf(m));
      if (own == 0 || site.value_or(own) != own) return std::nullopt;
      site = own;
    }
    return site;
  }

  static void AddEqual(const DataCall& call, SiteInputs* at) {
    at->varied |= at->drift.has_value();  // it was no drift
    const Fingerprint& words = call.members.front().input->words;
    at->run = at->before == words ? 0 : at->run + 1;
    at->before = words;
    if (at->run < kCallsInARow) return;
    if (!at->same) {
      at->same = DataIncident(call, Incident::What::kSameInputs, Others(call, {}), {});
      at->same->tie = true;
    }
    auto& details = at->same->Set<DataDetails>();
    if (at->run > details.calls) {
      details.calls = at->run;
      at->same->sequence = call.sequence;
      at->same->deviating_event = call.event;
      at->same->start = call.start;
    }
    details.sampled |= IsSampled(call);
  }

  static void AddDrift(const DataCall& call, const Minority& minority, SiteInputs* at) {
    at->drift = DataIncident(call, Incident::What::kDrift, minority.members,
                             Others(call, minority.members));
    auto& details = at->drift->Set<DataDetails>();
    details.calls = at->run;
    details.sampled = IsSampled(call);
    details.difference = FindDifference(*call.members[minority.members.front()].input,
                                        *call.members[minority.agreeing].input);
  }

  static bool IsSampled(const DataCall& call) {
    return call.members.front().input->reading == ring::DataReading::kSampled;
  }

  const Analysis& analysis_;
  std::map<uint64_t, SiteInputs> sites_;
};

// One call of rollcall_replica() with one name on one rank.
struct Copy {
  uint32_t process;
  const DataRead* data;
};

bool SameCopy(const Copy& a, const Copy& b) {
  return a.data->bytes == b.data->bytes && a.data->words == b.data->words;
}

// The first difference between copies of one name; null if there is none.
std::optional<Incident> CompareCopies(const std::vector<Copy>& copies) {
  if (copies.size() < 2) return std::nullopt;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<const Copy*>> groups;  // by size and hash
  for (const Copy& copy : copies) {
    if (!copy.data->IsRead() || copy.data->reading != copies.front().data->reading) {
      return std::nullopt;
    }
    groups[{copy.data->bytes, HashFingerprint(copy.data->words)}].push_back(&copy);
  }
  if (groups.size() < 2) return std::nullopt;
  // The largest group; of two groups of the same size, the one with the first process.
  const std::vector<const Copy*>* most = &groups.begin()->second;
  for (const auto& [key, group] : groups) {
    const bool more =
        group.size() > most->size() ||
        (group.size() == most->size() && group.front()->process < most->front()->process);
    if (more) most = &group;
  }
  Incident incident;
  incident.what = Incident::What::kDrift;
  incident.sequence = copies.front().data->sequence;
  incident.tie = 2 * most->size() <= copies.size();
  auto& details = incident.Set<DataDetails>();
  details.sampled = copies.front().data->reading == ring::DataReading::kSampled;
  const DataRead& right = *most->front()->data;
  for (const Copy& copy : copies) {
    const bool agrees = SameCopy(copy, *most->front());
    (agrees ? incident.agreeing : incident.deviating).push_back(copy.process);
    (agrees ? details.agreeing_paths : details.deviating_paths).push_back(copy.data->call_path);
    if (agrees || incident.deviating.size() > 1) continue;
    details.sizes_differ = copy.data->bytes != right.bytes;
    if (!details.sizes_differ) details.difference = FindDifference(*copy.data, right);
  }
  return incident;
}

}  // namespace

void FindSameInputs(const Analysis& analysis, const CommunicatorHistory& histories,
                    std::vector<Incident>* incidents) {
  InputFinder finder(analysis);
  VisitDataCalls(analysis, histories, [&](const DataCall& call) { finder.Look(call); });
  finder.Take(incidents);
}

void FindReplicaDrift(const Analysis& analysis, std::vector<Incident>* incidents) {
  // By world, name and number.
  std::map<std::tuple<uint32_t, std::string, uint64_t>, std::vector<Copy>> copies;
  for (uint32_t p = 0; p < analysis.trace.processes.size(); ++p) {
    const Process& process = analysis.trace.processes[p];
    for (const ReplicaRead& replica : process.replicas) {
      copies[{process.world, replica.name, replica.data.sequence}].push_back({p, &replica.data});
    }
  }
  std::map<std::pair<uint32_t, std::string>, size_t> known;
  for (const auto& [key, these] : copies) {
    std::optional<Incident> incident = CompareCopies(these);
    if (!incident) continue;
    const auto& [world, name, number] = key;
    const auto [entry, added] = known.emplace(std::pair(world, name), incidents->size());
    if (!added) {
      ++(*incidents)[entry->second].repeated;
      continue;
    }
    incident->Set<DataDetails>().replica = name;
    incidents->push_back(std::move(*incident));
  }
}

}  // namespace rollcall
