// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/loops/unroll.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace rollcall::oracle::loops {
namespace {

// How a statement ends.
enum class Flow { kNext, kBreak, kContinue, kReturn, kThrow };

class Walk {
 public:
  Walk(const Program& program, int rank) : program_(program), rank_(rank) {}

  Code Run() {
    const int main = static_cast<int>(program_.functions.size()) - 1;
    const Flow flow = Body(program_.functions.back().body, {.function = main, .path = ""});
    if (flow != Flow::kNext) throw std::logic_error("main() is left early");
    return std::move(code_);
  }

 private:
  struct Frame {
    int function = 0;
    std::string path;  // of the callers
    int id = 0;        // equal for equal paths
  };

  std::string Place(const Frame& frame, int line) const {
    const std::string& name = program_.functions[static_cast<size_t>(frame.function)].name;
    return fmt::format("{}{}{}:{}", frame.path, frame.path.empty() ? "" : " > ", name, line);
  }

  Flow Body(const Block& block, const Frame& frame) {
    for (const Node& node : block) {
      const Flow flow = Statement(node, frame);
      if (flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
  }

  Flow Statement(const Node& node, const Frame& frame) {
    switch (node.kind) {
      case Node::Kind::kCall:
        return Make(node, frame);
      case Node::Kind::kInvoke:
        return Invoke(node.function, node.line, frame);
      case Node::Kind::kLoop:
        return Loop(node, frame);
      case Node::Kind::kIf:
        return Body(node.condition.Holds(rank_, round_) ? node.body : node.otherwise, frame);
      case Node::Kind::kTry: {
        const Flow flow = Body(node.body, frame);
        return flow == Flow::kThrow ? Flow::kNext : flow;
      }
      case Node::Kind::kScope: {
        const Flow flow = Body(node.body, frame);
        const Flow last = Invoke(node.function, node.last_line, frame);
        return last == Flow::kNext ? flow : last;
      }
      case Node::Kind::kBreak:
        return Flow::kBreak;
      case Node::Kind::kContinue:
        return Flow::kContinue;
      case Node::Kind::kReturn:
        return Flow::kReturn;
      case Node::Kind::kThrow:
        return Flow::kThrow;
    }
    return Flow::kNext;
  }

  Flow Invoke(int function, int line, const Frame& frame) {
    const auto [entry, added] =
        frames_.emplace(std::tuple(frame.id, function, line), static_cast<int>(frames_.size()) + 1);
    const Frame callee{.function = function, .path = Place(frame, line), .id = entry->second};
    const Flow flow = Body(program_.functions[static_cast<size_t>(function)].body, callee);
    if (flow == Flow::kBreak || flow == Flow::kContinue) throw std::logic_error("not in a loop");
    return flow == Flow::kReturn ? Flow::kNext : flow;
  }

  Flow Loop(const Node& node, const Frame& frame) {
    const int rounds =
        node.rounds + (node.more.empty() ? 0 : node.more[static_cast<size_t>(rank_)]);
    const int outer = round_;
    Flow flow = Flow::kNext;
    for (int round = 0; round < rounds; ++round) {
      round_ = round;
      flow = Body(node.body, frame);
      if (flow != Flow::kNext && flow != Flow::kContinue) break;
    }
    round_ = outer;
    return flow == Flow::kBreak || flow == Flow::kContinue ? Flow::kNext : flow;
  }

  Flow Make(const Node& node, const Frame& frame) {
    const bool other = !node.other.empty() && node.condition.Holds(rank_, round_);
    const Call& call = (other ? node.other : node.calls)[static_cast<size_t>(rank_)];
    if (call.what == Call::What::kNothing) return Flow::kNext;
    const auto [entry, added] =
        made_.emplace(std::pair(&call, frame.id), static_cast<int>(code_.made.size()));
    if (added) code_.made.push_back({&call, Place(frame, node.line)});
    code_.order.push_back(entry->second);
    return Flow::kNext;
  }

  const Program& program_;
  const int rank_;
  int round_ = 0;
  Code code_;
  std::map<std::tuple<int, int, int>, int> frames_;
  std::map<std::pair<const Call*, int>, int> made_;
};

}  // namespace

std::vector<Code> Unroll(const Program& program) {
  std::vector<Code> codes;
  for (int rank = 0; rank < program.ranks(); ++rank) codes.push_back(Walk(program, rank).Run());
  return codes;
}

}  // namespace rollcall::oracle::loops
