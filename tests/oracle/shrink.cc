// SPDX-License-Identifier: Apache-2.0
// Reduces a program with a violation to a smaller one with the same kind of violation.
#include <fmt/format.h>

#include <algorithm>

#include "tests/oracle/judge.h"

namespace rollcall::oracle {
namespace {

// Returns the program without the operations of one line on all ranks, without the operations that
// use their handles and messages, and without waits for their requests.
Program Without(const Program& program, int line) {
  Program smaller = program;
  for (std::vector<Op>& ops : smaller.code) {
    const auto goes = [&](const Op& op) {
      if (op.line == line) return op.what != Do::kFinalize && op.what != Do::kEnd;
      return std::any_of(ops.begin(), ops.end(), [&](const Op& other) {
        const bool marks = op.what == Do::kPready || op.what == Do::kParrived;
        const bool uses = other.init || (marks && other.request != kNone);
        return other.line == line &&
               ((uses && other.handle != kNone && other.handle == op.handle) ||
                (other.message != kNone && other.message == op.message));
      });
    };
    std::vector<int> gone;
    for (const Op& op : ops) {
      if (goes(op) && op.request != kNone) gone.push_back(op.request);
    }
    std::vector<Op> kept;
    for (const Op& op : ops) {
      if (!goes(op)) kept.push_back(op);
    }
    ops = std::move(kept);
    for (Op& op : ops) {
      std::erase_if(op.requests, [&](int request) {
        return std::find(gone.begin(), gone.end(), request) != gone.end();
      });
    }
    std::erase_if(ops, [](const Op& op) { return IsWait(op.what) && op.requests.empty(); });
    MendStartalls(&ops);
  }
  return smaller;
}

}  // namespace

std::string Shrink(const Generated& generated) {
  std::string shown;
  // Returns the kind of a violation like `what` (any if empty) in 100 runs of the candidate, and
  // stores the run in `shown`; empty if there is none.
  const auto fails = [&shown](const Generated& candidate, const std::string& what) {
    const Machine machine(candidate.program);
    for (uint64_t seed = 0; seed < 100; ++seed) {
      Random random(seed);
      const Observation seen = Observe(candidate.program, machine, &random);
      const Judgement judgement = Judge(candidate, machine, seen);
      for (const std::string& violation : judgement.violations) {
        std::string name = violation.substr(0, violation.find(':'));
        if (!what.empty() && name.substr(0, 8) != what.substr(0, 8)) continue;
        shown = fmt::format("{}\n{}{}", violation, Text(candidate.program), seen.text);
        return name;
      }
    }
    return std::string();
  };
  Generated smallest = generated;
  const std::string what = fails(smallest, "");
  if (what.empty()) return "it does not happen again in 100 runs of the same program\n";
  for (bool again = true; again;) {
    again = false;
    for (int line = 1000; line > 0; --line) {
      Generated candidate = smallest;
      candidate.program = Without(smallest.program, line);
      size_t before = 0;
      size_t after = 0;
      for (const std::vector<Op>& ops : smallest.program.code) before += ops.size();
      for (const std::vector<Op>& ops : candidate.program.code) after += ops.size();
      if (after == before || fails(candidate, what).empty()) continue;
      smallest = std::move(candidate);
      again = true;
    }
  }
  fails(smallest, what);
  return shown;
}

}  // namespace rollcall::oracle
