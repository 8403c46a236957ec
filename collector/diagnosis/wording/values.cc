// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/matching/user_code.h"
#include "collector/model/condition_names.h"
#include "collector/model/rank_set.h"
#include "collector/model/words.h"

namespace rollcall {
namespace {

constexpr size_t kMaxGroups = 4;  // in a text; JSON has all
// A function with more conditions that do not hold all lines is not examined.
constexpr size_t kMaxConditions = 1000;

// Whether ranks of such a finding have executed different lines because of a condition.
bool PartsAtABranch(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kRankConditionalCollective:
    case VerdictKind::kUnevenIterations:
    case VerdictKind::kCollectiveMismatch:
    case VerdictKind::kUnbalancedCollectives:
    case VerdictKind::kOrderInversion:
    case VerdictKind::kFinalizedEarly:
      return true;
    default:
      return false;
  }
}

// A value that is different on every rank says nothing about the branch: a rank number, a host, an
// address, a local sum.
bool DiffersByNature(const ComparedValue& value) {
  return value.groups.size() > 2 && std::ranges::all_of(value.groups, [](const auto& group) {
           return group.ranks.size() == 1;
         });
}

// Returns whether no culprit has a value that another rank has.
bool Separates(const ComparedValue& value, const std::vector<int32_t>& culprits) {
  const auto is_culprit = [&](int32_t rank) { return std::ranges::binary_search(culprits, rank); };
  return !culprits.empty() && std::ranges::all_of(value.groups, [&](const auto& group) {
    return std::ranges::all_of(group.ranks, is_culprit) ||
           std::ranges::none_of(group.ranks, is_culprit);
  });
}

// Groups the ranks of one value. Ranks are added in increasing order.
class Grouping {
 public:
  // Ranks with the same text and `place` share a group.
  void Add(int32_t rank, std::string text, std::string place, SourceFrame frame) {
    ComparedValue::Group& group = groups_[{text, std::move(place)}];
    group.text = std::move(text);
    group.frame = std::move(frame);
    group.ranks.push_back(rank);
  }
  // The culprits' groups first, then larger ones.
  std::vector<ComparedValue::Group> Take(const std::vector<int32_t>& culprits) {
    std::vector<ComparedValue::Group> all;
    for (auto& [key, group] : groups_) all.push_back(std::move(group));
    std::ranges::stable_sort(all, {}, [&](const ComparedValue::Group& group) {
      const bool culprit = std::ranges::binary_search(culprits, group.ranks.front());
      return std::tuple(!culprit, -static_cast<int64_t>(group.ranks.size()));
    });
    return all;
  }

 private:
  std::map<std::pair<std::string, std::string>, ComparedValue::Group> groups_;
};

const RecordedValue& ValueAt(const NamedValues& values, uint64_t number) {
  return values.recent[number - values.recent.front().number];
}

class Comparison {
 public:
  Comparison(const Trace& trace, const CallSites& sites, const Finding& finding)
      : trace_(trace), sites_(sites), finding_(finding) {
    for (const int32_t rank : RanksOf(finding)) {
      const uint32_t process = ProcessOf(trace, finding.world, rank);
      if (process != kNoIndex) processes_.emplace_back(rank, &trace.processes[process]);
    }
  }

  std::vector<ComparedValue> Recorded() const {
    std::map<std::string_view, Named> names;
    for (const auto& [rank, process] : processes_) {
      for (const NamedValues& values : process->values) {
        if (!values.recent.empty()) names[values.name].emplace_back(rank, &values);
      }
    }
    std::vector<ComparedValue> found;
    for (const auto& [name, named] : names) {
      ComparedValue value;
      value.name = name;
      if (FindDifference(named, &value)) found.push_back(std::move(value));
    }
    return InOrder(std::move(found));
  }

