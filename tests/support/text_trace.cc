// SPDX-License-Identifier: Apache-2.0
#include "tests/support/text_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <unordered_map>

#include "collector/base/text.h"
#include "proto/datatypes.h"
#include "proto/mpi_errors.h"
#include "tests/support/trace_builder.h"

namespace rollcall {
namespace {

constexpr uint64_t kMaxCalls = 10'000'000;
constexpr char kDefaultFile[] = "app.c";

struct Failure {
  std::string message;
};

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line) {
    if (c == ' ' || c == '\t' || c == '\r') {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i != text.size() && text[i] != separator) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

// The enumerator of that name; `names` in the order of the enumerators.
template <typename Enum, size_t kCount>
std::optional<Enum> Named(const std::array<std::string_view, kCount>& names,
                          std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

int64_t Number(const std::string& text) {
  const auto value = ParseNumber<int64_t>(text);
  if (!value) throw Failure{fmt::format("'{}' is not a number", text)};
  return *value;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(Split(std::string(text), '\n')) {}

  TextTraceResult Parse() {
    TextTraceResult result;
    try {
      Block(0, lines_.size());
    } catch (const Failure& failure) {
      result.errors.push_back(fmt::format("line {}: {}", line_ + 1, failure.message));
    }
    if (!builder_ && result.errors.empty()) result.errors.push_back("no 'ranks' line");
    if (builder_) result.trace = builder_->Finish();
    return result;
  }

 private:
  // Lines [first, end).
  void Block(size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      line_ = i;
      const std::vector<std::string> words =
          Words(std::string_view(lines_[i]).substr(0, lines_[i].find('#')));
      if (words.empty()) continue;
      if (words[0] == "repeat") {
        const size_t body_end = EndOf(i + 1, end);
        const int64_t times = Number(At(words, 1));
        for (int64_t n = 0; n < times; ++n) Block(i + 1, body_end);
        i = body_end;
      } else if (words[0] == "end") {
        throw Failure{"'end' without 'repeat'"};
      } else {
        Statement(words);
      }
    }
  }

  size_t EndOf(size_t first, size_t end) {
    int depth = 1;
    for (size_t i = first; i < end; ++i) {
      const std::vector<std::string> words = Words(lines_[i]);
      if (!words.empty() && words[0] == "repeat") ++depth;
      if (!words.empty() && words[0] == "end" && --depth == 0) return i;
    }
    throw Failure{"'repeat' without 'end'"};
  }

  static const std::string& At(const std::vector<std::string>& words, size_t index) {
    if (index >= words.size()) throw Failure{"the line ends too early"};
    return words[index];
  }

  void Statement(const std::vector<std::string>& words) {
    if (words[0] == "ranks") return Ranks(words);
    if (!builder_) throw Failure{"the first line must be 'ranks N'"};
    if (words[0] == "comm") return Comm(words);
    if (words[0] == "cart") return Cart(words);
    if (words[0] == "graph" || words[0] == "dist-graph") return Graph(words);
    if (words[0] == "type") return Type(words);
    if (words[0] == "source") return Source(words);
    if (words[0] == "idle") return builder_->Idle(Number(At(words, 1)) * 1'000'000'000);
    if (words[0] == "verdict-given") return builder_->VerdictGiven();
    if (words[0].back() != ':') throw Failure{fmt::format("'{}' begins no line", words[0])};
    const std::vector<int32_t> ranks = RankList(words[0].substr(0, words[0].size() - 1));
    if (At(words, 1) == "share-a-process") return builder_->ShareProcess(ranks);
    for (const int32_t rank : ranks) RankLine(rank, words);
    if (!builder_->wrong_data().empty()) {
      throw Failure{fmt::format("'{}' are no values of its type", builder_->wrong_data())};
    }
    if (builder_->calls() > kMaxCalls) throw Failure{"too many calls"};
  }

  static std::pair<int, int> LineRange(const std::string& text) {
    const std::vector<std::string> ends = Split(text, '-');
    if (ends.size() != 2) throw Failure{fmt::format("'{}' are no lines", text)};
    return {static_cast<int>(Number(ends[0])), static_cast<int>(Number(ends[1]))};
  }

  // "A-B", of a try "A-B,C-D" with its handlers, of a statement "A" or "A:CONDITION".
  static void Flow(SourceFlow::Kind kind, uint32_t group, const std::string& text,
                   SourceBlocks* source) {
    if (kind > SourceFlow::Kind::kHandler) {
      const size_t colon = std::min(text.find(':'), text.size());
      const int line = static_cast<int>(Number(text.substr(0, colon)));
      source->flow.push_back({.kind = kind, .first = line, .last = line});
      if (colon < text.size()) {
        source->flow.back().condition = text.substr(colon + 1);
        source->conditions.push_back({line, line, text.substr(colon + 1)});
      }
      return;
    }
    for (const std::string& lines : Split(text, ',')) {
      const auto [first, last] = LineRange(lines);
      source->flow.push_back({.kind = kind, .first = first, .last = last, .group = group});
      if (kind == SourceFlow::Kind::kTry) kind = SourceFlow::Kind::kHandler;
    }
  }

  void Source(const std::vector<std::string>& words) {
    SourceBlocks source;
    source.file = kDefaultFile;
    uint32_t branch = 0;
    for (size_t i = 1; i < words.size(); ++i) {
      const size_t equals = words[i].find('=');
      if (equals == std::string::npos) {
        source.file = words[i];
        continue;
      }
      if (const auto kind = Named<SourceFlow::Kind>(kSourceFlowNames, words[i].substr(0, equals))) {
        Flow(*kind, branch++, words[i].substr(equals + 1), &source);
        continue;
      }
      const bool loop = words[i].starts_with("loop=");
      if (!loop && !words[i].starts_with("arms=")) {
        throw Failure{fmt::format("no block '{}'", words[i])};
      }
      std::string ranges = words[i].substr(equals + 1);
      std::string condition;
      if (const size_t colon = ranges.find(':'); colon != std::string::npos) {
        condition = ranges.substr(colon + 1);
        ranges.erase(colon);
      }
      for (const std::string& lines : Split(ranges, ',')) {
        const auto [first, last] = LineRange(lines);
        source.blocks.push_back({.kind = loop ? SourceBlock::Kind::kLoop : SourceBlock::Kind::kArm,
                                 .first = first,
                                 .last = last,
                                 .branch = branch});
        if (!condition.empty()) source.conditions.push_back({first, last, condition});
      }
      ++branch;
    }
    builder_->Source(std::move(source));
  }

  void Ranks(const std::vector<std::string>& words) {
    if (builder_) throw Failure{"a second 'ranks' line"};
    int level = 0;
    if (words.size() > 2) {
      static const std::map<std::string, int> kLevels = {
          {"single", 0}, {"funneled", 1}, {"serialized", 2}, {"multiple", 3}, {"devices", -1}};
      const auto known = kLevels.find(words[2]);
      if (known == kLevels.end()) throw Failure{fmt::format("no thread level '{}'", words[2])};
      level = known->second;
    }
    ranks_ = static_cast<int32_t>(Number(At(words, 1)));
    if (ranks_ < 1 || ranks_ > 1'000'000) throw Failure{"as many ranks cannot be"};
    builder_.emplace(ranks_, level);
    for (int32_t rank = 0; level < 0 && rank < ranks_; ++rank)
      builder_->process(rank)->device = true;
    comms_["world"] = 0;
  }

  std::vector<int32_t> RankList(const std::string& text) const {
    std::vector<int32_t> ranks;
    for (const std::string& part : Split(text, ',')) {
      const size_t dash = part.find('-');
      const int64_t first = Number(part.substr(0, dash));
      const int64_t last = dash == std::string::npos ? first : Number(part.substr(dash + 1));
      if (first < 0 || last >= ranks_) throw Failure{fmt::format("no rank {}", part)};
      for (int64_t rank = first; rank <= last; ++rank) ranks.push_back(static_cast<int32_t>(rank));
    }
    return ranks;
  }

  void Comm(const std::vector<std::string>& words) {
    const std::string& name = At(words, 1);
    std::vector<int32_t> remote;
    if (words.size() > 3 && words[3] == "remote") remote = RankList(At(words, 4));
    comms_[name] = builder_->AddCommunicator(name, RankList(At(words, 2)), std::move(remote));
    if (words.back() == "spawned") builder_->MarkSpawned(comms_[name]);
  }

  uint32_t Communicator(const std::string& name) const {
    const auto known = comms_.find(name);
    if (known == comms_.end()) throw Failure{fmt::format("no communicator '{}'", name)};
    return known->second;
  }

  // "cart NAME 2x3 [periodic]": the last dimension varies fastest (MPI 4.0, 8.5.1), and neighbors
  // are the one below and the one above in each dimension.
  void Cart(const std::vector<std::string>& words) {
    std::vector<int64_t> dims;
    int64_t size = 1;
    for (const std::string& dim : Split(At(words, 2), 'x')) {
      dims.push_back(Number(dim));
      if (dims.back() < 1 || dims.back() > ranks_) throw Failure{"no such dimension"};
      size *= dims.back();
      if (size > ranks_) throw Failure{"more places than ranks"};
    }
    const bool periodic = words.size() > 3 && words[3] == "periodic";
    std::vector<std::vector<int32_t>> neighbors(static_cast<size_t>(size));
    for (int64_t rank = 0; rank < size; ++rank) {
      int64_t stride = size;
      for (const int64_t dim : dims) {
        stride /= dim;
        const int64_t at = rank / stride % dim;
        for (const int64_t to : {at - 1, at + 1}) {
          const bool inside = to >= 0 && to < dim;
          const int64_t other = rank + ((to + dim) % dim - at) * stride;
          neighbors[static_cast<size_t>(rank)].push_back(
              inside || periodic ? static_cast<int32_t>(other) : ring::kProcNullPeer);
        }
      }
    }
    SetTopology(words, ring::kIsCartesian, neighbors, neighbors);
  }

  // "graph NAME 0:1,2 1:0 2:0"; "dist-graph NAME 0>1 1>2": one edge per word, in the order in
  // which both of its ends list it; "0|>1": rank 0 does not list it, "0>|1": rank 1 does not.
  void Graph(const std::vector<std::string>& words) {
    const bool directed = words[0] == "dist-graph";
    std::vector<std::vector<int32_t>> in(static_cast<size_t>(ranks_));
    std::vector<std::vector<int32_t>> out(static_cast<size_t>(ranks_));
    for (size_t i = 2; i < words.size(); ++i) {
      std::vector<std::string> sides = Split(words[i], directed ? '>' : ':');
      if (sides.size() != 2) throw Failure{fmt::format("'{}' is no edge", words[i])};
      const bool from_lists = !directed || !sides[0].ends_with('|');
      const bool to_lists = directed && !sides[1].starts_with('|');
      if (!from_lists) sides[0].pop_back();
      if (directed && !to_lists) sides[1].erase(0, 1);
      for (const int32_t from : RankList(sides[0])) {
        for (const int32_t to : RankList(sides[1])) {
          if (from_lists) out[static_cast<size_t>(from)].push_back(to);
          if (to_lists) in[static_cast<size_t>(to)].push_back(from);
        }
      }
    }
    SetTopology(words, directed ? ring::kIsDistGraph : ring::kIsGraph, directed ? in : out, out);
  }

  void SetTopology(const std::vector<std::string>& words, ring::MemberFlag flag,
                   const std::vector<std::vector<int32_t>>& in,
                   const std::vector<std::vector<int32_t>>& out) {
    if (!builder_->SetTopology(Communicator(At(words, 1)), flag, in, out)) {
      throw Failure{"fewer places than members"};
    }
  }

  void Type(const std::vector<std::string>& words) {
    const auto [count, of] = CountAndType(At(words, 3));
    if (words[2] != "=") throw Failure{"expected: type NAME = 4xMPI_INT"};
    builder_->AddDatatype(words[1], of, count);
  }

  std::pair<uint64_t, uint32_t> CountAndType(const std::string& text) {
    const size_t cross = text.find('x');
    if (cross == std::string::npos) throw Failure{fmt::format("'{}' is not COUNTxTYPE", text)};
    const uint32_t type = builder_->Datatype(text.substr(cross + 1));
    if (type == kNoIndex) throw Failure{fmt::format("no datatype '{}'", text.substr(cross + 1))};
    return {static_cast<uint64_t>(Number(text.substr(0, cross))), type};
  }

  static OtherThreads OtherThreadsOf(const std::string& word) {
    const auto threads = Named<OtherThreads>(kOtherThreadsNames, word);
    if (!threads) throw Failure{fmt::format("no such threads: '{}'", word)};
    return *threads;
  }

  void RankLine(int32_t rank, const std::vector<std::string>& words) {
    const std::string& verb = At(words, 1);
    Process& process = *builder_->process(rank);
    if (verb == "waits") {
      if (At(words, 2) != "in") throw Failure{"expected: waits in OPERATION"};
      if (At(words, 3) == "nccl-init") return NcclInit(rank, words, 4, false);
      return builder_->Open(rank, ParseCall(rank, words, 3));
    }
    if (verb == "nccl-init") return NcclInit(rank, words, 2, true);
    if (verb == "never-frees") {
      const auto count = static_cast<uint64_t>(Number(At(words, 2)));
      return builder_->Leave(rank, count, ParseCall(rank, words, 3));
    }
    if (verb == "enqueues" || verb == "runs") {
      if (!process.device) throw Failure{"only 'devices' have operations enqueued"};
      return builder_->Enqueue(rank, ParseCall(rank, words, 2), verb == "runs");
    }
    if (verb == "group-start") return builder_->GroupStart(rank, ParseArguments(words, 2));
    if (verb == "group-end") return builder_->GroupEnd(rank, ParseArguments(words, 2));
    if (verb == "polls" || verb == "polled") {
      const Call probe = words.size() > 2 ? ParseCall(rank, words, 2) : Call();
      return builder_->Poll(rank, verb == "polls", probe);
    }
    if (verb == "moves") {
      process.quiet = false;
    } else if (verb == "other-threads") {
      process.other_threads = OtherThreadsOf(At(words, 2));
    } else if (verb == "records-graphs") {
      process.graphs = true;
    } else if (verb == "computes" || verb == "sleeps" || verb == "awaits") {
      LiveStack stack;
      stack.tid = process.pid;
      stack.thread_name = "app";
      stack.state = verb == "computes" ? "running" : "sleeping in read";
      if (verb == "awaits") {
        const auto what = Named<OutsideWait::For>(kOutsideWaitNames, At(words, 2));
        if (!what) throw Failure{"expected: awaits client, or awaits outside"};
        process.outside_wait = OutsideWait{.tid = stack.tid, .what = *what};
        stack.state = "sleeping in poll";
      }
      stack.cpu_ns_per_s = verb == "computes" ? 1'000'000'000 : 0;
      bool cut = false;
      stack.frames = Path(words, verb == "awaits" ? 3 : 2, &cut);
      process.live_stacks.push_back(std::move(stack));
    } else if (verb == "loses") {
      Lose(rank, words);
    } else if (verb == "keeps") {
      builder_->LimitRecords(rank, static_cast<size_t>(Number(At(words, 2))));
    } else if (verb == "loses-data") {
      builder_->LoseData(rank, static_cast<uint64_t>(Number(At(words, 2))));
    } else if (verb == "value") {
      builder_->AddValue(rank, At(words, 2), At(words, 3), ParseArguments(words, 4).path);
    } else if (verb == "variables") {
      Variables(words, &process);
    } else if (verb == "replica") {
      Replica(rank, words);
    } else if (verb == "counts") {
      const auto room = static_cast<size_t>(Number(At(words, 2)));
      if (At(words, 3) == "peers") {
        builder_->LimitPeers(rank, room);
      } else {
        builder_->LimitChannels(rank, room);
      }
    } else if (verb == "runs-on") {
      process.host = At(words, 2);
    } else if (verb == "clock-ahead") {
      builder_->SetClockAhead(rank, Number(At(words, 2)) * 1'000'000'000);
    } else if (verb == "clock-corrected") {
      process.clock = {.offset_ns = Number(At(words, 2)) * 1'000'000'000,
                       .error_ns = Number(At(words, 3)) * 1'000'000};
    } else if (verb == "ended-at") {
      process.end.at_ns = process.phase_ns + Number(At(words, 2)) * 1'000'000;
    } else if (verb == "error") {
      const auto error = static_cast<uint64_t>(Number(At(words, 2)));
      if (words.size() > 3) return builder_->Fail(rank, ParseCall(rank, words, 3), error);
      builder_->AddLifecycle(rank, Operation::kCallError, error, {});
    } else if (verb == "is-rejected") {
      return builder_->Reject(rank, ParseCall(rank, words, 3), FindError(At(words, 2)));
    } else if (verb == "has") {
      builder_->RemoveRank(rank);  // "has no trace"
    } else if (verb == "raises" || verb == "throws") {
      Raise(rank, words);
    } else if (verb == "phase") {
      process.user_phase = fmt::format("{}", fmt::join(words.begin() + 2, words.end(), " "));
    } else if (verb == "python-off") {
      PythonOff(At(words, 2), &process);
    } else if (verb == "damaged") {
      ++process.records_unreadable;
    } else if (verb == "unrecorded") {
      ++process.calls_unrecorded;
      ++process.table_overflows;
    } else {
      if (!End(rank, verb, words)) builder_->Complete(rank, ParseCall(rank, words, 1));
    }
  }

  // "raises ValueError: bad sample @ path"; "throws" for a C++ exception
  void Raise(int32_t rank, const std::vector<std::string>& words) {
    std::string text;
    size_t at = 2;
    for (; at < words.size() && words[at] != "@"; ++at) {
      text += (text.empty() ? "" : " ") + words[at];
    }
    UncaughtException exception;
    exception.kind =
        words[1] == "raises" ? ring::ExceptionKind::kPython : ring::ExceptionKind::kCPlusPlus;
    const size_t colon = text.find(": ");
    exception.type = text.substr(0, colon);
    if (colon != std::string::npos) exception.message = text.substr(colon + 2);
    bool cut = false;
    const std::vector<SourceFrame> path = Path(words, at, &cut);
    exception.call_path = builder_->InternPath(path, cut);
    builder_->Raise(rank, std::move(exception));
  }

  // "variables step=3 skip=True loss=0.5 best=None names=[3] @ path": of the innermost frame.
  // Frames of earlier lines are kept, from the outermost one on.
  static void Variables(const std::vector<std::string>& words, Process* process) {
    using Kind = Variable::Kind;
    std::vector<Variable> variables;
    size_t at = 2;
    for (; at < words.size() && words[at] != "@"; ++at) {
      const size_t equal = words[at].find('=');
      if (equal == std::string::npos) throw Failure{"expected: NAME=VALUE"};
      Variable& variable = variables.emplace_back();
      variable.name = words[at].substr(0, equal);
      std::string text = words[at].substr(equal + 1);
      variable.outlives = text.ends_with('!');
      variable.if_named = variable.outlives || text.ends_with('?');
      if (variable.if_named) text.pop_back();
      if (const auto kind = Named<Kind>(kVariableNames, text)) {
        variable.kind = *kind;  // "lost", "computed"
      } else if (text == "None") {
        variable.kind = Kind::kNone;
      } else if (text == "True" || text == "False") {
        variable.kind = Kind::kBool;
        variable.bits = text == "True" ? 1 : 0;
      } else if (text.starts_with('[')) {
        variable.kind = Kind::kLength;
        variable.bits = static_cast<uint64_t>(Number(text.substr(1, text.size() - 2)));
      } else if (text.find('.') != std::string::npos) {
        variable.kind = Kind::kFloat;
        variable.bits = std::bit_cast<uint64_t>(std::stod(text));
      } else {
        variable.bits = static_cast<uint64_t>(Number(text));
      }
    }
    bool cut = false;
    const std::vector<SourceFrame> path = Path(words, at, &cut);
    if (path.empty()) throw Failure{"expected: variables … @ PATH"};
    process->variables.resize(std::max(process->variables.size(), path.size()));
    for (size_t i = 0; i < path.size(); ++i) {
      process->variables[i].frame = path[path.size() - 1 - i];
    }
    process->variables[path.size() - 1].variables = std::move(variables);
  }

  // "replica NAME MPI_FLOAT 1,2,3 [sampled-data] [varies] @ path"
  void Replica(int32_t rank, const std::vector<std::string>& words) {
    const uint32_t type = builder_->Datatype(At(words, 3));
    if (type == kNoIndex) throw Failure{fmt::format("no datatype '{}'", words[3])};
    const Call call = ParseArguments(words, 5);
    CallData data = call.data;
    data.input = At(words, 4);
    TypeClass type_class = TypeClass::kUnknown;
    for (const BasicTypeInfo& info : kBasicTypes) {
      if (info.name == words[3]) type_class = info.type_class;
    }
    builder_->AddReplica(rank, words[2], data, type_class, call.path);
  }

  // "loses 5", "loses 5 from 20 on=NAME"
  void Lose(int32_t rank, const std::vector<std::string>& words) {
    const auto count = static_cast<uint64_t>(Number(At(words, 2)));
    if (words.size() == 3) return builder_->LoseFirst(rank, count);
    if (words[3] != "from") throw Failure{"expected: loses N from SEQUENCE"};
    const Call call = ParseArguments(words, 5);
    if (!builder_->IsMember(rank, call.communicator)) {
      throw Failure{fmt::format("rank {} is not in this communicator", rank)};
    }
    builder_->LoseWithin(rank, call.communicator, static_cast<uint64_t>(Number(At(words, 4))),
                         count);
  }

  // "nccl-init id=a size=4 rank=2 @ path"
  void NcclInit(int32_t rank, const std::vector<std::string>& words, size_t at, bool returned) {
    std::string id;
    int32_t passed = rank;
    int32_t size = ranks_;
    std::vector<std::string> rest;
    for (size_t i = at; i < words.size(); ++i) {
      if (words[i].starts_with("id=")) {
        id = words[i].substr(3);
      } else if (words[i].starts_with("size=")) {
        size = static_cast<int32_t>(Number(words[i].substr(5)));
      } else if (words[i].starts_with("rank=")) {
        passed = static_cast<int32_t>(Number(words[i].substr(5)));
      } else {
        rest.push_back(words[i]);
      }
    }
    builder_->Create(rank, id, passed, size, ParseArguments(rest, 0), returned);
  }

  // "exits 3", "is-killed 9", "out-of-memory", "vanishes", each with an optional "by launcher";
  // "calls-exit 3 @ path" is the mark that a process leaves before it exits; "reports-error 4 @
  // path" is MPICH's error in the call that it is inside of, or now.
  bool End(int32_t rank, const std::string& verb, const std::vector<std::string>& words) {
    Process& process = *builder_->process(rank);
    ProcessEnd& end = process.end;
    if (verb == "exits") {
      end.how = ProcessEnd::How::kExited;
      end.status = static_cast<int>(Number(At(words, 2)));
    } else if (verb == "is-killed") {
      end.how = ProcessEnd::How::kSignaled;
      end.status = static_cast<int>(Number(At(words, 2)));
    } else if (verb == "out-of-memory") {
      end.how = ProcessEnd::How::kSignaled;
      end.status = 9;
      end.oom_killed = true;
    } else if (verb == "vanishes") {
      end.how = ProcessEnd::How::kVanished;
      return true;  // the order of such ends is unknown
    } else if (verb == "calls-exit" || verb == "reports-error") {
      if (verb == "calls-exit") {
        process.exit_mark = ring::ExitMark::kExit;
      } else {
        process.exit_ns = process.open_calls.empty() ? builder_->now_ns()
                                                     : process.open_calls.back().event.start_ns;
      }
      process.exit_status = static_cast<int>(Number(At(words, 2)));
      bool cut = false;
      const std::vector<SourceFrame> path = Path(words, 3, &cut);
      process.exit_call_path = builder_->InternPath(path, cut);
      for (const SourceFrame& frame : path) {
        if (frame.module.starts_with("libmpich")) process.flavor = ring::Flavor::kMpich;
      }
      return true;
    } else {
      return false;
    }
    end.order = ended_++;
    end.by_launcher = words.size() > 2 && words.back() == "launcher";
    end.by_rollcall = words.size() > 2 && words.back() == "rollcall";
    end.parent_saw = words.size() > 2 && words.back() == "seen";
    return true;
  }

  Call ParseCall(int32_t rank, const std::vector<std::string>& words, size_t at) {
    const Operation operation = FindByName(At(words, at));
    if (operation == Operation::kNone) {
      throw Failure{fmt::format("no operation is called '{}'", words[at])};
    }
    Call call = ParseArguments(words, at + 1);
    call.operation = operation;
    if (!builder_->IsMember(rank, call.communicator)) {
      throw Failure{fmt::format("rank {} is not in this communicator", rank)};
    }
    return call;
  }

  // Names of MPI without "MPI_"; names of torch.distributed and NCCL unchanged. The host's calls of
  // torch.distributed have those of its devices' operations, behind "c10d:".
  static Operation FindByName(const std::string& name) {
    static const auto kByName = [] {
      std::unordered_map<std::string, Operation> by_name;
      for (const OperationInfo& info : kOperations) {
        if (info.name.starts_with("MPI_")) {
          by_name.emplace(info.name.substr(sizeof("MPI_") - 1), info.operation);
        }
      }
      for (const OperationInfo& info : kTorchOperations) by_name.emplace(info.name, info.operation);
      for (const OperationInfo& info : kC10dOperations) {
        by_name.emplace("c10d:" + std::string(info.name), info.operation);
      }
      for (const OperationInfo& info : kNcclOperations) by_name.emplace(info.name, info.operation);
      return by_name;
    }();
    const auto known = kByName.find(name);
    return known == kByName.end() ? Operation::kNone : known->second;
  }

  static ErrorClass FindError(const std::string& name) {
    for (const ErrorClassInfo& info : kErrorClasses) {
      if (info.name == name && info.rejects) return info.error;
    }
    throw Failure{fmt::format("'{}' is no error that rejects a call", name)};
  }

  Call ParseArguments(const std::vector<std::string>& words, size_t at) {
    Call call;
    size_t i = at;
    for (; i < words.size() && words[i] != "@"; ++i) Argument(words[i], &call);
    call.path = Path(words, i, &call.path_cut, &call.context);
    return call;
  }

  void Argument(const std::string& word, Call* call) {
    static const std::map<std::string, ReduceOp> kOps = {{"sum", ReduceOp::kSum},
                                                         {"max", ReduceOp::kMax},
                                                         {"min", ReduceOp::kMin},
                                                         {"prod", ReduceOp::kProd},
                                                         {"user", ReduceOp::kUser}};
    Arguments& a = call->arguments;
    const auto value = [&word](std::string_view key) -> std::optional<std::string> {
      if (!word.starts_with(key)) return std::nullopt;
      return word.substr(key.size());
    };
    if (const auto op = kOps.find(word); op != kOps.end()) {
      a.reduce_op = static_cast<uint16_t>(op->second);
    } else if (const auto on = value("on=")) {
      call->communicator = Communicator(*on);
    } else if (const auto root = value("root=")) {
      a.root_or_peer = *root == "self"   ? ring::kRootSelf
                       : *root == "none" ? ring::kRootNone
                                         : static_cast<int32_t>(Number(*root));
    } else if (const auto peer = value("peer=")) {
      a.root_or_peer = Peer(*peer);
    } else if (const auto tag = value("tag=")) {
      a.tag = *tag == "any" ? ring::kAnyTag : static_cast<int32_t>(Number(*tag));
    } else if (const auto from = value("from=")) {
      a.peer2 = Peer(*from);
      a.flags |= ring::kSecondPart;
    } else if (const auto from_tag = value("fromtag=")) {
      a.tag2 = *from_tag == "any" ? ring::kAnyTag : static_cast<int32_t>(Number(*from_tag));
    } else if (const auto send = value("send=")) {
      std::tie(a.send_count, a.send_datatype) = CountAndType(*send);
    } else if (const auto recv = value("recv=")) {
      std::tie(a.recv_count, a.recv_datatype) = CountAndType(*recv);
    } else if (const auto sends = value("sendcounts=")) {
      a.send_datatype = Counts(*sends, &call->send_counts);
    } else if (const auto recvs = value("recvcounts=")) {
      a.recv_datatype = Counts(*recvs, &call->recv_counts);
    } else if (const auto input = value("input=")) {
      call->data.input = *input;
    } else if (const auto result = value("result=")) {
      call->data.result = *result;
    } else if (const auto sent = value("input-blocks=")) {
      call->data.input_blocks = *sent;
    } else if (const auto received = value("result-blocks=")) {
      call->data.result_blocks = *received;
    } else if (word == "varies") {
      call->data.varies = true;
    } else if (word == "sampled-data") {
      call->data.sampled = true;
    } else if (word == "data-unread") {
      call->data.unread = true;
    } else if (const auto why = value("data-unread=")) {
      call->data.unread = true;
      call->data.outside = *why == "scope";
      if (*why == "device") call->data.unread_why = static_cast<uint32_t>(ring::Unread::kDevice);
    } else if (word == "counts-cut") {
      a.flags |= ring::kCountsCut;
    } else if (word == "comm-null") {
      a.flags |= ring::kUnknownComm | ring::kNullComm;
    } else if (word == "op-null") {
      a.reduce_op = static_cast<uint16_t>(ReduceOp::kNull);
    } else if (word == "in-place") {
      a.flags |= ring::kSendInPlace;
    } else if (word == "recv-in-place") {
      a.flags |= ring::kRecvInPlace;
    } else if (const auto made = value("request=")) {
      call->request = *made;
    } else if (const auto awaited = value("for=")) {
      call->requests = Split(*awaited, ',');
    } else if (const auto partitions = value("partitions=")) {
      call->partitions = static_cast<uint32_t>(Number(*partitions));
    } else if (const auto took = value("took-us=")) {
      call->took_ns = Number(*took) * 1000;
    } else if (const auto tightly_for = value("tightly-for=")) {
      call->polls_tightly_ns = Number(*tightly_for) * 1'000'000'000;
    } else if (const auto thread = value("thread=")) {
      call->thread = static_cast<uint32_t>(Number(*thread));
    } else if (word.find('x') != std::string::npos) {
      std::tie(a.send_count, a.send_datatype) = CountAndType(word);
      a.recv_count = a.send_count;
      a.recv_datatype = a.send_datatype;
    } else {
      throw Failure{fmt::format("'{}' is no argument", word)};
    }
  }

  static int32_t Peer(const std::string& text) {
    if (text == "any") return ring::kAnySource;
    return text == "none" ? ring::kProcNullPeer : static_cast<int32_t>(Number(text));
  }

  // "1,2,0xMPI_INT"
  uint32_t Counts(const std::string& text, std::vector<uint64_t>* counts) {
    const size_t cross = text.rfind('x');
    if (cross == std::string::npos) throw Failure{fmt::format("'{}' is not COUNTSxTYPE", text)};
    for (const std::string& count : Split(text.substr(0, cross), ',')) {
      counts->push_back(static_cast<uint64_t>(Number(count)));
    }
    return CountAndType("1" + text.substr(cross)).second;
  }

  // "@ main:20 > exchange(halo.c:88)" from words[at] on. A leading "..." means that outer frames
  // are missing. Frames after "context" are added to `context`.
  static std::vector<SourceFrame> Path(const std::vector<std::string>& words, size_t at, bool* cut,
                                       std::vector<SourceFrame>* context = nullptr) {
    std::vector<SourceFrame> frames;
    if (at >= words.size() || words[at] != "@") return frames;
    std::vector<SourceFrame>* to = &frames;
    for (size_t i = at + 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word == ">" || word == "by" || word == "launcher") continue;
      if (word == "context" && context != nullptr) {
        to = context;
      } else if (word == "...") {
        *cut = true;
      } else {
        to->insert(to->begin(), Place(word));
      }
    }
    return frames;
  }

  // "exchange:88", "exchange:88.2", "exchange(halo.c:88)", "step(train.py:9)" (Python, by the file
  // name), "Bcast[MPI.so]" (a module without lines).
  static SourceFrame Place(const std::string& word) {
    SourceFrame frame;
    const size_t square = word.find('[');
    if (square != std::string::npos && word.back() == ']') {
      frame.function = word.substr(0, square);
      frame.module = word.substr(square + 1, word.size() - square - 2);
      frame.detail = FrameDetail::kSymbol;
      return frame;
    }
    frame.file = kDefaultFile;
    frame.detail = FrameDetail::kSourceLine;
    frame.module = "app";
    const size_t bracket = word.find('(');
    const size_t colon = word.rfind(':');
    if (colon == std::string::npos) throw Failure{fmt::format("'{}' is no place", word)};
    size_t end = word.size();
    if (bracket != std::string::npos) {
      frame.function = word.substr(0, bracket);
      frame.file = word.substr(bracket + 1, colon - bracket - 1);
      --end;
    } else {
      frame.function = word.substr(0, colon);
    }
    if (frame.file.ends_with(".py") || frame.file.starts_with("<")) {
      frame.language = Language::kPython;
      frame.module.clear();
    }
    const std::string line = word.substr(colon + 1, end - colon - 1);
    const size_t dot = line.find('.');
    frame.line = static_cast<int>(Number(line.substr(0, dot)));
    if (dot != std::string::npos) {
      frame.vaddr = static_cast<uint64_t>(Number(line.substr(dot + 1)));
    }
    return frame;
  }

  static void PythonOff(const std::string& why, Process* process) {
    static const std::map<std::string, ring::PythonOff> kReasons = {
        {"asked", ring::PythonOff::kAsked},     {"version", ring::PythonOff::kVersion},
        {"build", ring::PythonOff::kBuild},     {"differs", ring::PythonOff::kDiffers},
        {"memory", ring::PythonOff::kNoMemory}, {"finalizing", ring::PythonOff::kFinalizing}};
    const auto known = kReasons.find(why);
    if (known == kReasons.end()) throw Failure{fmt::format("'{}' is no reason", why)};
    process->python_version = 0x030d00f0;
    process->python_state = ring::PythonState::kOff;
    process->python_off = known->second;
  }

  std::vector<std::string> lines_;
  size_t line_ = 0;
  int32_t ranks_ = 0;
  uint32_t ended_ = 0;
  std::optional<TraceBuilder> builder_;
  std::map<std::string, uint32_t> comms_;
};

}  // namespace

TextTraceResult ParseTextTrace(std::string_view text) { return Parser(text).Parse(); }

}  // namespace rollcall
