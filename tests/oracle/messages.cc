// SPDX-License-Identifier: Apache-2.0
// The rules of messages, probes and waits: when they are complete, and which messages match.
#include <algorithm>

#include "tests/oracle/machine.h"

namespace rollcall::oracle {
namespace {

bool Gives(const Op& op) { return IsSend(op.what) && !op.init && !op.rejected; }
bool Takes(const Op& op) {
  return (op.what == Do::kRecv || op.what == Do::kMprobe) && !op.init && !op.rejected;
}

}  // namespace

bool Machine::Complete(const State& state, Library library, int rank, int at) const {
  const Op& op = At(rank, at);
  const Cell& cell = state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  if (IsFree(state, rank) || FromFree(state, rank, at)) return true;
  if (IsCollective(op.what)) return CollectiveComplete(state, library, rank, at);
  const bool polls = op.what == Do::kPoll || op.what == Do::kIprobe || op.what == Do::kParrived;
  const bool gives_up =
      library == Library::kPermissive || state.lines[static_cast<size_t>(rank)].gives_up;
  if (polls && gives_up) return true;
  if (IsWait(op.what)) {
    const auto complete = [&](int request) {
      const int maker = MakerOf(rank, request);
      return state.cells[static_cast<size_t>(rank)][static_cast<size_t>(maker)].finished ||
             Complete(state, library, rank, maker);
    };
    if (op.what == Do::kWaitany || op.what == Do::kWaitsome) {
      return std::any_of(op.requests.begin(), op.requests.end(), complete);
    }
    return std::all_of(op.requests.begin(), op.requests.end(), complete);
  }
  if (op.what == Do::kProbe || op.what == Do::kIprobe) {
    return Visible(state, rank, op);
  }
  if (IsPartitioned(op.what)) return PartitionsComplete(state, library, rank, at);
  if (op.what == Do::kParrived) return Arrived(state, library, rank, at);
  if (cell.match_rank != kNone && (!IsSend(op.what) || Received(state, rank, at))) return true;
  if (op.what != Do::kSend) return false;
  return library == Library::kPermissive || library == Library::kBuffering ||
         (library == Library::kAsDecided && cell.early);
}

// Returns whether a free rank (State::free) could send or receive the message.
bool Machine::FromFree(const State& state, int rank, int at) const {
  const Op& op = At(rank, at);
  if (state.free.empty() || !(IsMessage(op.what) || op.what == Do::kIprobe)) return false;
  if (op.what == Do::kPsend && !AllReady(state, rank, at)) return false;
  const std::vector<int> others = program_.Others(op.comm, rank);
  for (int i = 0; i < static_cast<int>(others.size()); ++i) {
    const int other = others[static_cast<size_t>(i)];
    if ((op.peer == kAny || op.peer == i) && IsFree(state, other)) return true;
  }
  return false;
}

// MPI 4.0, 4.2.2: a partitioned send is complete when all its partitions are marked ready and are
// buffered or received; a partitioned receive is complete when all its partitions have arrived.
bool Machine::PartitionsComplete(const State& state, Library library, int rank, int at) const {
  const bool sends = At(rank, at).what == Do::kPsend;
  const auto [other, other_at] = OtherEnd(rank, at);
  const bool met = other != kNone && Entered(state, other, other_at);
  if (!sends) return met && AllReady(state, other, other_at);
  const bool early = library == Library::kPermissive || library == Library::kBuffering ||
                     (library == Library::kAsDecided &&
                      state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)].early);
  return AllReady(state, rank, at) && (met || early);
}

// Returns the number of partitions that have been marked ready since the send was started.
int Machine::Ready(const State& state, int rank, int at) const {
  const int handle = At(rank, at).handle;
  const std::vector<Op>& ops = program_.code[static_cast<size_t>(rank)];
  int ready = 0;
  for (int i = at + 1; i < static_cast<int>(ops.size()) && Entered(state, rank, i); ++i) {
    const Op& op = ops[static_cast<size_t>(i)];
    if (op.handle != handle) continue;
    if (op.what == Do::kPsend) break;  // started again
    if (op.what == Do::kPready) ready += op.partitions;
  }
  return ready;
}

bool Machine::AllReady(const State& state, int rank, int at) const {
  return Ready(state, rank, at) >= At(rank, at).partitions;
}

// Returns whether one partition has arrived (MPI 4.0, 4.2.3). A library may transfer all partitions
// together; then none arrives before the last one is marked ready.
bool Machine::Arrived(const State& state, Library library, int rank, int at) const {
  const Op& op = At(rank, at);
  int start = at;
  while (At(rank, start).handle != op.handle || At(rank, start).request == kNone) --start;
  const auto [other, other_at] = OtherEnd(rank, start);
  if (other == kNone || !Entered(state, other, other_at)) return false;
  if (AllReady(state, other, other_at)) return true;
  const bool apart = library == Library::kAsDecided &&
                     state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)].early;
  return apart && Ready(state, other, other_at) * At(rank, start).partitions >=
                      (op.partition + 1) * At(other, other_at).partitions;
}