  // Compares the variables of the frames that all ranks reached by the same path; those of the
  // innermost frame come first. The values are those that the variables have now. They explain
  // nothing if a culprit may have begun another round since the ranks parted, except for rank
  // numbers. Sets `unshown` if nothing that the condition names differs.
  std::vector<ComparedValue> Variables(std::optional<UnshownValue>* unshown) const {
    Read read;
    for (const auto& [rank, process] : processes_) {
      if (!process->variables.empty()) read.emplace_back(rank, process);
    }
    std::vector<ComparedValue> found;
    if (!HasBothSides(read)) return found;
    const bool around = MayHaveGoneRound(read);
    const auto by_framework = [this](const auto& rank) {
      return IsCalledByFramework(*rank.second);
    };
    if (around && std::ranges::any_of(read, by_framework)) return found;
    const std::vector<VariablesOfFrame>& first = read.front().second->variables;
    bool together = true;  // they make their next call from the same line
    for (size_t depth = 0; depth < first.size() && together; ++depth) {
      for (const auto& [rank, process] : read) {
        const std::vector<VariablesOfFrame>& frames = process->variables;
        if (frames.size() <= depth || !SameFunction(frames[depth].frame, first[depth].frame)) {
          return InOrder(std::move(found));
        }
        together &= LineAt({rank, process}, depth) == LineAt(read.front(), depth);
      }
      const bool rounds_differ = (around || (!together && CulpritsAreBefore(read, depth))) &&
                                 MayBeOfAnotherRound(read, depth);
      const Parting parting = together ? Parting{} : PartingAt(read, depth);
      const std::vector<std::string>& named = parting.names.variables;
      std::vector<ComparedValue> of_frame;
      for (const Variable& variable : first[depth].variables) {
        CompareVariable(read, depth, variable.name, &of_frame);
      }
      for (ComparedValue& value : of_frame) {
        value.decides = std::ranges::find(named, value.name) != named.end();
      }
      if (rounds_differ) {
        std::erase_if(of_frame, [&](const ComparedValue& value) {
          return !value.decides || !IsRankNumber(value, first[depth].frame);
        });
        return of_frame;
      }
      const bool explained = std::ranges::any_of(
          of_frame, [](const ComparedValue& value) { return value.decides && !value.is_rank; });
      std::erase_if(of_frame, [&](const ComparedValue& value) {
        return (value.if_named && !value.decides) ||
               (value.is_rank && (!value.decides || explained));
      });
      if (!together && std::ranges::none_of(of_frame, &ComparedValue::decides)) {
        *unshown = Unshown(read, depth, parting);
      }
      // An argument differs in the caller, too.
      std::erase_if(found, [&](const ComparedValue& outer) {
        return std::ranges::any_of(of_frame, [&](const ComparedValue& inner) {
          return inner.name == outer.name && SameGroups(inner, outer);
        });
      });
      found.insert(found.begin(), of_frame.begin(), of_frame.end());
    }
    return InOrder(std::move(found));
  }

 private:
  // A rank number, which has the same value in all rounds. Another variable may have the value of
  // the rank by chance: that of a loop, on ranks 0 and 1.
  bool IsRankNumber(const ComparedValue& value, const SourceFrame& frame) const {
    const auto has = [&](std::string_view word) {
      return value.name.find(word) != std::string::npos;
    };
    const SourceBlocks* source = sites_.SourceOf(frame);
    if (!value.is_rank || source == nullptr) return false;
    if (!has("rank") && !has("Rank") && !has("RANK")) return false;
    const auto names = [&](const SourceCondition& condition) {
      return AnyWord(condition.text, value.name, [](size_t) { return true; });
    };
    return std::ranges::none_of(source->blocks, [&](const SourceBlock& block) {
      if (block.kind != SourceBlock::Kind::kLoop) return false;
      return std::ranges::any_of(source->conditions, [&](const SourceCondition& condition) {
        return condition.first == block.first && names(condition);
      });
    });
  }

  using Named = std::vector<std::pair<int32_t, const NamedValues*>>;  // by increasing rank
  using Read = std::vector<std::pair<int32_t, const Process*>>;       // by increasing rank

  bool IsCulprit(int32_t rank) const { return std::ranges::binary_search(finding_.culprits, rank); }

  // Returns whether there are several ranks. If the finding has culprits, both a culprit and
  // another rank must be among them.
  template <typename T>
  bool HasBothSides(const std::vector<std::pair<int32_t, T>>& ranks) const {
    if (finding_.culprits.empty()) return ranks.size() > 1;
    const auto culprit = [this](const auto& rank) { return IsCulprit(rank.first); };
    return std::ranges::any_of(ranks, culprit) && !std::ranges::all_of(ranks, culprit);
  }

