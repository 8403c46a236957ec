// SPDX-License-Identifier: Apache-2.0
#include "collector/import/journal.h"

#include <fmt/core.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "collector/base/text.h"

namespace rollcall {
namespace {

using nlohmann::ordered_json;
using Json = ordered_json;

constexpr size_t kMaxText = 4096;
constexpr size_t kMaxFrames = 512;

constexpr std::pair<ProcessEnd::How, const char*> kHow[] = {
    {ProcessEnd::How::kUnknown, "unknown"},   {ProcessEnd::How::kAlive, "alive"},
    {ProcessEnd::How::kExited, "exited"},     {ProcessEnd::How::kSignaled, "signaled"},
    {ProcessEnd::How::kVanished, "vanished"},
};
constexpr std::pair<FrameDetail, const char*> kDetail[] = {
    {FrameDetail::kSourceLine, "line"},
    {FrameDetail::kSymbol, "symbol"},
    {FrameDetail::kModule, "module"},
};

constexpr std::pair<Language, const char*> kLanguage[] = {{Language::kNative, "native"},
                                                          {Language::kPython, "python"}};

template <typename T, size_t n>
const char* NameOf(const std::pair<T, const char*> (&table)[n], T value) {
  for (const auto& row : table) {
    if (row.first == value) return row.second;
  }
  return table[0].second;
}

template <typename T, size_t n>
T ValueOf(const std::pair<T, const char*> (&table)[n], std::string_view name, T otherwise) {
  for (const auto& row : table) {
    if (row.second == name) return row.first;
  }
  return otherwise;
}

// 64-bit ids as text: JSON readers in other languages keep 53 bits of a number.
std::string Hex(uint64_t value) { return fmt::format("{:#x}", value); }

// --- writing -------------------------------------------------------------------------------------

void Put(Json* to, const journal::ProcessName& process) {
  if (process.ring_id != 0) (*to)["id"] = Hex(process.ring_id);
  if (!process.host.empty()) (*to)["host"] = process.host;
  (*to)["pid"] = process.pid;
  if (process.rank >= 0) (*to)["rank"] = process.rank;
}

Json ToJson(const std::vector<SourceFrame>& frames) {
  Json all = Json::array();
  for (const SourceFrame& frame : frames) {
    Json one;
    one["function"] = frame.function;
    if (!frame.file.empty()) one["file"] = frame.file;
    if (frame.line > 0) one["line"] = frame.line;
    if (frame.language != Language::kNative) one["language"] = NameOf(kLanguage, frame.language);
    if (!frame.module.empty()) one["module"] = frame.module;
    one["vaddr"] = Hex(frame.vaddr);
    if (frame.inlined) one["inlined"] = true;
    one["detail"] = NameOf(kDetail, frame.detail);
    if (frame.symbol_offset != 0) one["offset"] = frame.symbol_offset;
    if (!frame.note.empty()) one["note"] = frame.note;
    all.push_back(std::move(one));
  }
  return all;
}

struct ToJsonLine {
  Json line = {{"v", journal::kVersion}};

