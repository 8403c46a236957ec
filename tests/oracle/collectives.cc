// SPDX-License-Identifier: Apache-2.0
// The rules of collectives: which members a call waits for, and which calls match.
#include <algorithm>

#include "tests/oracle/machine.h"

namespace rollcall::oracle {
namespace {

bool HasData(Do what) { return what != Do::kBarrier && what != Do::kDup && what != Do::kSplit; }

// Returns whether each pair of members has its own count.
bool PairByPair(Do what) { return what >= Do::kGatherv && what <= Do::kAlltoallv; }

}  // namespace

// MPI 4.0, chapter 6: all members make the same call with the same root and reduction, and the type
// signature of the data that a member sends equals the one that the receiver expects (6.1; here:
// type and count).
bool Machine::Fits(const State& state, int instance) const { return Fit(&state, instance); }

bool Machine::Fit(const State* state, int instance) const {
  const Op* first = nullptr;
  const Op* rooted = nullptr;  // first call that names a root; those of the root's own group do not
  const auto& calls = instances_[static_cast<size_t>(instance)].calls;
  for (const auto& [rank, at] : calls) {
    if (state != nullptr && !Entered(*state, rank, at)) continue;
    const Op& op = At(rank, at);
    if (first == nullptr) first = &op;
    if (op.what != first->what || (op.request == kNone) != (first->request == kNone)) return false;
    if (op.init != first->init) return false;
    if (HasRoot(op.what) && op.peer >= 0) {
      if (rooted == nullptr) rooted = &op;
      if (op.peer != rooted->peer) return false;
    }
    if (Reduces(op.what) && op.reduction != first->reduction) return false;
    if (op.what == Do::kReduceScatter && (op.recvs != first->recvs || op.type != first->type)) {
      return false;
    }
    if (IsNeighborhood(op.what)) {
      if (!EdgesFit(state, instance, rank, op)) return false;
      continue;
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

// Returns whether the data that `rank` sends along its outgoing edges matches what the neighbors
// expect (MPI 4.0, 8.6).
bool Machine::EdgesFit(const State* state, int instance, int rank, const Op& from) const {
  const int me = program_.LocalRank(from.comm, rank);
  for (const Edge& edge : program_.Edges(from.comm)) {
    if (edge.from != me) continue;
    for (const auto& [other, at] : instances_[static_cast<size_t>(instance)].calls) {
      if (program_.LocalRank(from.comm, other) != edge.to) continue;
      if (state != nullptr && !Entered(*state, other, at)) continue;
      const Op& to = At(other, at);
      if (to.what != from.what) return false;
      const int sent = from.what == Do::kNeighborAlltoallv
                           ? from.sends[static_cast<size_t>(edge.from_place)]
                           : from.count;
      const int expected =
          HasCountsOfItsOwn(to.what) ? to.recvs[static_cast<size_t>(edge.to_place)] : to.count;
      if (sent != expected || (sent != 0 && from.type != to.type)) return false;
    }
  }
  return true;
}

// Returns whether the data that `a` sends to `b` is what `b` expects from `a` (MPI 4.0, 6.5
// to 6.8).
bool Machine::PairFits(int a, const Op& from, int b, const Op& to) const {
  const int me = program_.LocalRank(from.comm, a);
  const int them = program_.LocalRank(from.comm, b);
  int sent = 0;
  int expected = 0;
  switch (from.what) {
    case Do::kGatherv:
      if (them != to.peer || (a == b && to.in_place)) return true;
      sent = from.count;
      expected = to.recvs[static_cast<size_t>(me)];
      break;
    case Do::kScatterv:
      if (me != from.peer || (a == b && from.in_place)) return true;
      sent = from.sends[static_cast<size_t>(them)];
      expected = to.count;
      break;
    case Do::kAllgatherv:
      sent = from.in_place ? from.recvs[static_cast<size_t>(me)] : from.count;
      expected = to.recvs[static_cast<size_t>(me)];
      break;
    default:
      sent = (from.in_place ? from.recvs : from.sends)[static_cast<size_t>(them)];
      expected = to.recvs[static_cast<size_t>(me)];
  }
  return sent == expected && (sent == 0 || from.type == to.type);
}

// Returns whether `rank` cannot return from the collective before `other` has entered it.
bool Machine::Needs(int rank, const Op& op, int other) const {
  const int me = program_.LocalRank(op.comm, rank);
  const int them = program_.LocalRank(op.comm, other);
  if (op.init) return false;  // the initialisation transfers no data
  if (!program_.Talk(op.comm, rank, other)) return false;
  if (program_.IsInter(op.comm) && HasRoot(op.what)) {
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
    case Do::kNeighborAllgather:
    case Do::kNeighborAlltoall:
    case Do::kNeighborAllgatherv:
    case Do::kNeighborAlltoallv: {
      const std::vector<Edge> edges = program_.Edges(op.comm);
      return std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
        const bool counts_vary = HasCountsOfItsOwn(op.what);
        return edge.to == me && edge.from == them &&
               (counts_vary ? op.recvs[static_cast<size_t>(edge.to_place)] : op.count) > 0;
      });
    }
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
      return op.count > 0;  // the data of all members
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
    return false;  // mismatched calls never complete successfully
  }
  const bool early = library == Library::kPermissive ||
                     (library == Library::kAsDecided &&
                      state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)].early);
  for (const int member : program_.comms[static_cast<size_t>(instance.comm)]) {
    const bool arrived =
        std::any_of(instance.calls.begin(), instance.calls.end(), [&](const auto& call) {
          return program_.RankOf(call.first) == member && Entered(state, call.first, call.second);
        });
    if (arrived || member == program_.RankOf(rank) || IsFree(state, member)) continue;
    if (!fits || !early || Needs(rank, At(rank, at), member)) return false;
  }
  return true;
}

}  // namespace rollcall::oracle
