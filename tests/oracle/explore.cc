// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/explore.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

namespace rollcall::oracle {
namespace {

constexpr size_t kMaxStates = 20'000;

class Search {
 public:
  Search(const Machine& machine, State start, Library library, bool resume, bool all_orders)
      : machine_(machine),
        start_(std::move(start)),
        library_(library),
        resume_(resume),
        all_orders_(all_orders) {
    outcome_.can_move.assign(start_.lines.size(), false);
    outcome_.must_move.assign(start_.lines.size(), true);
  }

  Outcome Run() {
    Visit(start_);
    outcome_.states = seen_.size();
    return outcome_;
  }

 private:
  void Visit(State state) {
    std::vector<Step> steps = machine_.Steps(state, library_, resume_);
    if (!all_orders_) {
      for (auto step = NoChoice(steps); step != steps.end(); step = NoChoice(steps)) {
        machine_.Take(*step, library_, &state);
        steps = machine_.Steps(state, library_, resume_);
      }
    }
    if (!seen_.insert(state.Key()).second || outcome_.bounded) return;
    outcome_.bounded = seen_.size() > kMaxStates;
    if (steps.empty()) return End(state);
    for (const Step& step : steps) {
      State next = state;
      machine_.Take(step, library_, &next);
      Visit(std::move(next));
    }
  }

  static std::vector<Step>::const_iterator NoChoice(const std::vector<Step>& steps) {
    return std::find_if(steps.begin(), steps.end(), [](const Step& step) { return !step.choice; });
  }

  void End(const State& state) {
    bool complete = true;
    for (size_t r = 0; r < state.lines.size(); ++r) {
      const LineState& before = start_.lines[r];
      const LineState& after = state.lines[r];
      const bool moved = after.at != before.at || after.status != before.status;
      complete &= after.status == Status::kLeft;
      if (moved) outcome_.can_move[r] = true;
      if (!moved) outcome_.must_move[r] = false;
    }
    outcome_.some_complete |= complete;
    outcome_.every_complete &= complete;
  }

  const Machine& machine_;
  const State start_;
  const Library library_;
  const bool resume_;
  const bool all_orders_;
  Outcome outcome_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

Outcome Explore(const Machine& machine, const State& start, Library library, bool resume,
                bool all_orders) {
  return Search(machine, start, library, resume, all_orders).Run();
}

Outcome ExploreLibraries(const Machine& machine, const State& start) {
  // The operations for which the library has a decision to make.
  std::vector<std::pair<size_t, size_t>> open;
  for (size_t r = 0; r < start.cells.size(); ++r) {
    for (size_t at = 0; at < start.cells[r].size(); ++at) {
      const Op& op = machine.At(static_cast<int>(r), static_cast<int>(at));
      const bool decides = op.what == Do::kSend || op.what == Do::kPsend ||
                           op.what == Do::kParrived || IsCollective(op.what);
      if (decides) open.emplace_back(r, at);
    }
  }
  Outcome all;
  all.can_move.assign(start.lines.size(), false);
  all.must_move.assign(start.lines.size(), true);
  if (open.size() > 9) {
    all.bounded = true;
    return all;
  }
  for (size_t decision = 0; decision < size_t{1} << open.size(); ++decision) {
    State state = start;
    for (size_t i = 0; i < open.size(); ++i) {
      state.cells[open[i].first][open[i].second].early = (decision >> i & 1) != 0;
    }
    const Outcome one = Explore(machine, state, Library::kAsDecided, false);
    all.some_complete |= one.some_complete;
    all.every_complete &= one.every_complete;
    all.bounded |= one.bounded;
    all.states += one.states;
    for (size_t r = 0; r < start.lines.size(); ++r) {
      all.can_move[r] = all.can_move[r] || one.can_move[r];
      all.must_move[r] = all.must_move[r] && one.must_move[r];
    }
  }
  return all;
}

}  // namespace rollcall::oracle
