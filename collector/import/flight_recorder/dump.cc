// SPDX-License-Identifier: Apache-2.0
#include "collector/import/flight_recorder/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "collector/base/text.h"
#include "collector/import/flight_recorder/json_reader.h"
#include "collector/import/flight_recorder/pickle_reader.h"
#include "proto/mix.h"

namespace rollcall::flight_recorder {
namespace {

using Type = Value::Type;

class DumpBuilder : public DumpSink {
 public:
  DumpBuilder(Dump* dump, uint64_t max_visits) : dump_(*dump), max_visits_(max_visits) {}

  void Entry(const Values& values, Value value) override {
    const std::span<const Value> pairs = values.Items(value);
    if (dump_.entries.size() >= kMaxEntries || !Spend(pairs.size())) {
      left_out_ = true;
      return;
    }
    flight_recorder::Entry entry;
    int64_t seq = -1;
    int64_t collective_seq = -1;
    bool retired = false;
    values.ForEachField(pairs, [&](Key key, Value v) {
      switch (key) {
        case Key::kFrames:
          entry.path = Path(values, v);
          break;
        case Key::kRecordId:
          entry.record_id = Number(v);
          break;
        case Key::kPgId:
          entry.pg_id = Values::IntegerOr(v, -1);
          break;
        case Key::kProcessGroup: {
          const std::span<const Value> names = values.Items(v);
          if (names.size() == 2) {
            entry.pg_name = Text(names[0]);
            entry.pg_desc = Text(names[1]);
          }
          break;
        }
        case Key::kThreadName:
          entry.thread_name = Text(v);
          break;
        case Key::kSeqId:
          seq = Values::IntegerOr(v, -1);
          break;
        case Key::kCollectiveSeqId:
          collective_seq = Values::IntegerOr(v, -1);
          break;
        case Key::kP2pSeqId:
          entry.p2p_seq = Number(v);
          break;
        case Key::kOpId:
          entry.op_id = Number(v);
          break;
        case Key::kProfilingName:
          entry.profiling_name = Text(v);
          break;
        case Key::kTimeCreated:
          entry.created_ns = Time(v);
          break;
        case Key::kInputSizes:
          Sizes(values, v, &entry.input);
          break;
        case Key::kOutputSizes:
          Sizes(values, v, &entry.output);
          break;
        case Key::kInputDtypes:
          entry.input.dtype = Common(values, v);
          break;
        case Key::kOutputDtypes:
          entry.output.dtype = Common(values, v);
          break;
        case Key::kState: {
          const std::string_view state = values.StringOr(v, "");
          entry.state = state == "completed" ? State::kCompleted
                        : state == "started" ? State::kStarted
                                             : State::kScheduled;
          break;
        }
        case Key::kTimeStarted:
          entry.started_ns = Time(v);
          break;
        case Key::kTimeCompleted:
          entry.completed_ns = Time(v);
          break;
        case Key::kRetired:
          retired = Values::IntegerOr(v, 0) != 0;
          break;
        case Key::kIsP2p:
          entry.is_p2p = Values::IntegerOr(v, 0) != 0;
          break;
        default:
          break;
      }
    });
    // An operation that the watchdog has retired is complete, whatever its last recorded state.
    if (retired) entry.state = State::kCompleted;
    if (collective_seq < 0) collective_seq = seq;
    if (collective_seq > 0) entry.collective_seq = static_cast<uint64_t>(collective_seq);
    dump_.entries.push_back(entry);
  }

  void Field(const Values& values, Key key, Value value) override {
    seen_ |= key == Key::kPgConfig || key == Key::kPgStatus;
    switch (key) {
      case Key::kVersion:
        version_ = Text(value);
        return;
      case Key::kPgConfig:
        return Groups(values, value);
      case Key::kPgStatus:
        return Statuses(values, value);
      default:
        return;
    }
  }

  void Finish(Values* values, std::optional<Problem> problem) {
    dump_.strings = std::move(values->strings);
    if (version_ != kNoIndex) dump_.version = dump_.strings.Get(version_).substr(0, 32);
    dump_.usable = seen_ || !dump_.entries.empty();
    if (!problem && dump_.groups.empty() && dump_.entries.empty()) {
      dump_.usable = false;
      problem = {ProblemCode::kForeign,
                 "not a Flight Recorder dump: it has neither pg_config nor entries", "", 0};
    }
    if (problem) {
      if (dump_.usable) {
        problem->message += fmt::format("; {} entr{} before it can be used", dump_.entries.size(),
                                        dump_.entries.size() == 1 ? "y" : "ies");
      }
      problem->source = dump_.source;
      dump_.problems.push_back(std::move(*problem));
    }
    if (left_out_) {
      dump_.problems.push_back({ProblemCode::kOverLimit,
                                "more entries, or larger ones, than a dump has: a part is left out",
                                dump_.source});
    }
    const auto in_order = [](const auto& a, const auto& b) { return a.record_id < b.record_id; };
    if (!std::ranges::is_sorted(dump_.entries, in_order)) {
      std::ranges::stable_sort(dump_.entries, in_order);
    }
  }

