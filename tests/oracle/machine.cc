#include "tests/oracle/machine.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace rollcall::oracle {
namespace {

bool Rooted(Do what) {
  return what == Do::kBcast || what == Do::kReduce || what == Do::kGather || what == Do::kScatter ||
         what == Do::kGatherv || what == Do::kScatterv;
}

bool Reduces(Do what) {
  return what == Do::kReduce || what == Do::kAllreduce || what == Do::kScan ||
         what == Do::kReduceScatter;
}

bool HasData(Do what) { return what != Do::kBarrier && what != Do::kDup && what != Do::kSplit; }

// Each pair has counts of its own.
bool PairByPair(Do what) { return what >= Do::kGatherv && what <= Do::kAlltoallv; }

bool Gives(const Op& op) { return IsSend(op.what) && !op.init; }
bool Takes(const Op& op) { return (op.what == Do::kRecv || op.what == Do::kMprobe) && !op.init; }
bool Starts(const Op& op) { return op.handle != kNone && !op.init && op.what != Do::kFree; }

// Returns at once, whatever the others do.
bool IsLocal(const Op& op) {
  return op.request != kNone || op.what == Do::kFree || op.what == Do::kMrecv ||
         (op.init && IsMessage(op.what));
}

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
  std::map<std::tuple<int, int, int>, int> known;
  instance_of_.resize(program.code.size());
  for (int r = 0; r < program.ranks; ++r) {
    std::map<int, int> numbers;
    std::map<int, std::pair<int, int>> handles;  // the initialisation's number, and starts
    for (const Op& op : program.code[static_cast<size_t>(r)]) {
      instance_of_[static_cast<size_t>(r)].push_back(kNone);
      if (!IsCollective(op.what)) continue;
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
  const Op* rooted = nullptr;  // first that names a root: all do, but for the root's own group
  const auto& calls = instances_[static_cast<size_t>(instance)].calls;
  for (const auto& [rank, at] : calls) {
    if (state != nullptr && !Entered(*state, rank, at)) continue;
    const Op& op = At(rank, at);
    if (first == nullptr) first = &op;
    if (op.what != first->what || (op.request == kNone) != (first->request == kNone)) return false;
    if (op.init != first->init) return false;
    if (Rooted(op.what) && op.peer >= 0) {
      if (rooted == nullptr) rooted = &op;
      if (op.peer != rooted->peer) return false;
    }
    if (Reduces(op.what) && op.reduction != first->reduction) return false;
    if (op.what == Do::kReduceScatter && (op.recvs != first->recvs || op.type != first->type)) {
      return false;
    }
    if (PairByPair(op.what)) {
      for (const auto& [other, other_at] : calls) {
        if (state != nullptr && !Entered(*state, other, other_at)) continue;
        if (At(other, other_at).what != op.what) return false;
        if (!PairFits(rank, op, other, At(other, other_at))) return false;
      }
      continue;
    }
    if (op.what == Do::kReduceScatter || op.peer == kRootNone) continue;
    if (first->peer == kRootNone) first = &op;
    if (HasData(op.what) && op.count != first->count) return false;
    if (HasData(op.what) && op.count != 0 && op.type != first->type) return false;
  }
  return true;
}

// 6.5 to 6.8: what `a` sends to `b` is what `b` expects of it.
bool Machine::PairFits(int a, const Op& from, int b, const Op& to) const {
  const int me = program_.LocalRank(from.comm, a);
  const int them = program_.LocalRank(from.comm, b);
  int sent = 0;
  int expected = 0;
  switch (from.what) {
    case Do::kGatherv:
      if (them != to.peer) return true;
      sent = from.count;
      expected = to.recvs[static_cast<size_t>(me)];
      break;
    case Do::kScatterv:
      if (me != from.peer) return true;
      sent = from.sends[static_cast<size_t>(them)];
      expected = to.count;
      break;
    case Do::kAllgatherv:
      sent = from.count;
      expected = to.recvs[static_cast<size_t>(me)];
      break;
    default:
      sent = from.sends[static_cast<size_t>(them)];
      expected = to.recvs[static_cast<size_t>(me)];
  }
  return sent == expected && (sent == 0 || from.type == to.type);
}

// May `rank` not return from the collective before `other` has entered it?
bool Machine::Needs(int rank, const Op& op, int other) const {
  const int me = program_.LocalRank(op.comm, rank);
  const int them = program_.LocalRank(op.comm, other);
  if (op.init) return false;  // no data yet
  if (!program_.Talk(op.comm, rank, other)) return false;
  if (program_.IsInter(op.comm) && Rooted(op.what)) {
    const bool from_root = op.what == Do::kBcast || op.what == Do::kScatter;
    if (op.peer == kRootNone || op.count == 0) return false;
    return op.peer == kRootSelf ? !from_root : from_root && them == op.peer;
  }
  switch (op.what) {
    case Do::kGatherv:
      return me == op.peer && op.recvs[static_cast<size_t>(them)] > 0;
    case Do::kScatterv:
      return them == op.peer && op.count > 0;
    case Do::kAllgatherv:
    case Do::kAlltoallv:
      return op.recvs[static_cast<size_t>(them)] > 0;
    case Do::kReduceScatter:
      return op.recvs[static_cast<size_t>(me)] > 0;
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
  if (instance.comm == program_.frozen_comm && instance.number == program_.frozen_number &&
      instance.start == 0) {
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
  if (op.what == Do::kProbe || op.what == Do::kIprobe) {
    return (op.what == Do::kIprobe && library == Library::kPermissive) || Visible(state, rank, op);
  }
  if (cell.match_rank != kNone && (!IsSend(op.what) || Received(state, rank, at))) return true;
  if (op.what != Do::kSend) return false;
  return library == Library::kPermissive || library == Library::kBuffering ||
         (library == Library::kAsDecided && cell.early);
}

bool Machine::Received(const State& state, int rank, int at) const {
  const Cell& cell = state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  const Op& taker = At(cell.match_rank, cell.match_at);
  if (taker.what != Do::kMprobe) return true;
  const std::vector<Op>& ops = program_.code[static_cast<size_t>(cell.match_rank)];
  for (size_t i = static_cast<size_t>(cell.match_at); i < ops.size(); ++i) {
    if (ops[i].what == Do::kMrecv && ops[i].message == taker.message) {
      return Entered(state, cell.match_rank, static_cast<int>(i));
    }
  }
  return false;
}

// A message that `probe` would find is there, and no receive that was posted before takes it.
bool Machine::Visible(const State& state, int rank, const Op& probe) const {
  const std::vector<Op>& own = program_.code[static_cast<size_t>(rank)];
  const auto open = [&](int r, int at) {
    return Entered(state, r, at) &&
           state.cells[static_cast<size_t>(r)][static_cast<size_t>(at)].match_rank == kNone;
  };
  for (int s = 0; s < program_.ranks; ++s) {
    const std::vector<Op>& sends = program_.code[static_cast<size_t>(s)];
    for (int j = 0; j < static_cast<int>(sends.size()); ++j) {
      const Op& send = sends[static_cast<size_t>(j)];
      if (!Gives(send) || !open(s, j) || !Matches(probe, rank, send, s)) continue;
      bool taken = false;
      for (int k = 0; k < static_cast<int>(own.size()); ++k) {
        const Op& receive = own[static_cast<size_t>(k)];
        taken |= Takes(receive) && open(rank, k) && Matches(receive, rank, send, s);
      }
      if (!taken) return true;
    }
  }
  return false;
}

bool Machine::Matches(const Op& receive, int receiver, const Op& send, int sender) const {
  return send.comm == receive.comm && program_.Talk(send.comm, sender, receiver) &&
         send.peer == program_.LocalRank(send.comm, receiver) &&
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
        if (!Takes(receive) || !open(r, i)) continue;
        for (int j = 0; j < static_cast<int>(sends.size()); ++j) {
          const Op& send = sends[static_cast<size_t>(j)];
          if (!Gives(send) || !open(s, j) || !Matches(receive, r, send, s)) continue;
          bool first = true;
          for (int k = 0; k < i; ++k) {
            const Op& earlier = receives[static_cast<size_t>(k)];
            if (Takes(earlier) && open(r, k) && Matches(earlier, r, send, s)) {
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
      } else if (op.fused) {
        ++rank.at;  // and everything that is one call with it
        Take({Step::What::kEnter, step.rank, rank.at, 0, 0, false}, library, state);
      } else if (IsLocal(op)) {
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
