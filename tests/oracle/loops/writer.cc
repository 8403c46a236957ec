// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/loops/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace rollcall::oracle::loops {
namespace {

// Splits `size` ranks into up to three dimensions.
std::vector<int> Dims(Random* random, int size) {
  std::vector<int> dims;
  for (int left = 1 + Below(random, 3); left > 1; --left) {
    std::vector<int> factors;
    for (int factor = 1; factor <= size; ++factor) {
      if (size % factor == 0 && factor < size) factors.push_back(factor);
    }
    if (factors.empty()) break;
    dims.push_back(factors[static_cast<size_t>(Below(random, static_cast<int>(factors.size())))]);
    size /= dims.back();
  }
  dims.push_back(size);
  return dims;
}

void Append(Block more, Block* block) {
  for (Node& node : more) block->push_back(std::move(node));
}

}  // namespace

std::optional<Program> Writer::Write() {
  Groups();
  Phases();
  const bool of_all = planter_.Is(FaultKind::kChunk) || planter_.Raises();
  planter_.Choose(Members(of_all ? base_ : active_),
                  Members(planter_.Is(FaultKind::kGroupRaises) ? 0 : base_));
  if (!Helpers()) return std::nullopt;
  std::vector<Block> invocations;
  for (size_t phase = 0; phase < phases_.size(); ++phase) {
    InvokePhase(phase, &invocations.emplace_back());
  }
  Block main;
  if (Chance(&random_, 60)) main.push_back(Collective(0));
  Append(std::move(creations_), &main);
  Append(std::move(setup_), &main);
  for (Block& invocation : invocations) {
    if (Chance(&random_, 60)) invocation.push_back(Collective(0));
    if (!long_ && Chance(&random_, 20)) {
      Node epochs;
      epochs.kind = Node::Kind::kLoop;
      epochs.rounds = 2 + Below(&random_, 2);
      epochs.body = std::move(invocation);
      main.push_back(std::move(epochs));
    } else {
      Append(std::move(invocation), &main);
    }
  }
  if (Chance(&random_, 70)) main.push_back(Collective(0));
  Node finalize;
  finalize.text = "MPI_Finalize();";
  finalize.calls.resize(static_cast<size_t>(program_.ranks()), {.what = Call::What::kFinalize});
  main.push_back(std::move(finalize));
  Add("main", std::move(main));
  SetLines(&program_);
  return std::move(program_);
}

// Chooses the ranks: all, those of a group besides which spare ranks wait, and those that exchange
// data.
void Writer::Groups() {
  const bool several = planter_.Is(FaultKind::kSeveralLeave);
  long_ = Chance(&random_, 3) && !several;
  const bool spare = planter_.Is(FaultKind::kGroupRaises) || Chance(&random_, 20);
  const bool idle = !spare && Chance(&random_, 20);
  const int least = several ? 5 : 4;
  const int ranks =
      least + Below(&random_, long_ ? 3 : 13 - least - (spare || idle)) + (spare || idle ? 1 : 0);
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  program_.comms.push_back({.members = all});
  if (spare || idle) {
    const int members = least + Below(&random_, ranks - least);
    all.resize(static_cast<size_t>(members));
    active_ = NewComm(all, "Comm_split");
    if (spare) base_ = active_;
  } else if (Chance(&random_, 40)) {
    active_ = NewComm(all, "Comm_dup");
  }
  grid_.dims = Dims(&random_, static_cast<int>(all.size()));
  grid_.periodic = Chance(&random_, 40);
}

