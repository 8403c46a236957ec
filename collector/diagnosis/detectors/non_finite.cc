// SPDX-License-Identifier: Apache-2.0
// Finds the first NaN or infinity that a member passed to a reduction while the inputs of others
// were finite. A process that had received one before, from a reduction or another collective, only
// passed it on.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "collector/diagnosis/detectors/data_calls.h"

namespace rollcall {
namespace {

using CallKey = std::tuple<uint32_t, uint64_t, uint32_t>;  // communicator, number, start

// A buffer with a NaN or an infinity.
struct Sighting {
  uint64_t order = 0;  // 0: its record is lost, so it is older than all others
  int64_t at_ns = kNoTime;
  bool input = false;  // of a reduction
  uint32_t communicator = kNoIndex;
  uint32_t member = kNoIndex;  // into Trace::members
  FirstNonFinite what;

  auto Place() const { return std::tuple(order, at_ns, what.sequence, what.start, !input); }
};

// Whether the value is only an infinity in a minimum or maximum. Infinity is the neutral element of
// MPI_MIN and MPI_MAX: programs pass it for "no value".
bool IsNeutral(const FirstNonFinite& what) { return what.nans == 0 && IsMinOrMax(what.reduce_op); }

// Whether an input that is not finite always makes the result not finite.
bool MustSpread(const FirstNonFinite& what) {
  return !IsExclusiveScan(what.operation) &&
         (what.reduce_op == static_cast<uint16_t>(ReduceOp::kSum) ||
          what.reduce_op == static_cast<uint16_t>(ReduceOp::kProd));
}

bool IsReduction(Operation operation) {
  return Reduces(FindOperation(static_cast<uint16_t>(operation)).rule);
}

FirstNonFinite Describe(const Analysis& analysis, const DataRead& read, const Event* event) {
  FirstNonFinite what;
  what.sequence = read.sequence;
  what.start = read.start;
  what.at_ns = read.at_ns;
  what.call_path = read.call_path;
  what.reading = read.reading;
  what.element = read.non_finite;
  what.bits = read.non_finite_bits;
  what.nans = read.nans;
  what.infinities = read.infinities;
  if (event == nullptr) return what;
  const Arguments& arguments = analysis.Args(*event);
  const bool receives = arguments.send_datatype == kNoIndex;
  what.operation = arguments.operation;
  what.reduce_op = arguments.reduce_op;
  what.datatype = receives ? arguments.recv_datatype : arguments.send_datatype;
  what.count = receives ? arguments.recv_count : arguments.send_count;
  return what;
}

class NonFiniteFinder {
 public:
  NonFiniteFinder(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis),
        incidents_(*incidents),
        first_(analysis.trace.processes.size()),
        neutral_(analysis.trace.processes.size()) {}

  void Find() {
    for (const CommunicatorHistory& histories : analysis_.histories) {
      for (const MemberHistory& history : histories.members) LookAt(histories, history);
    }
    Origins origins;
    for (uint32_t p = 0; p < first_.size(); ++p) {
      if (!first_[p] || !first_[p]->input || ambiguous_.contains(p)) continue;
      const Sighting& first = *first_[p];
      origins[{first.communicator, first.what.sequence, first.what.start}].push_back(p);
    }
    // Later origins on a communicator may have received the value from the first one in unrecorded
    // ways.
    uint32_t last = kNoIndex;
    for (const auto& [key, processes] : origins) {
      if (last == std::get<0>(key) || StartedLater(key, origins)) continue;
      last = std::get<0>(key);
      Judge(key, processes);
    }
  }

 private:
  using Origins = std::map<CallKey, std::vector<uint32_t>>;  // processes

  // Whether `key` is later than another origin's call on the communicator. Numbers do not decide
  // this for persistent calls, whose starts have the number of the initialization.
  bool StartedLater(const CallKey& key, const Origins& origins) const {
    return std::ranges::any_of(origins, [&](const auto& other) {
      const bool ordered = std::get<2>(key) == 0 && std::get<2>(other.first) == 0;
      return !ordered && other.first != key && std::get<0>(other.first) == std::get<0>(key) &&
             std::ranges::any_of(other.second, [&](uint32_t process) {
               return HadOneBefore(process, key, other.second);
             });
    });
  }