  std::vector<ComparedValue> InOrder(std::vector<ComparedValue> values) const {
    std::ranges::stable_sort(values, {}, [this](const ComparedValue& value) {
      return std::tuple(!value.decides, value.is_rank || DiffersByNature(value),
                        !Separates(value, finding_.culprits),
                        value.before == ComparedValue::Before::kUnknown);
    });
    return values;
  }

  bool FindDifference(const Named& named, ComparedValue* value) const {
    if (!HasBothSides(named)) return false;
    uint64_t first = 1;  // the numbers that are on record on all of these ranks
    uint64_t last = UINT64_MAX;
    for (const auto& [rank, values] : named) {
      first = std::max(first, values->recent.front().number);
      last = std::min(last, values->recent.back().number);
      value->repeated |= values->recent.back().number > 1;
    }
    for (value->number = first; value->number <= last; ++value->number) {
      const RecordedValue& one = ValueAt(*named.front().second, value->number);
      const auto equal = [&](const auto& rank) {
        return ValueAt(*rank.second, value->number).Equals(one);
      };
      if (std::ranges::all_of(named, equal)) continue;
      using Before = ComparedValue::Before;
      value->before = value->number == 1      ? Before::kNone
                      : value->number > first ? Before::kEqual
                                              : Before::kUnknown;
      Grouping groups;
      for (const auto& [rank, values] : named) {
        const RecordedValue& recorded = ValueAt(*values, value->number);
        SourceFrame frame = sites_.UserFrame(recorded.call_path);
        const std::string place = PlaceText(frame);
        groups.Add(rank, recorded.Text(), place, std::move(frame));
      }
      value->groups = groups.Take(finding_.culprits);
      return true;
    }
    return false;
  }

  // What the conditions name that separate the ranks, whose frames have the same function.
  struct Parting {
    ConditionNames names;
    SourceFrame frame;  // of the function
  };

  // The line of the rank's function where it parted from the others, as the finding shows it; or,
  // if that is in another function, where it is.
  int LineAt(const std::pair<int32_t, const Process*>& rank, size_t depth) const {
    const SourceFrame& frame = rank.second->variables[depth].frame;
    for (const Site& site : finding_.sites) {
      if (std::ranges::binary_search(site.ranks, rank.first) && site.frame.line != 0 &&
          SameFunction(site.frame, frame)) {
        return site.frame.line;
      }
    }
    return frame.line;
  }

  // The conditions of the lines that some of the ranks execute, and those of the ways out of the
  // function that some of the ranks may have taken.
  Parting PartingAt(const Read& read, size_t depth) const {
    const SourceFrame& frame = read.front().second->variables[depth].frame;
    std::vector<int> lines;
    for (const auto& rank : read) lines.push_back(LineAt(rank, depth));
    return PartingOf(frame, lines, std::ranges::min(lines), std::ranges::max(lines));
  }

  // `lines` are where the ranks are. The ranks may have taken a way out between `first` and `last`.
  Parting PartingOf(const SourceFrame& frame, const std::vector<int>& lines, int first,
                    int last) const {
    Parting parting{.names = {}, .frame = frame};
    const SourceBlocks* source = sites_.SourceOf(frame);
    if (source == nullptr) return parting;
    const auto holds_any = [&](const auto& block) {
      return std::ranges::any_of(lines, [&](int line) { return block.Holds(line); });
    };
    const auto holds_all = [&](const auto& block) {
      return std::ranges::all_of(lines, [&](int line) { return block.Holds(line); });
    };
    const auto add = [&](const SourceCondition& condition) {
      AddConditionNames(condition.text, IsFortran(frame.file), &parting.names);
    };
    const SourceFlow* function = FunctionAround(source->flow, lines.front());
    std::vector<const SourceCondition*> conditions;  // of the function, around some of the lines
    for (const SourceCondition& condition : source->conditions) {
      if (holds_all(condition)) continue;
      if (FunctionAround(source->flow, condition.first) != function) continue;
      conditions.push_back(&condition);
      if (conditions.size() > kMaxConditions) return parting;
      if (holds_any(condition)) add(condition);
    }
    for (const SourceFlow& exit : source->flow) {
      if (exit.kind <= SourceFlow::Kind::kHandler) continue;
      if (FunctionAround(source->flow, exit.first) != function) continue;
      const bool again = std::ranges::any_of(source->blocks, [&](const SourceBlock& block) {
        return block.kind == SourceBlock::Kind::kLoop && block.Holds(exit.first) &&
               holds_any(block);
      });
      if (!again && (exit.first < first || exit.first > last)) continue;
      for (const SourceCondition* condition : conditions) {
        if (condition->Holds(exit.first)) add(*condition);
      }
    }
    return parting;
  }

