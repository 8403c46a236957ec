// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/device/machine.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace rollcall::oracle::device {
namespace {

const Cell& CellOf(const State& state, int rank, int at) {
  return state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)];
}

}  // namespace

Machine::Machine(const Program& program) : program_(program) {
  std::map<std::tuple<int, int, int, int>, int> known;  // communicator, from, to, number
  meeting_of_.resize(program.code.size());
  for (int r = 0; r < program.ranks; ++r) {
    std::map<std::tuple<int, int, int>, int> numbers;
    for (const Op& op : program.code[static_cast<size_t>(r)]) {
      std::vector<int>& mine = meeting_of_[static_cast<size_t>(r)];
      mine.push_back(kNone);
      if (!IsOnDevice(op.what)) continue;
      const int me = program.LocalRank(op.comm, r);
      const int from = op.what == Do::kSend ? me : op.what == Do::kRecv ? op.peer : kNone;
      const int to = op.what == Do::kSend ? op.peer : op.what == Do::kRecv ? me : kNone;
      const int number = ++numbers[{op.comm, from, to}];
      const auto [entry, added] =
          known.emplace(std::tuple(op.comm, from, to, number), static_cast<int>(meetings_.size()));
      if (added) {
        Meeting meeting{op.comm, IsMessage(op.what) ? 0 : number, {}, program.Members(op.comm)};
        if (IsMessage(op.what)) {
          meeting.members = {r, program.Members(op.comm)[static_cast<size_t>(op.peer)]};
        }
        meetings_.push_back(std::move(meeting));
      }
      mine.back() = entry->second;
      meetings_[static_cast<size_t>(entry->second)].calls.emplace_back(
          r, static_cast<int>(mine.size()) - 1);
    }
  }
  fits_.reserve(meetings_.size());
  for (const Meeting& meeting : meetings_) fits_.push_back(Fit(nullptr, meeting));
}

State Machine::Start() const {
  State state;
  state.ranks.resize(program_.code.size());
  for (const std::vector<Op>& ops : program_.code) state.cells.emplace_back(ops.size());
  return state;
}

bool Machine::Entered(const State& state, int rank, int at) const {
  const RankState& here = state.ranks[static_cast<size_t>(rank)];
  return at < here.at || (at == here.at && here.inside);
}

bool Machine::Fit(const State* state, const Meeting& meeting) const {
  const Op* first = nullptr;
  for (const auto& [rank, at] : meeting.calls) {
    if (state != nullptr && !Entered(*state, rank, at)) continue;
    const Op& op = At(rank, at);
    if (first == nullptr) first = &op;
    if (op.count != first->count || op.type != first->type) return false;
    if (IsMessage(op.what)) continue;
    if (op.what != first->what) return false;
    if (IsRooted(op.what) && op.peer != first->peer) return false;
    if (Reduces(op.what) && op.reduction != first->reduction) return false;
  }
  return true;
}

// Returns whether the operation is at the head of its stream, possibly with others of the same
// launch, and the device is not stuck at it.
bool Machine::IsAtHead(const State& state, int rank, int at) const {
  const Cell& cell = CellOf(state, rank, at);
  if (cell.launch == 0) return false;
  const int stream = program_.streams[static_cast<size_t>(At(rank, at).comm)];
  const std::vector<Op>& ops = program_.code[static_cast<size_t>(rank)];
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    const Op& op = ops[static_cast<size_t>(i)];
    if (!IsOnDevice(op.what) || program_.streams[static_cast<size_t>(op.comm)] != stream) continue;
    const Cell& other = CellOf(state, rank, i);
    if (other.launch != 0 && other.launch < cell.launch && !other.done) return false;
  }
  return state.devices_resume || rank != program_.stuck_rank || at != program_.stuck_at;
}

// Returns whether the device has reached the operation and so may have done its part of it.
bool Machine::HasCome(const State& state, Library library, int rank, int at) const {
  const Cell& cell = CellOf(state, rank, at);
  if (cell.done) return true;
  const Status status = state.ranks[static_cast<size_t>(rank)].status;
  const bool ended = status == Status::kLeft || status == Status::kDead;
  const bool early =
      library == Library::kPermissive || (library == Library::kAsDecided && cell.early);
  return (!ended || early) && IsAtHead(state, rank, at);
}

// Returns whether `rank` receives data of `other` in the operation.
bool Machine::Needs(int rank, const Op& op, int other) const {
  switch (op.what) {
    case Do::kBroadcast:
      return program_.LocalRank(op.comm, other) == op.peer;
    case Do::kReduce:
      return program_.LocalRank(op.comm, rank) == op.peer;
    case Do::kSend:
      return false;
    default:
      return true;
  }
}

bool Machine::MayComplete(const State& state, Library library, int rank, int at) const {
  const Cell& cell = CellOf(state, rank, at);
  const Status status = state.ranks[static_cast<size_t>(rank)].status;
  if (cell.done || status == Status::kLeft || status == Status::kDead) return false;
  if (!IsAtHead(state, rank, at)) return false;
  const auto m =
      static_cast<size_t>(meeting_of_[static_cast<size_t>(rank)][static_cast<size_t>(at)]);
  const Meeting& meeting = meetings_[m];
  if (meeting.number != 0 && meeting.comm == program_.frozen_comm &&
      meeting.number == program_.frozen_number) {
    return false;
  }
  // Mismatched operations never complete successfully; their behaviour is undefined.
  if (!fits_[m] && (library != Library::kAsDecided || !state.wrong_calls_pass)) return false;
  const bool early = fits_[m] && (library == Library::kPermissive ||
                                  (library == Library::kAsDecided && cell.early));
  const Op& op = At(rank, at);
  return std::all_of(meeting.members.begin(), meeting.members.end(), [&](int member) {
    if (member == rank || (early && !Needs(rank, op, member))) return true;
    return std::any_of(meeting.calls.begin(), meeting.calls.end(), [&](const auto& call) {
      return call.first == member && HasCome(state, library, member, call.second);
    });
  });
}

