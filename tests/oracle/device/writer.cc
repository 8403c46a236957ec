// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/device/writer.h"

#include <algorithm>
#include <cstddef>

#include "tests/oracle/code_edits.h"

namespace rollcall::oracle::device {
namespace {

Op Make(Do what, int comm = 0) {
  Op op;
  op.what = what;
  op.comm = comm;
  return op;
}

}  // namespace

Writer::Writer(Random* random, bool two_on_one) : random_(*random) {
  program_.ranks = 2 + Below(&random_, 4);
  program_.mpi = Chance(&random_, 25);
  program_.code.resize(static_cast<size_t>(program_.ranks));
  std::vector<int> all;
  for (int r = 0; r < program_.ranks; ++r) all.push_back(r);
  const bool one_stream = two_on_one || Chance(&random_, 50);
  const int comms = two_on_one ? 2 + Below(&random_, 2) : 1 + Below(&random_, 3);
  for (int c = 0; c < comms; ++c) {
    std::vector<int> members = all;
    while (c > 0 && members.size() > 2 && Chance(&random_, 40)) {
      members.erase(members.begin() + Below(&random_, static_cast<int>(members.size())));
    }
    program_.comms.push_back(members);
    program_.streams.push_back(one_stream ? 0 : c);
  }
}

void Writer::Steps(int count) {
  for (int i = 0; i < count; ++i) Step();
}

void Writer::Step() {
  const int what = Below(&random_, 100);
  if (what < 50) {
    Collective();
  } else if (what < 65) {
    Message();
  } else if (what < 78) {
    Ring(true);
  } else if (what < 90 || !program_.mpi) {
    GroupOfCollectives();
  } else {
    NextLine();
    AddOn(0, Make(Do::kHostBarrier), 0);
  }
  for (int r = 0; r < program_.ranks; ++r) Sync(r, 30);
}

void Writer::Loop(int rounds, int steps) {
  std::vector<size_t> begin;
  for (const std::vector<Op>& ops : program_.code) begin.push_back(ops.size());
  Steps(steps);
  for (size_t r = 0; r < program_.code.size(); ++r) {
    Unroll(begin[r], rounds, &program_.code[r], [](Op*, int) {});
  }
}

Op Writer::RandomCollective(int comm) {
  Op op = Make(static_cast<Do>(Below(&random_, static_cast<int>(Do::kReduce) + 1)), comm);
  if (IsRooted(op.what)) op.peer = Below(&random_, Size(comm));
  op.count = 1 + Below(&random_, 3);
  op.type = Below(&random_, 2);
  if (Reduces(op.what)) op.reduction = Below(&random_, 2);
  return op;
}

void Writer::Collective() {
  NextLine();
  const int comm = RandomComm();
  AddOn(comm, RandomCollective(comm), 0);
}

void Writer::GroupOfCollectives() {
  NextLine();
  const bool nested = Chance(&random_, 20);
  for (int i = 0; i <= nested; ++i) AddOn(0, Make(Do::kGroupStart), i);
  for (int i = 0; i < 2; ++i) {
    const int comm = RandomComm();
    AddOn(comm, RandomCollective(comm), 2 + i);
  }
  for (int i = 0; i <= nested; ++i) AddOn(0, Make(Do::kGroupEnd), 5 + i);
}

std::pair<int, int> Writer::PairOfCollectives() {
  std::pair<int, int> lines;
  for (const int comm : {0, 1}) {
    NextLine();
    (comm == 0 ? lines.first : lines.second) = line_;
    AddOn(comm, RandomCollective(comm), 0);
  }
  return lines;
}

int Writer::Ring(bool in_one_group) {
  NextLine();
  const int comm = RandomComm();
  if (in_one_group) AddOn(comm, Make(Do::kGroupStart), 0);
  const std::vector<int>& members = program_.Members(comm);
  for (int i = 0; i < Size(comm); ++i) {
    for (const Do what : {Do::kSend, Do::kRecv}) {
      Op op = Make(what, comm);
      op.peer = (i + (what == Do::kSend ? 1 : Size(comm) - 1)) % Size(comm);
      Add(members[static_cast<size_t>(i)], op, what == Do::kSend ? 1 : 2);
    }
  }
  if (in_one_group) AddOn(comm, Make(Do::kGroupEnd), 3);
  return comm;
}

int Writer::Message() {
  NextLine();
  const int comm = RandomComm();
  const int from = Below(&random_, Size(comm));
  const int to = (from + 1 + Below(&random_, Size(comm) - 1)) % Size(comm);
  Op op = Make(Do::kSend, comm);
  op.count = 1 + Below(&random_, 3);
  op.peer = to;
  Add(program_.Members(comm)[static_cast<size_t>(from)], op, 0);
  op.what = Do::kRecv;
  op.peer = from;
  Add(program_.Members(comm)[static_cast<size_t>(to)], op, 1);
  return comm;
}

Program Writer::Finish() {
  line_ = 980;
  outer_line_ = 0;
  for (int r = 0; r < program_.ranks; ++r) {
    Add(r, Make(Do::kSyncAll), 0);
    Add(r, Make(Do::kEnd), 10);
  }
  return std::move(program_);
}

void Writer::Sync(int rank, int percent) {
  if (!Chance(&random_, percent)) return;
  Op op = Make(Chance(&random_, 70) ? Do::kSyncStream : Do::kSyncAll, RandomComm());
  if (program_.LocalRank(op.comm, rank) == kNone) op.what = Do::kSyncAll;
  Add(rank, op, 9);
}

void Writer::NextLine() {
  line_ += 10;
  // Some steps are in a function that main() calls.
  outer_line_ = Chance(&random_, 30) ? line_ : 0;
}

void Writer::Add(int rank, Op op, int line) {
  op.line = line_ + line;
  op.outer_line = outer_line_;
  program_.code[static_cast<size_t>(rank)].push_back(op);
}

void Writer::AddOn(int comm, const Op& op, int line) {
  for (const int r : program_.Members(comm)) Add(r, op, line);
}

}  // namespace rollcall::oracle::device
