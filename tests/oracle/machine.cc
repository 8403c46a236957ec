#include "tests/oracle/machine.h"

#include <algorithm>
#include <map>

namespace rollcall::oracle {
namespace {

bool Rooted(Do what) {
  return what == Do::kBcast || what == Do::kReduce || what == Do::kGather || what == Do::kScatter;
}

bool Reduces(Do what) { return what == Do::kReduce || what == Do::kAllreduce || what == Do::kScan; }

bool HasData(Do what) { return what != Do::kBarrier && what != Do::kDup && what != Do::kSplit; }

}  // namespace

std::string State::Key() const {
  std::string key;
  for (const RankState& rank : ranks) {
    key += static_cast<char>(rank.status);
    key += static_cast<char>(rank.at);
    key += static_cast<char>(rank.inside);
  }
  for (const std::vector<Cell>& row : cells) {
    for (const Cell& cell : row) {
      key += static_cast<char>(cell.early + 2 * cell.finished + 4 * (cell.match_rank != kNone));
    }
  }
  return key;
}

Machine::Machine(const Program& program) : program_(program) {
  std::map<std::pair<int, int>, int> known;
  instance_of_.resize(program.code.size());
  for (int r = 0; r < program.ranks; ++r) {
    std::map<int, int> numbers;
    for (const Op& op : program.code[static_cast<size_t>(r)]) {
      instance_of_[static_cast<size_t>(r)].push_back(kNone);
      if (!IsCollective(op.what)) continue;
      const std::pair key(op.comm, ++numbers[op.comm]);
      const auto [entry, added] = known.emplace(key, static_cast<int>(instances_.size()));
      if (added) instances_.push_back({key.first, key.second, {}});
      const int at = static_cast<int>(instance_of_[static_cast<size_t>(r)].size()) - 1;
      instances_[static_cast<size_t>(entry->second)].calls.emplace_back(r, at);
      instance_of_[static_cast<size_t>(r)].back() = entry->second;
    }
  }
  for (size_t i = 0; i < instances_.size(); ++i) {
    instances_[i].goes_wrong = !Fit(nullptr, static_cast<int>(i));
  }
}

State Machine::Start() const {
  State state;
  state.ranks.resize(program_.code.size());
  for (const std::vector<Op>& ops : program_.code) state.cells.emplace_back(ops.size());
  state.wrong.resize(instances_.size(), WrongCall::kHangs);
  return state;
}

bool Machine::Entered(const State& state, int rank, int at) const {
  const RankState& here = state.ranks[static_cast<size_t>(rank)];
  return at < here.at || (at == here.at && here.inside);
}

int Machine::MakerOf(int rank, int request) const {
  const std::vector<Op>& ops = program_.code[static_cast<size_t>(rank)];
  for (size_t at = 0; at < ops.size(); ++at) {
    if (ops[at].request == request) return static_cast<int>(at);
  }
  return kNone;
}

// 6: all members make the same call, with the same root and reduction, and what one sends has the
// type signature that another expects (6.1; here: type and count).
bool Machine::Fits(const State& state, int instance) const { return Fit(&state, instance); }

bool Machine::Fit(const State* state, int instance) const {
  const Op* first = nullptr;
  for (const auto& [rank, at] : instances_[static_cast<size_t>(instance)].calls) {
    if (state != nullptr && !Entered(*state, rank, at)) continue;
    const Op& op = At(rank, at);
    if (first == nullptr) first = &op;
    if (op.what != first->what || (op.request == kNone) != (first->request == kNone)) return false;
    if (Rooted(op.what) && op.peer != first->peer) return false;
    if (Reduces(op.what) && op.reduction != first->reduction) return false;
    if (HasData(op.what) && op.count != first->count) return false;
    if (HasData(op.what) && op.count != 0 && op.type != first->type) return false;
  }
  return true;
}

// May `rank` not return from the collective before `other` has entered it?
bool Machine::Needs(int rank, const Op& op, int other) const {
  const int me = program_.LocalRank(op.comm, rank);
  const int them = program_.LocalRank(op.comm, other);
  switch (op.what) {
    case Do::kBarrier:
    case Do::kSplit:
      return true;
    case Do::kDup:
      return false;
    case Do::kBcast:
    case Do::kScatter:
      return op.count > 0 && them == op.peer;
    case Do::kReduce:
    case Do::kGather:
      return op.count > 0 && me == op.peer;
    case Do::kScan:
      return op.count > 0 && them < me;
    default:
      return op.count > 0;  // everybody's data
  }
}

bool Machine::CollectiveComplete(const State& state, Library library, int rank, int at) const {
  const int number = InstanceOf(rank, at);
  const Instance& instance = instances_[static_cast<size_t>(number)];
  if (instance.comm == program_.frozen_comm && instance.number == program_.frozen_number) {
    return false;
  }
  const bool fits = Fits(state, number);
  if (!fits && (library != Library::kAsDecided ||
                state.wrong[static_cast<size_t>(number)] == WrongCall::kHangs)) {
    return false;  // never successfully
  }
  const bool early = library == Library::kPermissive ||
                     (library == Library::kAsDecided &&
                      state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)].early);
  for (const int member : program_.comms[static_cast<size_t>(instance.comm)]) {
    const bool arrived =
        std::any_of(instance.calls.begin(), instance.calls.end(), [&](const auto& call) {
          return call.first == member && Entered(state, member, call.second);
        });
    if (arrived || member == rank) continue;
    if (!fits || !early || Needs(rank, At(rank, at), member)) return false;
  }
  return true;
}

