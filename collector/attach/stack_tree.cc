#include "collector/attach/stack_tree.h"

#include <algorithm>

#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "collector/report/columns.h"
#include "collector/report/stacks.h"

namespace rollcall::attach {
namespace {

// What a rank does at the end of its path.
std::string DoingText(const RankStanding& rank) {
  if (rank.gone) return rank.fault.empty() ? "ended" : "ended by " + rank.fault;
  if (!rank.problem.empty()) return "not to be seen";
  if (WaitsForRanks(rank.meaning.meaning)) return rank.meaning.call;
  std::string text(MeaningText(rank.meaning.meaning));
  if (!rank.meaning.call.empty()) text += ", " + rank.meaning.call;
  return text;
}

StackNode* Child(StackNode* parent, const std::string& function, const std::string& place) {
  for (StackNode& node : parent->callees) {
    if (node.function == function && node.place == place) return &node;
  }
  StackNode& node = parent->callees.emplace_back();
  node.function = function;
  node.place = place;
  return &node;
}

// Outermost first.
std::vector<const SourceFrame*> ShownFrames(const Trace& trace, uint32_t path, bool full) {
  std::vector<const SourceFrame*> frames = rollcall::FramesOf(trace, path);
  std::reverse(frames.begin(), frames.end());
  if (full) return frames;
  std::vector<const SourceFrame*> own;
  std::copy_if(frames.begin(), frames.end(), std::back_inserter(own),
               [](const SourceFrame* frame) { return FrameworkOf(*frame).empty(); });
  return own.empty() ? frames : own;
}

void AddLines(const StackNode& node, size_t depth, std::vector<std::vector<std::string>>* rows) {
  const StackNode* at = &node;
  for (;;) {
    std::string text(2 * depth, ' ');
    text += at->function;
    if (!at->place.empty()) text += " (" + at->place + ")";
    rows->push_back({FoldRanks(at->ranks), std::move(text)});
    if (at->callees.size() != 1) break;
    at = &at->callees.front();
  }
  for (const StackNode& callee : at->callees) AddLines(callee, depth + 1, rows);
}

}  // namespace

StackNode StackTree(const Standings& standings, bool full) {
  StackNode root;
  for (const RankStanding& rank : standings.ranks) {
    StackNode* node = &root;
    node->ranks.push_back(rank.rank);
    for (const SourceFrame* frame : ShownFrames(standings.trace, rank.call_path, full)) {
      const std::string& name = frame->function.empty() ? frame->module : frame->function;
      node = Child(node, name, frame->line == 0 ? "" : FramePlace(*frame));
      node->ranks.push_back(rank.rank);
    }
    Child(node, "→ " + DoingText(rank), "")->ranks.push_back(rank.rank);
  }
  return root;
}

std::vector<std::string> StackTreeLines(const StackNode& root) {
  std::vector<std::vector<std::string>> rows;
  for (const StackNode& callee : root.callees) AddLines(callee, 0, &rows);
  return AlignColumns(rows);
}

}  // namespace rollcall::attach