 private:
  static uint64_t Number(Value value) {
    return static_cast<uint64_t>(std::max<int64_t>(Values::IntegerOr(value, 0), 0));
  }
  // JSON dumps have 0 instead of None.
  static int64_t Time(Value value) {
    const int64_t time = Values::IntegerOr(value, 0);
    return time <= 0 ? kNoTime : time;
  }
  static uint32_t Text(Value value) { return value.type == Type::kString ? value.index : kNoIndex; }

  // [[2, 3], [4]]: 10 elements.
  void Sizes(const Values& values, Value value, Tensors* tensors) {
    if (value.type != Type::kList) return;
    const std::span<const Value> shapes = values.Items(value);
    if (shapes.size() > kMaxTensors || !Spend(shapes.size())) return;
    uint64_t total = 0;
    for (const Value shape : shapes) {
      if (shape.type != Type::kList) return;
      const std::span<const Value> sizes = values.Items(shape);
      if (sizes.size() > 64 || !Spend(sizes.size())) return;
      uint64_t product = 1;
      for (const Value size : sizes) {
        const int64_t extent = Values::IntegerOr(size, -1);
        if (extent < 0 ||
            __builtin_mul_overflow(product, static_cast<uint64_t>(extent), &product)) {
          return;
        }
      }
      if (__builtin_add_overflow(total, product, &total)) return;
    }
    tensors->elements = total;
    tensors->known = true;
  }

  uint32_t Common(const Values& values, Value value) {
    const std::span<const Value> types = values.Items(value);
    if (types.empty() || types.size() > kMaxTensors || !Spend(types.size())) return kNoIndex;
    const uint32_t first = Text(types[0]);
    for (const Value type : types) {
      if (Text(type) != first) return kNoIndex;
    }
    return first;
  }

  uint32_t Path(const Values& values, Value value) {
    std::span<const Value> stack = values.Items(value);
    if (stack.empty()) return kNoIndex;
    if (stack.size() > kMaxFrames) stack = stack.first(kMaxFrames);
    if (!Spend(stack.size())) return kNoIndex;
    path_.clear();
    uint64_t hash = stack.size();
    for (const Value frame : stack) {
      path_.push_back(FrameOf(values, frame));
      hash = Mix64(hash, path_.back());
    }
    const auto [entry, added] =
        path_index_.try_emplace(hash, static_cast<uint32_t>(dump_.paths.size()));
    // Two paths have the same hash: the second is stored, but is not found again.
    if (!added && dump_.paths[entry->second] == path_) return entry->second;
    dump_.paths.push_back(path_);
    return static_cast<uint32_t>(dump_.paths.size() - 1);
  }

  // torch's pickler stores each frame once and refers to it afterwards.
  uint32_t FrameOf(const Values& values, Value value) {
    if (!value.IsContainer() || !values.IsLasting(value)) return ReadFrame(values, value);
    if (value.index >= lasting_frames_.size()) lasting_frames_.resize(value.index + 1, kNoIndex);
    uint32_t& known = lasting_frames_[value.index];
    if (known == kNoIndex) known = ReadFrame(values, value);
    return known;
  }

  uint32_t ReadFrame(const Values& values, Value value) {
    Frame frame;
    const std::span<const Value> pairs = values.Items(value);
    if (value.type == Type::kDict && pairs.size() <= 64 && Spend(pairs.size())) {
      values.ForEachField(pairs, [&](Key key, Value v) {
        if (key == Key::kName) frame.function = Text(v);
        if (key == Key::kFilename) frame.file = Text(v);
        if (key != Key::kLine) return;
        const int64_t line = Values::IntegerOr(v, 0);
        if (line > 0 && line <= INT32_MAX) frame.line = static_cast<int>(line);
      });
    }
    uint64_t hash = Mix64(Mix64(frame.function, frame.file), static_cast<uint64_t>(frame.line));
    while (true) {  // until a hash is unused
      const auto [entry, added] =
          frame_index_.try_emplace(hash, static_cast<uint32_t>(dump_.frames.size()));
      if (added) {
        dump_.frames.push_back(frame);
        return entry->second;
      }
      const Frame& known = dump_.frames[entry->second];
      if (known.function == frame.function && known.file == frame.file &&
          known.line == frame.line) {
        return entry->second;
      }
      hash = Mix64(hash, 1);
    }
  }

  // Counts visits: a file can refer to a shared value again with three bytes.
  bool Spend(size_t visits) {
    visits_ += visits;
    left_out_ |= visits_ > max_visits_;
    return visits_ <= max_visits_;
  }

  static constexpr size_t kMaxItems = 64;  // of a group or a status that are read

