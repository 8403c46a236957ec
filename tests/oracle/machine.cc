// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/machine.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace rollcall::oracle {
namespace {

bool Starts(const Op& op) { return op.handle != kNone && !op.init && op.what != Do::kFree; }

// Returns whether the call returns at once, independently of the other ranks.
bool IsLocal(const Op& op) {
  return op.rejected || op.request != kNone || op.what == Do::kFree || op.what == Do::kMrecv ||
         op.what == Do::kSpawn || op.what == Do::kPready || (op.init && IsMessage(op.what));
}

}  // namespace

std::string State::Key() const {
  std::string key;
  for (const LineState& line : lines) {
    key += static_cast<char>(line.status);
    key += static_cast<char>(line.at);
    key += static_cast<char>(line.inside);
  }
  for (const std::vector<Cell>& row : cells) {
    for (const Cell& cell : row) {
      key += static_cast<char>(cell.early + 2 * cell.finished + 4 * (cell.match_rank != kNone));
    }
  }
  return key;
}

Machine::Machine(const Program& program) : program_(program) {
  std::map<std::tuple<int, int, int>, int> known;
  instance_of_.resize(program.code.size());
  std::vector<std::map<int, int>> all_numbers(static_cast<size_t>(program.ranks));
  for (int r = 0; r < program.lines(); ++r) {
    std::map<int, int>& numbers = all_numbers[static_cast<size_t>(program.RankOf(r))];
    std::map<int, std::pair<int, int>> handles;  // number of the initialisation, count of starts
    for (const Op& op : program.code[static_cast<size_t>(r)]) {
      instance_of_[static_cast<size_t>(r)].push_back(kNone);
      if (!IsCollective(op.what) || op.rejected) continue;
      std::tuple<int, int, int> key(op.comm, 0, 0);
      if (Starts(op)) {
        std::pair<int, int>& handle = handles[op.handle];
        key = {op.comm, handle.first, ++handle.second};
      } else {
        std::get<1>(key) = ++numbers[op.comm];
        if (op.init) handles[op.handle] = {std::get<1>(key), 0};
      }
      const auto [entry, added] = known.emplace(key, static_cast<int>(instances_.size()));
      if (added) {
        instances_.push_back({op.comm, std::get<1>(key), std::get<2>(key), {}, false});
      }
      const int at = static_cast<int>(instance_of_[static_cast<size_t>(r)].size()) - 1;
      instances_[static_cast<size_t>(entry->second)].calls.emplace_back(r, at);
      instance_of_[static_cast<size_t>(r)].back() = entry->second;
    }
  }
  PairPartitioned();
  for (size_t i = 0; i < instances_.size(); ++i) {
    instances_[i].goes_wrong = !Fit(nullptr, static_cast<int>(i));
  }
}

// Pairs each partitioned send with its receive (MPI 4.0, 4.2): the initialisations match in order,
// and the n-th start of one matches the n-th start of the other.
void Machine::PairPartitioned() {
  using Key = std::tuple<int, int, int, int, int, int>;  // comm, from, to, tag, handle, start
  std::map<Key, std::pair<int, int>> ends[2];
  for (int r = 0; r < program_.lines(); ++r) {
    std::map<Key, int> inits;
    std::map<int, std::pair<int, int>> handles;  // number of the initialisation, count of starts
    const std::vector<Op>& ops = program_.code[static_cast<size_t>(r)];
    other_end_.emplace_back(ops.size(), std::pair(kNone, kNone));
    for (int at = 0; at < static_cast<int>(ops.size()); ++at) {
      const Op& op = ops[static_cast<size_t>(at)];
      if (!IsPartitioned(op.what)) continue;
      const bool sends = op.what == Do::kPsend;
      const int me = program_.LocalRank(op.comm, r);
      Key key(op.comm, sends ? me : op.peer, sends ? op.peer : me, op.tag, sends, 0);
      if (op.init) {
        handles[op.handle] = {++inits[key], 0};
        continue;
      }
      std::get<4>(key) = handles[op.handle].first;
      std::get<5>(key) = ++handles[op.handle].second;
      ends[sends][key] = {r, at};
    }
  }
  for (const auto& [key, send] : ends[true]) {
    const auto receive = ends[false].find(key);
    if (receive == ends[false].end()) continue;
    const auto place = [this](std::pair<int, int> end) -> std::pair<int, int>& {
      return other_end_[static_cast<size_t>(end.first)][static_cast<size_t>(end.second)];
    };
    place(send) = receive->second;
    place(receive->second) = send;
  }
}

State Machine::Start() const {
  State state;
  state.lines.resize(program_.code.size());
  for (int line = program_.ranks; line < program_.lines(); ++line) {
    // A fault may have removed the operation that starts this thread; it never runs then.
    const bool never = SpawnOf(line) == kNone &&
                       program_.threads[static_cast<size_t>(line - program_.ranks)].spawned;
    if (never) state.lines[static_cast<size_t>(line)].status = Status::kLeft;
  }
  for (const std::vector<Op>& ops : program_.code) state.cells.emplace_back(ops.size());
  state.wrong.resize(instances_.size(), WrongCall::kHangs);
  return state;
}

