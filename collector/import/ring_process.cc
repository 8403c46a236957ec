// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "collector/import/ring_parts.h"
#include "collector/import/trace_builder.h"
#include "collector/symbolize/demangle.h"

namespace rollcall {
namespace {

// Whether the C++ library is between the program and this call. Its frame that starts a std::thread
// does not count: all frames around that frame belong to the C library.
bool Terminates(const Trace& trace, uint32_t call_path) {
  if (call_path == kNoIndex) return false;
  bool inside_library = false;
  for (const uint32_t code : trace.call_paths[call_path].codes) {  // innermost first
    const std::string_view path = trace.codes[code].module_path;
    const std::string_view module = path.substr(path.rfind('/') + 1);
    if (module.starts_with("libstdc++") || module.starts_with("libc++abi")) {
      inside_library = true;
    } else if (inside_library && !module.starts_with("libc.so") &&
               !module.starts_with("libpthread")) {
      return true;
    }
  }
  return false;
}

void ReadException(RingContext* context, RingReferences* references) {
  const ring::FileHeader& header = context->ring.header;
  if (header.version_minor < 5) return;  // these bytes were reserved then
  UncaughtException exception;
  exception.kind = static_cast<ring::ExceptionKind>(header.exception);
  exception.type = CleanName(context->ring.String(header.exception_type));
  exception.message = CleanName(context->ring.String(header.exception_message));
  exception.at_ns = context->Time(header.exception_ticks);
  switch (exception.kind) {
    case ring::ExceptionKind::kPython:
      exception.call_path = references->CallPath(header.exception_call_path);
      break;
    case ring::ExceptionKind::kCPlusPlus: {
      // abort() may also be called where an exception was caught.
      exception.call_path = references->CallPath(header.exception_call_path);
      if (!Terminates(context->trace, exception.call_path)) return;
      constexpr std::string_view kPrefix = "typeinfo for ";
      const std::string name = Demangle("_ZTI" + exception.type, NameStyle::kFull);
      if (name.starts_with(kPrefix)) exception.type = ShortenCxxName(name.substr(kPrefix.size()));
      break;
    }
    default:
      return;
  }
  if (!exception.type.empty()) context->process.exception = std::move(exception);
}

void ReadPythonState(const ring::FileHeader& header, Process* process) {
  if (header.version_minor == 0) return;  // these bytes were reserved then
  if (header.python_state > static_cast<uint32_t>(ring::PythonState::kOff)) return;
  process->python_version = header.python_version;
  process->python_state = static_cast<ring::PythonState>(header.python_state);
  if (header.python_off <= static_cast<uint32_t>(ring::PythonOff::kNoMemory)) {
    process->python_off = static_cast<ring::PythonOff>(header.python_off);
  }
  process->python_unreadable = header.python_unreadable;
}

// Processes of one host read the same clock, but took their anchors at different times. If each
// process's times were converted by its own anchors, calls would be out of order by microseconds,
// and by more with every minute.
void UseHostClock(RingContext* context, std::unordered_map<std::string, RingClock>* host_clocks) {
  const auto host = host_clocks->find(context->process.host);
  if (host == host_clocks->end()) {
    if (context->clock.known()) host_clocks->emplace(context->process.host, context->clock);
  } else if (host->second.Fits(context->ring.header)) {
    context->clock = host->second;
  }
}

}  // namespace

void ReadProcess(RingContext* context, RingReferences* references,
                 std::unordered_map<std::string, RingClock>* host_clocks) {
  const ring::FileHeader& header = context->ring.header;
  Process& process = context->process;
  process.source = context->ring.source;
  process.rank =
      header.world_rank >= 0 && header.world_rank < int64_t{kMaxRanks} ? header.world_rank : -1;
  process.host = CleanName(header.host);
  process.pid = header.pid;
  process.executable = CleanName(header.executable);
  if (header.flavor <= static_cast<uint32_t>(ring::Flavor::kMpiStandardAbi)) {
    process.flavor = static_cast<ring::Flavor>(header.flavor);
  }
  if (header.thread_level <= 3) process.thread_level = static_cast<int>(header.thread_level);
  process.phase = static_cast<ring::Phase>(
      std::min(header.phase, static_cast<uint64_t>(ring::Phase::kFinalized)));
  if (header.exit_mark <= static_cast<uint64_t>(ring::ExitMark::kMpiAbort)) {
    process.exit_mark = static_cast<ring::ExitMark>(header.exit_mark);
  }
  process.exit_status = static_cast<int>(header.exit_status);
  process.errors_seen = header.errors_seen;
  process.taken_at_ns = context->ring.taken_at_ns;
  process.clock = context->ring.clock;
  process.calls_unrecorded = header.threads_unrecorded + header.calls_unrecorded;
  process.table_overflows = process.calls_unrecorded + context->Lost(ring::SectionKind::kThreads) +
                            context->Lost(ring::SectionKind::kMembers) +
                            context->Lost(ring::SectionKind::kOpenRequests);
  process.gpu = context->ring.gpu;
  process.graphs = header.version_minor >= 3 && header.calls_captured != 0;
  ReadPythonState(header, &process);
  if (header.version_minor >= 8) process.user_phase = CleanName(header.user_phase);
  UseHostClock(context, host_clocks);
  process.phase_ns = context->Time(header.phase_ticks);
  process.exit_ns = context->Time(header.exit_ticks);
  process.exit_call_path = references->CallPath(header.exit_call_path);
  ReadException(context, references);
}

void ReadEndWithoutMpi(Process* process) {
  if (!process->without_mpi) return;
  if (process->exit_mark != ring::ExitMark::kExit || process->exit_status != 0) return;
  process->phase = ring::Phase::kFinalized;
  process->phase_ns = process->exit_ns;
}

}  // namespace rollcall