  // The first thing that the condition names and that has no value on some of the ranks. If no
  // condition separates the ranks at `depth`, one of a function that some of them have left may.
  std::optional<UnshownValue> Unshown(const Read& read, size_t depth,
                                      const Parting& parting) const {
    for (const std::string& name : parting.names.variables) {
      if (auto value = Lost(read, depth, name)) return value;
    }
    if (!parting.names.calls.empty()) {
      return UnshownValue{.reason = UnshownValue::Reason::kCalls,
                          .name = parting.names.calls.front(),
                          .frame = parting.frame};
    }
    return parting.names.variables.empty() ? Gone(read, depth) : std::nullopt;
  }

  // The variable if it has no value on some of the ranks; else nothing.
  std::optional<UnshownValue> Lost(const Read& read, size_t depth, const std::string& name) const {
    UnshownValue unshown{.reason = UnshownValue::Reason::kOptimized,
                         .name = name,
                         .frame = read.front().second->variables[depth].frame};
    Grouping groups;
    for (const auto& [rank, process] : read) {
      const VariablesOfFrame& frame = process->variables[depth];
      const auto variable = std::ranges::find(frame.variables, name, &Variable::name);
      if (variable == frame.variables.end()) return std::nullopt;
      if (variable->kind == Variable::Kind::kComputed) {
        unshown.reason = UnshownValue::Reason::kCalls;
        return unshown;
      }
      if (variable->HasValue()) {
        groups.Add(rank, variable->Text(frame.frame.language), "", frame.frame);
      } else {
        unshown.ranks.push_back(rank);
      }
    }
    if (unshown.ranks.empty()) return std::nullopt;
    unshown.groups = groups.Take(finding_.culprits);
    return unshown;
  }

  // At `depth` the ranks are at different lines, and no condition there separates them. Those at
  // the later line have then left the functions in which those at the earlier line are. If a loop
  // repeats both lines, either may have.
  std::optional<UnshownValue> Gone(const Read& read, size_t depth) const {
    const SourceBlocks* source = sites_.SourceOf(read.front().second->variables[depth].frame);
    if (source == nullptr) return std::nullopt;
    int first = INT32_MAX;
    for (const auto& rank : read) first = std::min(first, LineAt(rank, depth));
    const bool repeats = std::ranges::any_of(source->blocks, [&](const SourceBlock& block) {
      return block.kind == SourceBlock::Kind::kLoop &&
             std::ranges::all_of(
                 read, [&](const auto& rank) { return block.Holds(LineAt(rank, depth)); });
    });
    if (!repeats) {
      return GoneOf(read, depth, [&](const auto& rank) { return LineAt(rank, depth) != first; });
    }
    auto gone = GoneOf(read, depth, [&](const auto& rank) { return IsCulprit(rank.first); });
    if (gone) return gone;
    return GoneOf(read, depth, [&](const auto& rank) { return !IsCulprit(rank.first); });
  }

  // The same, if the ranks of which `has_left` holds have left the functions of the others.
  template <typename HasLeft>
  std::optional<UnshownValue> GoneOf(const Read& read, size_t depth, HasLeft has_left) const {
    const Process* inside = nullptr;
    std::vector<int32_t> left;
    for (const auto& rank : read) {
      if (has_left(rank)) {
        left.push_back(rank.first);
      } else if (inside == nullptr) {
        inside = rank.second;
      }
    }
    if (inside == nullptr || left.empty()) return std::nullopt;
    for (size_t inner = depth + 1; inner < inside->variables.size(); ++inner) {
      const VariablesOfFrame& of_frame = inside->variables[inner];
      // A way out is before the line in which the rank waits, or in a loop around it.
      const Parting parting =
          PartingOf(of_frame.frame, {of_frame.frame.line, 0}, 0, of_frame.frame.line);
      for (const std::string& name : parting.names.variables) {
        const auto variable = std::ranges::find(of_frame.variables, name, &Variable::name);
        if (variable == of_frame.variables.end() || variable->outlives) continue;
        UnshownValue unshown{.reason = UnshownValue::Reason::kGone,
                             .name = name,
                             .ranks = left,
                             .frame = of_frame.frame};
        Grouping groups;
        for (const auto& [rank, process] : read) {
          if (std::ranges::binary_search(left, rank) || process->variables.size() <= inner)
            continue;
          const VariablesOfFrame& other = process->variables[inner];
          const auto value = std::ranges::find(other.variables, name, &Variable::name);
          if (!SameFunction(other.frame, of_frame.frame) || value == other.variables.end() ||
              !value->HasValue()) {
            continue;
          }
          groups.Add(rank, value->Text(other.frame.language), "", other.frame);
        }
        unshown.groups = groups.Take(finding_.culprits);
        return unshown;
      }
      if (!parting.names.calls.empty()) {
        return UnshownValue{.reason = UnshownValue::Reason::kCalls,
                            .name = parting.names.calls.front(),
                            .frame = of_frame.frame};
      }
    }
    return std::nullopt;
  }

