// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/loops/exchange.h"

#include <fmt/format.h>

#include <utility>

namespace rollcall::oracle::loops {

using What = Call::What;

Exchange::Exchange(const Program& program, int comm, const Grid& grid, Style style, Tags tags,
                   int first_request, bool regular)
    : program_(program),
      comm_(program.comms[static_cast<size_t>(comm)]),
      comm_number_(comm),
      grid_(grid),
      style_(style),
      tags_(tags),
      first_request_(first_request),
      requests_(comm_.members.size()) {
  switch (style) {
    case Style::kServer:
      Server();
      break;
    case Style::kTable:
      Table(regular);
      break;
    case Style::kNeighbor:
      Neighborhood("Neighbor_allgather");
      break;
    case Style::kGraph:
      Neighborhood("Neighbor_alltoall");
      break;
    default:
      Messages();
  }
}

Node Exchange::Statement(std::string text, const Make& make) const {
  Node node;
  node.text = std::move(text);
  node.calls.resize(static_cast<size_t>(program_.ranks()));
  for (int local = 0; local < comm_.size(); ++local) {
    Call call = make(local);
    call.comm = comm_number_;
    node.calls[static_cast<size_t>(comm_.members[static_cast<size_t>(local)])] = std::move(call);
  }
  return node;
}

int Exchange::SendTag(int direction, int sender) const {
  const bool by_direction = tags_ == Tags::kByDirection || tags_ == Tags::kDiffers;
  return by_direction ? 10 + direction : 100 + sender;
}

int Exchange::ReceiveTag(int direction, int sender, int receiver) const {
  const int tag = SendTag(direction, tags_ == Tags::kOwn ? receiver : sender);
  return tags_ == Tags::kDiffers ? tag + 50 : tag;
}

int Exchange::NewRequest(int local_rank, int first) {
  std::vector<int>& requests = requests_[static_cast<size_t>(local_rank)];
  requests.push_back(first + static_cast<int>(requests.size()));
  return requests.back();
}

void Exchange::Messages() {
  for (int d = 0; d < static_cast<int>(grid_.dims.size()); ++d) {
    if (grid_.dims[static_cast<size_t>(d)] == 1) continue;
    Shift(d, 1);
    Shift(d, -1);
  }
  if (style_ == Style::kNonblocking || style_ == Style::kPersistent) WaitForAll();
}

// Sends to the neighbor in one direction, and receives from the other one.
void Exchange::Shift(int dimension, int step) {
  const int direction = 2 * dimension + (step < 0 ? 1 : 0);
  const std::string to = fmt::format("{}[{}]", step > 0 ? "up" : "down", dimension);
  const std::string from = fmt::format("{}[{}]", step > 0 ? "down" : "up", dimension);
  const auto call = [&](int local, What what) {
    Call made{.what = what};
    if (what != What::kRecv && what != What::kIrecv && what != What::kRecvInit) {
      made.to = grid_.Neighbor(local, dimension, step);
      made.to_tag = SendTag(direction, local);
    }
    if (what != What::kSend && what != What::kIsend && what != What::kSendInit) {
      made.from = grid_.Neighbor(local, dimension, -step);
      made.from_tag = ReceiveTag(direction, made.from, local);
    }
    return made;
  };
  // A call that makes a request, unless there is no neighbor.
  const auto request = [&](What what, std::string_view name, bool sends, int first, Block* block) {
    const std::string& peer = sends ? to : from;
    block->push_back(
        Statement(fmt::format("if ({} >= 0) MPI_{}({});", peer, name, peer), [&](int local) {
          Call made = call(local, what);
          if ((sends ? made.to : made.from) == kNone) return Call{};
          made.requests = {NewRequest(local, first)};
          return made;
        }));
  };
  const auto send = [&] {
    return Statement(fmt::format("MPI_Send({});", to),
                     [&](int local) { return call(local, What::kSend); });
  };
  const auto receive = [&] {
    return Statement(fmt::format("MPI_Recv({});", from),
                     [&](int local) { return call(local, What::kRecv); });
  };
  switch (style_) {
    case Style::kOrdered: {
      Node node;
      node.kind = Node::Kind::kIf;
      node.condition.text = fmt::format("coords[{}] % 2 == 0", dimension);
      for (int local = 0; local < comm_.size(); ++local) {
        if (grid_.Coordinate(local, dimension) % 2 != 0) continue;
        node.condition.ranks.push_back(comm_.members[static_cast<size_t>(local)]);
      }
      node.body = {send(), receive()};
      node.otherwise = {receive(), send()};
      code_.push_back(std::move(node));
      return;
    }
    case Style::kSendrecv:
      code_.push_back(Statement(fmt::format("MPI_Sendrecv({}, {});", to, from),
                                [&](int local) { return call(local, What::kSendrecv); }));
      return;
    case Style::kNonblocking:
      request(What::kIrecv, "Irecv", false, 0, &code_);
      request(What::kIsend, "Isend", true, 0, &code_);
      return;
    case Style::kPersistent:
      request(What::kRecvInit, "Recv_init", false, first_request_, &setup_);
      request(What::kSendInit, "Send_init", true, first_request_, &setup_);
      return;
    default:
      return;
  }
}

void Exchange::WaitForAll() {
  const auto of_all = [&](What what) {
    return [this, what](int local) {
      const std::vector<int>& requests = requests_[static_cast<size_t>(local)];
      if (requests.empty()) return Call{};
      Call call{.what = what};
      call.requests = requests;
      return call;
    };
  };
  if (style_ == Style::kPersistent) {
    code_.push_back(Statement("MPI_Startall(n, requests);", of_all(What::kStartall)));
  }
  code_.push_back(Statement("MPI_Waitall(n, requests);", of_all(What::kWaitall)));
}

void Exchange::Neighborhood(const std::string& operation) {
  code_.push_back(Statement(fmt::format("MPI_{}(c{});", operation, comm_number_), [&](int) {
    Call call{.what = What::kCollective};
    call.operation = operation;
    call.arguments = "4xMPI_DOUBLE";
    call.needs = Call::Needs::kNeighbors;
    return call;
  }));
}

void Exchange::Table(bool regular) {
  code_.push_back(
      Statement(fmt::format("MPI_Alltoallv(c{});", comm_number_), [this, regular](int local) {
        Call call{.what = What::kCollective};
        call.operation = "Alltoallv";
        const auto count = [regular](int from, int to) {
          return regular ? 4 : 1 + (from * 7 + to * 3) % 5;
        };
        for (int other = 0; other < comm_.size(); ++other) {
          call.sends.push_back(count(local, other));
          call.recvs.push_back(count(other, local));
        }
        return call;
      }));
}

void Exchange::Server() {
  Node node;
  node.kind = Node::Kind::kIf;
  node.condition.text = "rank == 0";
  node.condition.ranks = {comm_.members[0]};
  constexpr int kRequestTag = 1;
  constexpr int kReplyTag = 2;
  for (int client = 1; client < comm_.size(); ++client) {
    node.body.push_back(Statement(fmt::format("MPI_Recv({});", client), [&](int local) {
      if (local != 0) return Call{};
      return Call{.what = What::kRecv, .from = client, .from_tag = kRequestTag};
    }));
    node.body.push_back(Statement(fmt::format("MPI_Send({});", client), [&](int local) {
      if (local != 0) return Call{};
      return Call{.what = What::kSend, .to = client, .to_tag = kReplyTag};
    }));
  }
  node.otherwise.push_back(Statement("MPI_Send(0);", [&](int) {
    return Call{.what = What::kSend, .to = 0, .to_tag = kRequestTag};
  }));
  node.otherwise.push_back(Statement("MPI_Recv(0);", [&](int) {
    return Call{.what = What::kRecv, .from = 0, .from_tag = kReplyTag};
  }));
  code_.push_back(std::move(node));
}

}  // namespace rollcall::oracle::loops
