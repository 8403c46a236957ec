// SPDX-License-Identifier: Apache-2.0
// How a rank may have left the code in which another rank waits.
#include <algorithm>
#include <utility>

#include "collector/matching/call_site.h"
#include "collector/matching/user_code.h"

namespace rollcall {
namespace {

using BlockKind = SourceBlock::Kind;
using FlowKind = SourceFlow::Kind;

struct PathStep {
  const SourceFrame* frame;
  const SourceBlocks* source;  // nullptr: it could not be read
};

// The statements and blocks in the source that lead past the innermost call of a path, from the
// function at `depth` on. Blocks that also contain `outside`, a line of that function, do not
// count.
class WaysPast {
 public:
  WaysPast(const std::vector<PathStep>& steps, size_t depth, int outside, bool unwinds)
      : steps_(steps), unwinds_(unwinds) {
    for (size_t i = steps.size(); i-- > depth;) {
      step_ = &steps[i];
      outside_ = i == depth ? outside : 0;
      if (step_->source == nullptr) {
        unknown |= IsUserLine(*step_->frame) && !IsFrameworkFrame(*step_->frame);
        continue;
      }
      bool in_loop = false;
      for (const SourceBlock& block : step_->source->blocks) {
        if (!IsAround(block)) continue;
        (block.kind == BlockKind::kLoop ? loops : arms) = true;
        in_loop |= block.kind == BlockKind::kLoop;
      }
      // After a return into a loop, the next iteration begins. So a statement that leaves the loop
      // takes precedence over a return from a called function.
      std::optional<PathExit> returns;
      if (in_loop) std::swap(returns, leaves);
      const SourceFlow* function = FunctionAround(step_->source->flow, step_->frame->line);
      for (const SourceFlow& flow : step_->source->flow) {
        if (flow.kind == FlowKind::kTry && IsAround(flow)) {
          AddTry(flow.group);
        } else if (function != nullptr && function->Holds(flow.first) &&
                   FunctionAround(step_->source->flow, flow.first) == function) {
          AddStatement(flow);
        }
      }
      if (!leaves) leaves = std::move(returns);
    }
  }

  bool arms = false;
  bool loops = false;
  bool unknown = false;            // a source is missing
  bool guarded = false;            // a handler is around the call
  int caught = 0;                  // the handler's line
  bool caught_outside = false;     // `outside` is in the handler
  std::optional<PathExit> throws;  // the innermost statement of each kind
  std::optional<PathExit> leaves;

 private:
  template <typename Region>
  bool IsAround(const Region& region) const {
    return region.Holds(step_->frame->line) && (outside_ == 0 || !region.Holds(outside_));
  }

  void AddTry(uint32_t group) {
    for (const SourceFlow& flow : step_->source->flow) {
      if (flow.kind != FlowKind::kHandler || flow.group != group) continue;
      const bool here = outside_ != 0 && flow.Holds(outside_);
      if (!guarded || (here && !caught_outside)) caught = flow.first;
      guarded = true;
      caught_outside |= here;
    }
  }

  void AddStatement(const SourceFlow& flow) {
    const int line = step_->frame->line;
    const std::vector<SourceBlock>& blocks = step_->source->blocks;
    // Every rank executes a statement that is under no condition of its own, so it explains
    // nothing.
    if (InnermostBlock(blocks, BlockKind::kArm, flow.first, line) == nullptr && !InHandler(flow)) {
      return;
    }
    const SourceBlock* innermost = InnermostBlock(blocks, BlockKind::kLoop, flow.first);
    const bool in_loop = std::ranges::any_of(blocks, [&](const SourceBlock& block) {
      return block.kind == BlockKind::kLoop && IsAround(block) && block.Holds(flow.first);
    });
    if (flow.first >= line && !in_loop) return;
    if (flow.kind == FlowKind::kReturn && Calls(flow.first)) return;
    PathExit exit{.function = *step_->frame, .line = flow.first, .condition = flow.condition};
    if (flow.kind == FlowKind::kThrow && !throws) {
      throws = std::move(exit);
    } else if (flow.kind == FlowKind::kReturn && !leaves && (outside_ == 0 || unwinds_)) {
      exit.how = in_loop ? PathExit::How::kBreak : PathExit::How::kReturn;
      leaves = std::move(exit);
    } else if (flow.kind == FlowKind::kBreak && !leaves && innermost != nullptr &&
               IsAround(*innermost)) {
      exit.how = PathExit::How::kBreak;
      leaves = std::move(exit);
    }
  }

