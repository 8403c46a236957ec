// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/data/generate.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/oracle/machine.h"

namespace rollcall::oracle::data {
namespace {

// Rounds after which equal inputs of one call site are no accident.
constexpr int kRounds = 8;

class Generator {
 public:
  Generator(FaultKind kind, Random* random) : kind_(kind), random_(*random) {}

  DataProgram Run() {
    do {
      result_ = {};
      // Most programs complete; the others hang, though all calls that are made match.
      constexpr oracle::FaultKind kHangs[] = {oracle::FaultKind::kRing, oracle::FaultKind::kDied,
                                              oracle::FaultKind::kExited,
                                              oracle::FaultKind::kStalled};
      const oracle::FaultKind base =
          Chance(&random_, 85) ? oracle::FaultKind::kNone
                               : kHangs[Below(&random_, static_cast<int>(std::size(kHangs)))];
      do {
        result_.program = oracle::Generate(base, &random_).program;
      } while (!HasRoom());
      result_.seed = random_();
      line_ = 1000;
      requests_ = 1000;
      AddSteps();
      constexpr int kSpreads[] = {0, 30, 70, 100};
      result_.spread_percent = kSpreads[Below(&random_, static_cast<int>(std::size(kSpreads)))];
    } while (!Plant());
    if (Chance(&random_, 50)) Vary();
    return std::move(result_);
  }

 private:
  using Code = std::vector<std::vector<Op>>;

  Program& program() { return result_.program; }

  int RandomComm() {
    int comm = 0;
    do {
      comm = Below(&random_, static_cast<int>(program().comms.size()));
    } while (program().IsInter(comm) || Members(comm).size() < 2 || IsOfThreads(comm));
    return comm;
  }
  // Only one thread of a rank at a time may make collective calls on a communicator.
  bool IsOfThreads(int comm) {
    for (int line = program().ranks; line < program().lines(); ++line) {
      for (const Op& op : program().code[static_cast<size_t>(line)]) {
        if (IsCollective(op.what) && op.comm == comm) return true;
      }
    }
    return false;
  }
  bool HasRoom() {
    for (int comm = 0; comm < static_cast<int>(program().comms.size()); ++comm) {
      if (!program().IsInter(comm) && Members(comm).size() >= 2 && !IsOfThreads(comm)) return true;
    }
    return false;
  }
  const std::vector<int>& Members(int comm) { return program().comms[static_cast<size_t>(comm)]; }

  int RandomCount() {
    constexpr int kMost[] = {3, 12, 100, 300};
    return 1 + Below(&random_, kMost[Below(&random_, static_cast<int>(std::size(kMost)))]);
  }

  Op RandomOp() {
    constexpr Do kAll[] = {Do::kBcast,     Do::kReduce,   Do::kAllreduce,
                           Do::kAllreduce, Do::kGather,   Do::kScatter,
                           Do::kAllgather, Do::kAlltoall, Do::kScan};
    Op op;
    op.comm = RandomComm();
    op.what = kAll[Below(&random_, static_cast<int>(std::size(kAll)))];
    if (HasRoot(op.what)) op.peer = Below(&random_, static_cast<int>(Members(op.comm).size()));
    op.count = RandomCount();
    op.type = Chance(&random_, 70) ? 1 : 0;
    if (Reduces(op.what) && Chance(&random_, 40)) op.reduction = Below(&random_, 4);
    return op;
  }

  void Add(Op op, int rounds, Style style, Code* to) {
    const bool nonblocking = Chance(&random_, 25);
    op.line = ++line_;
    ++line_;
    result_.styles[op.line] = style;
    for (int round = 0; round < rounds; ++round) {
      if (nonblocking) op.request = ++requests_;
      for (const int rank : Members(op.comm)) {
        std::vector<Op>& code = (*to)[static_cast<size_t>(rank)];
        code.push_back(op);
        if (!nonblocking) continue;
        Op wait;
        wait.what = Do::kWaitall;
        wait.requests = {op.request};
        wait.line = op.line + 1;
        code.push_back(wait);
      }
    }
  }

  // A call with peculiar data.
  void AddStyled(Code* to) {
    const auto style = static_cast<Style>(1 + Below(&random_, static_cast<int>(Style::kNegative)));
    Op op = RandomOp();
    op.type = 1;
    int rounds = 1;
    switch (style) {
      case Style::kSame:
      case Style::kConstant:
      case Style::kFew:
        op.what = Do::kAllreduce;
        op.peer = kNone;
        op.reduction = 0;
        op.count = 40 + Below(&random_, 60);
        // Too few calls, the same data again and again, or data that many computations have.
        rounds = style == Style::kSame ? 1 + Below(&random_, kRounds - 1) : 1 + Below(&random_, 15);
        break;
      case Style::kPadding:
      case Style::kNoValue:
        op.what = Chance(&random_, 70) ? Do::kAllreduce : Do::kReduce;
        op.peer = op.what == Do::kReduce ? 0 : kNone;
        op.reduction = style == Style::kNoValue ? 1 + Below(&random_, 2) : 0;
        break;
      case Style::kMoved:
        op.what = Do::kBcast;
        op.peer = op.reduction = 0;
        break;
      case Style::kNegative:
      case Style::kReordered:
        op.what = Do::kAllreduce;
        op.peer = kNone;
        op.reduction = 0;
        break;
      case Style::kPlain:
        break;
    }
    Add(op, rounds, style, to);
  }