void Writer::Phases() {
  const int phases = long_ ? 1 : 1 + Below(&random_, 3);
  target_ = static_cast<size_t>(Below(&random_, phases));
  for (int i = 0; i < phases; ++i) {
    const int kind = Below(&random_, 100);
    Phase phase = kind < 70   ? Phase::kLoop
                  : kind < 80 ? Phase::kServer
                  : kind < 90 ? Phase::kChunks
                              : Phase::kGuarded;
    if (long_) phase = Phase::kLoop;
    if (IsTarget(static_cast<size_t>(i)) && !planter_.Is(FaultKind::kNone)) {
      phase = planter_.Is(FaultKind::kServer)       ? Phase::kServer
              : planter_.Is(FaultKind::kChunk)      ? Phase::kChunks
              : planter_.Is(FaultKind::kDestructor) ? Phase::kGuarded
                                                    : Phase::kLoop;
    }
    phases_.push_back(phase);
    rounds_.push_back(long_                  ? 300 + Below(&random_, 2700)
                      : Chance(&random_, 70) ? 2 + Below(&random_, 8)
                                             : 10 + Below(&random_, 31));
  }
}

// Writes the functions that loops call; false if the fault has no place in them.
bool Writer::Helpers() {
  Style style = static_cast<Style>(Below(&random_, static_cast<int>(Style::kServer)));
  if (planter_.Is(FaultKind::kTag) || planter_.Is(FaultKind::kPeer)) {
    style = static_cast<Style>(Below(&random_, static_cast<int>(Style::kPersistent) + 1));
  }
  if (planter_.Is(FaultKind::kTagEverywhere)) {
    style = static_cast<Style>(Below(&random_, static_cast<int>(Style::kPersistent) + 1));
  }
  if (planter_.Is(FaultKind::kTable)) style = Style::kTable;
  if (planter_.Is(FaultKind::kNeighborhood)) style = Style::kGraph;
  Tags tags = Chance(&random_, 25) ? Tags::kBySender : Tags::kByDirection;
  if (planter_.Is(FaultKind::kTagEverywhere)) {
    tags = Chance(&random_, 50) ? Tags::kOwn : Tags::kDiffers;
  }
  if (style == Style::kNeighbor) active_ = NewComm(Members(active_), "Cart_create");
  if (style == Style::kGraph) active_ = NewComm(Members(active_), "Dist_graph_create_adjacent");
  Comm& comm = program_.comms[static_cast<size_t>(active_)];
  if (style == Style::kNeighbor) comm.grid = grid_;
  if (style == Style::kGraph) {
    for (int from = 0; from < comm.size(); ++from) {
      comm.graph.push_back({.from = from, .to = (from + 1) % comm.size()});
      for (int to = 0; to < comm.size(); ++to) {
        const bool ring = to == (from + 1) % comm.size();
        if (to != from && !ring && Chance(&random_, 25)) comm.graph.push_back({from, to});
      }
    }
    if (!planter_.Graph(&comm)) return false;
  }
  const Exchange exchange(program_, active_, grid_, style, tags, kFirstPersistent,
                          planter_.regular_table());
  setup_ = exchange.setup();
  exchange_code_ = exchange.code();
  const bool planted = style == Style::kPersistent
                           ? planter_.Exchange(comm, 0, &setup_)
                           : planter_.Exchange(comm, rounds_[target_], &exchange_code_);
  if (!planted) return false;
  const bool smooth = Chance(&random_, 40);
  if (smooth || planter_.Is(FaultKind::kEmptyRank) || Chance(&random_, 60)) {
    Block body = exchange_code_;
    if (!smooth) planter_.HelperHead(rounds_[target_], &body);
    exchange_ = Add("exchange", std::move(body));
  }
  if (!smooth) return true;
  Block body;
  body.push_back(Invoke(exchange_));
  body.push_back(Collective(active_, "Allreduce", "sum 1xMPI_DOUBLE", Call::Needs::kAll));
  planter_.HelperHead(rounds_[target_], &body);
  smooth_ = Add("smooth", std::move(body));
  return true;
}

int Writer::Add(std::string name, Block body) {
  program_.functions.push_back({std::move(name), std::move(body)});
  return static_cast<int>(program_.functions.size()) - 1;
}

