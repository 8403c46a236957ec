#include "collector/import/logs/log_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <string_view>
#include <utility>

#include "collector/base/text.h"
#include "collector/import/logs/log_operations.h"
#include "collector/import/trace_builder.h"
#include "collector/model/signal_name.h"
#include "proto/datatypes.h"
#include "proto/operations.h"

namespace rollcall::logs {
namespace {

constexpr size_t kMaxWaits = 64;
constexpr size_t kMaxQuotes = 6;
constexpr int64_t kMaxRanksOfRas = 1 << 13;
constexpr size_t kMaxNodes = 1 << 12;

bool StartsWithAny(std::string_view text, std::initializer_list<std::string_view> begins) {
  return std::any_of(begins.begin(), begins.end(),
                     [text](std::string_view begin) { return text.starts_with(begin); });
}
bool ContainsAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

// An exception that only says that another rank is gone or does not come, or that the job was
// ended.
bool IsConsequence(const LogFact& exception) {
  const std::string_view type = exception.function;
  const std::string_view name = type.substr(type.rfind('.') + 1);
  if (StartsWithAny(name,
                    {"DistBackendError", "DistNetworkError", "DistStoreError", "KeyboardInterrupt",
                     "SystemExit", "SignalException", "SIGTERMException", "ChildFailedError",
                     "ProcessRaisedException", "ProcessExitedException", "RayTaskError",
                     "RayActorError", "BrokenPipeError", "ConnectionResetError"})) {
    return true;
  }
  return ContainsAny(
      exception.message,
      {"Watchdog caught", "NCCL communicator was aborted", "Connection closed by peer",
       "Connection reset by peer", "Broken pipe", "Timed out waiting",
       "failed to recv, got 0 bytes", "wait timeout after", "Socket Timeout", "ncclRemoteError",
       "remote process exited", "NCCL error", "but received errors while waiting",
       "failed to pass monitoredBarrier", "Detected mismatch between collectives",
       "got signal:", "timed out in monitoredBarrier", "Tried to allocate more than 1EB"});
}

DatatypeInfo NcclDatatype(int64_t number) {
  constexpr int64_t kFirst = static_cast<int64_t>(BasicType::kncclInt8);
  DatatypeInfo info;
  const bool may_be = number >= 0 && number < 20;
  const BasicTypeInfo basic =
      FindBasicType(static_cast<uint16_t>(may_be ? kFirst + number : kFirst + 20));
  info.name = basic.number == 0 ? fmt::format("NCCL type {}", number) : std::string(basic.name);
  info.bytes = basic.bytes;
  info.signature = static_cast<uint64_t>(number) + 2;
  return info;
}

constexpr std::string_view kDefaultGroup = "default_pg";

}  // namespace

LogTraceBuilder::LogTraceBuilder() : interner_(&trace_) {}

void LogTraceBuilder::BeginFile(const std::string& path, const std::string& directory,
                                const std::string& name) {
  // The last number of the name; or the name of the directory, in which torchrun has one file each.
  const auto number_of = [](const std::string& text, std::string* prefix) {
    const size_t end = text.find_last_of("0123456789");
    if (end == std::string::npos) return -1;
    const size_t before = text.find_last_not_of("0123456789", end);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    if (end + 1 - begin > 7) return -1;
    *prefix = text.substr(0, begin) + "*" + text.substr(end + 1);
    return std::stoi(text.substr(begin, end + 1 - begin));
  };
  File file{path, {}, -1};
  std::string prefix;
  std::string stem = name;
  for (const char* suffix : {".gz", ".xz", ".zst", ".bz2", ".log", ".txt", ".out", ".err"}) {
    if (stem.ends_with(suffix)) stem.erase(stem.size() - std::string_view(suffix).size());
  }
  file.number = number_of(stem, &prefix);
  file.series = directory + "/" + prefix;
  if (file.number < 0) {
    const size_t slash = directory.find_last_of('/') + 1;  // npos + 1 is 0
    file.number = number_of(directory.substr(slash), &prefix);
    file.series = directory.substr(0, slash) + prefix + "/" + name;
  }
  files_.push_back(std::move(file));
  in_worker_ = false;
}

LogTraceBuilder::Writer* LogTraceBuilder::WriterOf(const LogFact& fact) {
  const auto file = static_cast<uint32_t>(files_.size() - 1);
  const bool in_default = fact.group.empty() || fact.group == kDefaultGroup;
  int32_t rank = fact.rank;
  if (rank < 0 && fact.local_rank < 0 && in_default && fact.says == Says::kWaits) {
    rank = fact.group_rank;
  }
  std::string key;
  if (rank >= 0) {
    if (rank >= static_cast<int32_t>(kMaxRanks)) return nullptr;
    key = fmt::format("r{}", rank);
  } else if (fact.local_rank >= 0) {
    key = fmt::format("f{} l{} {}", file, fact.local_rank, fact.host);
  } else if (fact.pid >= 0) {
    const auto known = pids_.find({fact.pid, fact.host});
    key = known != pids_.end() ? known->second : fmt::format("p{} {}", fact.pid, fact.host);
  } else {
    key = fmt::format("f{} {}", file, fact.host);
  }
  if (writers_.size() >= kMaxWriters && !writers_.contains(key)) return nullptr;
  const auto [entry, added] = writers_.try_emplace(key);
  Writer& writer = entry->second;
  writer.file = file;
  if (rank >= 0) writer.rank = rank;
  if (added) writer.by_group = rank >= 0 && fact.rank < 0;
  writer.by_group &= fact.rank < 0;
  writer.weak &= rank < 0 || fact.weak;
  writer.prefixed |= fact.rank >= 0 && fact.says == Says::kWaits;
  if (fact.local_rank >= 0) writer.local_rank = fact.local_rank;
  if (!fact.host.empty()) writer.host = fact.host;
  if (fact.device >= 0) writer.device = fact.device;
  if (fact.pid > 0) {
    writer.pid = fact.pid;
    pids_[{fact.pid, fact.host}] = key;
  }
  return &writer;
}

LogTraceBuilder::Writer* LogTraceBuilder::WriterOfRank(int32_t rank) {
  LogFact fact;
  fact.rank = rank;
  return rank < 0 ? nullptr : WriterOf(fact);
}

// A number without a host is that of the only process that has it.
LogTraceBuilder::Writer* LogTraceBuilder::WriterOfPid(int64_t pid, const std::string& host) {
  Writer* found = nullptr;
  for (auto it = pids_.lower_bound({pid, ""}); it != pids_.end() && it->first.first == pid; ++it) {
    if (!host.empty() && !it->first.second.empty() && it->first.second != host) continue;
    const auto writer = writers_.find(it->second);
    if (writer == writers_.end() || &writer->second == found) continue;
    if (found != nullptr) return nullptr;
    found = &writer->second;
  }
  return found;
}

bool LogTraceBuilder::Moment::IsBefore(const Moment& other) const {
  if (order < 0 || other.order < 0) return false;
  if (ns != kNoTime && other.ns != kNoTime) return ns < other.ns;
  return file == other.file && order < other.order;
}

LogTraceBuilder::Moment LogTraceBuilder::Now(const LogFact& fact) {
  return {static_cast<uint32_t>(files_.size() - 1), order_++, fact.time_ns};
}

void LogTraceBuilder::NoteWait(const LogFact& fact) {
  const Moment now = Now(fact);
  if (first_wait_.order < 0 || now.IsBefore(first_wait_)) first_wait_ = now;
}

// What a rank prints after an exception or an end shows that it went on.
void LogTraceBuilder::NotePlainLine(Writer* writer, const LogFact& fact) {
  File& file = files_.back();
  ++file.lines;
  file.weak += fact.weak ? 1 : 0;
  last_plain_ns_ = std::max(last_plain_ns_, fact.time_ns);
  const bool known = fact.rank >= 0 || fact.local_rank >= 0 || fact.pid >= 0;
  if (!known && last_end_ns_ != kNoTime) ++lines_after_end_;
  if (writer == nullptr) return;
  writer->plain_ns = std::max(writer->plain_ns, fact.time_ns);
  if (writer->ended.order >= 0) ++writer->lines_after_end;
  const bool later = writer->exception && writer->exception_file == files_.size() - 1 &&
                     fact.line > writer->exception_line;
  if (later) ++writer->lines_after_exception;
}

void LogTraceBuilder::AddQuote(Writer* writer, const LogFact& fact, const std::string& group,
                               int64_t number) const {
  if (writer->quotes.size() >= kMaxQuotes) return;
  for (const Quote& quote : writer->quotes) {
    if (quote.group == group && number > 0 && quote.number == static_cast<uint64_t>(number)) return;
  }
  writer->quotes.push_back(QuoteOf(fact, group, number));
}

LogTraceBuilder::Quote LogTraceBuilder::QuoteOf(const LogFact& fact, const std::string& group,
                                                int64_t number) const {
  return {static_cast<uint32_t>(files_.size() - 1), fact.line, fact.text, group,
          static_cast<uint64_t>(std::max<int64_t>(number, 0))};
}

// What was before is of another job: its numbers begin again.
void LogTraceBuilder::Restart() {
  writers_.clear();
  pids_.clear();
  statements_.clear();
  store_.reset();
  ras_.clear();
  node_facts_.clear();
  worker_ = error_ = abort_ = {};
  in_worker_ = out_of_memory_ = false;
  first_wait_ = job_ended_ = {};
  last_end_ns_ = kNoTime;
  lines_after_end_ = 0;
  calls_kept_ = 0;
}

void LogTraceBuilder::AddStatement(const LogFact& fact, std::string statement) {
  constexpr size_t kMaxStatements = 8;
  for (const LogLine& line : statements_) {
    if (line.statement == statement) return;
  }
  if (statements_.size() >= kMaxStatements) return;
  statements_.push_back({.file = files_.back().path,
                         .line = fact.line,
                         .text = fact.text,
                         .statement = std::move(statement)});
}

void LogTraceBuilder::Add(const LogFact& fact) {
  if (fact.time_ns != kNoTime && !fact.yearless) {
    const time_t seconds = fact.time_ns / 1'000'000'000;
    std::tm parts = {};
    gmtime_r(&seconds, &parts);
    std::tm year = {};
    year.tm_mday = 1;
    year.tm_year = parts.tm_year;
    constexpr int64_t kYear2000 = 946'684'800;
    year_ns_ = (timegm(&year) - kYear2000) * 1'000'000'000;
  } else if (fact.time_ns != kNoTime && year_ns_ != 0) {
    LogFact dated = fact;
    dated.time_ns += year_ns_;
    dated.yearless = false;
    return Add(dated);
  }
  last_ns_ = std::max(last_ns_, fact.time_ns);
  if (fact.size > 0 && fact.says == Says::kPresent) {
    ++sizes_[std::min<int64_t>(fact.size, kMaxRanks)];
  }
  const auto each = [&](auto&& visit) {
    if (fact.ranks.empty()) return visit(WriterOf(fact));
    for (const int32_t rank : fact.ranks) visit(WriterOfRank(rank));
  };
  switch (fact.says) {
    case Says::kWaits:
    case Says::kCounts:
      each([&](Writer* writer) { AddWait(writer, fact); });
      break;
    case Says::kLacks:
      AddLacking(fact);
      break;
    case Says::kNeedsId:
      NoteWait(fact);
      if (Writer* writer = WriterOf(fact)) {
        writer->lacks_id_of = fact.ranks.empty() ? 0 : fact.ranks.front();
        AddQuote(writer, fact, "", 0);
      }
      break;
    case Says::kStack: {
      Writer* writer = WriterOf(fact);
      if (writer == nullptr) break;
      for (auto& [name, position] : writer->groups) {
        for (auto& [number, wait] : position.waits) {
          if (wait.frames.empty()) wait.frames = fact.frames;
        }
      }
      break;
    }
    case Says::kMember:
    case Says::kCall:
      AddCall(WriterOf(fact), fact);
      break;
    case Says::kException:
      AddException(WriterOf(fact), fact);
      break;
    case Says::kEnded:
    case Says::kStopped:
      each([&](Writer* writer) { AddEnd(writer, fact); });
      break;
    case Says::kAborted:
    case Says::kErrorRank:
    case Says::kErrorClass:
    case Says::kErrorFatal:
    case Says::kMpiError:
      AddMpiEnd(fact);
      break;
    case Says::kWorker:
      AddWorker(fact);
      break;
    case Says::kOutOfMemory:
      out_of_memory_ = true;
      if (Writer* writer = WriterOfPid(fact.pid, fact.host)) {
        AddEnd(writer, fact);
        writer->end.oom_killed = true;
      }
      break;
    case Says::kJobEnded:
      if (job_ended_.order < 0 && !fact.message.starts_with("NODE FAILURE")) job_ended_ = Now(fact);
      break;
    case Says::kNode:
      if (node_facts_.size() < kMaxNodes) node_facts_.emplace(fact.host, fact);
      AddStatement(
          fact,
          fmt::format("the node {} failed; the log does not say which ranks ran there", fact.host));
      break;
    case Says::kLost:
      AddStatement(fact,
                   fmt::format("a process was ended by {}; the log does not say which rank it was",
                               SignalName(fact.signal)));
      break;
    case Says::kRestarted:
      Restart();
      break;
    case Says::kRas:
      AddRas(fact);
      break;
    case Says::kStatement:
      NoteWait(fact);
      AddStatement(fact, fmt::format("NCCL says: {}", fact.message));
      break;
    case Says::kStore:
      store_ = fact;
      size_ = std::max(size_, std::min<int64_t>(fact.size, kMaxRanks));
      [[fallthrough]];
    case Says::kGaveUp:
      NoteWait(fact);
      AddStatement(fact, "operations timed out; the log does not say which rank did not come");
      break;
    case Says::kFolded:
      folded_ = true;
      break;
    case Says::kDeviceError: {
      LogFact exception = fact;
      exception.function = "CUDA error";
      AddException(WriterOf(fact), exception);
      break;
    }
    case Says::kDevice:
      if (Writer* writer = WriterOfPid(fact.pid, fact.host)) AddQuote(writer, fact, "", 0);
      break;
    case Says::kIgnored:
    case Says::kTraceback:
    case Says::kFrame:
      break;
    case Says::kPresent:
      NotePlainLine(WriterOf(fact), fact);
      break;
  }
}

void LogTraceBuilder::AddWait(Writer* writer, const LogFact& fact) {
  if (writer == nullptr) return;
  // Messages have numbers of their own.
  const std::string& operation = fact.operation;
  if (StartsWithAny(operation, {"SEND", "RECV"})) return;
  std::string group = fact.group.empty() ? std::string(kDefaultGroup) : fact.group;
  if (fact.group.empty() && fact.rank >= 0 && fact.group_rank >= 0 &&
      fact.rank != fact.group_rank) {
    group = fmt::format("a group of rank {}", fact.rank);  // its name is not stated
  }
  if (!writer->groups.contains(group) && writer->groups.size() >= kMaxGroups) return;
  Position& position = writer->groups[group];
  NoteWait(fact);
  if (fact.group_rank >= 0) position.group_rank = fact.group_rank;
  position.enqueued = std::max(position.enqueued, fact.enqueued);
  position.completed = std::max(position.completed, fact.completed);
  int64_t number = fact.number;
  if (fact.says == Says::kWaits && number < 0) number = 1;  // before PyTorch 2.0
  if (fact.says == Says::kWaits &&
      (position.waits.contains(number) || position.waits.size() < kMaxWaits)) {
    Wait& wait = position.waits[number];
    wait.number = number;
    if (!operation.empty()) {
      wait.operation = operation;
      wait.send_count = fact.send_count;
      wait.recv_count = fact.recv_count;
    }
    if (fact.time_ns != kNoTime && fact.duration_ms >= 0 && fact.duration_ms < int64_t{1} << 40) {
      wait.since_ns = fact.time_ns - fact.duration_ms * 1'000'000;
    }
  }
  AddQuote(writer, fact, group, fact.says == Says::kWaits ? number : fact.enqueued);
}

void LogTraceBuilder::AddRas(const LogFact& fact) {
  constexpr size_t kMaxAnswers = 1000;
  constexpr size_t kMaxClasses = 1000;
  if (!fact.operation.empty()) {
    if (ras_.size() >= kMaxAnswers) ras_.erase(ras_.begin());
    ras_.push_back({fact.operation, {}});
    return;
  }
  if (ras_.empty() || ras_.back().classes.size() >= kMaxClasses) return;
  std::vector<RasClass>& classes = ras_.back().classes;
  if (fact.number >= 0) {
    RasClass made;
    made.number = fact.number;
    made.many = fact.many >= 0 ? fact.many : static_cast<int64_t>(fact.ranks.size());
    made.ranks = fact.ranks;
    made.quote = QuoteOf(fact, "", 0);
    classes.push_back(std::move(made));
  } else if (!classes.empty() && !fact.ranks.empty()) {
    std::vector<int32_t>& ranks = classes.back().ranks;
    if (static_cast<int64_t>(ranks.size()) < classes.back().many)
      ranks.push_back(fact.ranks.front());
  }
}

// Counts differ by one now and then in a job that moves: they are positions only if they are the
// same in two answers. Of two classes, the one whose ranks are listed may be ahead or behind.
void LogTraceBuilder::TakeRas() {
  if (ras_.size() < 2) return;
  const RasAnswer& last = ras_.back();
  const RasAnswer& before = ras_[ras_.size() - 2];
  if (last.operation != before.operation || last.classes != before.classes) return;
  if (last.classes.size() != 2) return;
  const bool first_behind = last.classes[0].number < last.classes[1].number;
  const RasClass& behind = last.classes[first_behind ? 0 : 1];
  const RasClass& ahead = last.classes[first_behind ? 1 : 0];
  if (std::max(behind.many, ahead.many) > kMaxRanksOfRas) return;
  const int64_t size = behind.many + ahead.many;
  const bool listed = static_cast<int64_t>(behind.ranks.size()) == behind.many;
  if (!listed || behind.many * 2 > size || size > kMaxRanksOfRas) {
    statements_.push_back(
        {.file = files_[ahead.quote.file].path,
         .line = ahead.quote.line,
         .text = ahead.quote.text,
         .statement =
             fmt::format("RAS reports twice that {} ranks launched {} operations and {} ranks {}",
                         ahead.many, ahead.number, behind.many, behind.number)});
    return;
  }
  size_ = std::max(size_, size);
  const std::string group = "the communicator that RAS reports";
  for (int32_t rank = 0; rank < size; ++rank) {
    Writer* writer = WriterOfRank(rank);
    if (writer == nullptr) continue;
    const bool is_behind =
        std::find(behind.ranks.begin(), behind.ranks.end(), rank) != behind.ranks.end();
    Position& position = writer->groups[group];
    position.group_rank = rank;
    position.completed = behind.number;
    position.enqueued = is_behind ? behind.number : ahead.number;
    Quote quote = is_behind ? behind.quote : ahead.quote;
    quote.group = group;
    if (!is_behind) {
      Wait& wait = position.waits[behind.number + 1];
      wait.number = behind.number + 1;
      wait.operation = last.operation;
    }
    writer->quotes.push_back(std::move(quote));
  }
}

void LogTraceBuilder::AddLacking(const LogFact& fact) {
  LogFact waits = fact;
  waits.says = Says::kWaits;
  waits.operation = "BARRIER";
  waits.number = 1;
  waits.ranks.clear();
  waits.group = "monitored_barrier";
  if (waits.rank < 0) waits.rank = std::max(fact.group_rank, 0);
  AddWait(WriterOf(waits), waits);
  for (const int32_t rank : fact.ranks) {
    Writer* writer = WriterOfRank(rank);
    if (writer == nullptr) continue;
    Position& position = writer->groups[waits.group];
    position.group_rank = rank;
    position.enqueued = position.completed = 0;
    AddQuote(writer, fact, waits.group, 0);
  }
}

LogTraceBuilder::Calls* LogTraceBuilder::CallsOf(Writer* writer, const LogFact& fact) const {
  std::vector<Calls>& all = writer->communicators;
  const auto known = std::find_if(
      all.rbegin(), all.rend(), [&](const Calls& calls) { return calls.address == fact.address; });
  if (known != all.rend()) return &*known;
  if (all.size() >= kMaxGroups) return nullptr;
  all.emplace_back().address = fact.address;
  return &all.back();
}

void LogTraceBuilder::AddCall(Writer* writer, const LogFact& fact) {
  if (writer == nullptr) return;
  if (fact.says == Says::kMember) {
    // An address may be used again, by another communicator.
    Calls* calls = CallsOf(writer, fact);
    if (calls != nullptr && calls->rank >= 0 && calls->made > 0 &&
        writer->communicators.size() < kMaxGroups) {
      calls->address.clear();
      writer->communicators.emplace_back().address = fact.address;
      calls = &writer->communicators.back();
    }
    if (calls == nullptr) return;
    calls->rank = fact.group_rank;
    calls->size = std::min<int64_t>(fact.size, kMaxRanks);
    calls->id = fact.group;
    return;
  }
  const Operation operation = NcclOperation(fact.operation);
  if (operation == Operation::kNone ||
      FindOperation(static_cast<uint16_t>(operation)).kind != Kind::kNonblocking) {
    return;  // a message
  }
  Calls* calls = CallsOf(writer, fact);
  if (calls == nullptr) return;
  if (calls->size < 0 && fact.size > 0) calls->size = std::min<int64_t>(fact.size, kMaxRanks);
  if (calls->made == 0) calls->first_count = fact.number;
  calls->counts_rise &= fact.number > calls->last_count;
  calls->last_count = fact.number;
  Arguments arguments;
  arguments.operation = operation;
  arguments.send_count = static_cast<uint64_t>(std::max<int64_t>(fact.send_count, 0));
  arguments.send_datatype = interner_.Datatype(NcclDatatype(fact.datatype));
  const Rule rule = FindOperation(static_cast<uint16_t>(operation)).rule;
  if (rule == Rule::kBcast || rule == Rule::kReduce) {
    arguments.root_or_peer = static_cast<int32_t>(std::clamp<int64_t>(fact.root, -1, kMaxRanks));
  }
  const bool reduces = operation == Operation::kNcclAllReduce ||
                       operation == Operation::kNcclReduceScatter ||
                       operation == Operation::kNcclReduce;
  if (reduces && fact.reduce_op >= 0 && fact.reduce_op <= 4) {
    arguments.reduce_op =
        static_cast<uint16_t>(static_cast<int64_t>(ReduceOp::kNcclSum) + fact.reduce_op);
  }
  Event event;
  event.arguments = interner_.Arguments(arguments);
  event.sequence = ++calls->made;
  event.start_ns = fact.time_ns;
  calls->last.push_back(event);
  calls->last_ns = std::max(calls->last_ns, fact.time_ns);
  calls->quote = QuoteOf(fact, "", static_cast<int64_t>(calls->made));
  ++calls_kept_;
  if (calls->last.size() > kMaxCalls || calls_kept_ > kMaxCallsInAll) {
    calls->last.pop_front();
    --calls_kept_;
  }
}

void LogTraceBuilder::AddEnd(Writer* writer, const LogFact& fact) {
  if (writer == nullptr || fact.exit == 0 || fact.signal == 0) return;
  ProcessEnd& end = writer->end;
  if (HasEnded(end) && !(end.by_launcher && fact.says == Says::kEnded)) return;  // the first one
  const bool stopped = fact.says == Says::kStopped || fact.signal == SIGTERM;
  end.how = fact.signal > 0  ? ProcessEnd::How::kSignaled
            : fact.exit >= 0 ? ProcessEnd::How::kExited
                             : ProcessEnd::How::kVanished;
  end.status = fact.signal > 0 ? fact.signal : std::max(fact.exit, 0);
  end.by_launcher = stopped;
  end.oom_killed |= fact.out_of_memory;
  end.parent_saw = !stopped;
  end.at_ns = fact.time_ns;
  writer->ended = Now(fact);
  writer->lines_after_end = 0;
  end.order = static_cast<uint32_t>(writer->ended.order);
  last_end_ns_ = last_ns_;
  lines_after_end_ = 0;
  if (!stopped) AddQuote(writer, fact, "", 0);
}

void LogTraceBuilder::AddException(Writer* writer, const LogFact& fact) {
  if (writer == nullptr || IsConsequence(fact)) return;
  if (writer->exception && !fact.replaces) return;  // the first one
  UncaughtException exception;
  exception.kind = ring::ExceptionKind::kPython;
  exception.type = fact.function;
  exception.message = fact.message;
  exception.at_ns = fact.time_ns;
  writer->exception = std::move(exception);
  writer->exception_frames = fact.frames;
  writer->exception_file = static_cast<uint32_t>(files_.size() - 1);
  writer->exception_line = fact.line;
  writer->lines_after_exception = 0;
  AddQuote(writer, fact, "", 0);
}

// Reports of several lines: the rank is in one, what happened to it in another.
void LogTraceBuilder::AddWorker(const LogFact& fact) {
  const auto set_end = [&](LogFact* report) {
    report->says = Says::kEnded;
    report->line = fact.line;
    report->text = fact.text;
    if (Writer* writer = WriterOf(*report)) {
      writer->end = {};  // what was said of its process before is this end
      AddEnd(writer, *report);
    }
  };
  const bool begins = fact.rank < 0 && fact.host.empty() && fact.pid < 0 && fact.exit < 0 &&
                      fact.signal < 0 && fact.time_ns == kNoTime;
  if (begins) worker_ = {};
  in_worker_ |= begins || fact.pid > 0;
  if (!in_worker_) return;
  if (fact.rank >= 0) worker_.rank = fact.rank;
  if (fact.pid > 0) worker_.pid = fact.pid;
  if (!fact.host.empty()) worker_.host = fact.host;
  if (fact.time_ns != kNoTime) worker_.time_ns = fact.time_ns;
  worker_.exit = fact.exit;
  worker_.signal = fact.signal;
  if (worker_.rank >= 0 && (fact.exit >= 0 || fact.signal > 0)) {
    set_end(&worker_);
    in_worker_ = false;
  }
}

// An abort, or an error that ends its rank: Open MPI reports it in several lines.
void LogTraceBuilder::AddMpiEnd(const LogFact& fact) {
  has_mpi_ = true;
  last_end_ns_ = last_ns_;
  if (fact.says == Says::kAborted) {
    if (fact.rank >= 0) abort_ = fact;
    Writer* writer = WriterOfRank(abort_.rank);
    if (writer == nullptr) return;
    if (writer->exit_mark == ring::ExitMark::kNone) AddQuote(writer, fact, "", 0);
    writer->exit_mark = ring::ExitMark::kMpiAbort;
    if (fact.exit >= 0) writer->exit_status = fact.exit;
    if (writer->end.order == kNoIndex) writer->end.order = static_cast<uint32_t>(order_++);
    return;
  }
  if (fact.says == Says::kMpiError) error_ = fact;
  if (fact.says == Says::kErrorRank) error_.rank = fact.rank;
  if (fact.says == Says::kErrorClass || !fact.message.empty()) error_.message = fact.message;
  // MPICH says in one line that the error ends the rank.
  const bool fatal = fact.says == Says::kErrorFatal ||
                     (fact.says == Says::kMpiError && fact.rank >= 0 && !fact.message.empty());
  Writer* writer = fatal ? WriterOfRank(error_.rank) : nullptr;
  if (writer == nullptr || error_.message.empty()) return;
  const auto known = std::find_if(
      std::begin(kErrorClasses), std::end(kErrorClasses), [this](const ErrorClassInfo& info) {
        std::string text = error_.message;
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
        return info.name == error_.message || info.text == text;
      });
  writer->ended_by = known == std::end(kErrorClasses) ? ErrorClass::kNone : known->error;
  if (!HasEnded(writer->end)) {
    writer->end.how = ProcessEnd::How::kExited;
    writer->end.status = 1;
    writer->ended = Now(fact);
    writer->end.order = static_cast<uint32_t>(writer->ended.order);
  }
  AddQuote(writer, error_, "", 0);
}

}  // namespace rollcall::logs
