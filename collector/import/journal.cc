// SPDX-License-Identifier: Apache-2.0
#include "collector/import/journal.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "collector/base/text.h"

namespace rollcall {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxText = 4096;
constexpr size_t kMaxFrames = 512;
constexpr size_t kMaxVariables = 512;  // of a frame

// Names of enumerators, by value.
constexpr std::array<std::string_view, 5> kHow = {"unknown", "alive", "exited", "signaled",
                                                  "vanished"};
constexpr std::array<std::string_view, 3> kDetail = {"line", "symbol", "module"};
constexpr std::array<std::string_view, 2> kLanguage = {"native", "python"};
constexpr std::array<std::string_view, 2> kBlock = {"loop", "arm"};

// Writes the fields of an object.
class LineWriter {
 public:
  static constexpr bool kReads = false;
  template <typename T>
  using Of = const T;
  explicit LineWriter(Json* to) : to_(*to) {}

  template <typename T>
  void operator()(const char* key, const T& value, size_t /*max_bytes*/ = 0) {
    to_[key] = value;
  }
  template <typename T>
  void If(bool wanted, const char* key, const T& value, size_t /*max_bytes*/ = 0) {
    if (wanted) to_[key] = value;
  }
  // 64-bit ids as text: JSON readers in other languages keep 53 bits of a number.
  void Hex(const char* key, uint64_t value) { to_[key] = fmt::format("{:#x}", value); }
  template <typename T>
  bool Named(const char* key, T value, std::span<const std::string_view> names) {
    to_[key] = names[static_cast<size_t>(value)];
    return true;
  }
  template <typename T>
  void List(const char* key, const std::vector<T>& list, size_t /*most*/ = 0) {
    Json all = Json::array();
    for (const T& one : list) {
      LineWriter io(&all.emplace_back());
      Fields(io, one);
    }
    to_[key] = std::move(all);
  }

 private:
  Json& to_;
};

// Reads the fields of an object. A field of the wrong type counts as missing, and a missing field
// keeps its default.
class LineReader {
 public:
  static constexpr bool kReads = true;
  template <typename T>
  using Of = T;
  explicit LineReader(const Json& from) : from_(from) {}

  template <typename T>
  void operator()(const char* key, T& value, size_t max_bytes = kMaxText) {
    const auto found = from_.find(key);
    if (found != from_.end()) Set(*found, &value, max_bytes);
  }
  template <typename T>
  void If(bool /*wanted*/, const char* key, T& value, size_t max_bytes = kMaxText) {
    (*this)(key, value, max_bytes);
  }
  void Hex(const char* key, uint64_t& value) {
    std::string text;
    (*this)(key, text, 32);
    if (!text.starts_with("0x")) return;
    value = ParseNumber<uint64_t>(std::string_view(text).substr(2), 16).value_or(value);
  }
  // Returns false if the name is unknown.
  template <typename T>
  bool Named(const char* key, T& value, std::span<const std::string_view> names) {
    std::string text;
    (*this)(key, text, 32);
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) return false;
    value = static_cast<T>(found - names.begin());
    return true;
  }
  // Leaves out elements for which Fields() returns false.
  template <typename T>
  void List(const char* key, std::vector<T>& list, size_t most = SIZE_MAX) {
    const auto all = from_.find(key);
    if (all == from_.end() || !all->is_array()) return;
    for (const Json& from : *all) {
      if (!from.is_object() || list.size() >= most) continue;
      LineReader io(from);
      T one;
      if (Fields(io, one)) list.push_back(std::move(one));
    }
  }

 private:
  static bool Set(const Json& from, std::string* to, size_t max_bytes) {
    if (!from.is_string()) return false;
    *to = CleanText(from.get_ref<const std::string&>(), max_bytes);
    return true;
  }
  static bool Set(const Json& from, bool* to, size_t /*max_bytes*/) {
    if (from.is_boolean()) *to = from.get<bool>();
    return from.is_boolean();
  }
  template <typename T>
  requires std::is_integral_v<T>
  static bool Set(const Json& from, T* to, size_t /*max_bytes*/) {
    using Limits = std::numeric_limits<T>;
    bool fits = false;
    if (from.is_number_unsigned()) {
      fits = from.get<uint64_t>() <= static_cast<uint64_t>(Limits::max());
    } else if (from.is_number_integer()) {  // it is negative
      fits = Limits::is_signed && from.get<int64_t>() >= static_cast<int64_t>(Limits::min());
    }
    if (fits) *to = from.get<T>();
    return fits;
  }
  template <typename T>
  static bool Set(const Json& from, std::vector<T>* to, size_t max_bytes) {
    if (!from.is_array()) return false;
    for (const Json& one : from) {
      T value;
      if (Set(one, &value, max_bytes)) to->push_back(std::move(value));
    }
    return true;
  }

