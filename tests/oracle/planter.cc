// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/planter.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tests/oracle/code_edits.h"

namespace rollcall::oracle {

bool Planter::Plant(FaultKind kind, Planted* planted) {
  planted->kind = kind;
  switch (kind) {
    case FaultKind::kSkipped:
    case FaultKind::kExtra:
    case FaultKind::kOtherOperation:
    case FaultKind::kRoot:
    case FaultKind::kReduction:
    case FaultKind::kType:
    case FaultKind::kCount:
    case FaultKind::kPairCount:
      return InCollective(kind, planted);
    case FaultKind::kTag:
    case FaultKind::kPeer:
    case FaultKind::kExchange:
    case FaultKind::kProbe:
      return InMessage(kind, planted);
    case FaultKind::kNotStarted:
      return InStart(planted);
    case FaultKind::kNotReady:
      return InPartitions(planted);
    case FaultKind::kDied:
    case FaultKind::kExited:
    case FaultKind::kStalled:
    case FaultKind::kLeftEarly:
      return AtPoint(kind, planted);
    case FaultKind::kFrozen:
      return Freeze();
    case FaultKind::kInvalid:
      return Reject(planted);
    default:
      return false;
  }
}

bool Planter::Invert(std::pair<int, int> lines, int other_comm, Planted* planted) {
  planted->kind = FaultKind::kInversion;
  Choose(program_.comms[static_cast<size_t>(other_comm)], planted);
  for (const int r : planted->ranks) SwapLines(lines, &Code(r));
  return true;
}

void Planter::Uneven(int rounds, Planted* planted) {
  planted->kind = FaultKind::kUneven;
  Choose(program_.comms[0], planted);
  const bool more = Chance(&random_, 50);
  for (int r = 0; r < program_.ranks; ++r) {
    const bool culprit =
        std::find(planted->ranks.begin(), planted->ranks.end(), r) != planted->ranks.end();
    if (culprit == more) continue;
    std::erase_if(Code(r), [&](const Op& op) { return op.iteration == rounds - 1; });
  }
}

template <typename Wanted>
std::vector<Planter::Place> Planter::PlacesFor(Wanted wanted) {
  std::vector<Place> places;
  for (int r = 0; r < program_.ranks; ++r) {
    for (size_t at = 0; at < Code(r).size(); ++at) {
      if (wanted(Code(r)[at])) places.push_back({r, at});
    }
  }
  return places;
}

Planter::Place Planter::OneOf(const std::vector<Place>& places) {
  return places[static_cast<size_t>(Below(&random_, static_cast<int>(places.size())))];
}

// Draws a minority of the members, or half of them, as the culprits.
void Planter::Choose(std::vector<int> members, Planted* planted) {
  Culprits culprits = DrawCulprits(&random_, std::move(members));
  planted->ranks = std::move(culprits.ranks);
  planted->tie = culprits.tie;
}

bool Planter::InCollective(FaultKind kind, Planted* planted) {
  const std::vector<Place> places = PlacesFor([&](const Op& op) { return Suits(kind, op); });
  if (places.empty()) return false;
  const Op op = At(OneOf(places));
  Choose(program_.comms[static_cast<size_t>(op.comm)], planted);
  // The fault occurs in every iteration, or in one only.
  const bool always = Chance(&random_, 60);
  for (const int r : planted->ranks) {
    std::vector<Op>& ops = Code(r);
    bool found = false;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].line != op.line || !IsCollective(ops[i].what) || ops[i].rejected) continue;
      if (!always && ops[i].iteration != op.iteration) continue;
      found = true;
      if (kind == FaultKind::kSkipped) {
        Remove(&ops, i--);
      } else if (kind == FaultKind::kExtra) {
        Op extra = ops[i];
        extra.line += 5;
        ops.insert(ops.begin() + static_cast<ptrdiff_t>(i) + 1, extra);
        ++i;
      } else {
        Spoil(kind, &ops[i]);
      }
    }
    if (!found) return false;  // another thread of the rank makes the call
  }
  return true;
}

void Planter::Spoil(FaultKind kind, Op* op) const {
  switch (kind) {
    case FaultKind::kOtherOperation:
      op->what = op->what == Do::kAllreduce ? Do::kBarrier : Do::kAllreduce;
      op->peer = kNone;
      op->sends.clear();
      op->recvs.clear();
      op->in_place = false;
      break;
    case FaultKind::kRoot:
      op->in_place = false;
      op->peer =
          (op->peer + 1) % static_cast<int>(program_.comms[static_cast<size_t>(op->comm)].size());
      break;
    case FaultKind::kReduction:
      op->reduction = 1 - op->reduction;
      break;
    case FaultKind::kType:
      op->type = 1 - op->type;
      break;
    case FaultKind::kPairCount:
      if (!op->sends.empty() && op->what != Do::kScatterv) {
        ++op->sends.back();
      } else if (!op->recvs.empty() && (op->what == Do::kReduceScatter || op->in_place)) {
        ++op->recvs.back();
      } else {
        ++op->count;
      }
      break;
    default:
      ++op->count;
  }
}

