// SPDX-License-Identifier: Apache-2.0
#include "collector/model/rejections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "collector/model/messages.h"
#include "collector/model/runtime_modules.h"
#include "proto/datatypes.h"

namespace rollcall {
namespace {

// MPI_TAG_UB is at least this (MPI 4.0, 9.1.2). Larger tags may be invalid as well.
constexpr int32_t kMinTagBound = 32767;

bool IsNegative(uint64_t count) { return static_cast<int64_t>(count) < 0; }

class ArgumentChecker {
 public:
  ArgumentChecker(const Trace& trace, const Event& event)
      : trace_(trace),
        arguments_(trace.arguments[event.arguments]),
        info_(FindOperation(static_cast<uint16_t>(arguments_.operation))),
        communicator_(event.member == kNoIndex
                          ? nullptr
                          : &trace.communicators[trace.members[event.member].communicator]) {}

  std::optional<BadArgument> Check(ErrorClass wanted) const {
    using Checks = std::array<std::optional<BadArgument> (ArgumentChecker::*)() const, 6>;
    constexpr Checks kChecks = {&ArgumentChecker::Handle, &ArgumentChecker::Count,
                                &ArgumentChecker::Type,   &ArgumentChecker::Reduction,
                                &ArgumentChecker::Root,   &ArgumentChecker::Envelope};
    for (const auto check : kChecks) {
      std::optional<BadArgument> bad = (this->*check)();
      if (bad && (wanted == ErrorClass::kNone || bad->error == wanted)) return bad;
    }
    return std::nullopt;
  }

 private:
  std::optional<BadArgument> Handle() const {
    if ((arguments_.flags & ring::kNullComm) == 0) return {};
    return BadArgument{ErrorClass::kCOMM, "MPI_COMM_NULL", ""};
  }

  std::optional<BadArgument> Count() const {
    for (const uint64_t count : {arguments_.send_count, arguments_.recv_count}) {
      if (!IsNegative(count)) continue;
      return BadArgument{ErrorClass::kCOUNT, fmt::format("count {}", static_cast<int64_t>(count)),
                         ""};
    }
    return {};
  }

  std::optional<BadArgument> Type() const {
    constexpr auto kNull = static_cast<uint16_t>(BasicType::kMPI_DATATYPE_NULL);
    const auto is_null = [this](uint32_t datatype, uint64_t count) {
      return count != 0 && datatype != kNoIndex && trace_.datatypes[datatype].basic == kNull;
    };
    if (!is_null(arguments_.send_datatype, arguments_.send_count) &&
        !is_null(arguments_.recv_datatype, arguments_.recv_count)) {
      return {};
    }
    return BadArgument{ErrorClass::kTYPE, "MPI_DATATYPE_NULL", ""};
  }

  std::optional<BadArgument> Reduction() const {
    if (arguments_.reduce_op != static_cast<uint16_t>(ReduceOp::kNull)) return {};
    return BadArgument{ErrorClass::kOP, "MPI_OP_NULL", ""};
  }

  // Whether the rank is not a rank of the communicator. False for intercommunicators, and if the
  // members are unknown.
  bool IsOutside(int32_t rank) const {
    return communicator_ != nullptr && (communicator_->flags & ring::kIsInter) == 0 &&
           !communicator_->ranks.empty() &&
           (rank < 0 || static_cast<size_t>(rank) >= communicator_->ranks.size());
  }
  std::string Inside() const {
    return fmt::format("{} has the ranks 0 to {}", communicator_->name,
                       communicator_->ranks.size() - 1);
  }

  std::optional<BadArgument> Root() const {
    if (!HasRoot(info_.rule) || arguments_.root_or_peer == ring::kNoPeer ||
        !IsOutside(arguments_.root_or_peer)) {
      return {};
    }
    return BadArgument{ErrorClass::kROOT, fmt::format("root {}", arguments_.root_or_peer),
                       Inside()};
  }