  void LookAt(const CommunicatorHistory& histories, const MemberHistory& history) {
    if (history.member->data == kNoIndex) return;
    const MemberData& data = analysis_.trace.data[history.member->data];
    const auto is_of = [](const std::optional<FirstNonFinite>& what, const DataRead& read) {
      return what && read.sequence == what->sequence && read.start == what->start;
    };
    const auto see_lost = [&](const std::optional<FirstNonFinite>& what, ring::DataSide side) {
      if (!what) return;
      const bool on_record = std::ranges::any_of(
          data.reads, [&](const DataRead& read) { return read.side == side && is_of(what, read); });
      if (!on_record) See(histories, history, 0, *what, side == ring::DataSide::kInput);
    };
    see_lost(data.input, ring::DataSide::kInput);
    see_lost(data.result, ring::DataSide::kResult);
    for (const DataRead& read : data.reads) {
      sampled_ |= read.reading == ring::DataReading::kSampled;
      if (!read.IsRead() || read.IsFinite()) continue;
      const bool input = read.side == ring::DataSide::kInput;
      const std::optional<FirstNonFinite>& kept = input ? data.input : data.result;
      const Event* event = history.At(read.sequence);
      // The record of the call may be lost although the record of its data is not.
      const FirstNonFinite what =
          event == nullptr && is_of(kept, read) ? *kept : Describe(analysis_, read, event);
      // The input of a call that computes nothing is no evidence.
      if (input && !IsReduction(what.operation)) continue;
      See(histories, history, read.order, what, input);
    }
  }

  void See(const CommunicatorHistory& histories, const MemberHistory& history, uint64_t order,
           const FirstNonFinite& what, bool input) {
    const Sighting seen{order, what.at_ns, input, histories.communicator, history.member_index,
                        what};
    if (IsNeutral(what)) {
      std::optional<Sighting>& neutral = neutral_[history.process];
      if (!neutral || seen.Place() < neutral->Place()) neutral = seen;
      return;
    }
    touched_[histories.communicator].push_back(history.process);
    std::optional<Sighting>& first = first_[history.process];
    if (first && order == 0 && first->order == 0 && first->communicator != seen.communicator &&
        (first->at_ns == kNoTime || seen.at_ns == kNoTime)) {
      ambiguous_.insert(history.process);
    }
    if (!first || seen.Place() < first->Place()) first = seen;
  }

  // Whether a process had a NaN or an infinity before the call of `key`, in which `origins` were
  // the first to pass one. An earlier "no value" that a single origin passed itself does not count.
  bool HadOneBefore(uint32_t process, const CallKey& key,
                    const std::vector<uint32_t>& origins) const {
    const bool alone = origins.size() == 1 && origins.front() == process;
    const auto [communicator, sequence, start] = key;
    const MemberHistory* member = analysis_.HistoryOf(communicator, process);
    const DataRead* in_call = nullptr;
    if (member != nullptr && member->member->data != kNoIndex) {
      const MemberData& data = analysis_.trace.data[member->member->data];
      in_call = ReadOf(data, key, ring::DataSide::kInput);
      if (in_call == nullptr) in_call = ReadOf(data, key, ring::DataSide::kResult);
    }
    const auto before = [&](const std::optional<Sighting>& seen) {
      if (!seen || KeyOf(*seen) == key) return false;
      if (seen->order == 0) return true;
      if (in_call != nullptr) return seen->order < in_call->order;
      // Without a read in the call, the times cannot be compared: clocks differ. An earlier result
      // does not count, because it came from the input of another process, which is examined
      // itself.
      return seen->input || IsNeutral(seen->what);
    };
    return before(first_[process]) ||
           (before(neutral_[process]) && !(alone && neutral_[process]->input));
  }