  const Json& from_;
};

template <typename Io, typename T>
using Of = typename Io::template Of<T>;

// --- the fields of each struct, in the order of a line: written and read by the same list --------

template <typename Io>
void Fields(Io& io, Of<Io, journal::ProcessName>& process) {
  if (Io::kReads || process.ring_id != 0) io.Hex("id", process.ring_id);
  io.If(!process.host.empty(), "host", process.host, 256);
  io("pid", process.pid);
  io.If(process.rank >= 0, "rank", process.rank);
}

template <typename Io>
bool Fields(Io& io, Of<Io, SourceFrame>& frame) {
  io("function", frame.function);
  io.If(!frame.file.empty(), "file", frame.file);
  io.If(frame.line > 0, "line", frame.line);
  const bool names_language = Io::kReads || frame.language != Language::kNative;
  if (names_language) io.Named("language", frame.language, kLanguage);
  io.If(!frame.module.empty(), "module", frame.module);
  io.Hex("vaddr", frame.vaddr);
  io.If(frame.inlined, "inlined", frame.inlined);
  io.Named("detail", frame.detail, kDetail);
  io.If(frame.symbol_offset != 0, "offset", frame.symbol_offset);
  io.If(!frame.note.empty(), "note", frame.note);
  return true;
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::Run>& run) {
  io("version", run.version, 64);
  io("command", run.command);
  io("host", run.host, 256);
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::ProcessSeen>& seen) {
  io("ring", seen.ring_name, 256);
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::ProcessEnded>& ended) {
  io.Named("how", ended.end.how, kHow);
  io("status", ended.end.status);
  io.If(ended.end.oom_killed, "oom_killed", ended.end.oom_killed);
  io.If(ended.end.by_launcher, "by_launcher", ended.end.by_launcher);
  io.If(ended.end.by_rollcall, "by_rollcall", ended.end.by_rollcall);
  io.If(ended.end.order != kNoIndex, "order", ended.end.order);
}

template <typename Io>
bool Fields(Io& io, Of<Io, journal::TightPoll>& poll) {
  io("tid", poll.tid);
  io("since_ns", poll.since_ns);
  return poll.since_ns >= 0;
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::Quiet>& quiet) {
  io("activity", quiet.activity);
  io.If(!quiet.polling.empty(), "polling", quiet.polling);
  if (Io::kReads || !quiet.tight.empty()) io.List("tight", quiet.tight);
  const bool names_others = Io::kReads || quiet.other_threads != OtherThreads::kUnseen;
  if (names_others) io.Named("other_threads", quiet.other_threads, kOtherThreadsNames);
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::StackSeen>& seen) {
  io("tid", seen.stack.tid);
  io("thread", seen.stack.thread_name, 64);
  io("state", seen.stack.state, 256);
  io.If(seen.stack.cpu_ns_per_s >= 0, "cpu_ns_per_s", seen.stack.cpu_ns_per_s);
  io.If(!seen.stack.unreadable.empty(), "unreadable", seen.stack.unreadable, 512);
  io.List("frames", seen.stack.frames, kMaxFrames);
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::OutsideWaitSeen>& seen) {
  io("activity", seen.activity);
  if (!Io::kReads && !seen.wait) return;
  OutsideWait wait = seen.wait.value_or(OutsideWait());
  io("tid", wait.tid);
  const bool known = io.Named("for", wait.what, kOutsideWaitNames);
  if constexpr (Io::kReads) {
    if (known) seen.wait = wait;
  }
}

template <typename Io>
bool Fields(Io& io, Of<Io, Variable>& variable) {
  io("name", variable.name, 256);
  const bool known = io.Named("kind", variable.kind, kVariableNames);  // else of a newer version
  io.Hex("bits", variable.bits);
  io.If(variable.if_named, "if_named", variable.if_named);
  io.If(variable.outlives, "outlives", variable.outlives);
  io.If(!variable.enumerator.empty(), "enumerator", variable.enumerator, 256);
  return known && !variable.name.empty();
}