  static bool SameGroups(const ComparedValue& a, const ComparedValue& b) {
    return std::ranges::equal(a.groups, b.groups, [](const auto& one, const auto& other) {
      return one.text == other.text && one.ranks == other.ranks;
    });
  }

  static bool SameFunction(const SourceFrame& a, const SourceFrame& b) {
    return a.function == b.function && a.file == b.file;
  }

  // How many collectives the process has entered on the communicator; empty if it is no member.
  std::optional<uint64_t> Entered(const Process* process, uint32_t communicator) const {
    const auto index = static_cast<uint32_t>(process - trace_.processes.data());
    for (const Member& member : trace_.members) {
      if (member.process == index && member.communicator == communicator) return member.entered;
    }
    return std::nullopt;
  }

  bool HasGoneFurther(const Process& process) const {
    const std::optional<uint64_t> entered = Entered(&process, finding_.communicator);
    return !entered || (finding_.sequence != 0 && *entered > finding_.sequence);
  }

  // Whether the process waits in a collective of the round in which the ranks part: on the
  // finding's communicator in the finding's call, on another one in a call that the other side
  // makes next, too.
  bool IsOfThisRound(const Process& process, const Read& read) const {
    return std::ranges::any_of(process.open_calls, [&](const OpenCall& call) {
      const Event& event = call.event;
      if (event.sequence == 0 || event.member == kNoIndex) return false;
      const uint32_t communicator = trace_.members[event.member].communicator;
      if (communicator == finding_.communicator) return event.sequence <= finding_.sequence;
      return std::ranges::all_of(read, [&](const auto& rank) {
        const std::optional<uint64_t> entered = Entered(rank.second, communicator);
        return IsCulprit(rank.first) || (entered && *entered + 1 >= event.sequence);
      });
    });
  }

  // Whether the process has been where it waits more often since its last collective on the
  // finding's communicator than between two such collectives before. True if that is not on record.
  bool WasHereOftener(const Process& process) const {
    const auto index = static_cast<uint32_t>(&process - trace_.processes.data());
    const Event& here = process.open_calls.front().event;
    if (here.member == kNoIndex || sites_.Id(here.call_path) == 0) return true;
    std::vector<int64_t> bounds;
    std::vector<int64_t> visits;
    const auto look = [&](const std::vector<Event>& events, bool bound) {
      for (const Event& event : events) {
        if (bound) {
          bounds.push_back(event.start_ns);
        } else if (sites_.Id(event.call_path) == sites_.Id(here.call_path) &&
                   event.start_ns < here.start_ns) {
          visits.push_back(event.start_ns);
        }
      }
    };
    look(process.p2p, false);
    for (const Member& member : trace_.members) {
      if (member.process != index) continue;
      look(member.events, member.communicator == finding_.communicator);
    }
    if (bounds.empty()) return true;
    std::ranges::sort(bounds);
    std::vector<size_t> counts(bounds.size() + 1);
    for (const int64_t at : visits) {
      ++counts[static_cast<size_t>(std::ranges::upper_bound(bounds, at) - bounds.begin())];
    }
    const size_t now = counts.back();
    counts.pop_back();
    return now > std::ranges::max(counts);
  }