  // Whether reads of a minimum or maximum are overwritten. The first NaN of a member is always
  // kept, but not the first infinity in a minimum or maximum.
  bool MinOrMaxIsLost() {
    if (!min_or_max_is_lost_) min_or_max_is_lost_ = AnyMinOrMaxIsLost();
    return *min_or_max_is_lost_;
  }

  bool AnyMinOrMaxIsLost() const {
    for (const CommunicatorHistory& histories : analysis_.histories) {
      for (const MemberHistory& history : histories.members) {
        if (history.member->data == kNoIndex) continue;
        const MemberData& data = analysis_.trace.data[history.member->data];
        const auto on_record =
            std::ranges::count_if(data.reads, [](const DataRead& read) { return read.IsRead(); });
        if (data.read <= static_cast<uint64_t>(on_record) + data.blocks.size()) continue;
        const std::vector<Event>& events = history.member->events;
        if (events.empty() || events.front().sequence > 1) return true;
        std::unordered_set<uint64_t> kept;
        for (const DataRead& read : data.reads) kept.insert(read.sequence);
        const bool lost = std::ranges::any_of(events, [&](const Event& event) {
          const Arguments& arguments = analysis_.Args(event);
          if (!IsMinOrMax(arguments.reduce_op)) return false;
          const Kind kind = FindOperation(static_cast<uint16_t>(arguments.operation)).kind;
          return kind == Kind::kPersistentCollective || !kept.contains(event.sequence);
        });
        if (lost) return true;
      }
    }
    return false;
  }

  static CallKey KeyOf(const Sighting& seen) {
    return {seen.communicator, seen.what.sequence, seen.what.start};
  }

  enum class State { kFinite, kNonFinite, kUnknown };

  // The input of a member in the call of `key`.
  State InputOf(const MemberHistory& history, const CallKey& key) const {
    if (history.member->data == kNoIndex) return State::kUnknown;
    const MemberData& data = analysis_.trace.data[history.member->data];
    const DataRead* input = ReadOf(data, key, ring::DataSide::kInput);
    if (input != nullptr) return input->IsFinite() ? State::kFinite : State::kNonFinite;
    const auto [communicator, sequence, start] = key;
    // The member may still be reading the input of the call that it entered last.
    const bool may_be_reading = history.member->entered <= sequence;
    if (!data.counted || data.unread != 0 || start != 0 || may_be_reading) {
      return State::kUnknown;
    }
    if (!data.input) return State::kFinite;
    if (data.input->start != 0) return State::kUnknown;
    if (data.input->sequence == sequence) return State::kNonFinite;
    return data.input->sequence > sequence ? State::kFinite : State::kUnknown;
  }

  State ResultOf(const MemberHistory& history, const CallKey& key) const {
    if (history.member->data == kNoIndex) return State::kUnknown;
    const MemberData& data = analysis_.trace.data[history.member->data];
    const DataRead* result = ReadOf(data, key, ring::DataSide::kResult);
    if (result != nullptr) return result->IsFinite() ? State::kFinite : State::kNonFinite;
    const bool same = data.result && data.result->sequence == std::get<1>(key) &&
                      data.result->start == std::get<2>(key);
    return same ? State::kNonFinite : State::kUnknown;
  }

  static const DataRead* ReadOf(const MemberData& data, const CallKey& key, ring::DataSide side) {
    const DataRead* found = nullptr;
    for (const DataRead& read : data.reads) {
      if (read.side == side && read.sequence == std::get<1>(key) &&
          read.start == std::get<2>(key) && read.IsRead()) {
        found = &read;
      }
    }
    return found;
  }