  std::optional<BadArgument> Envelope() const {
    for (const Message& message : MessagesOf(arguments_)) {
      const bool wild = message.peer == ring::kAnySource;
      const std::string_view peer = message.sends ? "destination" : "source";
      if (wild ? message.sends : IsOutside(message.peer)) {
        return BadArgument{ErrorClass::kRANK,
                           wild ? fmt::format("{} MPI_ANY_SOURCE", peer)
                                : fmt::format("{} {}", peer, message.peer),
                           communicator_ == nullptr ? "" : Inside()};
      }
      const bool any = message.tag == ring::kAnyTag;
      if (message.tag >= 0 || message.tag == ring::kNoTag || (any && !message.sends)) continue;
      return BadArgument{ErrorClass::kTAG,
                         any ? "tag MPI_ANY_TAG" : fmt::format("tag {}", message.tag),
                         fmt::format("tags are 0 to {} or more", kMinTagBound)};
    }
    return {};
  }

  const Trace& trace_;
  const Arguments& arguments_;
  const OperationInfo info_;
  const Communicator* communicator_;
};

// The codes of the path, innermost first, without those of exit() itself.
std::span<const uint32_t> CallersOfExit(const Trace& trace, uint32_t call_path) {
  if (call_path == kNoIndex) return {};
  const std::vector<uint32_t>& codes = trace.call_paths[call_path].codes;
  const auto first = std::ranges::find_if(codes, [&](uint32_t code) {
    const ModuleFamily family = FamilyOf(trace.codes[code].module_path);
    return family != ModuleFamily::kC && family != ModuleFamily::kRollcall;
  });
  return {first, codes.end()};
}

// Whether the MPI library or its runtime called exit() because of an error. Outside of every
// recorded call, the runtime also exits for its own reasons, so a function of the library has to be
// on the path.
bool LeftByLibrary(const Trace& trace, const Process& process) {
  const std::span<const uint32_t> codes = CallersOfExit(trace, process.exit_call_path);
  if (codes.empty() || !IsOfMpi(FamilyOf(trace.codes[codes.front()].module_path))) return false;
  return !process.open_calls.empty() || std::ranges::any_of(codes, [&](uint32_t code) {
    return FamilyOf(trace.codes[code].module_path) == ModuleFamily::kMpi;
  });
}

// MPICH's error codes hold the class in their lowest bits (MPI_Error_class, mpir_err.h).
constexpr int kMpichClassMask = 0x7f;

// The class of the error that ended the process, if the exit status is an error class or one of
// MPICH's error codes.
ErrorClassInfo ClassOfEnd(const Process& process) {
  const bool marked =
      process.exit_mark == ring::ExitMark::kExit || process.exit_mark == ring::ExitMark::kQuickExit;
  if (!marked && process.end.how != ProcessEnd::How::kExited) return {};
  int status = marked ? process.exit_status : process.end.status;
  if (process.flavor == ring::Flavor::kMpich) status &= kMpichClassMask;
  return status <= 0 ? ErrorClassInfo()
                     : FindErrorClass(process.flavor, static_cast<uint64_t>(status));
}

bool IsInside(const Trace& trace, const OpenCall& call, Kind kind) {
  const auto operation = static_cast<uint16_t>(trace.arguments[call.event.arguments].operation);
  return FindOperation(operation).kind == kind;
}

// Whether the exit status shows no class. If MPI has no class, it ends a process with 1, which is
// also the number of MPI_ERR_BUFFER: in a function that is not recorded, in MPI_Init, before
// MPI_Init and after MPI_Finalize.
bool HasNoClass(const Trace& trace, const Process& process, ErrorClass error) {
  if (error != ErrorClass::kBUFFER) return false;
  return process.open_calls.empty() || process.phase != ring::Phase::kRunning ||
         IsInside(trace, process.open_calls.front(), Kind::kInit);
}

bool IsInsideReportedCall(const Process& process) {
  return process.exit_ns != kNoTime &&
         std::ranges::any_of(process.open_calls, [&](const OpenCall& call) {
           return call.event.start_ns <= process.exit_ns;
         });
}

// Whether the process has made no recorded call since it reported the error.
bool WasLastAct(const Trace& trace, const Process& process) {
  const auto before = [&](const Event& event) {
    return event.start_ns <= process.exit_ns &&
           (event.end_ns == kNoTime || event.end_ns <= process.exit_ns);
  };
  const uint32_t own = static_cast<uint32_t>(&process - trace.processes.data());
  return std::ranges::all_of(process.p2p, before) &&
         std::ranges::all_of(process.lifecycle, before) &&
         std::ranges::all_of(trace.members, [&](const Member& member) {
           return member.process != own || member.events.empty() || before(member.events.back());
         });
}

// Whether each other rank is still alive, or ended within a second after this process reported the
// error, and not by itself. If so, MPICH's launcher killed the others, and no lost peer can be the
// cause of the error.
bool WasFirstToEnd(const Trace& trace, const Process& process) {
  const auto killed = [](const ProcessEnd& end) {
    return end.how == ProcessEnd::How::kVanished || end.by_launcher ||
           (end.how == ProcessEnd::How::kSignaled && end.status == 9 && !end.oom_killed);
  };
  const std::vector<uint32_t>& all = trace.worlds[process.world].processes;
  return std::ranges::all_of(all, [&](uint32_t p) {
    if (p == kNoIndex) return false;
    const Process& other = trace.processes[p];
    if (&other != &process && other.exit_mark != ring::ExitMark::kNone) return false;
    if (!HasEnded(other.end)) return &other != &process;
    const int64_t after_ns = other.end.at_ns == kNoTime ? 0 : other.end.at_ns - process.exit_ns;
    return killed(other.end) && after_ns >= 0 && after_ns < kEndOrderBlurNs;
  });
}

// MPICH's launcher kills a process that reports a fatal error before the process can exit. The
// error is recorded. The process is changed as if it had exited with the error class, as processes
// of Open MPI do.
void ResolveErrorReport(const Trace& trace, bool by_library, Process* process) {
  if (process->flavor != ring::Flavor::kMpich || process->exit_ns == kNoTime) return;
  const bool inside = IsInsideReportedCall(*process);
  if (!IsGone(*process)) {
    if (inside) process->reports_error_ns = process->exit_ns;
    return;
  }
  if (!by_library) return;
  const bool unmarked = process->exit_mark == ring::ExitMark::kNone;
  const OpenCall* open = process->open_calls.empty() ? nullptr : &process->open_calls.front();
  const bool in_finalize = open != nullptr && IsInside(trace, *open, Kind::kFinalize);
  const bool first = (open == nullptr || in_finalize) && unmarked && WasLastAct(trace, *process) &&
                     WasFirstToEnd(trace, *process);
  if (!inside && !first) return;
  const ErrorClass error =
      FindErrorClass(process->flavor, static_cast<uint64_t>(process->exit_status & kMpichClassMask))
          .error;
  // MPI also reports these classes for a lost peer. In MPI_Init it reports no other class.
  const bool vague =
      error == ErrorClass::kOTHER || error == ErrorClass::kINTERN || error == ErrorClass::kUNKNOWN;
  const bool believed =
      (in_finalize && first) || (open != nullptr && IsInside(trace, *open, Kind::kInit));
  if (error == ErrorClass::kNone || (vague && !believed)) return;
  if (unmarked) {
    process->exit_mark = ring::ExitMark::kQuickExit;
  } else if (process->exit_mark == ring::ExitMark::kMpiAbort) {
    return;
  }
  // Only the times show that the process ended for this error.
  if (first) process->reports_error_ns = process->exit_ns;
  process->exit_status &= kMpichClassMask;
}

// Removes the note about an error that the process survived: it belongs to no exit.
void ForgetErrorReport(Process* process) {
  process->exit_status = 0;
  process->exit_ns = kNoTime;
  process->exit_call_path = kNoIndex;
}

bool IsSameCall(const Event& a, const Event& b) {
  return a.start_ns == b.start_ns && a.arguments == b.arguments && a.thread == b.thread;
}

// Removes a rejected call from the counts: its sequence number, if it has one, and its message.
void TakeOut(Trace* trace, Process* process, const Event& event) {
  if (event.sequence != 0 && event.member != kNoIndex) {
    Member& member = trace->members[event.member];
    std::erase_if(member.events,
                  [&event](const Event& other) { return other.sequence == event.sequence; });
    if (member.entered == event.sequence) --member.entered;
    std::erase_if(member.checkpoints, [&member](const Checkpoint& checkpoint) {
      return checkpoint.sequence > member.entered;
    });
    return;
  }
  const size_t before = process->p2p.size();
  std::erase_if(process->p2p, [&event](const Event& other) { return IsSameCall(event, other); });
  if (process->p2p.size() == before) return;
  for (const Message& message : MessagesOf(trace->arguments[event.arguments])) {
    for (Channel& channel : process->channels) {
      const bool same = channel.member == event.member && channel.peer == message.peer &&
                        channel.tag == message.tag;
      if (same && message.sends && channel.sent > 0) --channel.sent;
    }
    for (PeerCount& sum : process->peer_counts) {
      const bool same = sum.member == event.member && sum.peer == message.peer;
      if (same && message.sends && sum.sent > 0) --sum.sent;
    }
  }
}

// Removes calls after MPI_Finalize, which take part in no operation.
void TakeOutLateCalls(Trace* trace, Process* process) {
  for (OpenCall& call : process->open_calls) {
    TakeOut(trace, process, call.event);
    call.event.member = kNoIndex;
    call.event.sequence = 0;
  }
}

}  // namespace

std::optional<BadArgument> FindBadArgument(const Trace& trace, const Event& event,
                                           ErrorClass error) {
  return ArgumentChecker(trace, event).Check(error);
}

void ResolveRejections(Trace* trace) {
  for (Process& process : trace->processes) {
    // Without an exit mark, the record is MPICH's report of an error. The library may make the
    // report on behalf of a function that has left no frame.
    const bool unmarked = process.exit_mark == ring::ExitMark::kNone;
    bool by_library = unmarked || LeftByLibrary(*trace, process);
    ResolveErrorReport(*trace, by_library, &process);
    if (process.exit_mark == ring::ExitMark::kNone) {
      ForgetErrorReport(&process);
      by_library = false;
    }
    if (process.device) continue;
    ErrorClassInfo end = ClassOfEnd(process);
    if (by_library && end.error != ErrorClass::kNone) {
      if (HasNoClass(*trace, process, end.error)) end = {};
      process.ended_by = end.error;
    }
    if (process.phase >= ring::Phase::kFinalized && process.ended_by)
      TakeOutLateCalls(trace, &process);
    if (process.open_calls.empty()) continue;
    const bool gone = IsGone(process);
    const bool ended_by_error = end.rejects && process.ended_by;
    std::vector<OpenCall> kept;
    for (OpenCall& call : process.open_calls) {
      const std::optional<BadArgument> bad = FindBadArgument(*trace, call.event);
      const bool alone = process.open_calls.size() == 1;
      const bool wrong = bad || (ended_by_error && alone);
      if (!wrong) {
        kept.push_back(std::move(call));
        continue;
      }
      TakeOut(trace, &process, call.event);
      process.lifecycle.push_back(call.event);
      // If the process is active, the call may return with an error, which the program may expect.
      if (!gone && !process.quiet) continue;
      process.rejected.push_back(
          {.event = call.event, .error = end.rejects ? end.error : bad->error, .open = true});
    }
    process.open_calls = std::move(kept);
  }
}

std::string MpiFunction(const Trace& trace, uint32_t call_path) {
  std::string name;
  for (const uint32_t code : CallersOfExit(trace, call_path)) {
    if (!IsOfMpi(FamilyOf(trace.codes[code].module_path))) break;
    name = trace.codes[code].frames.empty() ? "" : trace.codes[code].frames.back().function;
  }
  if (name.starts_with('P')) name.erase(0, 1);
  return name.starts_with("MPI_") ? name : "";
}

bool IsInsideRejected(const Process& process) {
  return std::ranges::any_of(process.rejected, &RejectedCall::open);
}

}  // namespace rollcall
