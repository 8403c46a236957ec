// Loops and branches of a source file, by line. A call path alone does not show whether a place is
// inside a loop, or whether two places are in different arms of one branch.
#ifndef ROLLCALL_COLLECTOR_MODEL_SOURCE_BLOCKS_H_
#define ROLLCALL_COLLECTOR_MODEL_SOURCE_BLOCKS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall {

struct SourceBlock {
  enum class Kind : uint8_t { kLoop, kArm };
  Kind kind = Kind::kLoop;
  int first = 0;        // line number, from 1; the line that opens the block
  int last = 0;         // inclusive
  uint32_t branch = 0;  // arms only: equal for all arms of one if/elif/else
  // For an arm whose condition compares a name with a number ("rank == 0"): the name and the
  // number. For a `for` loop of Python: the names that each iteration assigns, separated by blanks.
  // Otherwise empty.
  std::string subject = {};
  std::string value = {};
  bool equal = true;  // false: "rank != 0"

  bool Holds(int line) const { return first <= line && line <= last; }
  bool operator==(const SourceBlock&) const = default;
};

struct SourceBlocks {
  std::string file;  // as in SourceFrame::file
  std::vector<SourceBlock> blocks;
};

// Whether both are arms, and no rank executes both in one pass.
bool AreExclusive(const SourceBlock& a, const SourceBlock& b);

// The innermost block of that kind that holds `line` and does not hold `other` (0: no line).
// nullptr if there is none; points into `blocks`.
const SourceBlock* InnermostBlock(const std::vector<SourceBlock>& blocks, SourceBlock::Kind kind,
                                  int line, int other = 0);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_SOURCE_BLOCKS_H_
