// SPDX-License-Identifier: Apache-2.0
// Writes persistent requests, which are created early and started repeatedly, one by one or several
// by one call.
#include <algorithm>

#include "tests/oracle/writer.h"

namespace rollcall::oracle {

void Writer::Handles(Wants wants) {
  for (int i = 0; i < 2; ++i) {
    const bool wanted = i == 0 && wants != Wants::kNoHandle;
    if (!wanted && !Chance(&random_, 25)) continue;
    NextLine();
    ++handle_;
    const int how = Below(&random_, 100);
    const bool partitioned = wanted && wants == Wants::kPartitions;
    Ends ends = partitioned || how < 30 ? PartitionedHandle()
                : how < 65              ? CollectiveHandle()
                                        : MessageHandle();
    for (auto& [rank, op] : ends) {
      op.handle = handle_;
      Op init = op;
      init.init = true;
      Add(rank, init, 0);
    }
    handles_.push_back(std::move(ends));
  }
}

Writer::Ends Writer::CollectiveHandle() {
  if (grid_ != kNone && Chance(&random_, 30)) return NeighborhoodCall();
  const int comm = RandomComm();
  Op op = RandomCollective(comm);
  if (op.what == Do::kDup) op.what = Do::kBarrier;
  Ends ends;
  for (const int r : Members(comm)) ends.emplace_back(r, op);
  PutInPlace(comm, &ends);
  return ends;
}

Writer::Ends Writer::MessageHandle() {
  const int comm = RandomComm();
  const auto [from, to] = RandomPair(comm);
  Op op = Addressed(Chance(&random_, 40) ? Do::kSsend : Do::kSend, comm, to);
  Ends ends = {{Member(comm, from), op}};
  op.what = Do::kRecv;
  op.peer = Chance(&random_, 15) && !loops_race_ ? kAny : from;
  ends.emplace_back(Member(comm, to), op);
  return ends;
}

// The two ends may divide the same data into different numbers of partitions (MPI 4.0, 4.2.1).
Writer::Ends Writer::PartitionedHandle() {
  const int comm = RandomComm();
  const auto [from, to] = RandomPair(comm);
  Op op = Addressed(Do::kPsend, comm, to);
  op.partitions = 1 + Below(&random_, 3);
  Ends ends = {{Member(comm, from), op}};
  op.what = Do::kPrecv;
  op.peer = from;
  op.partitions = 1 + Below(&random_, 3);
  ends.emplace_back(Member(comm, to), op);
  return ends;
}

void Writer::Start(Wants wants) {
  std::vector<const Ends*> chosen;
  for (const Ends& ends : handles_) {
    if (wants != Wants::kPartitions || IsPartitioned(ends.front().second.what)) {
      chosen.push_back(&ends);
    }
  }
  if (wants == Wants::kPartitions || !Chance(&random_, 30)) {
    chosen = {chosen[static_cast<size_t>(Below(&random_, static_cast<int>(chosen.size())))]};
  }
  std::vector<std::vector<Op>> starts(program_.code.size());
  for (const Ends* ends : chosen) {
    for (const auto& [rank, op] : *ends) starts[static_cast<size_t>(rank)].push_back(op);
  }
  for (int r = 0; r < program_.ranks; ++r) {
    std::vector<Op>& mine = starts[static_cast<size_t>(r)];
    if (!mine.empty()) Flush(r, 100);
    for (size_t i = 0; i < mine.size(); ++i) {
      mine[i].request = NewRequest(r);
      mine[i].fused = i + 1 < mine.size();
      Add(r, mine[i], 0);
    }
  }
  for (const Ends* ends : chosen) {
    if (IsPartitioned(ends->front().second.what)) MarkPartitions(*ends);
  }
}

// Writes the Pready calls. A collective may come before them, and the receiver may poll for one
// partition.
void Writer::MarkPartitions(const Ends& ends) {
  if (Chance(&random_, 25)) {
    NextLine();
    Collective(false);
  }
  NextLine();
  const auto& [sender, send] = ends.front();
  const auto& [receiver, receive] = ends.back();
  const bool at_once = Chance(&random_, 30);
  for (int i = 0; i < (at_once ? 1 : send.partitions); ++i) {
    Op ready;
    ready.what = Do::kPready;
    ready.handle = send.handle;
    ready.partitions = at_once ? send.partitions : 1;
    Add(sender, ready, i);
  }
  if (!Chance(&random_, 40)) return;
  Op arrived;
  arrived.what = Do::kParrived;
  arrived.handle = receive.handle;
  arrived.partition = Below(&random_, receive.partitions);
  Add(receiver, arrived, 4);
}

}  // namespace rollcall::oracle
