// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace rollcall::oracle {
namespace {

std::string Number(int value) { return value == kAny ? "any" : std::to_string(value); }

// Returns the edges of a Cartesian topology. Its ranks are in row-major order (MPI 4.0, 8.5.1). In
// each dimension the neighbor below comes first, and data sent downwards is received from above
// (8.6).
std::vector<Edge> CartesianEdges(const std::vector<int>& dims, bool periodic) {
  int size = 1;
  for (const int dim : dims) size *= dim;
  std::vector<Edge> edges;
  for (int rank = 0; rank < size; ++rank) {
    int stride = size;
    for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
      const int dim = dims[static_cast<size_t>(d)];
      stride /= dim;
      const int at = rank / stride % dim;
      for (const bool up : {false, true}) {
        const int to = at + (up ? 1 : -1);
        if (!periodic && (to < 0 || to >= dim)) continue;
        const int other = rank + ((to + dim) % dim - at) * stride;
        edges.push_back({rank, 2 * d + up, other, 2 * d + !up});
      }
    }
  }
  return edges;
}

}  // namespace

int Program::LocalRank(int comm, int rank) const {
  const std::vector<int>& members = comms[static_cast<size_t>(comm)];
  const auto found = std::find(members.begin(), members.end(), RankOf(rank));
  if (found == members.end()) return kNone;
  const int at = static_cast<int>(found - members.begin());
  const int first = FirstGroup(comm);
  return at < first ? at : at - first;
}

bool Program::InFirstGroup(int comm, int rank) const {
  const std::vector<int>& members = comms[static_cast<size_t>(comm)];
  const auto end = members.begin() + FirstGroup(comm);
  return std::find(members.begin(), end, RankOf(rank)) != end;
}

std::vector<int> Program::Others(int comm, int rank) const {
  const std::vector<int>& members = comms[static_cast<size_t>(comm)];
  if (!IsInter(comm)) return members;
  const auto middle = members.begin() + FirstGroup(comm);
  return InFirstGroup(comm, rank) ? std::vector<int>(middle, members.end())
                                  : std::vector<int>(members.begin(), middle);
}

const Topology& Program::TopologyOf(int comm) const {
  static const Topology kNothing;
  return static_cast<size_t>(comm) < topologies.size() ? topologies[static_cast<size_t>(comm)]
                                                       : kNothing;
}

std::vector<Edge> Program::Edges(int comm) const {
  const Topology& topology = TopologyOf(comm);
  if (!topology.dims.empty()) return CartesianEdges(topology.dims, topology.periodic);
  std::vector<Edge> edges;
  std::map<int, int> out;
  std::map<int, int> in;
  for (const auto& [from, to] : topology.graph) edges.push_back({from, out[from]++, to, in[to]++});
  return edges;
}

int Program::Places(int comm, int local_rank, bool receives) const {
  const Topology& topology = TopologyOf(comm);
  if (!topology.dims.empty()) return 2 * static_cast<int>(topology.dims.size());
  return static_cast<int>(std::count_if(
      topology.graph.begin(), topology.graph.end(), [&](const std::pair<int, int>& edge) {
        return (receives ? edge.second : edge.first) == local_rank;
      }));
}

void MendStartalls(std::vector<Op>* ops) {
  for (size_t i = 0; i < ops->size(); ++i) {
    Op& op = (*ops)[i];
    if (!op.fused || op.handle == kNone) continue;
    op.fused = i + 1 < ops->size() && (*ops)[i + 1].handle != kNone &&
               (*ops)[i + 1].request != kNone && (*ops)[i + 1].line == op.line &&
               (*ops)[i + 1].iteration == op.iteration;
  }
}

