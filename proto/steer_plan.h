// SPDX-License-Identifier: Apache-2.0
// How a run of `rollcall check --schedules` is steered: a text, which the collector writes and the
// steering library (shim/steer) reads, and a state in shared memory, which the library writes and
// the collector reads. Each line of the text is one word per field, separated by single blanks:
//
//   rollcall-steer 1                        the version; always the first line
//   # any text                              for the reader
//   host NAME                               only ranks on this host share the state
//   bound MS                                the longest wait for other ranks in one call
//   synchronous [RANK]                      MPI_Send and MPI_Isend, of all ranks or of one, become
//                                           synchronous
//   barriers                                a blocking collective that may return early begins with
//                                           a barrier on its communicator
//   first RANK S:N before R:N [R:N ...]     the N-th message that rank S sends to RANK is received
//                                           before the others are sent
//   delay RANK CALLS N MS                   RANK waits MS before its N-th call of the kind CALLS:
//                                           send, receive, wait or collective
//   slow RANK US                            RANK waits before each call, in all for BOUND at most
//
// RANK, S and R are ranks of MPI_COMM_WORLD. N counts from 1. IsNumberedSend() says which calls
// count as messages.
//
// Every run that a plan brings about is one that MPI permits: a standard send may wait for its
// receive, a collective may wait for its members, and any call may take longer.
#ifndef ROLLCALL_PROTO_STEER_PLAN_H_
#define ROLLCALL_PROTO_STEER_PLAN_H_

#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/operations.h"

namespace rollcall::steer {

inline constexpr std::string_view kPlanHeader = "rollcall-steer 1";
inline constexpr uint32_t kMaxRanks = 4096;
inline constexpr size_t kMaxFirst = 64;  // lines
// Messages of all those lines: one of each sender in one line, and one in each of the others.
inline constexpr size_t kMaxHeld = kMaxRanks + kMaxFirst;
inline constexpr size_t kMaxDelays = 64;
inline constexpr uint32_t kMaxMs = 600'000;
inline constexpr size_t kMaxPlanBytes = 128 * 1024;
inline constexpr size_t kMaxHostName = 255;

// The groups of calls that `delay` counts.
enum class Calls : uint8_t { kSend, kReceive, kWait, kCollective, kNone };
inline constexpr std::array<std::string_view, 4> kCallsNames = {"send", "receive", "wait",
                                                                "collective"};

constexpr Calls CallsOf(Kind kind) {
  switch (kind) {
    case Kind::kSend:
    case Kind::kIsend:
      return Calls::kSend;
    case Kind::kRecv:
    case Kind::kIrecv:
    case Kind::kProbe:
      return Calls::kReceive;
    case Kind::kWait:
    case Kind::kWaitall:
    case Kind::kWaitany:
    case Kind::kWaitsome:
      return Calls::kWait;
    case Kind::kCollective:
      return Calls::kCollective;
    default:
      return Calls::kNone;
  }
}

// Whether the call sends one of the messages that plans count: not a Sendrecv, whose receive must
// not wait, and not a start of a persistent send.
constexpr bool IsNumberedSend(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kBsend ||
         operation == Operation::kSsend || operation == Operation::kRsend ||
         operation == Operation::kIsend || operation == Operation::kIbsend ||
         operation == Operation::kIssend || operation == Operation::kIrsend;
}

// Whether the send may wait for its receive or be buffered, as the library likes.
constexpr bool IsStandardSend(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kIsend;
}

// Whether a blocking collective may return on some member before all have entered it.
constexpr bool MayReturnEarly(const OperationInfo& info) {
  return info.kind == Kind::kCollective && info.rule != Rule::kBarrier && !IsOnTopology(info.rule);
}

// The `number`-th message from `source` to a rank that the context names.
struct Sent {
  uint32_t source = 0;
  uint32_t number = 0;
};

struct First {
  uint32_t to = 0;
  Sent chosen;
  uint32_t held_begin = 0;  // into Plan::held
  uint32_t held_end = 0;
};

struct Delay {
  uint32_t rank = 0;
  Calls calls = Calls::kNone;
  uint32_t number = 0;
  uint32_t ms = 0;
};

struct Plan {
  char host[kMaxHostName + 1] = {};  // empty: any
  uint32_t bound_ms = 1000;
  bool synchronous = false;
  int64_t synchronous_rank = -1;  // -1: all
  bool barriers = false;
  int64_t slow_rank = -1;  // -1: none
  uint32_t slow_us = 0;
  std::array<First, kMaxFirst> first{};
  size_t first_count = 0;
  std::array<Sent, kMaxHeld> held{};
  size_t held_count = 0;
  std::array<Delay, kMaxDelays> delays{};
  size_t delay_count = 0;
};

// What is wrong with a plan, and in which line (from 1). `what` is a string literal; nullptr:
// nothing.
struct PlanError {
  size_t line = 0;
  const char* what = nullptr;
};

namespace internal {

// `text` up to `end`, or all of it. Not substr(), which may throw: the library has no exceptions.
inline std::string_view Head(std::string_view text, size_t end) {
  return {text.data(), end < text.size() ? end : text.size()};
}
// `text` behind the character at `end`; empty if there is none.
inline std::string_view Behind(std::string_view text, size_t end) {
  return end < text.size() ? std::string_view(text.data() + end + 1, text.size() - end - 1)
                           : std::string_view();
}

// The words of one line.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  // The next word; empty at the end. Two blanks make an empty word, which no field accepts.
  std::string_view Next() {
    const size_t end = rest_.find(' ');
    const std::string_view word = Head(rest_, end);
    rest_ = Behind(rest_, end);
    return word;
  }
  bool AtEnd() const { return rest_.empty(); }
  bool Number(uint32_t least, uint32_t most, uint32_t* number) {
    return Parse(Next(), least, most, number);
  }
  bool Message(Sent* sent) {
    const std::string_view word = Next();
    const size_t colon = word.find(':');
    return colon != std::string_view::npos &&
           Parse(Head(word, colon), 0, kMaxRanks - 1, &sent->source) &&
           Parse(Behind(word, colon), 1, UINT32_MAX, &sent->number);
  }

