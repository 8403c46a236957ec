// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/loops/planter.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace rollcall::oracle::loops {
namespace {

using What = Call::What;

// Collects the calls of a block and of the blocks in it.
void Collect(Block* block, std::vector<Node*>* calls) {
  for (Node& node : *block) {
    if (node.kind == Node::Kind::kCall) calls->push_back(&node);
    Collect(&node.body, calls);
    Collect(&node.otherwise, calls);
  }
}

}  // namespace

void Planter::Choose(const std::vector<int>& ranks, const std::vector<int>& all) {
  const int size = static_cast<int>(ranks.size());
  regular_table_ = Chance(&random_, 50);
  int number = 1;
  switch (planted_.kind) {
    case FaultKind::kNone:
      return;
    case FaultKind::kSeveralLeave:
      number = 2 + Below(&random_, std::max((size - 1) / 2 - 1, 1));
      break;
    case FaultKind::kSomeRaise:
    case FaultKind::kMoreRounds:
      number = 1 + Below(&random_, (size - 1) / 2);
      break;
    case FaultKind::kMostLeave:
    case FaultKind::kMostRaise:
      number = size / 2 + 1 + Below(&random_, size - size / 2 - 1);
      break;
    case FaultKind::kGroupRaises:
    case FaultKind::kTagEverywhere:
      number = size;
      break;
    default:
      break;
  }
  std::vector<int> left = ranks;
  const bool first = Is(FaultKind::kServer);
  for (int i = 0; i < number; ++i) {
    const int at = first ? 0 : Below(&random_, static_cast<int>(left.size()));
    planted_.ranks.push_back(left[static_cast<size_t>(at)]);
    left.erase(left.begin() + at);
  }
  std::sort(planted_.ranks.begin(), planted_.ranks.end());
  if (2 * planted_.ranks.size() == all.size()) {
    planted_.tie = true;
    std::set_difference(all.begin(), all.end(), planted_.ranks.begin(), planted_.ranks.end(),
                        std::back_inserter(planted_.other_side));
  }
  at_head_ = Chance(&random_, 50);
  // A program in which most ranks make fewer rounds is a program in which a minority makes more.
  by_number_ = !Is(FaultKind::kMostLeave) && Chance(&random_, 40);
}

bool Planter::Raises() const {
  return Is(FaultKind::kSomeRaise) || Is(FaultKind::kMostRaise) || Is(FaultKind::kGroupRaises) ||
         Is(FaultKind::kDestructor);
}

Condition Planter::Deviates(int rounds, bool for_ever) {
  Condition condition;
  condition.ranks = planted_.ranks;
  condition.first_round = Below(&random_, rounds);
  if (!for_ever) condition.rounds = 1;
  condition.text = fmt::format(
      "{} && step {} {}",
      planted_.ranks.size() == 1 ? fmt::format("rank == {}", planted_.ranks[0]) : "bad[rank]",
      for_ever ? ">=" : "==", condition.first_round);
  return condition;
}

Node Planter::If(Condition condition, Node::Kind then) {
  Node node;
  node.kind = Node::Kind::kIf;
  node.condition = std::move(condition);
  node.body.emplace_back().kind = then;
  return node;
}

void Planter::LoopHead(int rounds, Block* body) {
  if (!at_head_) return;
  at_head_ = false;
  LoopMiddle(rounds, body);
  at_head_ = true;
}

void Planter::LoopMiddle(int rounds, Block* body) {
  if (at_head_) return;
  switch (planted_.kind) {
    case FaultKind::kLeavesEarly:
    case FaultKind::kSeveralLeave:
    case FaultKind::kMostLeave:
      if (!by_number_) body->push_back(If(Deviates(rounds, false), Node::Kind::kBreak));
      return;
    case FaultKind::kSkipsRound:
      body->push_back(If(Deviates(rounds, false), Node::Kind::kContinue));
      return;
    case FaultKind::kSomeRaise:
    case FaultKind::kMostRaise:
    case FaultKind::kGroupRaises:
      body->push_back(If(Deviates(rounds, false), Node::Kind::kThrow));
      return;
    case FaultKind::kErrorPath:
      return EndsHere(rounds, true, body);
    case FaultKind::kFinalizes:
      return EndsHere(rounds, false, body);
    case FaultKind::kStalled:
      return ServerHead(rounds, body);
    default:
      return;
  }
}

// The rank finalizes, after a barrier that it expects of all.
void Planter::EndsHere(int rounds, bool barrier, Block* body) {
  Node node;
  node.kind = Node::Kind::kIf;
  node.condition = Deviates(rounds, false);
  const auto last = static_cast<size_t>(node.condition.ranks.back());
  if (barrier) {
    Node& wait = node.body.emplace_back();
    wait.text = "MPI_Barrier(c0);";
    Call call{.what = What::kCollective};
    call.operation = "Barrier";
    wait.calls.assign(last + 1, call);
  }
  Node& finalize = node.body.emplace_back();
  finalize.text = "MPI_Finalize();";
  finalize.calls.assign(last + 1, Call{.what = What::kFinalize});
  body->push_back(std::move(node));
}