  // Whether the path leads through this line of the function, as in a recursion.
  bool Calls(int line) const {
    return std::ranges::any_of(steps_, [&](const PathStep& step) {
      return step.source == step_->source && step.frame->line == line;
    });
  }

  bool InHandler(const SourceFlow& statement) const {
    const std::vector<SourceFlow>& flow = step_->source->flow;
    return std::ranges::any_of(flow, [&](const SourceFlow& one) {
      return one.kind == FlowKind::kHandler && one.Holds(statement.first) &&
             !one.Holds(step_->frame->line);
    });
  }

  const std::vector<PathStep>& steps_;
  bool unwinds_;  // a destructor runs at `outside`
  const PathStep* step_ = nullptr;
  int outside_ = 0;  // 0 in called functions
};

}  // namespace

bool IsDestructor(std::string_view function) {
  const size_t at = function.find('~');
  return at != std::string_view::npos && !function.substr(0, at).ends_with("operator");
}

std::optional<PathExit> CallSites::FindExit(uint32_t waiting, uint32_t left) const {
  const PathDivergence parting = ComparePaths(waiting, left);
  if (!parting.known || parting.arms) return std::nullopt;
  const bool one_line = !parting.branch;  // one line called the two functions
  if (one_line ? parting.a.vaddr >= parting.b.vaddr : parting.a.line == parting.b.line) {
    return std::nullopt;
  }
  const auto steps = [this](uint32_t path) {
    std::vector<PathStep> result;
    for (const SourceFrame* frame : OutermostFirst(path))
      result.push_back({frame, SourceOf(*frame)});
    return result;
  };
  const std::vector<PathStep> a = steps(waiting);
  const std::vector<PathStep> b = steps(left);
  const size_t depth = parting.depth;
  const int line_a = one_line ? 0 : parting.a.line;
  const int line_b = one_line ? 0 : parting.b.line;
  const bool unwinds =
      !one_line && depth + 1 < b.size() && IsDestructor(b[depth + 1].frame->function);
  const WaysPast past(a, depth, line_b, unwinds);
  if (!past.caught_outside) {
    // If a loop around both repeats, the waiting rank may be in the next iteration, and have passed
    // `left`.
    bool repeats = false;
    bool together = false;
    for (size_t i = 0; i < depth + (one_line ? 0 : 1); ++i) {
      if (a[i].source == nullptr) continue;
      for (const SourceBlock& block : a[i].source->blocks) {
        if (block.kind != BlockKind::kLoop || !block.Holds(a[i].frame->line)) continue;
        if (i == depth && !block.Holds(line_b)) continue;
        repeats = true;
        together |= i == depth;
      }
    }
    if (parting.order > 0 && !together) return std::nullopt;
    const WaysPast own(b, depth, line_a, false);
    if (repeats && (own.arms || own.guarded || own.leaves)) return std::nullopt;
  }
  const bool only = !past.arms && !past.loops && !past.unknown;
  std::optional<PathExit> exit;
  if (past.throws && (past.guarded || unwinds)) {
    exit = past.throws;
  } else if (past.guarded && (past.caught_outside || (only && !past.leaves))) {
    exit = PathExit{.function = UserFrame(waiting)};
  } else if (past.leaves) {
    exit = past.leaves;
  } else {
    return std::nullopt;
  }
  if (exit->how == PathExit::How::kException) exit->caught = past.caught;
  exit->loop = past.loops && !past.caught_outside;
  exit->arms = past.arms && !past.caught_outside;
  exit->certain = past.caught_outside || !past.unknown;
  return exit;
}

}  // namespace rollcall