template <typename Io>
bool Fields(Io& io, Of<Io, VariablesOfFrame>& frame) {
  Fields(io, frame.frame);
  io.List("variables", frame.variables, kMaxVariables);
  return true;
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::VariablesSeen>& seen) {
  io("activity", seen.activity);
  io.List("frames", seen.frames, kMaxFrames);
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::Symbols>& symbols) {
  io("module", symbols.module_path);
  io("build_id", symbols.build_id, 128);
  io.Hex("vaddr", symbols.vaddr);
  io.List("frames", symbols.frames, kMaxFrames);
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::Verdict>& verdict) {
  io("activity", verdict.activity);
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::Clock>& clock) {
  if constexpr (Io::kReads) clock.clock.error_ns = -1;  // if it is missing
  io("host", clock.host, 256);
  io("offset_ns", clock.clock.offset_ns);
  io("error_ns", clock.clock.error_ns);
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::JobEnd>& end) {
  io("exit_code", end.exit_code);
  io("by_rollcall", end.by_rollcall);
}

template <typename Io>
void Fields(Io& /*io*/, Of<Io, journal::StopRequest>& /*request*/) {}

template <typename Io>
void Fields(Io& io, Of<Io, journal::Absent>& absent) {
  io("host", absent.host, 256);
  io("run_directory", absent.run_directory);
  io("why", absent.why, 512);
}

template <typename Io>
bool Fields(Io& io, Of<Io, SourceBlock>& block) {
  io.Named("kind", block.kind, kBlock);
  io("first", block.first);
  io("last", block.last);
  io.If(block.branch != 0, "branch", block.branch);
  io.If(!block.subject.empty(), "subject", block.subject, 256);
  io.If(!block.subject.empty(), "value", block.value, 256);
  io.If(!block.subject.empty(), "equal", block.equal);
  return true;
}

template <typename Io>
bool Fields(Io& io, Of<Io, SourceFlow>& flow) {
  const bool known = io.Named("kind", flow.kind, kSourceFlowNames);  // else of a newer version
  io("first", flow.first);
  io("last", flow.last);
  io.If(flow.group != 0, "group", flow.group);
  io.If(!flow.condition.empty(), "condition", flow.condition, 256);
  return known;
}

template <typename Io>
bool Fields(Io& io, Of<Io, SourceCondition>& condition) {
  io("first", condition.first);
  io("last", condition.last);
  io("condition", condition.text, 1024);
  return true;
}

template <typename Io>
void Fields(Io& io, Of<Io, journal::Source>& source) {
  io("file", source.source.file);
  io.List("blocks", source.source.blocks);
  if (Io::kReads || !source.source.flow.empty()) io.List("flow", source.source.flow);
  if (Io::kReads || !source.source.conditions.empty()) {
    io.List("decides", source.source.conditions);
  }
}

template <typename Io, typename Event>
void AllFields(Io& io, Event& event) {
  if constexpr (requires { event.at_ns; }) io("at_ns", event.at_ns);
  if constexpr (requires { event.end.at_ns; }) io("at_ns", event.end.at_ns);
  if constexpr (requires { event.process; }) Fields(io, event.process);
  Fields(io, event);
}

// In the order of JournalEvent.
constexpr std::array<std::string_view, std::variant_size_v<JournalEvent>> kEventNames = {
    "run",     "process-seen", "process-end", "quiet", "stack",        "symbols",      "verdict",
    "job-end", "absent",       "source",      "clock", "stop-request", "outside-wait", "variables"};

// The event of type `type`.
template <size_t... types>
JournalEvent ReadEvent(const Json& line, size_t type, std::index_sequence<types...>) {
  JournalEvent event;
  LineReader io(line);
  ((types == type ? AllFields(io, event.emplace<types>()) : void()), ...);
  return event;
}

}  // namespace

std::string FormatJournalLine(const JournalEvent& event) {
  Json line = {{"v", journal::kVersion}, {"event", kEventNames[event.index()]}};
  LineWriter io(&line);
  std::visit([&io](const auto& one) { AllFields(io, one); }, event);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Problem ProblemOf(const journal::Absent& absent) {
  return {ProblemCode::kMissingNode,
          fmt::format("traces of this node are missing: {}; they are in {} there", absent.why,
                      absent.run_directory),
          absent.host};
}

Result<JournalEvent> ParseJournalLine(std::string_view text) {
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  int version = 0;
  std::string name;
  if (line.is_object()) {
    LineReader io(line);
    io("v", version);
    io("event", name, 64);
  }
  if (version <= 0) return Error{"not a line of a journal"};
  if (version != journal::kVersion) return Error{};
  const auto found = std::ranges::find(kEventNames, name);
  if (found == kEventNames.end()) return Error{};
  return ReadEvent(line, static_cast<size_t>(found - kEventNames.begin()),
                   std::make_index_sequence<kEventNames.size()>());
}

}  // namespace rollcall
