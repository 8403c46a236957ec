// SPDX-License-Identifier: Apache-2.0
// Changes that the generators of both oracles make to programs of any kind of operation.
#ifndef ROLLCALL_TESTS_ORACLE_CODE_EDITS_H_
#define ROLLCALL_TESTS_ORACLE_CODE_EDITS_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "tests/oracle/generate.h"
#include "tests/oracle/program.h"

namespace rollcall::oracle {

// Returns whether the operation has an argument that can be invalid by itself.
inline bool CanBeRejected(const Program& program, const Op& op) {
  if (op.init || op.handle != kNone || op.fused || program.IsInter(op.comm)) return false;
  if (IsMessage(op.what)) return op.what != Do::kMrecv && !IsPartitioned(op.what);
  return IsCollective(op.what) && op.what != Do::kBarrier && op.what < Do::kDup &&
         !HasCountsOfItsOwn(op.what);
}

// Returns the operation with such an invalid argument.
inline Op Rejected(const Program& program, Op op, Random* random) {
  const auto beyond = static_cast<int>(program.comms[static_cast<size_t>(op.comm)].size());
  op.rejected = true;
  op.request = kNone;
  op.message = kNone;
  if (IsMessage(op.what)) {
    Chance(random, 50) ? op.tag = -5 : op.peer = beyond;
  } else if (HasRoot(op.what)) {
    op.peer = beyond;
  } else {
    op.in_place = false;
    op.count = -1;
  }
  return op;
}

struct Culprits {
  std::vector<int> ranks;
  bool tie = false;  // as many culprits as other ranks
};

// Draws one of `members`, or sometimes two if there are at least four.
inline Culprits DrawCulprits(Random* random, std::vector<int> members) {
  const int size = static_cast<int>(members.size());
  const int culprits = size >= 4 && Chance(random, 20) ? 2 : 1;
  while (static_cast<int>(members.size()) > culprits) {
    members.erase(members.begin() + Below(random, static_cast<int>(members.size())));
  }
  return {std::move(members), 2 * culprits == size};
}

// Swaps the first two consecutive operations whose lines are `lines`.
template <typename Op>
void SwapLines(std::pair<int, int> lines, std::vector<Op>* ops) {
  for (size_t i = 0; i + 1 < ops->size(); ++i) {
    if ((*ops)[i].line != lines.first || (*ops)[i + 1].line != lines.second) continue;
    std::swap((*ops)[i], (*ops)[i + 1]);
    return;
  }
}

// Makes the operations from `begin` on the body of an unrolled loop; `adapt` is called with each
// operation and its iteration.
template <typename Op, typename Adapt>
void Unroll(size_t begin, int rounds, std::vector<Op>* ops, Adapt adapt) {
  const std::vector<Op> body(ops->begin() + static_cast<ptrdiff_t>(begin), ops->end());
  ops->resize(begin);
  for (int round = 0; round < rounds; ++round) {
    for (Op op : body) {
      op.iteration = round;
      adapt(&op, round);
      ops->push_back(std::move(op));
    }
  }
}

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_CODE_EDITS_H_