bool Machine::MayReturn(const State& state, int rank) const {
  const RankState& host = state.ranks[static_cast<size_t>(rank)];
  const Op& op = At(rank, host.at);
  if (op.what == Do::kHostBarrier) {
    // A barrier returns when all ranks have entered as many barriers as this rank.
    const auto barriers = [&](int r) {
      int count = 0;
      for (int at = 0; at < static_cast<int>(program_.code[static_cast<size_t>(r)].size()); ++at) {
        count += At(r, at).what == Do::kHostBarrier && Entered(state, r, at);
      }
      return count;
    };
    for (int r = 0; r < program_.ranks; ++r) {
      if (barriers(r) < barriers(rank)) return false;
    }
    return true;
  }
  for (int at = 0; at < host.at; ++at) {
    const Op& before = At(rank, at);
    const Cell& cell = CellOf(state, rank, at);
    if (!IsOnDevice(before.what) || cell.launch == 0 || cell.done) continue;
    if (op.what == Do::kSyncAll || program_.streams[static_cast<size_t>(before.comm)] ==
                                       program_.streams[static_cast<size_t>(op.comm)]) {
      return false;
    }
  }
  return true;
}

std::vector<Step> Machine::Steps(const State& state, Library library, bool resume) const {
  std::vector<Step> steps;
  for (int r = 0; r < program_.ranks; ++r) {
    const RankState& host = state.ranks[static_cast<size_t>(r)];
    if (host.status == Status::kStalled && resume) {
      steps.push_back({Step::What::kResume, r, host.at});
    }
    if (host.status == Status::kGoing && !host.inside) {
      steps.push_back({Step::What::kEnter, r, host.at});
    } else if (host.status == Status::kGoing && MayReturn(state, r)) {
      steps.push_back({Step::What::kReturn, r, host.at});
    }
    for (int at = 0; at < host.at; ++at) {
      if (IsOnDevice(At(r, at).what) && MayComplete(state, library, r, at)) {
        steps.push_back({Step::What::kComplete, r, at});
      }
    }
  }
  return steps;
}

void Machine::Enter(int r, State* state) const {
  RankState& rank = state->ranks[static_cast<size_t>(r)];
  std::vector<Cell>& cells = state->cells[static_cast<size_t>(r)];
  const int at = rank.at++;
  switch (At(r, at).what) {
    case Do::kDie:
    case Do::kExit:
      rank.status = Status::kDead;
      break;
    case Do::kStall:
      rank.status = Status::kStalled;
      break;
    case Do::kEnd:
      rank.status = Status::kLeft;
      break;
    case Do::kSyncStream:
    case Do::kSyncAll:
    case Do::kHostBarrier:
      rank.inside = true;
      break;
    case Do::kGroupStart:
      ++rank.depth;
      return;
    case Do::kGroupEnd:
      if (--rank.depth > 0) return;
      ++rank.launches;
      for (int i = 0; i < at; ++i) {
        Cell& cell = cells[static_cast<size_t>(i)];
        if (IsOnDevice(At(r, i).what) && cell.launch == 0) cell.launch = rank.launches;
      }
      return;
    default:
      if (rank.depth == 0) cells[static_cast<size_t>(at)].launch = ++rank.launches;
      return;
  }
  rank.at = at;  // the host stays at this call
}

void Machine::Take(const Step& step, State* state) const {
  RankState& rank = state->ranks[static_cast<size_t>(step.rank)];
  std::vector<Cell>& cells = state->cells[static_cast<size_t>(step.rank)];
  switch (step.what) {
    case Step::What::kEnter:
      return Enter(step.rank, state);
    case Step::What::kReturn:
      rank.inside = false;
      ++rank.at;
      return;
    case Step::What::kResume:
      rank.status = Status::kGoing;
      ++rank.at;
      return;
    case Step::What::kComplete:
      cells[static_cast<size_t>(step.at)].done = true;
      return;
  }
}

Outcome Machine::Run(State state, Library library, bool resume) const {
  state.devices_resume = resume;
  for (std::vector<Step> steps = Steps(state, library, resume); !steps.empty();
       steps = Steps(state, library, resume)) {
    for (const Step& step : steps) Take(step, &state);  // each stays possible
  }
  return OutcomeOf(state);
}

Outcome Machine::OutcomeOf(const State& state) const {
  Outcome outcome;
  outcome.complete = true;
  for (size_t r = 0; r < state.ranks.size(); ++r) {
    bool done = state.ranks[r].status == Status::kLeft;
    for (size_t at = 0; at < state.cells[r].size(); ++at) {
      done &= !IsOnDevice(program_.code[r][at].what) || state.cells[r][at].done;
    }
    outcome.ends.push_back(done);
    outcome.complete &= done;
  }
  return outcome;
}

}  // namespace rollcall::oracle::device
