// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/loops/machine.h"

#include <algorithm>
#include <numeric>

namespace rollcall::oracle::loops {
namespace {

using What = Call::What;

bool PairFits(const Call& a, const Call& b, int a_rank, int b_rank) {
  if (a.operation != b.operation || a.arguments != b.arguments || a.root != b.root) return false;
  if (a.sends.empty()) return true;
  const auto at = [](const std::vector<int>& counts, int rank) {
    return counts[static_cast<size_t>(rank)];
  };
  return at(a.sends, b_rank) == at(b.recvs, a_rank) && at(b.sends, a_rank) == at(a.recvs, b_rank);
}

}  // namespace

Machine::Machine(const Program& program) : program_(program), code_(Unroll(program)) {
  for (int rank = 0; rank < program.ranks(); ++rank) {
    std::vector<Action>& actions = actions_.emplace_back();
    for (const Made& made : CodeOf(rank).made) {
      const Call& call = *made.call;
      const int local = program.comms[static_cast<size_t>(call.comm)].LocalRank(rank);
      Action& action = actions.emplace_back();
      if (call.to != kNone) action.sends = Channel(call.comm, local, call.to, call.to_tag);
      if (call.from != kNone) action.receives = Channel(call.comm, call.from, local, call.from_tag);
    }
  }
}

int Machine::Channel(int comm, int from, int to, int tag) {
  const int next = static_cast<int>(channel_of_.size());
  return channel_of_.emplace(std::array{comm, from, to, tag}, next).first->second;
}

State Machine::Start() const {
  State state;
  state.ranks.resize(code_.size());
  state.sent.resize(channel_of_.size());
  state.received.resize(channel_of_.size());
  for (const Comm& comm : program_.comms) state.entered.emplace_back(comm.members.size());
  return state;
}

Pace Machine::Plain() const {
  Pace pace;
  pace.order.resize(code_.size());
  std::iota(pace.order.begin(), pace.order.end(), 0);
  pace.calls.assign(code_.size(), 1);
  return pace;
}

int64_t Machine::Run(Library library, const Pace& pace, int64_t limit, State* state,
                     const Returned& returned) const {
  int64_t entered = 0;
  for (bool moves = true; moves;) {
    moves = false;
    for (const int rank : pace.order) {
      RankState& here = state->ranks[static_cast<size_t>(rank)];
      const std::vector<int>& order = CodeOf(rank).order;
      for (int i = 0; i < pace.calls[static_cast<size_t>(rank)] && !here.left; ++i) {
        if (!here.inside) {
          if (entered == limit) return entered;
          ++entered;
          Enter(rank, state);
          moves = true;
        }
        if (here.left || !Complete(*state, library, rank)) break;
        if (returned) returned(rank, order[static_cast<size_t>(here.at)]);
        here.inside = false;
        ++here.at;
        moves = true;
      }
    }
  }
  return entered;
}

const Made& Machine::At(const State& state, int rank) const {
  const Code& code = CodeOf(rank);
  const int at = state.ranks[static_cast<size_t>(rank)].at;
  return code.made[static_cast<size_t>(code.order[static_cast<size_t>(at)])];
}

Request* Machine::Find(int request, RankState* rank) {
  const bool ordinary = request < kFirstPersistent;
  std::vector<Request>& requests = ordinary ? rank->requests : rank->persistent;
  const auto at = static_cast<size_t>(ordinary ? request : request - kFirstPersistent);
  if (at >= requests.size()) requests.resize(at + 1);
  return &requests[at];
}

void Machine::Enter(int rank, State* state) const {
  RankState& here = state->ranks[static_cast<size_t>(rank)];
  const Code& code = CodeOf(rank);
  const int made = code.order[static_cast<size_t>(here.at)];
  const Call& call = *code.made[static_cast<size_t>(made)].call;
  const Action& action = actions_[static_cast<size_t>(rank)][static_cast<size_t>(made)];
  const auto post = [](int channel, std::vector<int>* posted) {
    return channel == kNone ? 0 : ++(*posted)[static_cast<size_t>(channel)];
  };
  here.inside = true;
  switch (call.what) {
    case What::kNothing:
    case What::kWaitall:
    case What::kForever:
      return;
    case What::kSend:
    case What::kRecv:
    case What::kSendrecv:
      here.sent = post(action.sends, &state->sent);
      here.received = post(action.receives, &state->received);
      return;
    case What::kIsend:
      *Find(call.requests[0], &here) = {action.sends, post(action.sends, &state->sent), true};
      return;
    case What::kIrecv:
      *Find(call.requests[0], &here) = {action.receives, post(action.receives, &state->received),
                                        false};
      return;
    case What::kSendInit:
      *Find(call.requests[0], &here) = {action.sends, 0, true};
      return;
    case What::kRecvInit:
      *Find(call.requests[0], &here) = {action.receives, 0, false};
      return;
    case What::kStartall:
      for (const int name : call.requests) {
        Request* request = Find(name, &here);
        request->number = post(request->channel, request->sends ? &state->sent : &state->received);
      }
      return;
    case What::kCollective: {
      const auto comm = static_cast<size_t>(call.comm);
      const int local = program_.comms[comm].LocalRank(rank);
      std::vector<int>& entered = state->entered[comm][static_cast<size_t>(local)];
      entered.push_back(made);
      here.number = static_cast<int>(entered.size());
      return;
    }
    case What::kFinalize:
      here.left = true;
      return;
  }
}

bool Machine::Complete(const State& state, Library library, int rank) const {
  const RankState& here = state.ranks[static_cast<size_t>(rank)];
  const Code& code = CodeOf(rank);
  const auto made = static_cast<size_t>(code.order[static_cast<size_t>(here.at)]);
  const Call& call = *code.made[made].call;
  const Action& action = actions_[static_cast<size_t>(rank)][made];
  const auto has = [](const std::vector<int>& posted, int channel, int number) {
    return channel == kNone || posted[static_cast<size_t>(channel)] >= number;
  };
  switch (call.what) {
    case What::kSend:
    case What::kRecv:
    case What::kSendrecv:
      return (library.buffers || has(state.received, action.sends, here.sent)) &&
             has(state.sent, action.receives, here.received);
    case What::kWaitall:
      return std::all_of(call.requests.begin(), call.requests.end(), [&](int name) {
        const bool ordinary = name < kFirstPersistent;
        const Request& request =
            (ordinary
                 ? here.requests
                 : here.persistent)[static_cast<size_t>(ordinary ? name : name - kFirstPersistent)];
        if (request.sends && library.buffers) return true;
        return has(request.sends ? state.received : state.sent, request.channel, request.number);
      });
    case What::kCollective:
      return CollectiveComplete(state, library, rank, call);
    case What::kForever:
      return library.resumes;
    default:
      return true;
  }
}

const Call* Machine::Entered(const State& state, int comm, int local_rank, int number) const {
  const auto& entered = state.entered[static_cast<size_t>(comm)][static_cast<size_t>(local_rank)];
  if (static_cast<int>(entered.size()) < number) return nullptr;
  const int rank =
      program_.comms[static_cast<size_t>(comm)].members[static_cast<size_t>(local_rank)];
  const auto made = static_cast<size_t>(entered[static_cast<size_t>(number - 1)]);
  return CodeOf(rank).made[made].call;
}

bool Machine::Fits(const State& state, int comm, int number) const {
  const int size = program_.comms[static_cast<size_t>(comm)].size();
  for (int a = 0; a < size; ++a) {
    const Call* call = Entered(state, comm, a, number);
    for (int b = 0; b < a && call != nullptr; ++b) {
      const Call* other = Entered(state, comm, b, number);
      if (other != nullptr && !PairFits(*call, *other, a, b)) return false;
    }
  }
  return true;
}

int Machine::LastNumber(const State& state, int comm) {
  size_t last = 0;
  for (const auto& entered : state.entered[static_cast<size_t>(comm)]) {
    last = std::max(last, entered.size());
  }
  return static_cast<int>(last);
}

bool Machine::CollectiveComplete(const State& state, Library library, int rank,
                                 const Call& call) const {
  const Comm& comm = program_.comms[static_cast<size_t>(call.comm)];
  const int number = state.ranks[static_cast<size_t>(rank)].number;
  const int mine = comm.LocalRank(rank);
  for (int other = 0; other < comm.size(); ++other) {
    if (other == mine) continue;
    bool needs = true;
    if (call.needs == Call::Needs::kNeighbors) {
      needs = comm.Expects(other, mine);
      if (needs && !comm.Sends(other, mine)) return false;
    } else if (library.early && call.needs == Call::Needs::kRoot) {
      needs = other == call.root;
    } else if (library.early && call.needs == Call::Needs::kAllAtRoot) {
      needs = mine == call.root;
    }
    if (needs && Entered(state, call.comm, other, number) == nullptr) return false;
  }
  return library.lenient || Fits(state, call.comm, number);
}

bool Machine::Waits(const State& state, int rank) const {
  const RankState& here = state.ranks[static_cast<size_t>(rank)];
  return here.inside && !here.left && !Stalls(state, rank);
}

bool Machine::Stalls(const State& state, int rank) const {
  return At(state, rank).call->what == What::kForever &&
         state.ranks[static_cast<size_t>(rank)].inside;
}

bool Machine::AllLeft(const State& state) const {
  return std::all_of(state.ranks.begin(), state.ranks.end(),
                     [](const RankState& rank) { return rank.left; });
}

}  // namespace rollcall::oracle::loops