  void Judge(const CallKey& key, const std::vector<uint32_t>& origins) {
    const CommunicatorHistory& histories = analysis_.histories[std::get<0>(key)];
    if (!AreOfOneGroup(analysis_, histories)) return;
    const FirstNonFinite& what = first_[origins.front()]->what;
    std::vector<const MemberHistory*> finite;
    std::vector<uint32_t> received_by;
    bool unknown = !histories.absent.empty();
    bool any_finite_result = false;
    for (const MemberHistory& history : histories.members) {
      const State result = ResultOf(history, key);
      if (result == State::kNonFinite) received_by.push_back(history.process);
      any_finite_result |= result == State::kFinite;
      if (Contains(origins, history.process)) continue;
      switch (InputOf(history, key)) {
        case State::kFinite:
          finite.push_back(&history);
          break;
        case State::kNonFinite:
          return;  // other inputs were not finite, either, or only passed the value on
        case State::kUnknown:
          unknown = true;
      }
    }
    if (finite.empty()) return;
    if (received_by.empty() && (any_finite_result || !MustSpread(what))) return;
    Incident incident;
    incident.what = Incident::What::kNonFinite;
    incident.communicator = histories.communicator;
    incident.sequence = what.sequence;
    incident.start = what.start;
    auto& details = incident.Set<DataDetails>();
    details.first = what;
    details.members = histories.members.size() + histories.absent.size();
    details.received_by = std::move(received_by);
    details.sampled = sampled_;
    for (const uint32_t p : origins) {
      incident.deviating.push_back(p);
      details.deviating_paths.push_back(first_[p]->what.call_path);
      unknown |= MayHaveBeenEarlier(p);
      const std::vector<Channel>& channels = analysis_.trace.processes[p].channels;
      details.from_messages |= std::ranges::any_of(
          channels, [](const Channel& channel) { return channel.received != 0; });
    }
    details.incomplete = unknown;
    details.overwritten = MinOrMaxIsLost();
    for (uint32_t p = 0; p < first_.size(); ++p) {
      if (HadOneBefore(p, key, origins)) details.earlier.push_back(p);
    }
    for (const MemberHistory* history : finite) {
      const Event* event = history->At(what.sequence);
      const DataRead* input =
          history->member->data == kNoIndex
              ? nullptr
              : ReadOf(analysis_.trace.data[history->member->data], key, ring::DataSide::kInput);
      if (event == nullptr && input == nullptr) continue;
      incident.agreeing.push_back(history->process);
      details.agreeing_paths.push_back(input != nullptr ? input->call_path : event->call_path);
    }
    const MemberHistory* own = analysis_.HistoryOf(histories.communicator, origins.front());
    incident.deviating_event = own == nullptr ? nullptr : own->At(what.sequence);
    for (const auto& touched : touched_) {
      const uint32_t communicator = touched.first;
      if (communicator == histories.communicator) continue;
      const bool passed_on = std::ranges::any_of(
          touched.second, [&](uint32_t p) { return first_[p]->communicator != communicator; });
      if (passed_on) details.later.push_back(communicator);
    }
    incidents_.push_back(std::move(incident));
  }

  // Whether an unread buffer of the process may have contained a NaN or an infinity before.
  bool MayHaveBeenEarlier(uint32_t process) const {
    const Process& of = analysis_.trace.processes[process];
    if (of.table_overflows != 0 || of.data_unreadable != 0) return true;
    for (const CommunicatorHistory& histories : analysis_.histories) {
      for (const MemberHistory& history : histories.members) {
        if (history.process != process || history.member->data == kNoIndex) continue;
        const MemberData& data = analysis_.trace.data[history.member->data];
        if (!data.counted || data.unread != 0) return true;
      }
    }
    return false;
  }

  const Analysis& analysis_;
  std::vector<Incident>& incidents_;
  std::vector<std::optional<Sighting>> first_;         // by process
  std::vector<std::optional<Sighting>> neutral_;       // by process: an infinity, as "no value"
  std::set<uint32_t> ambiguous_;                       // processes whose first one is unknown
  std::map<uint32_t, std::vector<uint32_t>> touched_;  // processes by communicator
  bool sampled_ = false;
  std::optional<bool> min_or_max_is_lost_;
};

}  // namespace

void FindNonFinite(const Analysis& analysis, std::vector<Incident>* incidents) {
  NonFiniteFinder(analysis, incidents).Find();
}

}  // namespace rollcall