  void AddSteps() {
    Code code(static_cast<size_t>(program().ranks));
    const int steps = 2 + Below(&random_, 6);
    for (int step = 0; step < steps; ++step) {
      Op op = RandomOp();
      if (step == 0) op.type = 1;
      if (step < 2) {
        op.what = Do::kAllreduce;
        op.peer = kNone;
      }
      if (step == 0) op.reduction = 0;
      Add(op, Chance(&random_, 20) ? 1 + Below(&random_, 10) : 1, Style::kPlain, &code);
    }
    const int styled = Below(&random_, 3);
    for (int i = 0; i < styled; ++i) AddStyled(&code);
    if (kind_ == FaultKind::kReordered) {
      Op op = RandomOp();
      op.what = Do::kAllreduce;
      op.peer = kNone;
      op.reduction = 0;
      op.type = 1;
      Add(op, 1, Style::kReordered, &code);
    }
    if (kind_ == FaultKind::kSame || kind_ == FaultKind::kDrift) {
      Op op = RandomOp();
      op.what = Do::kAllreduce;
      op.peer = kNone;
      op.reduction = 0;
      op.type = Chance(&random_, 80) ? 1 : 0;
      op.count = 64 + Below(&random_, 100);
      // The first data may be preceded by a call whose inputs are equal to it.
      const int rounds = kRounds + 1 + Below(&random_, 12);
      Add(op, rounds, Style::kSame, &code);
      looped_ = op;
      looped_.line = line_ - 1;
    }
    // Where the program has further threads, they make the last calls on a communicator.
    const bool before = program().lines() != program().ranks || Chance(&random_, 50);
    for (int rank = 0; rank < program().ranks; ++rank) {
      std::vector<Op>& old = program().code[static_cast<size_t>(rank)];
      const std::vector<Op>& added = code[static_cast<size_t>(rank)];
      auto place = old.begin();
      if (!before) {
        place = std::find_if(old.begin(), old.end(),
                             [](const Op& op) { return op.what == Do::kFinalize; });
      }
      old.insert(place, added.begin(), added.end());
    }
  }

  static bool HasResult(const Op& op, int local_rank) {
    switch (op.what) {
      case Do::kBcast:
      case Do::kAllreduce:
      case Do::kAllgather:
      case Do::kAlltoall:
      case Do::kAllgatherv:
      case Do::kAlltoallv:
        return true;
      case Do::kGather:
      case Do::kGatherv:
        return local_rank == op.peer;
      case Do::kScatter:
      case Do::kScatterv:
        return local_rank != op.peer || !op.in_place;
      default:
        return false;
    }
  }

  // Whether a fault of the kind can be in this call.
  bool Fits(int line, const Op& op) {
    if (!IsCollective(op.what) || op.init || op.rejected || program().IsInter(op.comm)) {
      return false;
    }
    if (Members(op.comm).size() < 2) return false;
    const auto style = result_.styles.find(op.line);
    const Style own = style == result_.styles.end() ? Style::kPlain : style->second;
    switch (kind_) {
      case FaultKind::kNonFinite:
      case FaultKind::kMovedNonFinite:
        return Reduces(op.what) && op.type == 1 && op.count > 0 && op.what != Do::kReduceScatter &&
               own != Style::kPadding && own != Style::kNoValue;
      case FaultKind::kFlip:
      case FaultKind::kOverwrite:
        return HasResult(op, program().LocalRank(op.comm, line)) && own != Style::kReordered;
      case FaultKind::kLastBit:
        return op.what == Do::kAllreduce && op.type == 1 && op.reduction == 0 && op.count > 0 &&
               own != Style::kPadding && own != Style::kNegative && own != Style::kReordered;
      case FaultKind::kDrift:
        return op.line == looped_.line;
      default:
        return false;
    }
  }

  bool Plant() {
    Fault& fault = result_.fault;
    fault.kind = kind_;
    fault.element = random_();
    fault.bits = random_();
    const bool replicas = kind_ == FaultKind::kReplica;
    if (replicas || Chance(&random_, 20)) {
      result_.replicas.calls = 2 + Below(&random_, 5);
      result_.replicas.elements = RandomCount();
    }
    if (replicas) {
      fault.rank = Below(&random_, program().ranks);
      result_.replicas.drifts_at = Below(&random_, result_.replicas.calls);
      return true;
    }
    if (kind_ == FaultKind::kNone) return true;
    if (kind_ == FaultKind::kSame || kind_ == FaultKind::kReordered) return true;
    std::vector<std::pair<int, int>> places;
    for (int line = 0; line < program().ranks; ++line) {
      const std::vector<Op>& code = program().code[static_cast<size_t>(line)];
      int round = 0;
      for (int at = 0; at < static_cast<int>(code.size()); ++at) {
        const Op& op = code[static_cast<size_t>(at)];
        if (!Fits(line, op)) continue;
        // Before it drifts, it was equal for long enough.
        if (kind_ == FaultKind::kDrift && round++ < kRounds) continue;
        places.emplace_back(line, at);
      }
    }
    if (places.empty()) return false;
    std::tie(fault.line, fault.at) =
        places[static_cast<size_t>(Below(&random_, static_cast<int>(places.size())))];
    fault.rank = fault.line;
    return true;
  }

  void Vary() {
    result_.variation = static_cast<Variation>(1 + Below(&random_, kVariationKinds - 1));
    result_.lost_percent = 1 + Below(&random_, 100);
    const bool all = result_.variation == Variation::kOverwritten && Chance(&random_, 50);
    result_.incomplete_rank = all ? kNone : Below(&random_, program().ranks);
  }

  const FaultKind kind_;
  Random& random_;
  DataProgram result_;
  int line_ = 0;
  int requests_ = 0;
  Op looped_;
};

}  // namespace

DataProgram Generate(FaultKind kind, Random* random) { return Generator(kind, random).Run(); }

}  // namespace rollcall::oracle::data