std::string Text(const Op& op) {
  constexpr const char* kNames[] = {"Barrier",
                                    "Bcast",
                                    "Reduce",
                                    "Allreduce",
                                    "Gather",
                                    "Scatter",
                                    "Allgather",
                                    "Alltoall",
                                    "Scan",
                                    "Gatherv",
                                    "Scatterv",
                                    "Allgatherv",
                                    "Alltoallv",
                                    "Reduce_scatter",
                                    "Neighbor_allgather",
                                    "Neighbor_alltoall",
                                    "Neighbor_allgatherv",
                                    "Neighbor_alltoallv",
                                    "Dup",
                                    "Split",
                                    "Send",
                                    "Ssend",
                                    "Recv",
                                    "Mprobe",
                                    "Mrecv",
                                    "Probe",
                                    "Psend",
                                    "Precv",
                                    "Waitall",
                                    "Waitany",
                                    "Waitsome",
                                    "Poll",
                                    "IprobeLoop",
                                    "ParrivedLoop",
                                    "Pready",
                                    "Free",
                                    "Finalize",
                                    "Die",
                                    "Exit",
                                    "Stall",
                                    "Spawn",
                                    "Sleep",
                                    "End"};
  std::string text = fmt::format("{} {}{}", op.line, op.request != kNone ? "I" : "",
                                 kNames[static_cast<size_t>(op.what)]);
  if (op.iteration != kNone) text = fmt::format("[{}] {}", op.iteration, text);
  if (op.comm != 0) text += fmt::format(" on={}", op.comm);
  if (IsMessage(op.what) || op.what == Do::kIprobe) {
    text += fmt::format(" peer={} tag={}", Number(op.peer), Number(op.tag));
    if (IsPartitioned(op.what)) text += fmt::format(" partitions={}", op.partitions);
  } else if (op.what == Do::kPready) {
    text += fmt::format(" {} more", op.partitions);
  } else if (op.what == Do::kParrived) {
    text += fmt::format(" {}", op.partition);
  } else if (IsCollective(op.what)) {
    if (op.peer != kNone) text += fmt::format(" root={}", op.peer);
    if (op.what != Do::kBarrier && op.what < Do::kDup) {
      constexpr const char* kReductions[] = {"", " max", " min", " user"};
      text += kReductions[op.reduction];
      text += fmt::format(" {}x{}", op.count, op.type == 0 ? "INT" : "DOUBLE");
      if (op.in_place) text += " in place";
      if (!op.sends.empty()) text += fmt::format(" sends={}", fmt::join(op.sends, ","));
      if (!op.recvs.empty()) text += fmt::format(" recvs={}", fmt::join(op.recvs, ","));
    }
  }
  if (op.handle != kNone) text += fmt::format(" {} p{}", op.init ? "as" : "start", op.handle);
  if (op.message != kNone) text += fmt::format(" m{}", op.message);
  if (op.fused) text += " +";
  if (op.request != kNone) text += fmt::format(" -> r{}", op.request);
  for (const int request : op.requests) text += fmt::format(" r{}", request);
  if (op.dies_inside) text += " (dies in it)";
  if (op.rejected) text += " (rejected)";
  if (op.fails) text += " (fails)";
  return text;
}

std::string Text(const Program& program) {
  std::string text = fmt::format("ranks {}, thread level {}", program.ranks, program.thread_level);
  for (size_t c = 1; c < program.comms.size(); ++c) {
    text += fmt::format(", comm {}: {}", c, fmt::join(program.comms[c], ","));
    const int first = program.FirstGroup(static_cast<int>(c));
    if (first != 0) text += fmt::format(" (first group: {})", first);
    const Topology& topology = program.TopologyOf(static_cast<int>(c));
    if (!topology.dims.empty()) {
      text += fmt::format(" ({} {})", topology.periodic ? "torus" : "grid",
                          fmt::join(topology.dims, "x"));
    }
    for (const auto& [from, to] : topology.graph) text += fmt::format(" {}>{}", from, to);
  }
  if (program.frozen_comm != kNone) {
    text += fmt::format(", frozen: #{} on {}", program.frozen_number, program.frozen_comm);
  }
  for (size_t r = 0; r < program.code.size(); ++r) {
    text += fmt::format("\n{}rank {}:", r < static_cast<size_t>(program.ranks) ? "" : "thread of ",
                        program.RankOf(static_cast<int>(r)));
    for (const Op& op : program.code[r]) text += "  " + Text(op) + ";";
  }
  return text + "\n";
}

}  // namespace rollcall::oracle
