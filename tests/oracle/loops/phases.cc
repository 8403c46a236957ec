// SPDX-License-Identifier: Apache-2.0
// The phases of a program.
#include <fmt/format.h>

#include <utility>

#include "tests/oracle/loops/writer.h"

namespace rollcall::oracle::loops {

int Writer::WritePhase(size_t phase, bool caught) {
  switch (phases_[phase]) {
    case Phase::kServer:
      return ServerPhase(phase);
    case Phase::kChunks:
      return ChunkPhase(phase);
    case Phase::kGuarded:
      return GuardedPhase(phase);
    default:
      return LoopPhase(phase, caught);
  }
}

void Writer::AddLoop(size_t phase, Block body, Block* to) {
  Node loop;
  loop.kind = Node::Kind::kLoop;
  loop.rounds = Rounds(phase);
  loop.body = std::move(body);
  if (IsTarget(phase)) planter_.AfterLoop(Rounds(phase), &loop, program_.ranks());
  to->push_back(std::move(loop));
}

// A loop in which neighbors exchange data, with collectives in every round, in some, or only behind
// it.
int Writer::LoopPhase(size_t phase, bool caught) {
  Block body;
  if (IsTarget(phase)) planter_.LoopHead(Rounds(phase), &body);
  LeaveTogether(phase, caught, &body);
  if (Chance(&random_, 50)) body.push_back(Local("update(u);"));
  Block exchange;
  if (smooth_ != kNone && Chance(&random_, 70)) {
    exchange.push_back(Invoke(smooth_));
  } else if (exchange_ != kNone) {
    exchange.push_back(Invoke(exchange_));
  } else {
    exchange = exchange_code_;
  }
  if (Chance(&random_, 10)) {
    Node sometimes = Sometimes();
    sometimes.body = std::move(exchange);
    exchange.clear();
    exchange.push_back(std::move(sometimes));
  }
  const bool has_idle = Members(active_).size() != Members(base_).size();
  if (has_idle) {
    Node active;
    active.kind = Node::Kind::kIf;
    active.condition.text = "has_cells";
    active.condition.ranks = Members(active_);
    active.body = std::move(exchange);
    body.push_back(std::move(active));
  } else {
    for (Node& node : exchange) body.push_back(std::move(node));
  }
  if (IsTarget(phase)) planter_.LoopMiddle(Rounds(phase), &body);
  const int collectives = Below(&random_, 100);
  if (collectives < 40) {
    body.push_back(Collective(base_));
  } else if (collectives < 65) {
    Node sometimes = Sometimes();
    sometimes.body.push_back(Collective(base_));
    body.push_back(std::move(sometimes));
  }
  Block function;
  AddLoop(phase, std::move(body), &function);
  const bool raises = IsTarget(phase) && planter_.Raises();
  if (raises || Chance(&random_, 60)) function.push_back(Collective(base_));
  constexpr const char* kNames[] = {"assemble", "solve", "advance"};
  return Add(kNames[phase], std::move(function));
}

// A condition that holds in every n-th round.
Node Writer::Sometimes() {
  Node node;
  node.kind = Node::Kind::kIf;
  node.condition.every = 2 + Below(&random_, 4);
  node.condition.text = fmt::format("step % {} == 0", node.condition.every);
  return node;
}

void Writer::LeaveTogether(size_t phase, bool caught, Block* body) {
  const int what = Below(&random_, 100);
  if (what >= 25) return;
  Node node;
  node.kind = Node::Kind::kIf;
  node.condition.first_round = Below(&random_, Rounds(phase));
  node.condition.rounds = 1;
  node.condition.text = fmt::format("step == {}", node.condition.first_round);
  node.body.emplace_back().kind = what < 10              ? Node::Kind::kBreak
                                  : what < 18 || !caught ? Node::Kind::kContinue
                                                         : Node::Kind::kThrow;
  body->push_back(std::move(node));
}

// Clients send requests to a server in each round, and wait for its replies.
int Writer::ServerPhase(size_t phase) {
  Block serve = Exchange(program_, base_, {}, Style::kServer, Tags::kByDirection, 0, true).code();
  Block body;
  if (IsTarget(phase)) planter_.ServerHead(Rounds(phase), &body);
  for (Node& node : serve) body.push_back(std::move(node));
  if (Chance(&random_, 30)) body.push_back(Collective(base_));
  Block function;
  AddLoop(phase, std::move(body), &function);
  if (Chance(&random_, 60)) function.push_back(Collective(base_));
  return Add(fmt::format("serve{}", phase), std::move(function));
}

// Writes a file in chunks, each with a collective, between those that open and close it.
int Writer::ChunkPhase(size_t phase) {
  const int file = Chance(&random_, 50) ? base_ : NewComm(Members(base_), "Comm_dup");
  Block body;
  body.push_back(Local("fill(buffer);"));
  body.push_back(Collective(file));
  Block function;
  if (Chance(&random_, 50)) function.push_back(Collective(file));
  AddLoop(phase, std::move(body), &function);
  function.push_back(Collective(file, "Barrier", "", Call::Needs::kAll));
  return Add(fmt::format("write_file{}", phase), std::move(function));
}

// A guard whose constructor and destructor are collective, around work that is, too.
int Writer::GuardedPhase(size_t phase) {
  Block constructor;
  constructor.push_back(Collective(base_, "Bcast", "64xMPI_CHAR", Call::Needs::kRoot));
  Block destructor;
  destructor.push_back(Collective(base_, "Barrier", "", Call::Needs::kAll));
  Block work;
  work.push_back(Collective(base_, "Barrier", "", Call::Needs::kAll));
  work.push_back(Collective(base_, "Allreduce", "max 1xMPI_INT", Call::Needs::kAll));
  const int make = Add(fmt::format("TemporaryDirectory{}", phase), std::move(constructor));
  const int remove = Add(fmt::format("~TemporaryDirectory{}", phase), std::move(destructor));
  const int ensure = Add(fmt::format("ensure_directory{}", phase), std::move(work));
  Node scope;
  scope.kind = Node::Kind::kScope;
  scope.function = remove;
  scope.body.push_back(Invoke(make));
  if (IsTarget(phase)) planter_.GuardedHead(&scope.body);
  scope.body.push_back(Invoke(ensure));
  Block function;
  function.push_back(std::move(scope));
  return Add(fmt::format("test{}", phase), std::move(function));
}

}  // namespace rollcall::oracle::loops