bool Planter::Suits(FaultKind kind, const Op& op) const {
  if (!IsCollective(op.what) || op.what == Do::kSplit || op.what == Do::kDup) return false;
  if (op.handle != kNone || op.rejected) return false;
  const bool pairwise = HasCountsOfItsOwn(op.what);
  if ((kind == FaultKind::kPairCount) != pairwise &&
      (kind == FaultKind::kPairCount || kind == FaultKind::kCount || kind == FaultKind::kType ||
       kind == FaultKind::kRoot)) {
    return false;
  }
  switch (kind) {
    case FaultKind::kExtra:
      return op.request == kNone;
    case FaultKind::kRoot:
      return op.peer != kNone && !program_.IsInter(op.comm);
    case FaultKind::kReduction:
      return Reduces(op.what);
    case FaultKind::kType:
      return op.what != Do::kBarrier && op.count != 0;
    case FaultKind::kCount:
      return op.what != Do::kBarrier;
    default:
      return true;
  }
}

// Removes an operation, and its request from all waits; a wait without requests is removed.
void Planter::Remove(std::vector<Op>* ops, size_t at) {
  const int request = (*ops)[at].request;
  ops->erase(ops->begin() + static_cast<ptrdiff_t>(at));
  if (request == kNone) return;
  for (size_t i = 0; i < ops->size(); ++i) {
    if (!IsWait((*ops)[i].what)) continue;
    std::erase((*ops)[i].requests, request);
    if ((*ops)[i].requests.empty()) ops->erase(ops->begin() + static_cast<ptrdiff_t>(i--));
  }
}

bool Planter::SuitsMessage(FaultKind kind, const Op& op) {
  const bool named = op.peer != kAny && op.tag != kAny;
  if (op.rejected) return false;
  switch (kind) {
    case FaultKind::kExchange:
      return op.fused && op.handle == kNone;
    case FaultKind::kProbe:
      return IsProbe(op.what) && named;
    case FaultKind::kPeer:
      return op.what == Do::kRecv && named;
    default:
      return (op.what == Do::kRecv && named) || IsSend(op.what) || IsPartitioned(op.what);
  }
}

// Removes one start of a persistent request: at one end of a message, or at some members of a
// collective.
bool Planter::InStart(Planted* planted) {
  const std::vector<Place> places =
      PlacesFor([](const Op& op) { return op.handle != kNone && op.request != kNone; });
  if (places.empty()) return false;
  const Place place = OneOf(places);
  const Op op = At(place);
  planted->ranks = {place.rank};
  if (IsCollective(op.what)) Choose(program_.comms[static_cast<size_t>(op.comm)], planted);
  for (const int rank : planted->ranks) {
    std::vector<Op>& ops = Code(rank);
    for (size_t i = 0; i < ops.size(); ++i) {
      const bool same = ops[i].handle == op.handle && ops[i].request != kNone &&
                        ops[i].line == op.line && ops[i].iteration == op.iteration;
      if (!same) continue;
      RemovePartitions(&ops, i);
      Remove(&ops, i);
      MendStartalls(&ops);
      break;
    }
  }
  return true;
}

// Removes the Pready and Parrived calls that follow a start, up to the next start.
void Planter::RemovePartitions(std::vector<Op>* ops, size_t start) {
  const int handle = (*ops)[start].handle;
  for (size_t i = start + 1; i < ops->size(); ++i) {
    const Op& op = (*ops)[i];
    if (op.handle != handle) continue;
    if (op.what != Do::kPready && op.what != Do::kParrived) return;
    ops->erase(ops->begin() + static_cast<ptrdiff_t>(i--));
  }
}

// Removes a Pready, so that some partitions are never marked ready.
bool Planter::InPartitions(Planted* planted) {
  const std::vector<Place> places = PlacesFor([](const Op& op) { return op.what == Do::kPready; });
  if (places.empty()) return false;
  const Place place = OneOf(places);
  planted->ranks = {place.rank};
  Code(place.rank).erase(Code(place.rank).begin() + static_cast<ptrdiff_t>(place.at));
  return true;
}

bool Planter::InMessage(FaultKind kind, Planted* planted) {
  const std::vector<Place> places = PlacesFor([&](const Op& op) { return SuitsMessage(kind, op); });
  if (places.empty()) return false;
  const Place place = OneOf(places);
  const int r = place.rank;
  Op& op = At(place);
  const std::vector<int> others = program_.Others(op.comm, r);
  const int before = op.peer;
  planted->ranks = {r};
  if (kind != FaultKind::kPeer && (kind != FaultKind::kExchange || Chance(&random_, 50))) {
    op.tag += 1;
    planted->ranks.push_back(others[static_cast<size_t>(before)]);
    std::sort(planted->ranks.begin(), planted->ranks.end());
  } else {
    const int mine = program_.IsInter(op.comm) ? kNone : program_.LocalRank(op.comm, r);
    if (others.size() < (mine == kNone ? 2 : 3)) return false;
    while (op.peer == before || op.peer == mine) {
      op.peer = Below(&random_, static_cast<int>(others.size()));
    }
  }
  if (op.handle == kNone) return true;
  for (Op& same : Code(r)) {
    if (same.handle == op.handle && same.what == op.what) same.peer = op.peer, same.tag = op.tag;
  }
  return true;
}

