// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/loops/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "collector/model/rank_set.h"

namespace rollcall::oracle::loops {
namespace {

std::string Peer(int peer) { return peer == kNone ? "none" : std::to_string(peer); }

std::string Names(const std::vector<int>& requests) {
  std::string names;
  for (const int request : requests) {
    const char kind = request < kFirstPersistent ? 'r' : 'p';
    names += fmt::format("{}{}{}", names.empty() ? "" : ",", kind, request);
  }
  return names;
}

class SourceWriter {
 public:
  std::string Write(std::vector<Function>* functions) {
    for (Function& function : *functions) {
      Line("void {}() {{", function.name);
      Lines(*functions, &function.body);
      Line("}}");
    }
    return std::move(text_);
  }

 private:
  template <typename... Args>
  int Line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += std::string(2 * depth_, ' ') + fmt::format(format, std::forward<Args>(args)...) + '\n';
    return ++line_;
  }

  void Lines(const std::vector<Function>& functions, Block* block) {
    ++depth_;
    for (Node& node : *block) {
      node.line = line_ + 1;
      Statement(functions, &node);
      node.last_line = line_;
    }
    --depth_;
  }

  void Statement(const std::vector<Function>& functions, Node* node) {
    switch (node->kind) {
      case Node::Kind::kCall:
        Line("{}", node->text);
        return;
      case Node::Kind::kInvoke:
        Line("{}();", functions[static_cast<size_t>(node->function)].name);
        return;
      case Node::Kind::kLoop: {
        const bool equal = node->more.empty();
        Line("for (int step = 0; step < {}{}; ++step) {{", node->rounds,
             equal ? "" : " + more[rank]");
        break;
      }
      case Node::Kind::kIf:
        Line("if ({}) {{", node->condition.text);
        break;
      case Node::Kind::kTry:
        Line("try {{");
        break;
      case Node::Kind::kScope:
        Line("{{");
        break;
      case Node::Kind::kBreak:
        Line("break;");
        return;
      case Node::Kind::kContinue:
        Line("continue;");
        return;
      case Node::Kind::kReturn:
        Line("return;");
        return;
      case Node::Kind::kThrow:
        Line("throw std::runtime_error(\"bad cell\");");
        return;
    }
    Lines(functions, &node->body);
    if (!node->otherwise.empty()) {
      Line("}} else {{");
      Lines(functions, &node->otherwise);
    }
    if (node->kind == Node::Kind::kTry) {
      Line("}} catch (const std::exception& error) {{");
      Line("  std::puts(error.what());");
    }
    Line("}}");
  }

  std::string text_;
  int line_ = 0;
  size_t depth_ = 0;
};

}  // namespace

std::string Text(const Call& call) {
  using What = Call::What;
  const std::string on = call.comm == 0 ? "" : fmt::format(" on=c{}", call.comm);
  const auto message = [&](std::string_view name, int peer, int tag) {
    std::string made = call.requests.empty() ? "" : " request=" + Names(call.requests);
    return fmt::format("{}{} 4xMPI_DOUBLE peer={} tag={}{}", name, on, Peer(peer), tag, made);
  };
  switch (call.what) {
    case What::kNothing:
    case What::kForever:
      return "";
    case What::kCollective: {
      std::string text = call.operation + on;
      if (call.root != kNone) text += fmt::format(" root={}", call.root);
      if (!call.arguments.empty()) text += " " + call.arguments;
      if (!call.sends.empty()) {
        text += fmt::format(" sendcounts={}xMPI_INT recvcounts={}xMPI_INT",
                            fmt::join(call.sends, ","), fmt::join(call.recvs, ","));
      }
      return text;
    }
    case What::kSend:
      return message("Send", call.to, call.to_tag);
    case What::kRecv:
      return message("Recv", call.from, call.from_tag);
    case What::kSendrecv:
      return fmt::format("Sendrecv{} 4xMPI_DOUBLE peer={} tag={} from={} fromtag={}", on,
                         Peer(call.to), call.to_tag, Peer(call.from), call.from_tag);
    case What::kIsend:
      return message("Isend", call.to, call.to_tag);
    case What::kIrecv:
      return message("Irecv", call.from, call.from_tag);
    case What::kSendInit:
      return message("Send_init", call.to, call.to_tag);
    case What::kRecvInit:
      return message("Recv_init", call.from, call.from_tag);
    case What::kStartall:
      return "Startall for=" + Names(call.requests);
    case What::kWaitall:
      return "Waitall for=" + Names(call.requests);
    case What::kFinalize:
      return "Finalize";
  }
  return "";
}

bool Condition::Holds(int rank, int round) const {
  if (!ranks.empty() && std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) return false;
  const int since = round - first_round;
  return since >= 0 && since < rounds && since % every == 0;
}

int Comm::LocalRank(int rank) const {
  const auto at = std::find(members.begin(), members.end(), rank);
  return at == members.end() ? kNone : static_cast<int>(at - members.begin());
}

int Grid::Stride(int dimension) const {
  int stride = 1;  // the last dimension varies fastest (MPI 4.0, 8.5.1)
  for (size_t d = static_cast<size_t>(dimension) + 1; d < dims.size(); ++d) stride *= dims[d];
  return stride;
}

int Grid::Coordinate(int local_rank, int dimension) const {
  return local_rank / Stride(dimension) % dims[static_cast<size_t>(dimension)];
}

int Grid::Neighbor(int local_rank, int dimension, int step) const {
  const int extent = dims[static_cast<size_t>(dimension)];
  const int at = Coordinate(local_rank, dimension);
  const int to = at + step;
  if (!periodic && (to < 0 || to >= extent)) return kNone;
  return local_rank + ((to + extent) % extent - at) * Stride(dimension);
}

bool Comm::Expects(int from, int to) const {
  for (int d = 0; d < static_cast<int>(grid.dims.size()); ++d) {
    if (grid.Neighbor(to, d, 1) == from || grid.Neighbor(to, d, -1) == from) return true;
  }
  return std::any_of(graph.begin(), graph.end(), [&](const Edge& edge) {
    return edge.from == from && edge.to == to && edge.to_lists;
  });
}

bool Comm::Sends(int from, int to) const {
  if (!grid.dims.empty()) return Expects(from, to);
  return std::any_of(graph.begin(), graph.end(), [&](const Edge& edge) {
    return edge.from == from && edge.to == to && edge.from_lists;
  });
}

void SetLines(Program* program) { program->source = SourceWriter().Write(&program->functions); }

std::string Text(const Program& program) {
  std::string text;
  for (size_t c = 0; c < program.comms.size(); ++c) {
    text += fmt::format("c{}: ranks {}\n", c, FoldRanks(program.comms[c].members));
  }
  int line = 0;
  for (size_t begin = 0; begin < program.source.size();) {
    const size_t end = program.source.find('\n', begin);
    text += fmt::format("{:3}  {}\n", ++line, program.source.substr(begin, end - begin));
    begin = end + 1;
  }
  return text;
}

}  // namespace rollcall::oracle::loops
