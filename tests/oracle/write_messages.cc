// SPDX-License-Identifier: Apache-2.0
// Writes messages, blocking and nonblocking, with wildcards, probes and exchanges.
#include "tests/oracle/writer.h"

namespace rollcall::oracle {

Op Writer::Addressed(Do what, int comm, int peer) const {
  Op op;
  op.what = what;
  op.comm = comm;
  op.peer = peer;
  op.tag = line_;
  return op;
}

void Writer::Exchange() {
  const int comm = RandomComm();
  const int size = Size(comm);
  const int how = Below(&random_, 3);
  if (how == 2) {
    const auto [a, b] = RandomPair(comm);
    Sendrecv(comm, a, b, b);
    Sendrecv(comm, b, a, a);
    return;
  }
  for (int i = 0; i < size; ++i) {
    const bool chain = how == 1;
    Sendrecv(comm, i, chain && i + 1 == size ? kNone : (i + 1) % size,
             chain && i == 0 ? kNone : (i + size - 1) % size);
  }
}

void Writer::Sendrecv(int comm, int me, int to, int from) {
  const int rank = Member(comm, me);
  Op wait;
  wait.what = Do::kWaitall;
  for (const bool sends : {false, true}) {
    Op half;
    half.what = sends ? Do::kSend : Do::kRecv;
    half.comm = comm;
    half.peer = sends ? to : from;
    half.tag = line_;
    half.request = ++requests_;
    half.fused = true;
    if (half.peer == kNone) continue;
    wait.requests.push_back(half.request);
    Add(rank, half, 0);
  }
  if (!wait.requests.empty()) Add(rank, wait, 0);
}

void Writer::Probed() {
  const int comm = RandomComm();
  const auto [from, to] = RandomPair(comm);
  Op send = Addressed(Chance(&random_, 30) ? Do::kSsend : Do::kSend, comm, to);
  const int sender = Member(comm, from);
  if (Chance(&random_, 30)) send.request = NewRequest(sender);
  Add(sender, send, 0);
  constexpr Do kProbes[] = {Do::kProbe, Do::kMprobe, Do::kIprobe};
  Op probe;
  probe.what = kProbes[Below(&random_, 3)];
  probe.comm = comm;
  probe.peer = Chance(&random_, 30) ? kAny : from;
  probe.tag = line_;
  Op recv = probe;
  recv.what = Do::kRecv;
  if (probe.what == Do::kMprobe) {
    recv.what = Do::kMrecv;
    recv.message = probe.message = ++messages_;
  }
  Add(Member(comm, to), probe, 1);
  Add(Member(comm, to), recv, 2);
}

// Writes a message of a rank to the thread of another rank, which may answer it; or, if each rank
// has a thread, a collective of all these threads.
void Writer::Serve() {
  if (program_.threads.size() > 1) {
    const Op op = RandomCollective(served_);
    if (op.what == Do::kDup) return;
    for (int i = 0; i < Size(served_); ++i) Add(program_.ranks + i, op, 0);
    return;
  }
  const int thread = program_.ranks;
  const int server = program_.RankOf(thread);
  const int client = (server + 1 + Below(&random_, program_.ranks - 1)) % program_.ranks;
  Add(client, Addressed(Chance(&random_, 30) ? Do::kSsend : Do::kSend, served_, server), 0);
  Op recv = Addressed(Do::kRecv, served_, client);
  if (Chance(&random_, 30)) {
    Op probe = recv;
    probe.what = Do::kIprobe;
    Add(thread, probe, 1);
  }
  Add(thread, recv, 2);
  if (!Chance(&random_, 40)) return;
  Add(thread, Addressed(Do::kSend, served_, client), 3);
  Add(client, Addressed(Do::kRecv, served_, server), 4);
}

void Writer::MessageBetweenGroups() {
  const int sender = Members(inter_)[static_cast<size_t>(Below(&random_, Size(inter_)))];
  const std::vector<int> others = program_.Others(inter_, sender);
  const int to = Below(&random_, static_cast<int>(others.size()));
  const int receiver = others[static_cast<size_t>(to)];
  Op send = Addressed(Chance(&random_, 30) ? Do::kSsend : Do::kSend, inter_, to);
  Op recv = send;
  recv.what = Do::kRecv;
  recv.peer = Chance(&random_, 15) ? kAny : program_.LocalRank(inter_, sender);
  if (Chance(&random_, 30)) send.request = NewRequest(sender);
  if (Chance(&random_, 30)) recv.request = NewRequest(receiver);
  Add(sender, send, 0);
  Add(receiver, recv, 1);
}

void Writer::UnsafeRing(bool lucky) {
  NextLine();
  const int comm = RandomComm();
  const bool receive_first = !lucky && Chance(&random_, 50);
  const bool nonblocking_send = !receive_first && Chance(&random_, 20);
  ring_comm_ = comm;
  for (int i = 0; i < Size(comm); ++i) {
    const int r = Members(comm)[static_cast<size_t>(i)];
    Op send = Addressed(lucky ? Do::kSend : Do::kSsend, comm, (i + 1) % Size(comm));
    Op recv = send;
    recv.what = Do::kRecv;
    recv.peer = (i + Size(comm) - 1) % Size(comm);
    if (receive_first) std::swap(send, recv);
    if (nonblocking_send) {
      send.request = NewRequest(r);
      pending_[static_cast<size_t>(r)].pop_back();
      Op wait;
      wait.what = Do::kWaitall;
      wait.requests = {send.request};
      Add(r, send, 0);
      Add(r, wait, 1);
    } else {
      Add(r, send, 0);
    }
    Add(r, recv, 2);
  }
}

void Writer::FanIn(bool race) {
  const int comm = RandomComm();
  const int root = Below(&random_, Size(comm));
  const int root_rank = Members(comm)[static_cast<size_t>(root)];
  const bool nonblocking = Chance(&random_, 30);
  for (int i = 0; i < Size(comm); ++i) {
    if (i == root) continue;
    const int r = Members(comm)[static_cast<size_t>(i)];
    Op send = Addressed(Chance(&random_, 25) ? Do::kSsend : Do::kSend, comm, root);
    if (Chance(&random_, 20)) send.request = NewRequest(r);
    Add(r, send, 0);
    Op recv;
    recv.what = Do::kRecv;
    recv.comm = comm;
    recv.peer = kAny;
    recv.tag = race ? kAny : line_;
    // In a race some receives name their sender, whose message a wildcard receive may have taken
    // before.
    if (race && Chance(&random_, 50)) recv.peer = i;
    if (nonblocking) recv.request = NewRequest(root_rank);
    Add(root_rank, recv, 1);
  }
}

void Writer::Message() {
  const int comm = RandomComm();
  const auto [from, to] = RandomPair(comm);
  const int sender = Member(comm, from);
  const int receiver = Member(comm, to);
  const int messages = 1 + Below(&random_, 2);
  for (int i = 0; i < messages; ++i) {
    Op send = Addressed(Chance(&random_, 30) ? Do::kSsend : Do::kSend, comm, to);
    Op recv = send;
    recv.what = Do::kRecv;
    recv.peer = from;
    if (Chance(&random_, 15)) recv.tag = kAny;
    if (Chance(&random_, 40)) send.request = NewRequest(sender);
    if (Chance(&random_, 40)) recv.request = NewRequest(receiver);
    Add(sender, send, 2 * i);
    Add(receiver, recv, 2 * i + 1);
  }
}

// Writes a ring in which each rank sends to the next one. Each rank starts with a nonblocking
// receive or, in some rings, with a nonblocking send.
void Writer::SafeRing() {
  const int comm = RandomComm();
  const bool sends_first = Chance(&random_, 30);
  for (int i = 0; i < Size(comm); ++i) {
    const int r = Members(comm)[static_cast<size_t>(i)];
    Op recv;
    recv.what = Do::kRecv;
    recv.comm = comm;
    recv.peer = (i + Size(comm) - 1) % Size(comm);
    recv.tag = line_;
    Op send = recv;
    send.what = Chance(&random_, 30) ? Do::kSsend : Do::kSend;
    send.peer = (i + 1) % Size(comm);
    (sends_first ? send : recv).request = NewRequest(r);
    Add(r, sends_first ? send : recv, 0);
    Add(r, sends_first ? recv : send, 1);
  }
}

}  // namespace rollcall::oracle