  void operator()(const journal::Run& run) {
    line["event"] = "run";
    line["at_ns"] = run.at_ns;
    line["version"] = run.version;
    line["command"] = run.command;
    line["host"] = run.host;
  }
  void operator()(const journal::ProcessSeen& seen) {
    line["event"] = "process-seen";
    line["at_ns"] = seen.at_ns;
    Put(&line, seen.process);
    line["ring"] = seen.ring_name;
  }
  void operator()(const journal::ProcessEnded& ended) {
    line["event"] = "process-end";
    line["at_ns"] = ended.end.at_ns;
    Put(&line, ended.process);
    line["how"] = NameOf(kHow, ended.end.how);
    line["status"] = ended.end.status;
    if (ended.end.oom_killed) line["oom_killed"] = true;
    if (ended.end.by_launcher) line["by_launcher"] = true;
    if (ended.end.by_rollcall) line["by_rollcall"] = true;
    if (ended.end.order != kNoIndex) line["order"] = ended.end.order;
  }
  void operator()(const journal::Quiet& quiet) {
    line["event"] = "quiet";
    line["at_ns"] = quiet.at_ns;
    Put(&line, quiet.process);
    line["activity"] = quiet.activity;
    if (!quiet.polling.empty()) line["polling"] = quiet.polling;
    for (const journal::TightPoll& poll : quiet.tight) {
      line["tight"].push_back({{"tid", poll.tid}, {"since_ns", poll.since_ns}});
    }
    if (quiet.other_threads != OtherThreads::kUnseen) {
      line["other_threads"] = OtherThreadsName(quiet.other_threads);
    }
  }
  void operator()(const journal::StackSeen& seen) {
    line["event"] = "stack";
    line["at_ns"] = seen.at_ns;
    Put(&line, seen.process);
    line["tid"] = seen.stack.tid;
    line["thread"] = seen.stack.thread_name;
    line["state"] = seen.stack.state;
    if (seen.stack.cpu_ns_per_s >= 0) line["cpu_ns_per_s"] = seen.stack.cpu_ns_per_s;
    if (!seen.stack.unreadable.empty()) line["unreadable"] = seen.stack.unreadable;
    line["frames"] = ToJson(seen.stack.frames);
  }
  void operator()(const journal::OutsideWaitSeen& seen) {
    line["event"] = "outside-wait";
    line["at_ns"] = seen.at_ns;
    Put(&line, seen.process);
    line["activity"] = seen.activity;
    if (!seen.wait) return;
    line["tid"] = seen.wait->tid;
    line["for"] = OutsideWaitName(seen.wait->what);
  }
  void operator()(const journal::Symbols& symbols) {
    line["event"] = "symbols";
    line["module"] = symbols.module_path;
    line["build_id"] = symbols.build_id;
    line["vaddr"] = Hex(symbols.vaddr);
    line["frames"] = ToJson(symbols.frames);
  }
  void operator()(const journal::Verdict& verdict) {
    line["event"] = "verdict";
    line["at_ns"] = verdict.at_ns;
    Put(&line, verdict.process);
    line["activity"] = verdict.activity;
  }
  void operator()(const journal::Clock& clock) {
    line["event"] = "clock";
    line["at_ns"] = clock.at_ns;
    line["host"] = clock.host;
    line["offset_ns"] = clock.clock.offset_ns;
    line["error_ns"] = clock.clock.error_ns;
  }
  void operator()(const journal::JobEnd& end) {
    line["event"] = "job-end";
    line["at_ns"] = end.at_ns;
    line["exit_code"] = end.exit_code;
    line["by_rollcall"] = end.by_rollcall;
  }
  void operator()(const journal::StopRequest& request) {
    line["event"] = "stop-request";
    line["at_ns"] = request.at_ns;
  }
  void operator()(const journal::Absent& absent) {
    line["event"] = "absent";
    line["host"] = absent.host;
    line["run_directory"] = absent.run_directory;
    line["why"] = absent.why;
  }
  void operator()(const journal::Source& source) {
    line["event"] = "source";
    line["file"] = source.source.file;
    line["blocks"] = Json::array();
    for (const SourceBlock& block : source.source.blocks) {
      Json one;
      one["kind"] = block.kind == SourceBlock::Kind::kLoop ? "loop" : "arm";
      one["first"] = block.first;
      one["last"] = block.last;
      if (block.branch != 0) one["branch"] = block.branch;
      if (!block.subject.empty()) {
        one["subject"] = block.subject;
        one["value"] = block.value;
        one["equal"] = block.equal;
      }
      line["blocks"].push_back(std::move(one));
    }
    for (const SourceFlow& flow : source.source.flow) {
      Json one;
      one["kind"] = SourceFlowName(flow.kind);
      one["first"] = flow.first;
      one["last"] = flow.last;
      if (flow.group != 0) one["group"] = flow.group;
      if (!flow.condition.empty()) one["condition"] = flow.condition;
      line["flow"].push_back(std::move(one));
    }
  }
};

// --- reading: a field of the wrong type counts as missing ----------------------------------------

std::string Text(const Json& from, const char* key, size_t max_bytes = kMaxText) {
  const auto it = from.find(key);
  if (it == from.end() || !it->is_string()) return {};
  return CleanText(it->get_ref<const std::string&>(), max_bytes);
}

template <typename T>
T Number(const Json& from, const char* key, T otherwise) {
  const auto it = from.find(key);
  if (it == from.end() || !it->is_number_integer()) return otherwise;
  if (it->is_number_unsigned()) {
    const auto value = it->get<uint64_t>();
    return value <= static_cast<uint64_t>(std::numeric_limits<T>::max()) ? static_cast<T>(value)
                                                                         : otherwise;
  }
  const auto value = it->get<int64_t>();
  if (!std::is_signed_v<T>) return otherwise;  // it is negative
  return value >= static_cast<int64_t>(std::numeric_limits<T>::min()) ? static_cast<T>(value)
                                                                      : otherwise;
}

bool Flag(const Json& from, const char* key) {
  const auto it = from.find(key);
  return it != from.end() && it->is_boolean() && it->get<bool>();
}

uint64_t HexNumber(const Json& from, const char* key) {
  const std::string text = Text(from, key, 32);
  uint64_t value = 0;
  if (text.size() < 3 || text.compare(0, 2, "0x") != 0) return 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, value, 16);
  return error == std::errc() && stop == end ? value : 0;
}

journal::ProcessName ReadProcess(const Json& line) {
  return {HexNumber(line, "id"), Text(line, "host", 256), Number<uint32_t>(line, "pid", 0),
          Number<int32_t>(line, "rank", -1)};
}

std::vector<SourceFrame> ReadFrames(const Json& line) {
  std::vector<SourceFrame> frames;
  const auto all = line.find("frames");
  if (all == line.end() || !all->is_array()) return frames;
  for (const Json& from : *all) {
    if (!from.is_object() || frames.size() >= kMaxFrames) continue;
    SourceFrame frame;
    frame.function = Text(from, "function");
    frame.file = Text(from, "file");
    frame.line = Number<int>(from, "line", 0);
    frame.language = ValueOf(kLanguage, Text(from, "language", 16), Language::kNative);
    frame.module = Text(from, "module");
    frame.vaddr = HexNumber(from, "vaddr");
    frame.inlined = Flag(from, "inlined");
    frame.detail = ValueOf(kDetail, Text(from, "detail", 16), FrameDetail::kModule);
    frame.symbol_offset = Number<uint64_t>(from, "offset", 0);
    frame.note = Text(from, "note");
    frames.push_back(std::move(frame));
  }
  return frames;
}

JournalEvent ReadRun(const Json& line) {
  journal::Run run;
  run.version = Text(line, "version", 64);
  if (const auto command = line.find("command"); command != line.end() && command->is_array()) {
    for (const Json& word : *command) {
      if (word.is_string()) {
        run.command.push_back(CleanText(word.get_ref<const std::string&>(), kMaxText));
      }
    }
  }
  run.host = Text(line, "host", 256);
  run.at_ns = Number<int64_t>(line, "at_ns", kNoTime);
  return run;
}

JournalEvent ReadSeen(const Json& line) {
  return journal::ProcessSeen{ReadProcess(line), Text(line, "ring", 256),
                              Number<int64_t>(line, "at_ns", kNoTime)};
}

JournalEvent ReadEnd(const Json& line) {
  journal::ProcessEnded ended;
  ended.process = ReadProcess(line);
  ended.end.how = ValueOf(kHow, Text(line, "how", 32), ProcessEnd::How::kUnknown);
  ended.end.status = Number<int>(line, "status", 0);
  ended.end.oom_killed = Flag(line, "oom_killed");
  ended.end.by_launcher = Flag(line, "by_launcher");
  ended.end.by_rollcall = Flag(line, "by_rollcall");
  ended.end.at_ns = Number<int64_t>(line, "at_ns", kNoTime);
  ended.end.order = Number<uint32_t>(line, "order", kNoIndex);
  return ended;
}

JournalEvent ReadQuiet(const Json& line) {
  journal::Quiet quiet{.process = ReadProcess(line),
                       .activity = Number<uint64_t>(line, "activity", 0),
                       .at_ns = Number<int64_t>(line, "at_ns", kNoTime)};
  if (const auto polling = line.find("polling"); polling != line.end() && polling->is_array()) {
    for (const Json& tid : *polling) {
      if (tid.is_number_unsigned() && tid.get<uint64_t>() <= UINT32_MAX) {
        quiet.polling.push_back(tid.get<uint32_t>());
      }
    }
  }
  if (const auto tight = line.find("tight"); tight != line.end() && tight->is_array()) {
    for (const Json& poll : *tight) {
      if (!poll.is_object()) continue;
      const auto since_ns = Number<int64_t>(poll, "since_ns", kNoTime);
      if (since_ns < 0) continue;
      quiet.tight.push_back({.tid = Number<uint32_t>(poll, "tid", 0), .since_ns = since_ns});
    }
  }
  quiet.other_threads =
      FindOtherThreads(Text(line, "other_threads", 16)).value_or(OtherThreads::kUnseen);
  return quiet;
}

JournalEvent ReadStack(const Json& line) {
  journal::StackSeen seen;
  seen.process = ReadProcess(line);
  seen.stack.tid = Number<uint32_t>(line, "tid", 0);
  seen.stack.thread_name = Text(line, "thread", 64);
  seen.stack.frames = ReadFrames(line);
  seen.stack.state = Text(line, "state", 256);
  seen.stack.cpu_ns_per_s = Number<int64_t>(line, "cpu_ns_per_s", -1);
  seen.stack.unreadable = Text(line, "unreadable", 512);
  seen.at_ns = Number<int64_t>(line, "at_ns", kNoTime);
  return seen;
}

JournalEvent ReadOutsideWait(const Json& line) {
  journal::OutsideWaitSeen seen{.process = ReadProcess(line),
                                .activity = Number<uint64_t>(line, "activity", 0),
                                .wait = {},
                                .at_ns = Number<int64_t>(line, "at_ns", kNoTime)};
  if (const auto what = FindOutsideWait(Text(line, "for", 16))) {
    seen.wait = OutsideWait{.tid = Number<uint32_t>(line, "tid", 0), .what = *what};
  }
  return seen;
}

JournalEvent ReadSymbols(const Json& line) {
  return journal::Symbols{Text(line, "module"), Text(line, "build_id", 128),
                          HexNumber(line, "vaddr"), ReadFrames(line)};
}

JournalEvent ReadVerdict(const Json& line) {
  return journal::Verdict{ReadProcess(line), Number<uint64_t>(line, "activity", 0),
                          Number<int64_t>(line, "at_ns", kNoTime)};
}

JournalEvent ReadClock(const Json& line) {
  return journal::Clock{Text(line, "host", 256),
                        {.offset_ns = Number<int64_t>(line, "offset_ns", 0),
                         .error_ns = Number<int64_t>(line, "error_ns", -1)},
                        Number<int64_t>(line, "at_ns", kNoTime)};
}

JournalEvent ReadJobEnd(const Json& line) {
  return journal::JobEnd{Number<int>(line, "exit_code", 0), Flag(line, "by_rollcall"),
                         Number<int64_t>(line, "at_ns", kNoTime)};
}

JournalEvent ReadStopRequest(const Json& line) {
  return journal::StopRequest{Number<int64_t>(line, "at_ns", kNoTime)};
}

JournalEvent ReadAbsent(const Json& line) {
  return journal::Absent{Text(line, "host", 256), Text(line, "run_directory"),
                         Text(line, "why", 512)};
}

JournalEvent ReadSource(const Json& line) {
  journal::Source source;
  source.source.file = Text(line, "file");
  const auto list = [&line](const char* key) -> const Json& {
    static const Json kNone = Json::array();
    const auto found = line.find(key);
    return found != line.end() && found->is_array() ? *found : kNone;
  };
  for (const Json& one : list("blocks")) {
    SourceBlock block;
    block.kind =
        Text(one, "kind", 16) == "arm" ? SourceBlock::Kind::kArm : SourceBlock::Kind::kLoop;
    block.first = Number<int>(one, "first", 0);
    block.last = Number<int>(one, "last", 0);
    block.branch = Number<uint32_t>(one, "branch", 0);
    block.subject = Text(one, "subject", 256);
    block.value = Text(one, "value", 256);
    block.equal = !one.contains("equal") || Flag(one, "equal");
    source.source.blocks.push_back(std::move(block));
  }
  for (const Json& one : list("flow")) {
    const std::optional<SourceFlow::Kind> kind = FindSourceFlow(Text(one, "kind", 16));
    if (!kind) continue;  // of a newer version
    source.source.flow.push_back({.kind = *kind,
                                  .first = Number<int>(one, "first", 0),
                                  .last = Number<int>(one, "last", 0),
                                  .group = Number<uint32_t>(one, "group", 0),
                                  .condition = Text(one, "condition", 256)});
  }
  return source;
}

constexpr std::pair<std::string_view, JournalEvent (*)(const Json&)> kReaders[] = {
    {"run", ReadRun},
    {"process-seen", ReadSeen},
    {"process-end", ReadEnd},
    {"quiet", ReadQuiet},
    {"stack", ReadStack},
    {"symbols", ReadSymbols},
    {"job-end", ReadJobEnd},
    {"verdict", ReadVerdict},
    {"absent", ReadAbsent},
    {"source", ReadSource},
    {"clock", ReadClock},
    {"stop-request", ReadStopRequest},
    {"outside-wait", ReadOutsideWait},
};

}  // namespace

std::string FormatJournalLine(const JournalEvent& event) {
  ToJsonLine to;
  std::visit([&](const auto& one) { to(one); }, event);
  return to.line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Problem ProblemOf(const journal::Absent& absent) {
  return {ProblemCode::kMissingNode,
          fmt::format("traces of this node are missing: {}; they are in {} there", absent.why,
                      absent.run_directory),
          absent.host};
}

std::optional<JournalEvent> ParseJournalLine(std::string_view text, std::string* error) {
  error->clear();
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const int version = line.is_object() ? Number<int>(line, "v", 0) : 0;
  if (version <= 0) {
    *error = "not a line of a journal";
    return std::nullopt;
  }
  if (version != journal::kVersion) return std::nullopt;
  const std::string name = Text(line, "event", 64);
  for (const auto& [known, read] : kReaders) {
    if (name == known) return read(line);
  }
  return std::nullopt;
}

}  // namespace rollcall
