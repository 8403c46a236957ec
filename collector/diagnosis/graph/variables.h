// SPDX-License-Identifier: Apache-2.0
// Compares the integers of Python frames between ranks. Without recorded calls, this shows which
// rank lags in a loop. Pure.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_VARIABLES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_VARIABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

struct ComparedVariable {
  struct Value {
    int64_t value = 0;
    std::vector<int32_t> ranks;  // ascending
  };
  std::string name;
  std::string function;       // function of the frame that has the variable
  std::string place;          // "train.py:20", on the lowest rank
  bool counts = false;        // a `for` loop around the call assigns it
  std::vector<Value> values;  // at least two; the most frequent one first
};

inline constexpr size_t kMaxValues = 4;  // per variable: more values mean nothing
inline constexpr size_t kMaxCompared = 16;

// The integers that differ between ranks; loop counters first. All processes with a place must have
// the integer, in a user frame that all reached by the same path. Integers that equal the rank are
// left out.
std::vector<ComparedVariable> CompareVariables(const Trace& trace);

// "step is 1041 on ranks 0-6 and 1040 on rank 7 (train, train.py:20)"
std::string VariableText(const ComparedVariable& variable);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_VARIABLES_H_