bool Machine::Entered(const State& state, int rank, int at) const {
  const LineState& here = state.lines[static_cast<size_t>(rank)];
  return at < here.at || (at == here.at && here.inside);
}

int Machine::MakerOf(int rank, int request) const {
  const std::vector<Op>& ops = program_.code[static_cast<size_t>(rank)];
  for (size_t at = 0; at < ops.size(); ++at) {
    if (ops[at].request == request) return static_cast<int>(at);
  }
  return kNone;
}

int Machine::SpawnOf(int line) const {
  if (line < program_.ranks) return kNone;
  const std::vector<Op>& ops = program_.code[static_cast<size_t>(program_.RankOf(line))];
  for (size_t at = 0; at < ops.size(); ++at) {
    if (ops[at].what == Do::kSpawn && ops[at].thread == line) return static_cast<int>(at);
  }
  return kNone;
}

bool Machine::ThreadsEnded(const State& state, int rank) const {
  for (int line = program_.ranks; line < program_.lines(); ++line) {
    if (program_.RankOf(line) != rank) continue;
    if (state.lines[static_cast<size_t>(line)].status != Status::kLeft) return false;
  }
  return true;
}

bool Machine::GoesWrong(int rank, int at) const {
  const Op& op = At(rank, at);
  const int instance = InstanceOf(rank, at);
  return (instance != kNone && instances_[static_cast<size_t>(instance)].goes_wrong) ||
         (op.fused && op.handle != kNone && GoesWrong(rank, at + 1)) ||
         std::any_of(op.requests.begin(), op.requests.end(),
                     [&](int request) { return GoesWrong(rank, MakerOf(rank, request)); });
}

std::vector<Step> Machine::Steps(const State& state, Library library, bool resume) const {
  std::vector<Step> steps;
  for (int r = 0; r < program_.lines(); ++r) {
    const LineState& rank = state.lines[static_cast<size_t>(r)];
    if (rank.status == Status::kStalled && (resume || At(r, rank.at).what == Do::kSleep)) {
      steps.push_back({Step::What::kResume, r, rank.at, 0, 0, false});
    }
    if (rank.status != Status::kGoing) continue;
    // A mismatched call is a choice: once it is entered, members that could have returned before
    // can no longer return.
    const bool choice = GoesWrong(r, rank.at);
    if (!rank.inside) {
      if (At(r, rank.at).what == Do::kFinalize && !ThreadsEnded(state, r)) continue;
      const int spawn = rank.at == 0 ? SpawnOf(r) : kNone;
      if (spawn != kNone && !Entered(state, program_.RankOf(r), spawn)) continue;
      steps.push_back({Step::What::kEnter, r, rank.at, 0, 0, choice});
    } else if (Complete(state, library, r, rank.at)) {
      steps.push_back({Step::What::kReturn, r, rank.at, 0, 0, choice});
    }
  }
  AddMatches(state, &steps);
  return steps;
}

void Machine::Take(const Step& step, Library library, State* state) const {
  LineState& rank = state->lines[static_cast<size_t>(step.line)];
  const auto die = [&] {
    for (int line = 0; line < program_.lines(); ++line) {
      if (program_.RankOf(line) != program_.RankOf(step.line)) continue;
      state->lines[static_cast<size_t>(line)].status = Status::kDead;
    }
  };
  const Op& op = At(step.line, step.at);
  std::vector<Cell>& cells = state->cells[static_cast<size_t>(step.line)];
  switch (step.what) {
    case Step::What::kResume:
      rank.status = Status::kGoing;
      ++rank.at;
      return;
    case Step::What::kMatch: {
      Cell& receive = cells[static_cast<size_t>(step.at)];
      receive.match_rank = step.from;
      receive.match_at = step.from_at;
      Cell& send = state->cells[static_cast<size_t>(step.from)][static_cast<size_t>(step.from_at)];
      send.match_rank = step.line;
      send.match_at = step.at;
      return;
    }
    case Step::What::kEnter:
      if (op.what == Do::kDie || op.what == Do::kExit) {
        die();
      } else if (op.what == Do::kStall || op.what == Do::kSleep) {
        rank.status = Status::kStalled;
      } else if (op.what == Do::kFinalize || op.what == Do::kEnd) {
        rank.status = Status::kLeft;
      } else if (op.fused) {
        ++rank.at;  // enters the other operations of the call, too
        Take({Step::What::kEnter, step.line, rank.at, 0, 0, false}, library, state);
      } else if (IsLocal(op)) {
        ++rank.at;  // returns at once; the operation can be matched from now on
      } else {
        rank.inside = true;
        if (op.dies_inside) die();
      }
      return;
    case Step::What::kReturn:
      for (const int request : op.requests) {
        const int maker = MakerOf(step.line, request);
        Cell& cell = cells[static_cast<size_t>(maker)];
        if (cell.finished || !Complete(*state, library, step.line, maker)) continue;
        cell.finished = true;
        if (op.what == Do::kWaitany) break;
      }
      rank.inside = false;
      ++rank.at;
      return;
  }
}

}  // namespace rollcall::oracle
