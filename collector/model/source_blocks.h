// SPDX-License-Identifier: Apache-2.0
// Loops, branches and exits of a source file, by line. They show whether a place is inside a loop,
// whether two places are in different arms of one branch, and how a rank may have left a function.
// A call path alone does not.
#ifndef ROLLCALL_COLLECTOR_MODEL_SOURCE_BLOCKS_H_
#define ROLLCALL_COLLECTOR_MODEL_SOURCE_BLOCKS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

struct SourceBlock {
  enum class Kind : uint8_t { kLoop, kArm };
  Kind kind = Kind::kLoop;
  int first = 0;        // line number, from 1; the line that opens the block
  int last = 0;         // inclusive
  uint32_t branch = 0;  // arms only: equal for all arms of one if/elif/else
  // For an arm whose condition compares a name with a number ("rank == 0"): the name and the
  // number. For a `for` loop of Python, `subject`: the names that each iteration assigns, separated
  // by blanks. Otherwise empty.
  std::string subject = {};
  std::string value = {};
  bool equal = true;  // false: "rank != 0"

  bool Holds(int line) const { return first <= line && line <= last; }
  bool operator==(const SourceBlock&) const = default;
};

// Where control leaves a function or a loop, and where an exception is caught.
struct SourceFlow {
  enum class Kind : uint8_t {
    kFunction,  // the body of a function or lambda
    kTry,       // the body of a try that has handlers
    kHandler,   // a catch or an except
    kReturn,
    kBreak,  // out of the innermost loop
    kContinue,
    kThrow,
    kEnd,  // calls a function that ends the program
  };
  Kind kind = Kind::kFunction;
  int first = 0;               // line number, from 1
  int last = 0;                // inclusive
  uint32_t group = 0;          // equal for a try and its handlers
  std::string condition = {};  // of a statement: that of the innermost arm around it; or empty

  bool Holds(int line) const { return first <= line && line <= last; }
  bool operator==(const SourceFlow&) const = default;
};

// The names in journals and text traces.
inline constexpr std::array<std::string_view, 8> kSourceFlowNames = {
    "function", "try", "handler", "return", "break", "continue", "throw", "end"};

// A condition that decides whether its lines are executed, or executed again: of an arm, a loop, a
// case, a conditional expression.
struct SourceCondition {
  int first = 0;     // line number, from 1
  int last = 0;      // inclusive
  std::string text;  // on one line; "…" at its end: it was cut

  bool Holds(int line) const { return first <= line && line <= last; }
  bool operator==(const SourceCondition&) const = default;
};

struct SourceBlocks {
  std::string file;  // as in SourceFrame::file
  std::vector<SourceBlock> blocks;
  std::vector<SourceFlow> flow = {};
  std::vector<SourceCondition> conditions = {};
};

// Whether both blocks are arms, and no rank executes both in one pass.
bool AreExclusive(const SourceBlock& a, const SourceBlock& b);

// The innermost block of the kind that holds `line` and does not hold `other` (0: no line). nullptr
// if there is none. Points into `blocks`.
const SourceBlock* InnermostBlock(const std::vector<SourceBlock>& blocks, SourceBlock::Kind kind,
                                  int line, int other = 0);

// The body of the function that contains the line; nullptr if it is unknown. Points into `flow`.
const SourceFlow* FunctionAround(const std::vector<SourceFlow>& flow, int line);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_SOURCE_BLOCKS_H_