  // Whether functions of frameworks are between those of the user. They may contain loops.
  // Functions of the interpreter are everywhere between those of Python.
  bool IsCalledByFramework(const Process& process) const {
    if (process.open_calls.empty()) return true;
    const uint32_t path = process.open_calls.front().event.call_path;
    if (path == kNoIndex) return true;
    const std::vector<const SourceFrame*> frames = sites_.OutermostFirst(path);
    const auto is_user = [](const SourceFrame* frame) { return IsUserLine(*frame); };
    const auto may_loop = [](const SourceFrame* frame) {
      return !IsUserLine(*frame) && frame->line != 0 &&
             (frame->language == Language::kPython || FrameworkOf(*frame) != "Python");
    };
    const auto first = std::ranges::find_if(frames, is_user);
    const auto last = std::find_if(frames.rbegin(), frames.rend(), is_user).base();
    return first >= last || std::any_of(first, last, may_loop);
  }

  // Whether a culprit may have gone on to a later round of a loop.
  bool MayHaveGoneRound(const Read& read) const {
    return std::ranges::any_of(read, [&](const auto& rank) {
      return IsCulprit(rank.first) && !IsOfThisRound(*rank.second, read) &&
             (HasGoneFurther(*rank.second) || WasHereOftener(*rank.second));
    });
  }

  // Whether a culprit waits at an earlier line than another rank, in a call that the other side
  // does not make next. In a loop it is then in the next round.
  bool CulpritsAreBefore(const Read& read, size_t depth) const {
    return std::ranges::any_of(read, [&](const auto& culprit) {
      if (!IsCulprit(culprit.first) || IsOfThisRound(*culprit.second, read)) return false;
      return std::ranges::any_of(read, [&](const auto& other) {
        return !IsCulprit(other.first) && LineAt(culprit, depth) < LineAt(other, depth);
      });
    });
  }

  // Whether a loop may have led culprits back to where the other ranks are.
  bool MayBeOfAnotherRound(const Read& read, size_t depth) const {
    const SourceBlocks* source = sites_.SourceOf(read.front().second->variables[depth].frame);
    if (source == nullptr) return true;
    return std::ranges::any_of(source->blocks, [&](const SourceBlock& block) {
      if (block.kind != SourceBlock::Kind::kLoop) return false;
      const auto holds = [&](const auto& rank) {
        return block.Holds(rank.second->variables[depth].frame.line);
      };
      const auto culprit_in = [&](const auto& rank) {
        return IsCulprit(rank.first) && holds(rank);
      };
      const auto other_in = [&](const auto& rank) { return !IsCulprit(rank.first) && holds(rank); };
      return std::ranges::any_of(read, culprit_in) && std::ranges::any_of(read, other_in);
    });
  }

  // Appends the variable if all ranks have a value of it, and it differs.
  void CompareVariable(const Read& read, size_t depth, const std::string& name,
                       std::vector<ComparedValue>* found) const {
    Grouping groups;
    bool is_rank = true;
    bool if_named = false;
    for (const auto& [rank, process] : read) {
      const VariablesOfFrame& frame = process->variables[depth];
      const auto variable = std::ranges::find(frame.variables, name, &Variable::name);
      if (variable == frame.variables.end() || !variable->HasValue()) return;
      is_rank &= variable->kind == Variable::Kind::kInteger &&
                 static_cast<int64_t>(variable->bits) == rank;
      if_named |= variable->if_named;
      groups.Add(rank, variable->Text(frame.frame.language), "", frame.frame);
    }
    ComparedValue value{.name = name,
                        .if_named = if_named,
                        .is_rank = is_rank,
                        .groups = groups.Take(finding_.culprits)};
    if (value.groups.size() > 1) found->push_back(std::move(value));
  }

