// What the generators of both oracles do to programs, whatever an operation is there.
#ifndef ROLLCALL_TESTS_ORACLE_CODE_EDITS_H_
#define ROLLCALL_TESTS_ORACLE_CODE_EDITS_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "tests/oracle/generate.h"
#include "tests/oracle/program.h"

namespace rollcall::oracle {

// Is there an argument of it that can be wrong by itself?
inline bool CanBeRejected(const Program& program, const Op& op) {
  if (op.init || op.handle != kNone || op.fused || program.IsInter(op.comm)) return false;
  if (IsMessage(op.what)) return op.what != Do::kMrecv && !IsPartitioned(op.what);
  return IsCollective(op.what) && op.what != Do::kBarrier && op.what < Do::kDup &&
         !HasCountsOfItsOwn(op.what);
}

// The same with such an argument.
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
  bool tie = false;  // as many as the others
};

// One of `members`, or two of four and more.
inline Culprits DrawCulprits(Random* random, std::vector<int> members) {
  const int size = static_cast<int>(members.size());
  const int culprits = size >= 4 && Chance(random, 20) ? 2 : 1;
  while (static_cast<int>(members.size()) > culprits) {
    members.erase(members.begin() + Below(random, static_cast<int>(members.size())));
  }
  return {std::move(members), 2 * culprits == size};
}

// The first time that the second of `lines` follows the first, the other way round.
template <typename Op>
void SwapLines(std::pair<int, int> lines, std::vector<Op>* ops) {
  for (size_t i = 0; i + 1 < ops->size(); ++i) {
    if ((*ops)[i].line != lines.first || (*ops)[i + 1].line != lines.second) continue;
    std::swap((*ops)[i], (*ops)[i + 1]);
    return;
  }
}

// Makes what follows `begin` the body of a loop, unrolled; `adapt` is told each operation and its
// round.
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
