// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/call_text.h"

#include <fmt/format.h>

#include "collector/matching/match_rules.h"
#include "collector/model/signal_name.h"

namespace rollcall {
namespace {

// " of broadcast_object_list" for a broadcast that this function makes.
std::string OfCaller(const Analysis& analysis, const Event& event) {
  const std::string called = CalledName(analysis, event);
  return called == OperationName(analysis.Op(event)) ? "" : " of " + called;
}

}  // namespace

std::string CalledName(const Analysis& analysis, const Event& event) {
  if (IsC10d(analysis.Op(event)) && event.call_path != kNoIndex) {
    for (const SourceFrame* frame : analysis.sites.OutermostFirst(event.call_path)) {
      // Callers in this file that are named "wrapper" are decorators.
      if (frame->language == Language::kPython && frame->function != "wrapper" &&
          frame->file.ends_with("torch/distributed/distributed_c10d.py")) {
        return frame->function;
      }
    }
  }
  return OperationName(analysis.Op(event));
}

std::string GilFix(const std::string& call) {
  return fmt::format(
      "make no call of {} that holds the GIL while the main thread has something to do for other "
      "ranks: make it before the thread starts, on every rank",
      call);
}

uint64_t BucketOf(const Analysis& analysis, const Event& event) {
  const bool has_bucket = IsC10d(analysis.Op(event)) && event.sequence != 0;
  return has_bucket && event.detail != ring::kDuringUnreducedBackward ? event.detail : 0;
}

std::string CallText(const Analysis& analysis, const Event& event, bool arguments) {
  std::string text = OperationName(analysis.Op(event));
  if (event.sequence != 0) text += fmt::format(" #{}", event.sequence);
  text += OfCaller(analysis, event);
  if (arguments) {
    std::string details = ArgumentsText(analysis.trace, analysis.Args(event));
    if (const uint64_t bucket = BucketOf(analysis, event); bucket != 0) {
      details += fmt::format("{}DDP bucket {}", details.empty() ? "" : ", ", bucket);
    }
    if (!details.empty()) text += fmt::format("  ({})", details);
  }
  return text;
}

std::string OtherCall(const Analysis& analysis, const Incident& incident, const Event& event) {
  std::string text = CallText(analysis, event, false);
  if (event.member == kNoIndex) return text;
  const uint32_t communicator = analysis.CommunicatorOf(event);
  if (communicator != incident.communicator) {
    text += " on " + analysis.CommunicatorName(communicator);
  }
  return text;
}

std::string NumberedCall(const Analysis& analysis, const Incident& incident, Operation operation) {
  std::string caller;
  for (const Event* event : {incident.agreeing_event, incident.deviating_event}) {
    if (caller.empty() && event != nullptr && analysis.Op(*event) == operation) {
      caller = OfCaller(analysis, *event);
    }
  }
  return fmt::format("{}{} #{}{} on {}", incident.start == 0 ? "" : "MPI_Start of ",
                     OperationName(operation), incident.sequence, caller,
                     analysis.CommunicatorName(incident.communicator));
}

std::string EndText(const Process& process) {
  if (process.ended_by) {
    const ErrorClassInfo error = InfoOf(*process.ended_by);
    if (error.error == ErrorClass::kNone) return "was ended by MPI";
    return fmt::format("was ended by MPI for {} ({})", error.name, error.text);
  }
  if (process.end.with_node) return "ended with the node";
  switch (process.end.how) {
    case ProcessEnd::How::kExited:
      return fmt::format("exited with {}", process.end.status);
    case ProcessEnd::How::kSignaled:
      if (process.end.oom_killed) return "was killed because memory ran out";
      return fmt::format("was killed by {}", SignalName(process.end.status));
    default:
      break;
  }
  switch (process.exit_mark) {
    case ring::ExitMark::kExit:
      return fmt::format("called exit({})", process.exit_status);
    case ring::ExitMark::kQuickExit:
      return fmt::format("called _exit({})", process.exit_status);
    case ring::ExitMark::kMpiAbort:
      return fmt::format("called MPI_Abort with {}", process.exit_status);
    case ring::ExitMark::kNone:
      break;
  }
  const bool unseen = process.end.how == ProcessEnd::How::kVanished && !process.end.parent_saw;
  return unseen ? "vanished" : "ended";
}

std::string RaisedText(const UncaughtException& exception) {
  const bool python = exception.kind == ring::ExceptionKind::kPython;
  return fmt::format("{} {}{}{}", python ? "raised" : "threw", exception.type,
                     exception.message.empty() ? "" : ": ", exception.message);
}

std::string DurationText(int64_t ns) {
  const double seconds = static_cast<double>(ns) * 1e-9;
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string Ordinal(uint64_t number) {
  const bool teen = number % 100 >= 11 && number % 100 <= 13;
  const uint64_t last = teen ? 0 : number % 10;
  return fmt::format("{}{}", number, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

}  // namespace rollcall