bool Machine::Complete(const State& state, Library library, int rank, int at) const {
  const Op& op = At(rank, at);
  const Cell& cell = state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  if (IsCollective(op.what)) return CollectiveComplete(state, library, rank, at);
  if (op.what == Do::kPoll && library == Library::kPermissive) return true;
  if (IsWait(op.what)) {
    const auto complete = [&](int request) {
      const int maker = MakerOf(rank, request);
      return state.cells[static_cast<size_t>(rank)][static_cast<size_t>(maker)].finished ||
             Complete(state, library, rank, maker);
    };
    if (op.what == Do::kWaitany || op.what == Do::kWaitsome) {
      return std::any_of(op.requests.begin(), op.requests.end(), complete);
    }
    return std::all_of(op.requests.begin(), op.requests.end(), complete);
  }
  if (cell.match_rank != kNone) return true;
  if (op.what != Do::kSend) return false;
  return library == Library::kPermissive || library == Library::kBuffering ||
         (library == Library::kAsDecided && cell.early);
}

bool Machine::Matches(const Op& receive, int receiver, const Op& send, int sender) const {
  return send.comm == receive.comm && send.peer == program_.LocalRank(send.comm, receiver) &&
         (receive.peer == kAny || receive.peer == program_.LocalRank(send.comm, sender)) &&
         (receive.tag == kAny || receive.tag == send.tag);
}

void Machine::AddMatches(const State& state, std::vector<Step>* steps) const {
  const auto open = [&](int rank, int at) {
    return Entered(state, rank, at) &&
           state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)].match_rank == kNone;
  };
  for (int r = 0; r < program_.ranks; ++r) {
    const std::vector<Op>& receives = program_.code[static_cast<size_t>(r)];
    for (int s = 0; s < program_.ranks; ++s) {
      const std::vector<Op>& sends = program_.code[static_cast<size_t>(s)];
      // The first message that a receive matches, and the first receive that this message matches:
      // 3.5 wants the pair to be first from both sides.
      for (int i = 0; i < static_cast<int>(receives.size()); ++i) {
        const Op& receive = receives[static_cast<size_t>(i)];
        if (receive.what != Do::kRecv || !open(r, i)) continue;
        for (int j = 0; j < static_cast<int>(sends.size()); ++j) {
          const Op& send = sends[static_cast<size_t>(j)];
          if (!IsSend(send.what) || !open(s, j) || !Matches(receive, r, send, s)) continue;
          bool first = true;
          for (int k = 0; k < i; ++k) {
            const Op& earlier = receives[static_cast<size_t>(k)];
            if (earlier.what == Do::kRecv && open(r, k) && Matches(earlier, r, send, s)) {
              first = false;
            }
          }
          if (first) {
            steps->push_back({Step::What::kMatch, r, i, s, j, receive.peer == kAny});
          }
          break;
        }
      }
    }
  }
}

bool Machine::GoesWrong(int rank, int at) const {
  const Op& op = At(rank, at);
  const int instance = InstanceOf(rank, at);
  return (instance != kNone && instances_[static_cast<size_t>(instance)].goes_wrong) ||
         std::any_of(op.requests.begin(), op.requests.end(),
                     [&](int request) { return GoesWrong(rank, MakerOf(rank, request)); });
}

std::vector<Step> Machine::Steps(const State& state, Library library, bool resume) const {
  std::vector<Step> steps;
  for (int r = 0; r < program_.ranks; ++r) {
    const RankState& rank = state.ranks[static_cast<size_t>(r)];
    if (rank.status == Status::kStalled && resume) {
      steps.push_back({Step::What::kResume, r, rank.at, 0, 0, false});
    }
    if (rank.status != Status::kGoing) continue;
    // Who enters with the wrong call keeps those inside who could have returned before.
    const bool choice = GoesWrong(r, rank.at);
    if (!rank.inside) {
      steps.push_back({Step::What::kEnter, r, rank.at, 0, 0, choice});
    } else if (Complete(state, library, r, rank.at)) {
      steps.push_back({Step::What::kReturn, r, rank.at, 0, 0, choice});
    }
  }
  AddMatches(state, &steps);
  return steps;
}

void Machine::Take(const Step& step, Library library, State* state) const {
  RankState& rank = state->ranks[static_cast<size_t>(step.rank)];
  const Op& op = At(step.rank, step.at);
  std::vector<Cell>& cells = state->cells[static_cast<size_t>(step.rank)];
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
      send.match_rank = step.rank;
      send.match_at = step.at;
      return;
    }
    case Step::What::kEnter:
      if (op.what == Do::kDie || op.what == Do::kExit) {
        rank.status = Status::kDead;
      } else if (op.what == Do::kStall) {
        rank.status = Status::kStalled;
      } else if (op.what == Do::kFinalize) {
        rank.status = Status::kLeft;
      } else if (op.request != kNone) {
        ++rank.at;  // it has done its part of the matching, and returns at once
      } else {
        rank.inside = true;
        if (op.dies_inside) rank.status = Status::kDead;
      }
      return;
    case Step::What::kReturn:
      for (const int request : op.requests) {
        const int maker = MakerOf(step.rank, request);
        Cell& cell = cells[static_cast<size_t>(maker)];
        if (cell.finished || !Complete(*state, library, step.rank, maker)) continue;
        cell.finished = true;
        if (op.what == Do::kWaitany) break;
      }
      rank.inside = false;
      ++rank.at;
      return;
  }
}

}  // namespace rollcall::oracle