 private:
  static bool Parse(std::string_view word, uint32_t least, uint32_t most, uint32_t* number) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
    return error == std::errc() && end == word.data() + word.size() && *number >= least &&
           *number <= most;
  }

  std::string_view rest_;
};

inline const char* ParseFirst(Words* words, Plan* plan) {
  if (plan->first_count == kMaxFirst) return "too many lines with 'first'";
  First first;
  first.held_begin = static_cast<uint32_t>(plan->held_count);
  if (!words->Number(0, kMaxRanks - 1, &first.to)) return "no rank";
  if (!words->Message(&first.chosen)) return "no message RANK:NUMBER";
  if (words->Next() != "before") return "no 'before'";
  do {
    if (plan->held_count == kMaxHeld) return "too many messages";
    Sent& held = plan->held[plan->held_count];
    if (!words->Message(&held)) return "no message RANK:NUMBER after 'before'";
    if (held.source == first.chosen.source) return "a message of the chosen sender cannot wait";
    ++plan->held_count;
  } while (!words->AtEnd());
  first.held_end = static_cast<uint32_t>(plan->held_count);
  plan->first[plan->first_count++] = first;
  return nullptr;
}

inline const char* ParseDelay(Words* words, Plan* plan) {
  if (plan->delay_count == kMaxDelays) return "too many lines with 'delay'";
  Delay delay;
  if (!words->Number(0, kMaxRanks - 1, &delay.rank)) return "no rank";
  const std::string_view calls = words->Next();
  for (size_t i = 0; i < kCallsNames.size(); ++i) {
    if (calls == kCallsNames[i]) delay.calls = static_cast<Calls>(i);
  }
  if (delay.calls == Calls::kNone) return "no kind of calls: send, receive, wait or collective";
  if (!words->Number(1, UINT32_MAX, &delay.number)) return "no number of a call";
  if (!words->Number(1, kMaxMs, &delay.ms)) return "no time in milliseconds";
  plan->delays[plan->delay_count++] = delay;
  return nullptr;
}