  // Calls use(key, fields) for each pair of a dict that may have kMaxGroups of them.
  template <typename Use>
  static void ForEachGroup(const Values& values, Value value, Use use) {
    const std::span<const Value> groups = values.Items(value);
    if (value.type != Type::kDict || groups.size() / 2 > kMaxGroups) return;
    for (size_t i = 0; i + 1 < groups.size(); i += 2) {
      const std::span<const Value> pairs = values.Items(groups[i + 1]);
      use(groups[i], groups[i + 1], pairs.first(std::min(pairs.size(), kMaxItems)));
    }
  }

  // {name: {name, desc, ranks}}
  void Groups(const Values& values, Value value) {
    dump_.groups.clear();
    ForEachGroup(values, value, [&](Value name, Value of, std::span<const Value> pairs) {
      Group group;
      group.name = Text(name);
      values.ForEachField(pairs, [&](Key key, Value v) {
        if (key == Key::kDesc) group.desc = Text(v);
        if (key != Key::kRanks) return;
        group.ranks_text = Text(v);
        const std::span<const Value> ranks = values.Items(v);
        if (ranks.size() > kMaxGroupRanks) return;
        for (const Value rank : ranks) {
          group.ranks.push_back(static_cast<int32_t>(
              std::clamp<int64_t>(Values::IntegerOr(rank, -1), -1, INT32_MAX)));
        }
      });
      const bool sound = of.type == Type::kDict && group.name != kNoIndex;
      if (sound) dump_.groups.push_back(std::move(group));
    });
  }

  void Statuses(const Values& values, Value value) {
    dump_.statuses.clear();
    ForEachGroup(values, value, [&](Value id, Value /*of*/, std::span<const Value> pairs) {
      GroupStatus status;
      status.pg_id = Counter(values, id);
      values.ForEachField(pairs, [&](Key key, Value v) {
        if (key == Key::kLastEnqueued) status.enqueued = Counter(values, v);
        if (key == Key::kLastStarted) status.started = Counter(values, v);
        if (key == Key::kLastCompleted) status.completed = Counter(values, v);
      });
      if (status.pg_id >= 0) dump_.statuses.push_back(status);
    });
  }

  // In JSON a number may be written as a string.
  static int64_t Counter(const Values& values, Value value) {
    if (value.type != Type::kString) return Values::IntegerOr(value, -1);
    return ParseNumber<int64_t>(values.strings.Get(value.index)).value_or(-1);
  }

  Dump& dump_;
  const uint64_t max_visits_;
  uint64_t visits_ = 0;
  uint32_t version_ = kNoIndex;
  bool seen_ = false;
  bool left_out_ = false;
  std::vector<uint32_t> path_;
  std::unordered_map<uint64_t, uint32_t> path_index_;
  std::unordered_map<uint64_t, uint32_t> frame_index_;
  std::vector<uint32_t> lasting_frames_;  // by container
};

}  // namespace

Format Recognize(ByteSource& source) {
  char begin[512] = {};
  const size_t got = source.Read(0, begin, sizeof(begin));
  const std::string_view text(begin, got);
  // PROTO and a version, or EMPTY_DICT and MARK or a memo.
  if (got >= 2 && text[0] == '\x80' && static_cast<unsigned char>(text[1]) <= 5)
    return Format::kPickle;
  if (got >= 2 && text[0] == '}' && (text[1] == 'q' || text[1] == '(')) return Format::kPickle;
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return Format::kNone;
  // What ncclras prints is read as a log.
  if (text.find("\"communicators_count\"") != std::string_view::npos) return Format::kNone;
  for (const std::string_view key : {"\"pg_config\"", "\"pg_status\"", "\"entries\"",
                                     "\"nccl_version\"", "\"comm_lib_version\""}) {
    if (text.find(key) != std::string_view::npos) return Format::kJson;
  }
  const size_t quote = text.find_first_not_of(" \t\r\n", first + 1);
  return quote != std::string_view::npos && text.substr(quote).starts_with("\"version\"")
             ? Format::kJson
             : Format::kNone;
}

Dump ReadDump(ByteSource& source, std::string name, Format format, uint64_t max_visits) {
  Dump dump;
  dump.source = std::move(name);
  Values values;
  DumpBuilder builder(&dump, max_visits);
  builder.Finish(&values, format == Format::kJson ? ReadJson(source, &values, &builder)
                                                  : ReadPickle(source, &values, &builder));
  return dump;
}

std::vector<int32_t> ParseRanks(std::string_view text) {
  std::vector<int32_t> ranks;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return {};
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  while (at != end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int32_t rank = -1;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error != std::errc() || rank < 0 || ranks.size() >= kMaxGroupRanks) return {};
    ranks.push_back(rank);
    at = next;
  }
  return ranks;
}

}  // namespace rollcall::flight_recorder
