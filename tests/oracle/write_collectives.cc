// SPDX-License-Identifier: Apache-2.0
// Writes collectives on intracommunicators, on intercommunicators and along topologies.
#include <iterator>

#include "tests/oracle/writer.h"

namespace rollcall::oracle {

Op Writer::RandomCollective(int comm) {
  constexpr Do kAll[] = {Do::kBarrier,   Do::kBcast,  Do::kReduce,  Do::kAllreduce,
                         Do::kAllreduce, Do::kGather, Do::kScatter, Do::kAllgather,
                         Do::kAlltoall,  Do::kScan,   Do::kBarrier, Do::kDup};
  Op op;
  op.comm = comm;
  op.what = kAll[Below(&random_, static_cast<int>(std::size(kAll)))];
  if (HasRoot(op.what)) op.peer = Below(&random_, Size(comm));
  op.count = Chance(&random_, 10) ? 0 : 1 + Below(&random_, 3);
  op.type = Below(&random_, 2);
  op.reduction = Below(&random_, 2);
  return op;
}

void Writer::Collective(bool nonblocking) {
  const int comm = RandomComm();
  const Op op = RandomCollective(comm);
  Ends ends;
  for (const int r : Members(comm)) ends.emplace_back(r, op);
  PutInPlace(comm, &ends);
  AddAll(ends, nonblocking && op.what != Do::kDup);
}

// Sets MPI_IN_PLACE where the standard permits it (MPI 4.0, 6.5 to 6.11): at the root; or at all
// members; or, for Scan and Reduce_scatter, at any members, because the reduced data is the same.
void Writer::PutInPlace(int comm, Ends* ends) {
  const Op first = ends->front().second;
  if (first.what == Do::kBarrier || first.what == Do::kBcast || first.what == Do::kDup ||
      IsNeighborhood(first.what) || !Chance(&random_, 25)) {
    return;
  }
  const bool each = first.what == Do::kScan || first.what == Do::kReduceScatter;
  for (auto& [rank, op] : *ends) {
    op.in_place = HasRoot(op.what) ? program_.LocalRank(comm, rank) == op.peer
                                   : !each || Chance(&random_, 50);
    if (op.in_place && op.what == Do::kAlltoallv) op.sends.clear();
  }
}

// Writes a collective with a separate count for each member or for each pair of members.
void Writer::PairwiseCollective(bool nonblocking) {
  constexpr Do kAll[] = {Do::kGatherv, Do::kScatterv, Do::kAllgatherv, Do::kAlltoallv,
                         Do::kReduceScatter};
  const int comm = RandomComm();
  const int size = Size(comm);
  Op op;
  op.comm = comm;
  op.what = kAll[Below(&random_, static_cast<int>(std::size(kAll)))];
  if (HasRoot(op.what)) op.peer = Below(&random_, size);
  op.type = Below(&random_, 2);
  op.reduction = Below(&random_, 2);
  // In place, an Alltoallv sends as much as it receives.
  const bool symmetric = op.what == Do::kAlltoallv && Chance(&random_, 30);
  // By sender and receiver. Only Alltoallv uses more than the first row.
  std::vector<std::vector<int>> counts(static_cast<size_t>(size));
  for (std::vector<int>& row : counts) {
    for (int i = 0; i < size; ++i) {
      row.push_back(Chance(&random_, 25) ? 0 : 1 + Below(&random_, 3));
    }
  }
  for (size_t i = 0; symmetric && i < counts.size(); ++i) {
    for (size_t k = 0; k < i; ++k) counts[i][k] = counts[k][i];
  }
  Ends ends;
  for (int i = 0; i < size; ++i) {
    Op mine = op;
    const bool root = i == op.peer;
    mine.count = counts[0][static_cast<size_t>(i)];
    if (op.what == Do::kScatterv && root) mine.sends = counts[0];
    if (op.what == Do::kReduceScatter || op.what == Do::kAllgatherv ||
        (op.what == Do::kGatherv && root)) {
      mine.recvs = counts[0];
    }
    if (op.what == Do::kAlltoallv) {
      mine.sends = counts[static_cast<size_t>(i)];
      for (const std::vector<int>& row : counts) mine.recvs.push_back(row[static_cast<size_t>(i)]);
    }
    ends.emplace_back(Member(comm, i), mine);
  }
  if (op.what != Do::kAlltoallv || symmetric) PutInPlace(comm, &ends);
  AddAll(ends, nonblocking);
}

void Writer::Neighborhood(bool nonblocking) { AddAll(NeighborhoodCall(), nonblocking); }

Writer::Ends Writer::NeighborhoodCall() {
  constexpr Do kAll[] = {Do::kNeighborAllgather, Do::kNeighborAlltoall, Do::kNeighborAllgatherv,
                         Do::kNeighborAlltoallv};
  Op op;
  op.comm = grid_;
  op.what = kAll[Below(&random_, static_cast<int>(std::size(kAll)))];
  op.type = Below(&random_, 2);
  op.count = Chance(&random_, 15) ? 0 : 1 + Below(&random_, 3);
  Ends ends;
  for (int i = 0; i < Size(grid_); ++i) {
    Op mine = op;
    if (HasCountsOfItsOwn(op.what)) {
      mine.count = Chance(&random_, 25) ? 0 : 1 + Below(&random_, 3);
      mine.recvs.assign(static_cast<size_t>(program_.Places(grid_, i, true)), 0);
    }
    if (op.what == Do::kNeighborAlltoallv) {
      mine.sends.assign(static_cast<size_t>(program_.Places(grid_, i, false)), 0);
    }
    ends.emplace_back(Member(grid_, i), mine);
  }
  if (!HasCountsOfItsOwn(op.what)) return ends;
  for (const Edge& edge : program_.Edges(grid_)) {
    Op& from = ends[static_cast<size_t>(edge.from)].second;
    Op& to = ends[static_cast<size_t>(edge.to)].second;
    int count = from.count;
    if (op.what == Do::kNeighborAlltoallv) {
      count = Chance(&random_, 25) ? 0 : 1 + Below(&random_, 3);
      from.sends[static_cast<size_t>(edge.from_place)] = count;
    }
    to.recvs[static_cast<size_t>(edge.to_place)] = count;
  }
  return ends;
}

void Writer::BetweenGroups() {
  constexpr Do kAll[] = {Do::kBarrier, Do::kBcast,   Do::kReduce,    Do::kAllreduce,
                         Do::kGather,  Do::kScatter, Do::kAllgather, Do::kAlltoall};
  Op op;
  op.comm = inter_;
  op.what = kAll[Below(&random_, static_cast<int>(std::size(kAll)))];
  op.count = Chance(&random_, 10) ? 0 : 1 + Below(&random_, 3);
  op.type = Below(&random_, 2);
  op.reduction = Below(&random_, 2);
  const bool rooted = HasRoot(op.what);
  const bool nonblocking = Chance(&random_, 25);
  const int root = Members(inter_)[static_cast<size_t>(Below(&random_, Size(inter_)))];
  for (const int r : Members(inter_)) {
    Op mine = op;
    if (rooted) {
      mine.peer = r == root                        ? kRootSelf
                  : program_.Talk(inter_, r, root) ? program_.LocalRank(inter_, root)
                                                   : kRootNone;
    }
    if (nonblocking) mine.request = NewRequest(r);
    Add(r, mine, 0);
  }
}

std::pair<int, int> Writer::PairOfCollectives(int a, int b) {
  std::pair<int, int> lines;
  for (const int comm : {a, b}) {
    NextLine();
    (comm == a ? lines.first : lines.second) = line_;
    Op op = RandomCollective(comm);
    if (op.what == Do::kDup || (op.peer != kNone && Chance(&random_, 70))) {
      op.what = Do::kAllreduce;
      op.peer = kNone;
    }
    for (const int r : Members(comm)) Add(r, op, 0);
  }
  return lines;
}

}  // namespace rollcall::oracle
