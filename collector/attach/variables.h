// The integers of Python frames, compared between ranks: what tells a loop that is behind, where no
// call was recorded. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_VARIABLES_H_
#define ROLLCALL_COLLECTOR_ATTACH_VARIABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/attach/standing.h"

namespace rollcall::attach {

struct ComparedVariable {
  struct Value {
    int64_t value = 0;
    std::vector<int32_t> ranks;  // rising
  };
  std::string name;
  std::string function;       // of the frame that has it
  std::string place;          // "train.py:20", of the lowest rank
  bool counts = false;        // a `for` loop around the call assigns it
  std::vector<Value> values;  // at least two, the one of most ranks first
};

inline constexpr size_t kMaxValues = 4;  // of a variable: more tell nothing
inline constexpr size_t kMaxCompared = 16;

// Those that all ranks have, in a frame of the user's that all have come by in the same way, and
// that differ; those that count first. Not those that are the rank.
std::vector<ComparedVariable> CompareVariables(const Standings& standings);

// "step is 1041 on ranks 0-6 and 1040 on rank 7 (train, train.py:20)"
std::string VariableText(const ComparedVariable& variable);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_VARIABLES_H_
