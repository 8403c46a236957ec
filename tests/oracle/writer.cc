// SPDX-License-Identifier: Apache-2.0
// Writes the structure of a program: communicators, steps, loops, and the waits for requests.
#include "tests/oracle/writer.h"

#include <algorithm>
#include <cstddef>

#include "tests/oracle/code_edits.h"

namespace rollcall::oracle {

Writer::Writer(Random* random, bool loops_race) : random_(*random), loops_race_(loops_race) {
  program_.ranks = 2 + Below(&random_, 4);
  program_.thread_level = Chance(&random_, 16) ? 3 : Below(&random_, 3);
  program_.code.resize(static_cast<size_t>(program_.ranks));
  pending_.resize(program_.code.size());
  std::vector<int> world;
  world.reserve(program_.code.size());
  for (int r = 0; r < program_.ranks; ++r) world.push_back(r);
  program_.comms.push_back(world);
  comms_ = 1;
}

void Writer::Communicators(bool at_least_one) {
  for (int i = 0; i < 2; ++i) {
    if (!(at_least_one && i == 0) && !Chance(&random_, 50)) continue;
    std::vector<int> members = program_.comms[0];
    const bool dup = program_.ranks == 2 || Chance(&random_, 30);
    while (!dup && members.size() > 2 &&
           (members.size() == program_.comms[0].size() || Chance(&random_, 40))) {
      members.erase(members.begin() + Below(&random_, static_cast<int>(members.size())));
    }
    NextLine();
    for (const int r : program_.comms[0]) {
      Op op;
      op.what = dup ? Do::kDup : Do::kSplit;
      Add(r, op, 0);
    }
    program_.comms.push_back(members);
    ++comms_;
  }
  program_.split.assign(program_.comms.size(), 0);
  if (Chance(&random_, 25)) Intercommunicator();
  if (Chance(&random_, 35)) Grid();
}

std::vector<int> Writer::SomeRanks() {
  std::vector<int> ranks = Members(0);
  while (ranks.size() > 2 && Chance(&random_, 25)) {
    ranks.erase(ranks.begin() + Below(&random_, static_cast<int>(ranks.size())));
  }
  return ranks;
}

// Adds a communicator with a topology; it exists before the first operation of the program.
void Writer::Grid() {
  grid_ = static_cast<int>(program_.comms.size());
  const std::vector<int> members = SomeRanks();
  const int size = static_cast<int>(members.size());
  program_.comms.push_back(members);
  program_.split.push_back(0);
  program_.topologies.resize(program_.comms.size());
  Topology& topology = program_.topologies.back();
  if (Chance(&random_, 50)) {
    topology.dims = size == 4 && Chance(&random_, 60) ? std::vector<int>{2, 2} : std::vector{size};
    topology.periodic = Chance(&random_, 50);
    return;
  }
  const int edges = 1 + Below(&random_, 2 * size);
  for (int i = 0; i < edges; ++i) {
    topology.graph.emplace_back(Below(&random_, size), Below(&random_, size));
  }
}

// Adds an intercommunicator of two groups of the world; it exists before the first operation of the
// program.
void Writer::Intercommunicator() {
  std::vector<int> groups[2];
  for (const int r : program_.comms[0]) {
    if (program_.ranks > 2 && Chance(&random_, 15)) continue;
    groups[Below(&random_, 2)].push_back(r);
  }
  if (groups[0].empty() || groups[1].empty()) return;
  inter_ = static_cast<int>(program_.comms.size());
  program_.split.push_back(static_cast<int>(groups[0].size()));
  groups[0].insert(groups[0].end(), groups[1].begin(), groups[1].end());
  program_.comms.push_back(groups[0]);
}

void Writer::Threads() {
  if (program_.thread_level != 3 || Chance(&random_, 50)) return;
  served_ = static_cast<int>(program_.comms.size());
  program_.comms.push_back(Members(0));
  program_.split.push_back(0);
  const bool all = program_.ranks <= 3 && Chance(&random_, 30);
  const int one = Below(&random_, program_.ranks);
  for (int r = 0; r < program_.ranks; ++r) {
    if (!all && r != one) continue;
    program_.threads.push_back({r, Chance(&random_, 70)});
    program_.code.emplace_back();
  }
}

void Writer::Steps(int count) {
  for (int i = 0; i < count; ++i) Step();
}

void Writer::Loop(int rounds, int steps) {
  FlushAll(100);
  std::vector<size_t> begin;
  for (const std::vector<Op>& ops : program_.code) begin.push_back(ops.size());
  in_loop_ = true;
  Steps(steps);
  in_loop_ = false;
  FlushAll(100);
  const auto own_requests = [](Op* op, int round) {
    if (op->request != kNone) op->request += 1000 * round;
    for (int& request : op->requests) request += 1000 * round;
  };
  for (size_t r = 0; r < program_.code.size(); ++r) {
    Unroll(begin[r], rounds, &program_.code[r], own_requests);
  }
}

void Writer::Step() {
  NextLine();
  if (served_ != kNone && Chance(&random_, 30)) return Serve();
  const int what = Below(&random_, 100);
  const bool nonblocking = Chance(&random_, 25);
  if (what < 36) {
    Collective(nonblocking);
  } else if (what < 44) {
    PairwiseCollective(nonblocking);
  } else if (what < 52 && grid_ != kNone) {
    Neighborhood(nonblocking);
  } else if (what < 62) {
    Message();
  } else if (what < 68) {
    Exchange();
  } else if (what < 73) {
    Probed();
  } else if (what < 82 && !handles_.empty()) {
    Start(Wants::kAnyHandle);
  } else if (what < 88 && inter_ != kNone) {
    Chance(&random_, 60) ? BetweenGroups() : MessageBetweenGroups();
  } else if (what < 94 || (in_loop_ && !loops_race_)) {
    SafeRing();
  } else {
    FanIn(false);
  }
  for (int r = 0; r < program_.ranks; ++r) Flush(r, 35);
}

Program Writer::Finish() {
  FlushAll(100);
  for (const auto& ends : handles_) {
    if (Chance(&random_, 50)) continue;
    NextLine();
    for (const auto& [rank, op] : ends) {
      Op free;
      free.what = Do::kFree;
      free.handle = op.handle;
      Add(rank, free, 0);
    }
  }
  line_ = 990;
  for (int r = 0; r < program_.ranks; ++r) {
    Op op;
    op.what = Do::kFinalize;
    Add(r, op, 0);
  }
  line_ = 992;
  for (int line = program_.ranks; line < program_.lines(); ++line) {
    Op op;
    op.what = Do::kEnd;
    Add(line, op, 0);
  }
  return std::move(program_);
}

void Writer::NextLine() {
  line_ += 10;
  // Some steps are in a function that main() calls.
  outer_line_ = Chance(&random_, 30) ? line_ : 0;
}

std::pair<int, int> Writer::RandomPair(int comm) {
  const int from = Below(&random_, Size(comm));
  return {from, (from + 1 + Below(&random_, Size(comm) - 1)) % Size(comm)};
}

void Writer::Add(int rank, Op op, int line) {
  op.line = line_ + line;
  op.outer_line = outer_line_;
  std::vector<Op>& code = program_.code[static_cast<size_t>(rank)];
  // A correct program may get errors: it repeats a rejected call with valid arguments, or continues
  // after a call that took effect although it returned an error (`fails`).
  const bool alone = !op.fused && (code.empty() || !code.back().fused);
  if (alone && Chance(&random_, 2) && CanBeRejected(program_, op)) {
    code.push_back(Rejected(program_, op, &random_));
  }
  op.fails = alone && op.what != Do::kDup && op.request == kNone && op.handle == kNone &&
             (op.what == Do::kRecv || IsCollective(op.what)) && Chance(&random_, 1);
  code.push_back(op);
}

void Writer::AddAll(const Ends& ends, bool nonblocking) {
  for (const auto& [rank, op] : ends) {
    Op mine = op;
    if (nonblocking) mine.request = NewRequest(rank);
    Add(rank, mine, 0);
  }
}

int Writer::NewRequest(int rank) {
  pending_[static_cast<size_t>(rank)].push_back(++requests_);
  return requests_;
}

void Writer::FlushAll(int percent) {
  NextLine();
  for (int r = 0; r < program_.ranks; ++r) Flush(r, percent);
}

void Writer::Flush(int rank, int percent) {
  std::vector<int>& pending = pending_[static_cast<size_t>(rank)];
  if (pending.empty() || !Chance(&random_, percent)) return;
  Op wait;
  wait.requests = pending;
  const int how = Below(&random_, 10);
  if (how < 5 && pending.size() > 1) {
    wait.what = how < 3 ? Do::kWaitany : Do::kWaitsome;
    Add(rank, wait, 7);
  } else if (how == 5) {
    wait.what = Do::kPoll;
    wait.requests.resize(1);
    Add(rank, wait, 8);
    pending.erase(pending.begin());
    wait.requests = pending;
  }
  wait.what = Do::kWaitall;
  if (!pending.empty()) Add(rank, wait, 9);
  pending.clear();
}

}  // namespace rollcall::oracle