  const Trace& trace_;
  const CallSites& sites_;
  const Finding& finding_;
  std::vector<std::pair<int32_t, const Process*>> processes_;  // by increasing rank
};

using PlaceFunction = std::string (*)(const SourceFrame&);
std::string PlaceOfVariable(const SourceFrame& frame) { return "in " + FunctionText(frame); }
std::string PlaceOfRecorded(const SourceFrame& frame) { return PlaceText(frame); }

// "1 on rank 0 and 2 on ranks 1,2"; each with its place unless `place_of` is null.
std::string GroupsText(const std::vector<ComparedValue::Group>& groups, PlaceFunction place_of) {
  std::string text;
  const size_t shown = std::min(groups.size(), kMaxGroups);
  for (size_t i = 0; i < shown; ++i) {
    const ComparedValue::Group& group = groups[i];
    const bool last = i + 1 == groups.size();
    text += fmt::format("{}{} on {}", i == 0 ? "" : (last ? " and " : ", "), group.text,
                        RanksPhrase(group.ranks));
    if (place_of != nullptr) text += fmt::format(" ({})", place_of(group.frame));
  }
  if (groups.size() > shown) {
    size_t ranks = 0;
    for (size_t i = shown; i < groups.size(); ++i) ranks += groups[i].ranks.size();
    text += fmt::format(", and {} on {}", CountText(groups.size() - shown, "other value"),
                        CountText(ranks, "rank"));
  }
  return text;
}

std::string UnshownText(const UnshownValue& unshown) {
  using Reason = UnshownValue::Reason;
  const std::string place = PlaceOfVariable(unshown.frame);
  const bool python = unshown.frame.language == Language::kPython;
  const std::string record = python                          ? "rollcall.value"
                             : IsFortran(unshown.frame.file) ? "call rollcall_value"
                                                             : "rollcall_value";
  if (unshown.reason == Reason::kCalls) {
    return fmt::format("the condition {} {} {}; pass the result to {}() before the branch", place,
                       unshown.name.ends_with(')') ? "calls" : "computes", unshown.name, record);
  }
  std::vector<ComparedValue::Group> groups = unshown.groups;
  groups.push_back(
      {.text = unshown.reason == Reason::kGone ? "gone with its frame" : "optimized out",
       .ranks = unshown.ranks,
       .frame = {}});
  // What rollcall_value() takes: no pointer, and no container.
  std::string value = unshown.name;
  const std::string_view shown = groups.front().text;
  if (shown.ends_with("null")) value += " != NULL";
  if (shown.starts_with("of length")) value = python ? "len(" + value + ")" : value + ".size()";
  return fmt::format("{} is {} ({}); put {}(\"{}\", {}) before the branch", unshown.name,
                     GroupsText(groups, nullptr), place, record, unshown.name, value);
}

}  // namespace

void AddValues(const Trace& trace, const CallSites& sites, Finding* finding) {
  if (KindSeverity(finding->kind) == Severity::kNote) return;
  const Comparison comparison(trace, sites, *finding);
  finding->values = comparison.Recorded();
  finding->unshown.reset();
  // A program usually records a variable by its name.
  const size_t recorded = finding->values.size();
  for (ComparedValue& variable : comparison.Variables(&finding->unshown)) {
    const auto end = finding->values.begin() + static_cast<ptrdiff_t>(recorded);
    const bool known =
        std::ranges::find(finding->values.begin(), end, variable.name, &ComparedValue::name) != end;
    if (!known) finding->values.push_back(std::move(variable));
  }
  // What the program has recorded may be the value itself.
  if (recorded != 0 || !PartsAtABranch(finding->kind)) finding->unshown.reset();
}

std::string ValueText(const ComparedValue& value) {
  const PlaceFunction place_of = value.number == 0 ? PlaceOfVariable : PlaceOfRecorded;
  const std::string place = place_of(value.groups.front().frame);
  const bool one_place = std::ranges::all_of(
      value.groups, [&](const auto& group) { return place_of(group.frame) == place; });
  std::string text = value.name;
  if (value.repeated) text += fmt::format(" #{}", value.number);
  text += " is " + GroupsText(value.groups, one_place ? nullptr : place_of);
  std::string remarks = one_place ? place : "";
  const auto remark = [&](std::string words) {
    remarks += (remarks.empty() ? "" : "; ") + std::move(words);
  };
  if (value.before == ComparedValue::Before::kEqual) {
    remark(fmt::format("#{} is equal", value.number - 1));
  } else if (value.before == ComparedValue::Before::kUnknown) {
    remark("earlier ones may differ, too");
  }
  return remarks.empty() ? text : fmt::format("{} ({})", text, remarks);
}

std::vector<std::string> ValueTexts(const Finding& finding) {
  std::vector<std::string> texts;
  // First: a text shows only the first few.
  if (finding.unshown) texts.push_back(UnshownText(*finding.unshown));
  for (const ComparedValue& value : finding.values) texts.push_back(ValueText(value));
  return texts;
}

}  // namespace rollcall
