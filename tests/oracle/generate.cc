#include "tests/oracle/generate.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tests/oracle/explore.h"

namespace rollcall::oracle {
namespace {

// Writes correct programs: a list of steps, which every rank takes in the same order. No step waits
// for a later one, so that nothing can deadlock, buffered or not.
class Writer {
 public:
  // `loops_race`: wildcard receives may stand in a loop, where a fast sender's next message can be
  // taken for the one of a slow sender. Few libraries let that deadlock, but some do.
  Writer(Random* random, bool loops_race) : random_(*random), loops_race_(loops_race) {
    program_.ranks = 2 + Below(&random_, 4);
    program_.thread_level = Chance(&random_, 10) ? 3 : Below(&random_, 3);
    program_.code.resize(static_cast<size_t>(program_.ranks));
    pending_.resize(program_.code.size());
    std::vector<int> world;
    world.reserve(program_.code.size());
    for (int r = 0; r < program_.ranks; ++r) world.push_back(r);
    program_.comms.push_back(world);
    comms_ = 1;
  }

  void Communicators(bool at_least_one) {
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
  }

  // Two groups of the world, which was made for them before.
  void Intercommunicator() {
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

  // Persistent requests, to be started later: messages and collectives.
  void Handles(bool at_least_one) {
    for (int i = 0; i < 2; ++i) {
      if (!(at_least_one && i == 0) && !Chance(&random_, 25)) continue;
      NextLine();
      ++handle_;
      const int comm = RandomComm();
      std::vector<std::pair<int, Op>> ends;
      if (Chance(&random_, 50)) {
        Op op = RandomCollective(comm);
        if (op.what == Do::kDup) op.what = Do::kBarrier;
        for (const int r : Members(comm)) ends.emplace_back(r, op);
      } else {
        const auto [from, to] = RandomPair(comm);
        Op op;
        op.comm = comm;
        op.tag = line_;
        op.what = Chance(&random_, 40) ? Do::kSsend : Do::kSend;
        op.peer = to;
        ends.emplace_back(Member(comm, from), op);
        op.what = Do::kRecv;
        op.peer = Chance(&random_, 15) && !loops_race_ ? kAny : from;
        ends.emplace_back(Member(comm, to), op);
      }
      for (auto& [rank, op] : ends) {
        op.handle = handle_;
        Op init = op;
        init.init = true;
        Add(rank, init, 0);
      }
      handles_.push_back(std::move(ends));
    }
  }

  void Steps(int count) {
    for (int i = 0; i < count; ++i) Step();
  }

  // A loop: what `body` writes, over and over, from the same lines.
  void Loop(int rounds, int steps) {
    FlushAll(100);
    std::vector<size_t> begin;
    for (const std::vector<Op>& ops : program_.code) begin.push_back(ops.size());
    in_loop_ = true;
    Steps(steps);
    in_loop_ = false;
    FlushAll(100);
    for (size_t r = 0; r < program_.code.size(); ++r) {
      std::vector<Op>& ops = program_.code[r];
      const std::vector<Op> body(ops.begin() + static_cast<ptrdiff_t>(begin[r]), ops.end());
      ops.resize(begin[r]);
      for (int round = 0; round < rounds; ++round) {
        for (Op op : body) {
          op.iteration = round;
          // Requests of each round are its own.
          if (op.request != kNone) op.request += 1000 * round;
          for (int& request : op.requests) request += 1000 * round;
          ops.push_back(op);
        }
      }
    }
  }

  void Step() {
    NextLine();
    const int what = Below(&random_, 100);
    if (what < 40) {
      Collective(Chance(&random_, 25));
    } else if (what < 48) {
      PairwiseCollective(Chance(&random_, 25));
    } else if (what < 62) {
      Message();
    } else if (what < 69) {
      Exchange();
    } else if (what < 75) {
      Probed();
    } else if (what < 82 && !handles_.empty()) {
      Start();
    } else if (what < 88 && inter_ != kNone) {
      Chance(&random_, 60) ? BetweenGroups() : MessageBetweenGroups();
    } else if (what < 94 || (in_loop_ && !loops_race_)) {
      SafeRing();
    } else {
      FanIn(false);
    }
    for (int r = 0; r < program_.ranks; ++r) Flush(r, 35);
  }

  Op RandomCollective(int comm) {
    constexpr Do kAll[] = {Do::kBarrier,   Do::kBcast,  Do::kReduce,  Do::kAllreduce,
                           Do::kAllreduce, Do::kGather, Do::kScatter, Do::kAllgather,
                           Do::kAlltoall,  Do::kScan,   Do::kBarrier, Do::kDup};
    Op op;
    op.comm = comm;
    op.what = kAll[Below(&random_, static_cast<int>(std::size(kAll)))];
    const bool rooted = op.what == Do::kBcast || op.what == Do::kReduce || op.what == Do::kGather ||
                        op.what == Do::kScatter;
    if (rooted) op.peer = Below(&random_, Size(comm));
    op.count = Chance(&random_, 10) ? 0 : 1 + Below(&random_, 3);
    op.type = Below(&random_, 2);
    op.reduction = Below(&random_, 2);
    return op;
  }

  void Collective(bool nonblocking) {
    const int comm = RandomComm();
    Op op = RandomCollective(comm);
    if (op.what == Do::kDup) nonblocking = false;
    for (const int r : Members(comm)) {
      Op mine = op;
      if (nonblocking) mine.request = NewRequest(r);
      Add(r, mine, 0);
    }
  }

  // With counts of their own, pair by pair.
  void PairwiseCollective(bool nonblocking) {
    constexpr Do kAll[] = {Do::kGatherv, Do::kScatterv, Do::kAllgatherv, Do::kAlltoallv,
                           Do::kReduceScatter};
    const int comm = RandomComm();
    const int size = Size(comm);
    Op op;
    op.comm = comm;
    op.what = kAll[Below(&random_, static_cast<int>(std::size(kAll)))];
    const bool rooted = op.what == Do::kGatherv || op.what == Do::kScatterv;
    if (rooted) op.peer = Below(&random_, size);
    op.type = Below(&random_, 2);
    op.reduction = Below(&random_, 2);
    // By sender and receiver; but for Alltoallv, one row is all there is.
    std::vector<std::vector<int>> counts(static_cast<size_t>(size));
    for (std::vector<int>& row : counts) {
      for (int i = 0; i < size; ++i) {
        row.push_back(Chance(&random_, 25) ? 0 : 1 + Below(&random_, 3));
      }
    }
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
        for (const std::vector<int>& row : counts)
          mine.recvs.push_back(row[static_cast<size_t>(i)]);
      }
      const int r = Member(comm, i);
      if (nonblocking) mine.request = NewRequest(r);
      Add(r, mine, 0);
    }
  }