inline const char* ParseLine(std::string_view line, Plan* plan) {
  Words words(line);
  const std::string_view what = words.Next();
  const char* error = nullptr;
  uint32_t number = 0;
  if (what == "host") {
    const std::string_view name = words.Next();
    if (name.empty() || name.size() > kMaxHostName) return "no name of a host";
    for (size_t i = 0; i < name.size(); ++i) plan->host[i] = name[i];
    plan->host[name.size()] = '\0';
  } else if (what == "bound") {
    if (!words.Number(1, kMaxMs, &plan->bound_ms)) return "no time in milliseconds";
  } else if (what == "synchronous") {
    plan->synchronous = true;
    if (!words.AtEnd()) {
      if (!words.Number(0, kMaxRanks - 1, &number)) return "no rank";
      plan->synchronous_rank = number;
    }
  } else if (what == "barriers") {
    plan->barriers = true;
  } else if (what == "slow") {
    if (!words.Number(0, kMaxRanks - 1, &number)) return "no rank";
    plan->slow_rank = number;
    if (!words.Number(1, kMaxMs, &plan->slow_us)) return "no time in microseconds";
  } else if (what == "first") {
    error = ParseFirst(&words, plan);
  } else if (what == "delay") {
    error = ParseDelay(&words, plan);
  } else {
    return "unknown word";
  }
  if (error == nullptr && !words.AtEnd()) return "more words than expected";
  return error;
}

}  // namespace internal

// Reads a plan. Changes nothing but `plan`, allocates nothing. After an error, `plan` is of no use.
inline PlanError ParsePlan(std::string_view text, Plan* plan) {
  *plan = Plan();
  if (text.size() > kMaxPlanBytes) return {.line = 1, .what = "the file is too large"};
  size_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {.line = number, .what = "the line has no end"};
    const std::string_view line = internal::Head(text, end);
    text = internal::Behind(text, end);
    if (number == 1) {
      if (line != kPlanHeader) return {.line = 1, .what = "this is no plan of this version"};
      continue;
    }
    if (line.empty() || line.front() == '#') continue;
    if (const char* what = internal::ParseLine(line, plan)) return {.line = number, .what = what};
  }
  if (number == 0) return {.line = 1, .what = "this is no plan of this version"};
  return {};
}

// The state of a steered run, shared by its ranks: the file <plan>.state, which is zeroes at first.
// Words are only set or counted up, except `holding`.
struct State {
  enum Here : uint32_t { kOpen, kAllHere, kNotAllHere };
  std::atomic<uint32_t> world_size;
  std::atomic<uint32_t> joined;     // ranks
  std::atomic<uint32_t> here;       // Here: whether every rank has joined; decided once
  std::atomic<uint32_t> strangers;  // processes of another MPI_COMM_WORLD, which are not steered
  std::atomic<uint32_t> sends;      // made synchronous
  std::atomic<uint32_t> barriers;
  std::atomic<uint32_t> delays;
  std::atomic<uint32_t> holding;                          // calls that the library makes wait now
  std::atomic<uint32_t> given_up;                         // waits that reached their bound
  std::array<std::atomic<uint32_t>, kMaxFirst> received;  // the chosen message was
  std::array<std::atomic<uint32_t>, kMaxFirst> held;      // messages that have waited for it
  std::array<std::atomic<uint32_t>, kMaxRanks> pids;      // by rank; 0: not joined
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

inline constexpr char kPlanFile[] = "steer.plan";  // in the run directory
inline constexpr char kStateSuffix[] = ".state";

}  // namespace rollcall::steer

#endif  // ROLLCALL_PROTO_STEER_PLAN_H_