void Planter::ServerHead(int rounds, Block* body) {
  if (!Is(FaultKind::kStalled) && !Is(FaultKind::kServer)) return;
  const Condition condition = Deviates(rounds, false);
  Node wait;
  wait.text = "wait_for_file();";
  wait.calls.assign(static_cast<size_t>(condition.ranks.back()) + 1, Call{.what = What::kForever});
  Node node;
  node.kind = Node::Kind::kIf;
  node.condition = condition;
  node.body.push_back(std::move(wait));
  body->push_back(std::move(node));
}

void Planter::AfterLoop(int rounds, Node* loop, int ranks) {
  int more = 0;
  switch (planted_.kind) {
    case FaultKind::kLeavesEarly:
    case FaultKind::kSeveralLeave:
      if (by_number_) more = -1 - Below(&random_, std::max(rounds / 2, 1));
      break;
    case FaultKind::kMoreRounds:
      more = 1 + Below(&random_, 2);
      break;
    case FaultKind::kChunk:
      more = 1;
      break;
    default:
      break;
  }
  if (more == 0) return;
  loop->more.assign(static_cast<size_t>(ranks), 0);
  for (const int rank : planted_.ranks) loop->more[static_cast<size_t>(rank)] = more;
}

void Planter::HelperHead(int rounds, Block* body) {
  if (!Is(FaultKind::kEmptyRank)) return;
  body->insert(body->begin(), If(Deviates(rounds, Chance(&random_, 50)), Node::Kind::kReturn));
}

void Planter::GuardedHead(Block* body) {
  if (!Is(FaultKind::kDestructor)) return;
  Node node = If(Deviates(1, false), Node::Kind::kThrow);
  node.condition.text = fmt::format("rank == {}", planted_.ranks[0]);
  body->push_back(std::move(node));
}

bool Planter::Exchange(const Comm& comm, int rounds, Block* block) {
  if (!Is(FaultKind::kTag) && !Is(FaultKind::kPeer) && !Is(FaultKind::kTable)) return true;
  std::vector<Node*> calls;
  Collect(block, &calls);
  // A request of a persistent message is made once, before the loop.
  const bool always = Chance(&random_, 30) || rounds == 0;
  Condition when = Deviates(std::max(rounds, 1), true);
  if (always) when.first_round = 0;
  const auto change = [&](Node* node) {
    return Is(FaultKind::kTable) ? ChangeTable(comm, when, node) : ChangeMessage(comm, when, node);
  };
  while (!calls.empty()) {
    const int at = Below(&random_, static_cast<int>(calls.size()));
    if (change(calls[static_cast<size_t>(at)])) return true;
    calls.erase(calls.begin() + at);
  }
  return false;
}

bool Planter::ChangeMessage(const Comm& comm, const Condition& when, Node* node) {
  const auto rank = static_cast<size_t>(planted_.ranks[0]);
  Call call = node->calls[rank];
  const int self = comm.LocalRank(planted_.ranks[0]);
  const bool sends = call.to != kNone && (call.from == kNone || Chance(&random_, 50));
  int* peer = sends ? &call.to : &call.from;
  if (*peer == kNone || *peer == self) return false;
  planted_.partners = {comm.members[static_cast<size_t>(*peer)]};
  if (Is(FaultKind::kTag)) {
    *(sends ? &call.to_tag : &call.from_tag) += 100;
  } else {
    const int right = *peer;
    while (*peer == right || *peer == self) *peer = Below(&random_, comm.size());
    planted_.partners.push_back(comm.members[static_cast<size_t>(*peer)]);
    std::sort(planted_.partners.begin(), planted_.partners.end());
  }
  node->other = node->calls;
  node->other[rank] = std::move(call);
  node->condition = when;
  node->text += fmt::format("  // other if {}", when.text);
  return true;
}

bool Planter::ChangeTable(const Comm& comm, const Condition& when, Node* node) {
  const auto rank = static_cast<size_t>(planted_.ranks[0]);
  Call call = node->calls[rank];
  if (call.sends.empty()) return false;
  const int self = comm.LocalRank(planted_.ranks[0]);
  int other = self;
  while (other == self) other = Below(&random_, comm.size());
  const bool sends = Chance(&random_, 50);
  (sends ? call.sends : call.recvs)[static_cast<size_t>(other)] += 1 + Below(&random_, 3);
  planted_.partners = {comm.members[static_cast<size_t>(other)]};
  planted_.tie = !regular_table_;
  node->other = node->calls;
  node->other[rank] = std::move(call);
  node->condition = when;
  node->text += fmt::format("  // other if {}", when.text);
  return true;
}

bool Planter::Graph(Comm* comm) {
  if (!Is(FaultKind::kNeighborhood)) return true;
  const int self = comm->LocalRank(planted_.ranks[0]);
  std::vector<Edge*> edges;
  for (Edge& edge : comm->graph) {
    if (edge.from == self) edges.push_back(&edge);
  }
  if (edges.empty()) return false;
  Edge* edge = edges[static_cast<size_t>(Below(&random_, static_cast<int>(edges.size())))];
  edge->from_lists = false;
  planted_.partners = {comm->members[static_cast<size_t>(edge->to)]};
  planted_.tie = true;
  return true;
}

}  // namespace rollcall::oracle::loops