void Writer::InvokePhase(size_t phase, Block* to) {
  const bool raises = IsTarget(phase) && planter_.Raises();
  const bool spare = base_ != 0;
  bool catches = raises || Chance(&random_, 15);
  const int function = WritePhase(phase, catches && !spare);
  Block body;
  if (spare) {
    Node in_group;
    in_group.kind = Node::Kind::kIf;
    in_group.condition.text = "in_group";
    in_group.condition.ranks = Members(base_);
    Block inner;
    inner.push_back(Invoke(function));
    if (catches && !planter_.Is(FaultKind::kGroupRaises) && Chance(&random_, 50)) {
      Block caught;
      caught.push_back(Try(std::move(inner)));
      inner = std::move(caught);
      catches = false;
    }
    in_group.body = std::move(inner);
    Block run;
    run.push_back(std::move(in_group));
    run.push_back(Collective(0, "Barrier", "", Call::Needs::kAll));
    body.push_back(Invoke(Add(fmt::format("run{}", phase), std::move(run))));
  } else {
    body.push_back(Invoke(function));
  }
  if (catches) {
    to->push_back(Try(std::move(body)));
  } else {
    Append(std::move(body), to);
  }
}

Node Writer::Collective(int comm) {
  using Needs = Call::Needs;
  if (Chance(&random_, 8)) {  // from two places
    Node node;
    node.kind = Node::Kind::kIf;
    node.condition.text = "rank == 0";
    node.condition.ranks = {0};
    node.body.push_back(Collective(comm, "Bcast", "8xMPI_DOUBLE", Needs::kRoot));
    node.otherwise = node.body;
    return node;
  }
  switch (Below(&random_, 7)) {
    case 0:
      return Collective(comm, "Barrier", "", Needs::kAll);
    case 1:
      return Collective(comm, "Bcast", "1xMPI_INT", Needs::kRoot);
    case 2:
      return Collective(comm, "Reduce", "max 1xMPI_DOUBLE", Needs::kAllAtRoot);
    case 3:
      return Collective(comm, "Gather", "2xMPI_INT", Needs::kAllAtRoot);
    case 4:
      return Collective(comm, "Allgather", "2xMPI_INT", Needs::kAll);
    default:
      return Collective(comm, "Allreduce", "sum 1xMPI_DOUBLE", Needs::kAll);
  }
}

Node Writer::Collective(int comm, std::string operation, std::string arguments, Call::Needs needs) {
  Node node;
  node.text = fmt::format("MPI_{}(c{});", operation, comm);
  const bool has_root = needs == Call::Needs::kRoot || needs == Call::Needs::kAllAtRoot;
  Call call{.what = Call::What::kCollective, .comm = comm};
  call.operation = std::move(operation);
  call.arguments = std::move(arguments);
  call.needs = needs;
  if (has_root) call.root = Chance(&random_, 70) ? 0 : Below(&random_, 3);
  node.calls.resize(static_cast<size_t>(program_.ranks()));
  for (const int rank : Members(comm)) node.calls[static_cast<size_t>(rank)] = call;
  return node;
}

Node Writer::Local(std::string text) const {
  Node node;
  node.text = std::move(text);
  node.calls.resize(static_cast<size_t>(program_.ranks()));
  return node;
}

Node Writer::Invoke(int function) {
  Node node;
  node.kind = Node::Kind::kInvoke;
  node.function = function;
  return node;
}

Node Writer::Try(Block body) {
  Node node;
  node.kind = Node::Kind::kTry;
  node.body = std::move(body);
  return node;
}

int Writer::NewComm(std::vector<int> members, std::string operation) {
  creations_.push_back(Collective(0, std::move(operation), "", Call::Needs::kAll));
  program_.comms.push_back({.members = std::move(members)});
  return static_cast<int>(program_.comms.size()) - 1;
}

}  // namespace rollcall::oracle::loops