bool Planter::AtPoint(FaultKind kind, Planted* planted) {
  const int r = Below(&random_, program_.ranks);
  planted->ranks = {r};
  std::vector<Op>& ops = Code(r);
  size_t at = static_cast<size_t>(Below(&random_, static_cast<int>(ops.size())));
  while (at > 0 && ops[at - 1].fused) --at;  // not between the operations of one call
  if (kind == FaultKind::kLeftEarly) {
    // The rank skips its other calls: it calls MPI_Finalize at the usual or at another call site.
    if (Chance(&random_, 50)) ops.back().line = ops[at].line + 3;
    ops.erase(ops.begin() + static_cast<ptrdiff_t>(at), ops.end() - 1);
    return ops.size() > 1;
  }
  const bool blocks = ops[at].request == kNone && ops[at].what < Do::kPoll && !ops[at].rejected &&
                      ops[at].what != Do::kMrecv && !ops[at].init;
  if (kind == FaultKind::kDied && blocks && Chance(&random_, 40)) {
    ops[at].dies_inside = true;
    return true;
  }
  Op op;
  op.what = kind == FaultKind::kDied     ? Do::kDie
            : kind == FaultKind::kExited ? Do::kExit
                                         : Do::kStall;
  op.line = ops[at].line + 4;
  ops.insert(ops.begin() + static_cast<ptrdiff_t>(at), op);
  return true;
}

// Replaces a call by one that MPI rejects: it returns an error and has no effect. The rank then
// continues, or calls MPI_Finalize next, or exits.
bool Planter::Reject(Planted* planted) {
  const std::vector<Place> places = PlacesFor([&](const Op& op) {
    return !op.rejected && CanBeRejected(program_, op) && op.message == kNone && !op.in_place;
  });
  if (places.empty()) return false;
  const Place place = OneOf(places);
  const Op op = At(place);
  planted->ranks = {place.rank};
  if (IsCollective(op.what)) Choose(program_.comms[static_cast<size_t>(op.comm)], planted);
  planted->tie = false;  // the ranks that get an error are the culprits, whatever their number
  const int next = Below(&random_, 100);
  const Op rejected = Rejected(program_, op, &random_);
  for (const int rank : planted->ranks) {
    std::vector<Op>& ops = Code(rank);
    const auto at = std::find_if(ops.begin(), ops.end(), [&](const Op& each) {
      return each.line == op.line && each.iteration == op.iteration && each.what == op.what &&
             each.peer == op.peer && !each.rejected;
    });
    if (at == ops.end()) return false;
    const auto index = at - ops.begin();
    Remove(&ops, static_cast<size_t>(index));
    ops.insert(ops.begin() + index, rejected);
    if (next >= 40) continue;
    ops.erase(ops.begin() + index + 1, ops.end() - 1);
    if (next < 20) ops.back().what = Do::kExit;
  }
  return true;
}

bool Planter::CanBeDelegated(const Place& place) {
  const Op& op = At(place);
  const std::vector<Op>& ops = Code(place.rank);
  if (op.request != kNone || op.handle != kNone || op.fused || op.rejected || op.message != kNone ||
      op.iteration != kNone) {
    return false;
  }
  if (IsSend(op.what)) return true;
  if (!IsCollective(op.what) || op.what >= Do::kDup) return false;
  return std::none_of(
      ops.begin() + static_cast<ptrdiff_t>(place.at) + 1, ops.end(),
      [&](const Op& later) { return later.comm == op.comm && IsCollective(later.what); });
}

void Planter::Delegate() {
  std::vector<Place> places;
  for (int r = 0; r < program_.ranks; ++r) {
    for (size_t at = 0; at < Code(r).size(); ++at) {
      if (CanBeDelegated({r, at})) places.push_back({r, at});
    }
  }
  if (places.empty()) return;
  const Place place = OneOf(places);
  Op sleep;
  sleep.what = Do::kSleep;
  sleep.line = At(place).line;
  Op end;
  end.what = Do::kEnd;
  end.line = 992;
  const Op op = At(place);
  Op& spawn = At(place);
  spawn = {};
  spawn.what = Do::kSpawn;
  spawn.line = op.line;
  spawn.thread = program_.lines();
  program_.threads.push_back({place.rank, Chance(&random_, 50), true});
  program_.code.push_back({sleep, op, end});
}

bool Planter::Freeze() {
  std::map<int, int> numbers;
  std::vector<std::pair<int, int>> places;
  for (int c = 0; c < static_cast<int>(program_.comms.size()); ++c) {
    for (const Op& op : Code(program_.comms[static_cast<size_t>(c)].front())) {
      if (op.comm == c && IsCollective(op.what) && !op.rejected && (op.handle == kNone || op.init))
        places.emplace_back(c, ++numbers[c]);
    }
  }
  if (places.empty()) return false;
  std::tie(program_.frozen_comm, program_.frozen_number) =
      places[static_cast<size_t>(Below(&random_, static_cast<int>(places.size())))];
  return true;
}

}  // namespace rollcall::oracle