  // MPI_Sendrecv: along a chain or a ring, or two with each other.
  void Exchange() {
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

  // kNone: MPI_PROC_NULL.
  void Sendrecv(int comm, int me, int to, int from) {
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

  // A message that is looked for before it is received.
  void Probed() {
    const int comm = RandomComm();
    const auto [from, to] = RandomPair(comm);
    Op send;
    send.what = Chance(&random_, 30) ? Do::kSsend : Do::kSend;
    send.comm = comm;
    send.peer = to;
    send.tag = line_;
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

  // A persistent request, on all its ends; what it was started for before is over then.
  void Start() {
    const auto& ends =
        handles_[static_cast<size_t>(Below(&random_, static_cast<int>(handles_.size())))];
    for (const auto& [rank, op] : ends) Flush(rank, 100);
    for (const auto& [rank, op] : ends) {
      Op start = op;
      start.request = NewRequest(rank);
      Add(rank, start, 0);
    }
  }

  void BetweenGroups() {
    constexpr Do kAll[] = {Do::kBarrier, Do::kBcast,   Do::kReduce,    Do::kAllreduce,
                           Do::kGather,  Do::kScatter, Do::kAllgather, Do::kAlltoall};
    Op op;
    op.comm = inter_;
    op.what = kAll[Below(&random_, static_cast<int>(std::size(kAll)))];
    op.count = Chance(&random_, 10) ? 0 : 1 + Below(&random_, 3);
    op.type = Below(&random_, 2);
    op.reduction = Below(&random_, 2);
    const bool rooted = op.what == Do::kBcast || op.what == Do::kReduce || op.what == Do::kGather ||
                        op.what == Do::kScatter;
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

  void MessageBetweenGroups() {
    const int sender = Members(inter_)[static_cast<size_t>(Below(&random_, Size(inter_)))];
    const std::vector<int> others = program_.Others(inter_, sender);
    const int to = Below(&random_, static_cast<int>(others.size()));
    const int receiver = others[static_cast<size_t>(to)];
    Op send;
    send.what = Chance(&random_, 30) ? Do::kSsend : Do::kSend;
    send.comm = inter_;
    send.peer = to;
    send.tag = line_;
    Op recv = send;
    recv.what = Do::kRecv;
    recv.peer = Chance(&random_, 15) ? kAny : program_.LocalRank(inter_, sender);
    if (Chance(&random_, 30)) send.request = NewRequest(sender);
    if (Chance(&random_, 30)) recv.request = NewRequest(receiver);
    Add(sender, send, 0);
    Add(receiver, recv, 1);
  }

  // Two blocking collectives on two communicators, one behind the other. Returns their lines.
  std::pair<int, int> PairOfCollectives(int a, int b) {
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

  // Everybody receives before sending, or sends synchronously before receiving; or `lucky`, sends.
  void UnsafeRing(bool lucky) {
    NextLine();
    const int comm = RandomComm();
    const bool receive_first = !lucky && Chance(&random_, 50);
    const bool nonblocking_send = !receive_first && Chance(&random_, 20);
    ring_comm_ = comm;
    for (int i = 0; i < Size(comm); ++i) {
      const int r = Members(comm)[static_cast<size_t>(i)];
      Op send;
      send.what = lucky ? Do::kSend : Do::kSsend;
      send.comm = comm;
      send.peer = (i + 1) % Size(comm);
      send.tag = line_;
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
  int ring_comm() const { return ring_comm_; }

  // The root takes whatever comes, one message of each other member. Any tag, too, and a message of
  // its own before: a race.
  void FanIn(bool race) {
    const int comm = RandomComm();
    const int root = Below(&random_, Size(comm));
    const int root_rank = Members(comm)[static_cast<size_t>(root)];
    const bool nonblocking = Chance(&random_, 30);
    for (int i = 0; i < Size(comm); ++i) {
      if (i == root) continue;
      const int r = Members(comm)[static_cast<size_t>(i)];
      Op send;
      send.what = Chance(&random_, 25) ? Do::kSsend : Do::kSend;
      send.comm = comm;
      send.peer = root;
      send.tag = line_;
      if (Chance(&random_, 20)) send.request = NewRequest(r);
      Add(r, send, 0);
      Op recv;
      recv.what = Do::kRecv;
      recv.comm = comm;
      recv.peer = kAny;
      recv.tag = race ? kAny : line_;
      // A race: it takes one from a certain sender, whose message another receive may have taken.
      if (race && Chance(&random_, 50)) recv.peer = i;
      if (nonblocking) recv.request = NewRequest(root_rank);
      Add(root_rank, recv, 1);
    }
  }

  void Message() {
    const int comm = RandomComm();
    const auto [from, to] = RandomPair(comm);
    const int sender = Member(comm, from);
    const int receiver = Member(comm, to);
    const int messages = 1 + Below(&random_, 2);
    for (int i = 0; i < messages; ++i) {
      Op send;
      send.what = Chance(&random_, 30) ? Do::kSsend : Do::kSend;
      send.comm = comm;
      send.peer = to;
      send.tag = line_;
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

  // Everybody passes something on to the next, receives posted first.
  void SafeRing() {
    const int comm = RandomComm();
    for (int i = 0; i < Size(comm); ++i) {
      const int r = Members(comm)[static_cast<size_t>(i)];
      Op recv;
      recv.what = Do::kRecv;
      recv.comm = comm;
      recv.peer = (i + Size(comm) - 1) % Size(comm);
      recv.tag = line_;
      recv.request = NewRequest(r);
      Op send = recv;
      send.what = Chance(&random_, 30) ? Do::kSsend : Do::kSend;
      send.peer = (i + 1) % Size(comm);
      send.request = kNone;
      Add(r, recv, 0);
      Add(r, send, 1);
    }
  }

  Program Finish() {
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
    return std::move(program_);
  }

  void NextLine() {
    line_ += 10;
    // Some steps are a function's, called from main().
    outer_line_ = Chance(&random_, 30) ? line_ : 0;
  }
  int line() const { return line_; }
  int comms() const { return comms_; }  // those that are no intercommunicator

 private:
  const std::vector<int>& Members(int comm) const {
    return program_.comms[static_cast<size_t>(comm)];
  }
  int Size(int comm) const { return static_cast<int>(Members(comm).size()); }
  int Member(int comm, int i) const { return Members(comm)[static_cast<size_t>(i)]; }
  int RandomComm() { return Below(&random_, comms()); }
  std::pair<int, int> RandomPair(int comm) {
    const int from = Below(&random_, Size(comm));
    return {from, (from + 1 + Below(&random_, Size(comm) - 1)) % Size(comm)};
  }

  void Add(int rank, Op op, int line) {
    op.line = line_ + line;
    op.outer_line = outer_line_;
    program_.code[static_cast<size_t>(rank)].push_back(op);
  }

  int NewRequest(int rank) {
    pending_[static_cast<size_t>(rank)].push_back(++requests_);
    return requests_;
  }

  void FlushAll(int percent) {
    NextLine();
    for (int r = 0; r < program_.ranks; ++r) Flush(r, percent);
  }

  void Flush(int rank, int percent) {
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

  Random& random_;
  const bool loops_race_;
  bool in_loop_ = false;
  Program program_;
  std::vector<std::vector<int>> pending_;  // requests to wait for, by rank
  int line_ = 0;
  int outer_line_ = 0;
  int requests_ = 0;
  int messages_ = 0;
  int handle_ = 0;
  int comms_ = 0;
  int inter_ = kNone;
  // By persistent request: what each rank starts.
  std::vector<std::vector<std::pair<int, Op>>> handles_;
  int ring_comm_ = kNone;
};

class Planter {
 public:
  Planter(Random* random, Program* program) : random_(*random), program_(*program) {}

  // False if there is no place for it in this program.
  bool Plant(FaultKind kind, Planted* planted) {
    planted->kind = kind;
    switch (kind) {
      case FaultKind::kSkipped:
      case FaultKind::kExtra:
      case FaultKind::kOtherOperation:
      case FaultKind::kRoot:
      case FaultKind::kReduction:
      case FaultKind::kType:
      case FaultKind::kCount:
        return InCollective(kind, planted);
      case FaultKind::kPairCount:
        return InCollective(kind, planted);
      case FaultKind::kTag:
      case FaultKind::kPeer:
      case FaultKind::kExchange:
      case FaultKind::kProbe:
        return InMessage(kind, planted);
      case FaultKind::kNotStarted:
        return InStart(planted);
      case FaultKind::kDied:
      case FaultKind::kExited:
      case FaultKind::kStalled:
      case FaultKind::kLeftEarly:
        return AtPoint(kind, planted);
      case FaultKind::kFrozen:
        return Freeze();
      default:
        return false;
    }
  }

  bool Invert(std::pair<int, int> lines, int other_comm, Planted* planted) {
    planted->kind = FaultKind::kInversion;
    Choose(program_.comms[static_cast<size_t>(other_comm)], planted);
    for (const int r : planted->ranks) {
      std::vector<Op>& ops = Code(r);
      for (size_t i = 0; i + 1 < ops.size(); ++i) {
        if (ops[i].line != lines.first || ops[i + 1].line != lines.second) continue;
        std::swap(ops[i], ops[i + 1]);
        break;
      }
    }
    return true;
  }

  // The culprits run one round less, or one more than the others.
  void Uneven(int rounds, Planted* planted) {
    planted->kind = FaultKind::kUneven;
    Choose(program_.comms[0], planted);
    const bool more = Chance(&random_, 50);
    for (int r = 0; r < program_.ranks; ++r) {
      const bool culprit =
          std::find(planted->ranks.begin(), planted->ranks.end(), r) != planted->ranks.end();
      if (culprit == more) continue;
      std::erase_if(Code(r), [&](const Op& op) { return op.iteration == rounds - 1; });
    }
  }

 private:
  std::vector<Op>& Code(int rank) { return program_.code[static_cast<size_t>(rank)]; }

  // A minority of the members, or half of them.
  void Choose(std::vector<int> members, Planted* planted) {
    const int size = static_cast<int>(members.size());
    int culprits = 1;
    if (size >= 4 && Chance(&random_, 20)) culprits = 2;
    while (static_cast<int>(members.size()) > culprits) {
      members.erase(members.begin() + Below(&random_, static_cast<int>(members.size())));
    }
    planted->ranks = members;
    planted->tie = 2 * culprits == size;
  }

  bool InCollective(FaultKind kind, Planted* planted) {
    struct Place {
      int rank;
      size_t at;
    };
    std::vector<Place> places;
    for (int r = 0; r < program_.ranks; ++r) {
      for (size_t at = 0; at < Code(r).size(); ++at) {
        if (Suits(kind, Code(r)[at])) places.push_back({r, at});
      }
    }
    if (places.empty()) return false;
    const Place place =
        places[static_cast<size_t>(Below(&random_, static_cast<int>(places.size())))];
    const Op op = Code(place.rank)[place.at];
    Choose(program_.comms[static_cast<size_t>(op.comm)], planted);
    // Under the condition each time, or in one round only.
    const bool always = Chance(&random_, 60);
    for (const int r : planted->ranks) {
      std::vector<Op>& ops = Code(r);
      for (size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].line != op.line || !IsCollective(ops[i].what)) continue;
        if (!always && ops[i].iteration != op.iteration) continue;
        if (kind == FaultKind::kSkipped) {
          Remove(&ops, i--);
        } else if (kind == FaultKind::kExtra) {
          Op extra = ops[i];
          extra.line += 5;
          ops.insert(ops.begin() + static_cast<ptrdiff_t>(i) + 1, extra);
          ++i;
        } else {
          Spoil(kind, &ops[i]);
        }
      }
    }
    return true;
  }

  void Spoil(FaultKind kind, Op* op) const {
    switch (kind) {
      case FaultKind::kOtherOperation:
        op->what = op->what == Do::kAllreduce ? Do::kBarrier : Do::kAllreduce;
        op->peer = kNone;
        op->sends.clear();
        op->recvs.clear();
        break;
      case FaultKind::kRoot:
        op->peer =
            (op->peer + 1) % static_cast<int>(program_.comms[static_cast<size_t>(op->comm)].size());
        break;
      case FaultKind::kReduction:
        op->reduction = 1 - op->reduction;
        break;
      case FaultKind::kType:
        op->type = 1 - op->type;
        break;
      case FaultKind::kPairCount:
        if (op->what == Do::kAlltoallv) {
          ++op->sends.back();
        } else if (op->what == Do::kReduceScatter) {
          ++op->recvs.back();
        } else {
          ++op->count;
        }
        break;
      default:
        ++op->count;
    }
  }

  bool Suits(FaultKind kind, const Op& op) const {
    if (!IsCollective(op.what) || op.what == Do::kSplit || op.what == Do::kDup) return false;
    if (op.handle != kNone) return false;
    const bool pairwise = op.what >= Do::kGatherv && op.what <= Do::kReduceScatter;
    if ((kind == FaultKind::kPairCount) != pairwise &&
        (kind == FaultKind::kPairCount || kind == FaultKind::kCount || kind == FaultKind::kType ||
         kind == FaultKind::kRoot)) {
      return false;
    }
    switch (kind) {
      case FaultKind::kExtra:
        return op.request == kNone;
      case FaultKind::kRoot:
        return op.peer != kNone && !program_.IsInter(op.comm);
      case FaultKind::kReduction:
        return op.what == Do::kReduce || op.what == Do::kAllreduce || op.what == Do::kScan ||
               op.what == Do::kReduceScatter;
      case FaultKind::kType:
        return op.what != Do::kBarrier && op.count != 0;
      case FaultKind::kCount:
        return op.what != Do::kBarrier;
      default:
        return true;
    }
  }

  // With everything that waits for its request.
  static void Remove(std::vector<Op>* ops, size_t at) {
    const int request = (*ops)[at].request;
    ops->erase(ops->begin() + static_cast<ptrdiff_t>(at));
    if (request == kNone) return;
    for (size_t i = 0; i < ops->size(); ++i) {
      if (!IsWait((*ops)[i].what)) continue;
      std::erase((*ops)[i].requests, request);
      if ((*ops)[i].requests.empty()) ops->erase(ops->begin() + static_cast<ptrdiff_t>(i--));
    }
  }

  static bool SuitsMessage(FaultKind kind, const Op& op) {
    const bool named = op.peer != kAny && op.tag != kAny;
    switch (kind) {
      case FaultKind::kExchange:
        return op.fused;
      case FaultKind::kProbe:
        return IsProbe(op.what) && named;
      case FaultKind::kPeer:
        return op.what == Do::kRecv && named;
      default:
        return (op.what == Do::kRecv && named) || IsSend(op.what);
    }
  }

  // The persistent request is not started, once: by one end of a message, or some of a collective.
  bool InStart(Planted* planted) {
    std::vector<std::pair<int, size_t>> places;
    for (int r = 0; r < program_.ranks; ++r) {
      for (size_t at = 0; at < Code(r).size(); ++at) {
        const Op& op = Code(r)[at];
        if (op.handle != kNone && op.request != kNone) places.emplace_back(r, at);
      }
    }
    if (places.empty()) return false;
    const auto [r, at] =
        places[static_cast<size_t>(Below(&random_, static_cast<int>(places.size())))];
    const Op op = Code(r)[at];
    planted->ranks = {r};
    if (IsCollective(op.what)) Choose(program_.comms[static_cast<size_t>(op.comm)], planted);
    for (const int rank : planted->ranks) {
      std::vector<Op>& ops = Code(rank);
      for (size_t i = 0; i < ops.size(); ++i) {
        const bool same = ops[i].handle == op.handle && ops[i].request != kNone &&
                          ops[i].line == op.line && ops[i].iteration == op.iteration;
        if (!same) continue;
        Remove(&ops, i);
        break;
      }
    }
    return true;
  }

  bool InMessage(FaultKind kind, Planted* planted) {
    std::vector<std::pair<int, size_t>> places;
    for (int r = 0; r < program_.ranks; ++r) {
      for (size_t at = 0; at < Code(r).size(); ++at) {
        if (SuitsMessage(kind, Code(r)[at])) places.emplace_back(r, at);
      }
    }
    if (places.empty()) return false;
    const auto [r, at] =
        places[static_cast<size_t>(Below(&random_, static_cast<int>(places.size())))];
    Op& op = Code(r)[at];
    const std::vector<int> others = program_.Others(op.comm, r);
    const int before = op.peer;
    planted->ranks = {r};
    if (kind != FaultKind::kPeer && (kind != FaultKind::kExchange || Chance(&random_, 50))) {
      op.tag += 1;
      planted->ranks.push_back(others[static_cast<size_t>(before)]);
      std::sort(planted->ranks.begin(), planted->ranks.end());
    } else {
      const int mine = program_.IsInter(op.comm) ? kNone : program_.LocalRank(op.comm, r);
      if (others.size() < (mine == kNone ? 2 : 3)) return false;
      while (op.peer == before || op.peer == mine) {
        op.peer = Below(&random_, static_cast<int>(others.size()));
      }
    }
    if (op.handle == kNone) return true;
    for (Op& same : Code(r)) {
      if (same.handle == op.handle && same.what == op.what) same.peer = op.peer, same.tag = op.tag;
    }
    return true;
  }

  bool AtPoint(FaultKind kind, Planted* planted) {
    const int r = Below(&random_, program_.ranks);
    planted->ranks = {r};
    std::vector<Op>& ops = Code(r);
    size_t at = static_cast<size_t>(Below(&random_, static_cast<int>(ops.size())));
    while (at > 0 && ops[at - 1].fused) --at;  // not within a call
    if (kind == FaultKind::kLeftEarly) {
      // From the end of main(), past everything, or by a branch of its own.
      if (Chance(&random_, 50)) ops.back().line = ops[at].line + 3;
      ops.erase(ops.begin() + static_cast<ptrdiff_t>(at), ops.end() - 1);
      return ops.size() > 1;
    }
    const bool blocks = ops[at].request == kNone && ops[at].what < Do::kPoll &&
                        ops[at].what != Do::kMrecv && !ops[at].init;
    if (kind == FaultKind::kDied && blocks && Chance(&random_, 40)) {
      ops[at].dies_inside = true;
      return true;
    }
    Op op;
    op.what = kind == FaultKind::kDied     ? Do::kDie
              : kind == FaultKind::kExited ? Do::kExit
                                           : Do::kStall;
    op.line = ops[at].line + 4;
    ops.insert(ops.begin() + static_cast<ptrdiff_t>(at), op);
    return true;
  }

  bool Freeze() {
    std::map<int, int> numbers;
    std::vector<std::pair<int, int>> places;
    for (int c = 0; c < static_cast<int>(program_.comms.size()); ++c) {
      for (const Op& op : Code(program_.comms[static_cast<size_t>(c)].front())) {
        if (op.comm == c && IsCollective(op.what) && (op.handle == kNone || op.init))
          places.emplace_back(c, ++numbers[c]);
      }
    }
    if (places.empty()) return false;
    std::tie(program_.frozen_comm, program_.frozen_number) =
        places[static_cast<size_t>(Below(&random_, static_cast<int>(places.size())))];
    return true;
  }

  Random& random_;
  Program& program_;
};

// Wildcard receives can take what was meant for later ones: rarely, and then the program is not
// correct.
bool CompletesInEveryWay(const Program& program) {
  const Machine machine(program);
  for (const Library library : {Library::kSynchronous, Library::kPermissive}) {
    const Outcome outcome = Explore(machine, machine.Start(), library, false);
    if (outcome.bounded || !outcome.every_complete) return false;
  }
  return true;
}

std::optional<Generated> Try(FaultKind kind, Random* random) {
  Generated result;
  Writer writer(random, kind != FaultKind::kNone);
  const bool inversion = kind == FaultKind::kInversion;
  writer.Communicators(inversion);
  writer.Handles(kind == FaultKind::kNotStarted);
  std::pair<int, int> lines;
  int other_comm = 0;
  int rounds = 0;
  const int before = Below(random, 3);
  writer.Steps(before);
  if (kind == FaultKind::kUneven || Chance(random, 50)) {
    rounds = 2 + Below(random, 3);
    writer.Loop(rounds, 1 + Below(random, 2));
  }
  switch (kind) {
    case FaultKind::kInversion:
      other_comm = 1 + Below(random, writer.comms() - 1);
      lines = writer.PairOfCollectives(0, other_comm);
      break;
    case FaultKind::kRing:
    case FaultKind::kLuckyRing:
      writer.UnsafeRing(kind == FaultKind::kLuckyRing);
      break;
    case FaultKind::kRace:
      for (int i = 0; i < 2; ++i) {
        writer.NextLine();
        writer.FanIn(true);
      }
      break;
    case FaultKind::kExchange:
      writer.NextLine();
      writer.Exchange();
      break;
    case FaultKind::kProbe:
      writer.NextLine();
      writer.Probed();
      break;
    case FaultKind::kNotStarted:
      writer.NextLine();
      writer.Start();
      break;
    case FaultKind::kPairCount:
      writer.NextLine();
      writer.PairwiseCollective(false);
      break;
    default:
      break;
  }
  writer.Steps(1 + Below(random, 3));
  const int ring_comm = writer.ring_comm();
  result.program = writer.Finish();
  const bool correct =
      kind != FaultKind::kRing && kind != FaultKind::kLuckyRing && kind != FaultKind::kRace;
  if (correct && !CompletesInEveryWay(result.program)) return std::nullopt;
  Planter planter(random, &result.program);
  result.planted.kind = kind;
  bool planted = true;
  switch (kind) {
    case FaultKind::kNone:
    case FaultKind::kRace:
      break;
    case FaultKind::kRing:
    case FaultKind::kLuckyRing:
      result.planted.ranks = result.program.comms[static_cast<size_t>(ring_comm)];
      break;
    case FaultKind::kInversion:
      planted = planter.Invert(lines, other_comm, &result.planted);
      break;
    case FaultKind::kUneven:
      planter.Uneven(rounds, &result.planted);
      break;
    case FaultKind::kTwo: {
      constexpr FaultKind kSome[] = {FaultKind::kSkipped,  FaultKind::kExtra, FaultKind::kTag,
                                     FaultKind::kDied,     FaultKind::kCount, FaultKind::kStalled,
                                     FaultKind::kLeftEarly};
      Planted second;
      for (Planted* each : {&result.planted, &second}) {
        planted &= planter.Plant(kSome[Below(random, static_cast<int>(std::size(kSome)))], each);
      }
      result.planted.kind = kind;
      result.planted.tie |= second.tie;
      result.planted.ranks.insert(result.planted.ranks.end(), second.ranks.begin(),
                                  second.ranks.end());
      std::sort(result.planted.ranks.begin(), result.planted.ranks.end());
      break;
    }
    default:
      planted = planter.Plant(kind, &result.planted);
  }
  if (!planted) return std::nullopt;
  return result;
}

}  // namespace

Generated Generate(FaultKind kind, Random* random) {
  for (;;) {
    if (std::optional<Generated> result = Try(kind, random)) return std::move(*result);
  }
}

}  // namespace rollcall::oracle