bool Machine::Received(const State& state, int rank, int at) const {
  const Cell& cell = state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  const Op& taker = At(cell.match_rank, cell.match_at);
  if (taker.what != Do::kMprobe) return true;
  const std::vector<Op>& ops = program_.code[static_cast<size_t>(cell.match_rank)];
  for (size_t i = static_cast<size_t>(cell.match_at); i < ops.size(); ++i) {
    if (ops[i].what == Do::kMrecv && ops[i].message == taker.message) {
      return Entered(state, cell.match_rank, static_cast<int>(i));
    }
  }
  return false;
}

// Returns whether a message that `probe` matches has been sent and no posted receive matches it.
bool Machine::Visible(const State& state, int rank, const Op& probe) const {
  const auto open = [&](int r, int at) {
    return Entered(state, r, at) &&
           state.cells[static_cast<size_t>(r)][static_cast<size_t>(at)].match_rank == kNone;
  };
  // Considers the receives of all threads of the rank.
  const auto is_taken = [&](const Op& send, int sender) {
    for (int line = 0; line < program_.lines(); ++line) {
      if (program_.RankOf(line) != program_.RankOf(rank)) continue;
      const std::vector<Op>& own = program_.code[static_cast<size_t>(line)];
      for (int k = 0; k < static_cast<int>(own.size()); ++k) {
        const Op& receive = own[static_cast<size_t>(k)];
        if (Takes(receive) && open(line, k) && Matches(receive, line, send, sender)) return true;
      }
    }
    return false;
  };
  for (int s = 0; s < program_.lines(); ++s) {
    const std::vector<Op>& sends = program_.code[static_cast<size_t>(s)];
    for (int j = 0; j < static_cast<int>(sends.size()); ++j) {
      const Op& send = sends[static_cast<size_t>(j)];
      if (!Gives(send) || !open(s, j) || !Matches(probe, rank, send, s)) continue;
      if (!is_taken(send, s)) return true;
    }
  }
  return false;
}

bool Machine::Matches(const Op& receive, int receiver, const Op& send, int sender) const {
  return send.comm == receive.comm && program_.Talk(send.comm, sender, receiver) &&
         send.peer == program_.LocalRank(send.comm, receiver) &&
         (receive.peer == kAny || receive.peer == program_.LocalRank(send.comm, sender)) &&
         (receive.tag == kAny || receive.tag == send.tag);
}

// Returns whether another thread of either rank has a call that could match instead.
bool Machine::ThreadsCompete(int receiver, int receive, int sender, int send) const {
  for (int line = 0; !program_.threads.empty() && line < program_.lines(); ++line) {
    for (const Op& op : program_.code[static_cast<size_t>(line)]) {
      const bool takes = line != receiver && program_.RankOf(line) == program_.RankOf(receiver) &&
                         Takes(op) && Matches(op, line, At(sender, send), sender);
      const bool gives = line != sender && program_.RankOf(line) == program_.RankOf(sender) &&
                         Gives(op) && Matches(At(receiver, receive), receiver, op, line);
      if (takes || gives) return true;
    }
  }
  return false;
}

void Machine::AddMatches(const State& state, std::vector<Step>* steps) const {
  const auto open = [&](int rank, int at) {
    return Entered(state, rank, at) &&
           state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)].match_rank == kNone;
  };
  for (int r = 0; r < program_.lines(); ++r) {
    const std::vector<Op>& receives = program_.code[static_cast<size_t>(r)];
    for (int s = 0; s < program_.lines(); ++s) {
      const std::vector<Op>& sends = program_.code[static_cast<size_t>(s)];
      // MPI 4.0, 3.5: a pair matches if the message is the first that the receive matches, and the
      // receive is the first that the message matches.
      for (int i = 0; i < static_cast<int>(receives.size()); ++i) {
        const Op& receive = receives[static_cast<size_t>(i)];
        if (!Takes(receive) || !open(r, i)) continue;
        for (int j = 0; j < static_cast<int>(sends.size()); ++j) {
          const Op& send = sends[static_cast<size_t>(j)];
          if (!Gives(send) || !open(s, j) || !Matches(receive, r, send, s)) continue;
          bool first = true;
          for (int k = 0; k < i; ++k) {
            const Op& earlier = receives[static_cast<size_t>(k)];
            if (Takes(earlier) && open(r, k) && Matches(earlier, r, send, s)) {
              first = false;
            }
          }
          if (first) {
            const bool choice = receive.peer == kAny || ThreadsCompete(r, i, s, j);
            steps->push_back({Step::What::kMatch, r, i, s, j, choice});
          }
          break;
        }
      }
    }
  }
}

}  // namespace rollcall::oracle
