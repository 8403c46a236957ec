// SPDX-License-Identifier: Apache-2.0
// Correct programs that look wrong, generated from a seed: ranks that skip calls on communicators
// of which they are not members, counts that may differ, messages to MPI_PROC_NULL, and other
// patterns that have misled tools. A program is a list of patterns in a global order that every
// rank follows, so that it completes with any library. A small simulation runs it, to its end or to
// a moment when a rank is only slow, and writes the trace as text (tests/support/text_trace.md).
#ifndef ROLLCALL_TESTS_COLLECTOR_DIAGNOSIS_HEALTHY_PROGRAMS_H_
#define ROLLCALL_TESTS_COLLECTOR_DIAGNOSIS_HEALTHY_PROGRAMS_H_

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace rollcall::healthy {

// One call of one rank.
struct Step {
  enum class What { kLocal, kCollective, kStart, kSend, kRecv, kSendrecv, kIsend, kIrecv, kWait };
  What what = What::kLocal;
  std::string text;  // the call, as a trace writes it
  int comm = 0;
  int peer = -1;  // world rank; -1: any
  int from = -1;  // source of the receive of a Sendrecv
  int tag = 0;
  bool early = false;  // collective: this rank may return before the others have entered
  std::string request;
  std::vector<std::string> requests;
};

struct Program {
  uint64_t seed = 0;
  int ranks = 0;
  std::vector<std::string> declarations;
  std::vector<std::vector<int>> comms;  // world ranks; both groups of an intercommunicator
  std::vector<std::vector<Step>> code;  // by rank
  std::vector<std::string> used;        // the patterns' names
};

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) { program_.seed = seed; }

  Program Make() {
    program_.ranks = 2 + Below(7);
    for (int r = 0; r < program_.ranks; ++r) world_.push_back(r);
    program_.comms.push_back(world_);
    program_.code.resize(world_.size());
    program_.declarations.push_back("type quad = 4xMPI_INT");
    AddComms();
    const int patterns = 3 + Below(6);
    std::vector<int> body;
    for (int i = 0; i < patterns; ++i) body.push_back(Below(static_cast<int>(kPatterns.size())));
    // A loop, with calls before and after it.
    const int rounds = 1 + Below(4);
    line_ = 10;
    All("Barrier", 0);
    for (int round = 0; round < rounds; ++round) {
      line_ = 100;
      for (const int pattern : body) {
        const auto& [name, add] = kPatterns[static_cast<size_t>(pattern)];
        if (round == 0) program_.used.emplace_back(name);
        line_ += 20;
        (this->*add)();
      }
    }
    line_ = 900;
    All("Allreduce 1xMPI_DOUBLE max", 0);
    return std::move(program_);
  }

 private:
  using Pattern = void (Maker::*)();

  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool Flip() { return Below(2) == 0; }
  int Size() const { return program_.ranks; }
  std::string At(int offset = 0, std::string_view in = "step") const {
    return fmt::format(" @ main:20 > {}:{}", in, line_ + offset);
  }
  std::string On(int comm) const { return comm == 0 ? "" : fmt::format(" on=c{}", comm); }

  Step Collective(const std::string& call, int comm, std::string where, bool early = false) {
    Step step;
    step.what = Step::What::kCollective;
    step.text = call + On(comm) + where;
    step.comm = comm;
    step.early = early;
    return step;
  }
  void Put(int rank, Step step) {
    program_.code[static_cast<size_t>(rank)].push_back(std::move(step));
  }
  void All(const std::string& call, int comm) {
    for (const int r : program_.comms[static_cast<size_t>(comm)])
      Put(r, Collective(call, comm, At()));
  }
  Step Message(Step::What what, std::string_view name, int peer, int tag, int offset) {
    Step step;
    step.what = what;
    step.peer = peer;
    step.tag = tag;
    step.text = fmt::format("{} 2xMPI_DOUBLE peer={} tag={}{}", name,
                            peer < 0 ? "any" : std::to_string(peer), tag, At(offset));
    return step;
  }
  Step Nonblocking(Step::What what, int peer, int tag, const std::string& request, int offset) {
    const bool sends = what == Step::What::kIsend;
    Step step = Message(what, sends ? "Isend" : "Irecv", peer, tag, offset);
    step.request = request;
    const size_t at = step.text.find(" @");
    step.text.insert(at, " request=" + request);
    return step;
  }
  Step Wait(const std::vector<std::string>& requests, int offset) {
    Step step;
    step.what = Step::What::kWait;
    step.requests = requests;
    step.text = fmt::format("{} for={}{}", requests.size() == 1 ? "Wait" : "Waitall",
                            fmt::join(requests, ","), At(offset));
    return step;
  }
  Step Local(const std::string& call, int offset = 0) {
    Step step;
    step.text = call + At(offset);
    return step;
  }

  void AddComms() {
    const auto add = [this](std::vector<int> members) {
      program_.declarations.push_back(
          fmt::format("comm c{} {}", program_.comms.size(), fmt::join(members, ",")));
      program_.comms.push_back(std::move(members));
    };
    std::vector<int> even, rest, reversed(world_.rbegin(), world_.rend());
    for (const int r : world_) (r % 2 == 0 ? even : rest).push_back(r);
    add(even);
    add(rest);
    add(reversed);
    std::vector<int> some;
    for (const int r : world_) {
      if (r == 0 || Flip()) some.push_back(r);
    }
    add(some);
    // An intercommunicator between the even and the odd ranks.
    program_.declarations.push_back(fmt::format("comm c{} {} remote {}", program_.comms.size(),
                                                fmt::join(even, ","), fmt::join(rest, ",")));
    std::vector<int> both = even;
    both.insert(both.end(), rest.begin(), rest.end());
    program_.comms.push_back(both);
  }
  static constexpr int kEven = 1;
  static constexpr int kReversed = 3;
  static constexpr int kSome = 4;
  static constexpr int kInter = 5;
  const std::vector<int>& Members(int comm) const {
    return program_.comms[static_cast<size_t>(comm)];
  }

  // --- the patterns ------------------------------------------------------------------------------

  void SubcommunicatorMembers() {
    const int comm = Flip() ? kSome : kEven;
    All(Flip() ? "Barrier" : "Allreduce 4xMPI_INT sum", comm);
  }
  void EachHalfItsOwnCalls() {
    All("Allreduce 4xMPI_INT sum", kEven);
    All("Bcast 1xMPI_INT root=0", kEven + 1);
    if (Flip()) All("Barrier", kEven + 1);
  }
  void BothArms() {
    const int offset = 1 + Below(9);
    for (const int r : world_) {
      Put(r, Collective("Allreduce 2xMPI_DOUBLE sum", 0, At(r % 3 == 0 ? 0 : offset)));
    }
  }
  void ArmsInOtherFunctions() {
    for (const int r : world_) {
      Put(r, Collective("Bcast 2xMPI_DOUBLE root=0", 0, At(0, r == 0 ? "root_part" : "others_part"),
                        r == 0 && Flip()));
    }
  }
  void SharedCondition() {
    if (Flip()) All("Barrier", 0);
    if (Flip()) All("Reduce 1xMPI_INT max root=0", 0);
  }
  void RootsMayLeave() {
    const int root = Below(Size());
    const bool early = Flip();
    for (const int r : world_) {
      Put(r, Collective(fmt::format("Bcast 8xMPI_INT root={}", root), 0, At(), early && r == root));
    }
    for (const int r : world_) {
      Put(r,
          Collective(fmt::format("Gather 1xMPI_INT root={}", root), 0, At(1), early && r != root));
    }
  }
  void InsignificantArguments() {
    const int root = Below(Size());
    for (const int r : world_) {
      const std::string recv = r == root ? "recv=3xMPI_INT" : fmt::format("recv={}xMPI_DOUBLE", r);
      Put(r, Collective(fmt::format("Gather send=3xMPI_INT {} root={}", recv, root), 0, At()));
    }
    for (const int r : world_) {
      const std::string send = r == root ? "send=2xMPI_INT" : "send=99xMPI_CHAR";
      Put(r, Collective(fmt::format("Scatter {} recv=2xMPI_INT root={}", send, root), 0, At(1)));
    }
  }
  std::vector<int> Counts() {
    std::vector<int> counts;
    for (int r = 0; r < Size(); ++r) counts.push_back(Below(3));
    return counts;
  }
  void VectorCollectives() {
    const std::vector<int> counts = Counts();
    const std::string all = fmt::format("{}xMPI_INT", fmt::join(counts, ","));
    const int root = Below(Size());
    for (const int r : world_) {
      const int own = counts[static_cast<size_t>(r)];
      Put(r,
          Collective(fmt::format("Allgatherv send={}xMPI_INT recvcounts={}", own, all), 0, At()));
    }
    for (const int r : world_) {
      const int own = counts[static_cast<size_t>(r)];
      std::string call = fmt::format("Gatherv send={}xMPI_INT root={}", own, root);
      if (r == root) call += " recvcounts=" + all;
      Put(r, Collective(call, 0, At(1)));
    }
    for (const int r : world_) {
      const int own = counts[static_cast<size_t>(r)];
      std::string call = fmt::format("Scatterv recv={}xMPI_INT root={}", own, root);
      if (r == root) call += " sendcounts=" + all;
      Put(r, Collective(call, 0, At(2)));
    }
  }
  void AllToAllWithHoles() {
    std::vector<std::vector<int>> sends;
    for (int r = 0; r < Size(); ++r) sends.push_back(Counts());
    for (const int r : world_) {
      std::vector<int> recvs;
      for (const auto& theirs : sends) recvs.push_back(theirs[static_cast<size_t>(r)]);
      Put(r, Collective(
                 fmt::format("Alltoallv sendcounts={}xMPI_INT recvcounts={}xMPI_INT",
                             fmt::join(sends[static_cast<size_t>(r)], ","), fmt::join(recvs, ",")),
                 0, At()));
    }
  }
  void ReduceScatterUnevenly() {
    const std::string counts = fmt::format("{}xMPI_INT", fmt::join(Counts(), ","));
    All("Reduce_scatter recvcounts=" + counts + " sum", 0);
    All(Flip() ? "Scan 1xMPI_INT sum" : "Exscan 1xMPI_INT user", 0);
  }
  void InPlace() {
    const int root = Below(Size());
    All("Allreduce in-place 4xMPI_INT sum", 0);
    for (const int r : world_) {
      Put(r, Collective(
                 fmt::format("Reduce 4xMPI_INT sum root={}{}", root, r == root ? " in-place" : ""),
                 0, At(1)));
    }
    for (const int r : world_) {
      Put(r, Collective(fmt::format("Gather send=2xMPI_INT root={}{}", root,
                                    r == root ? " recv=2xMPI_INT in-place" : ""),
                        0, At(2)));
    }
  }
  void ZeroCounts() {
    All("Allreduce 0xMPI_INT sum", 0);
    All("Bcast 0xMPI_DOUBLE root=0", 0);
  }
  void EqualSignatures() {
    for (const int r : world_) {
      Put(r, Collective(r % 2 == 0 ? "Bcast 1xquad root=0" : "Bcast 4xMPI_INT root=0", 0, At()));
    }
  }
  void Creations() {
    All("Comm_dup", 0);
    All("Comm_split", kReversed);  // colours differ, and may be MPI_UNDEFINED
    All("Barrier", kSome);
  }
  void Intercommunicator() {
    if (Members(kEven + 1).empty()) return;
    const bool even_root = Flip();
    for (const int r : Members(kInter)) {
      const bool in_root_group = (r % 2 == 0) == even_root;
      const int root = even_root ? 0 : 1;
      const std::string mine = !in_root_group ? "0" : r == root ? "self" : "none";
      Put(r, Collective("Bcast 4xMPI_INT root=" + mine, kInter, At()));
    }
    All("Barrier", kInter);
  }
  void Neighbors() {
    All("Neighbor_allgather 1xMPI_INT", kReversed);
    All("Neighbor_alltoall 2xMPI_INT", kReversed);
  }
  void CompletionInAnyOrder() {
    const std::vector<std::string> names = {Request(), Request()};
    const std::vector<std::string> calls = {"Ibarrier", "Iallreduce 2xMPI_INT sum"};
    for (const int r : world_) {
      for (size_t i = 0; i < 2; ++i) {
        Step step = Collective(calls[i] + " request=" + names[i], 0, At(static_cast<int>(i)));
        step.what = Step::What::kStart;
        step.request = names[i];
        Put(r, std::move(step));
      }
      std::vector<std::string> order = names;
      if (Flip()) std::swap(order[0], order[1]);
      if (Flip()) {
        Put(r, Wait(order, 3));
      } else {
        Put(r, Wait({order[0]}, 4));
        Put(r, Wait({order[1]}, 5));
      }
    }
  }
  void ShiftIntoNothing() {
    for (const int r : world_) {
      if (r + 1 < Size()) {
        Put(r, Message(Step::What::kSend, "Send", r + 1, 3, 0));
      } else {
        Put(r, Local("Send 2xMPI_DOUBLE peer=none tag=3"));
      }
    }
    // The last rank sends to MPI_PROC_NULL and receives first, so that the chain completes.
    for (const int r : world_) {
      if (r > 0) {
        std::vector<Step>& code = program_.code[static_cast<size_t>(r)];
        code.insert(code.end() - 1, Message(Step::What::kRecv, "Recv", r - 1, 3, 1));
      } else {
        Put(r, Local("Recv 2xMPI_DOUBLE peer=none tag=3", 1));
      }
    }
  }
  void ExchangeInHalves() {
    for (const int r : world_) {
      const int partner = r ^ 1;
      if (partner >= Size()) continue;
      const bool first = r < partner;
      const Step send = Message(Step::What::kSend, Flip() ? "Send" : "Ssend", partner, 4, 0);
      const Step recv = Message(Step::What::kRecv, "Recv", partner, 4, 1);
      Put(r, first ? send : recv);
      Put(r, first ? recv : send);
    }
  }
  void NonblockingRing() {
    for (const int r : world_) {
      const std::string in = Request();
      const std::string out = Request();
      const int left = (r + Size() - 1) % Size();
      const int right = (r + 1) % Size();
      Put(r, Nonblocking(Step::What::kIrecv, left, 5, in, 0));
      Put(r, Nonblocking(Step::What::kIsend, right, 5, out, 1));
      if (Flip()) {
        Put(r, Wait({out, in}, 2));
      } else {
        Put(r, Wait({in}, 3));
        Put(r, Wait({out}, 4));
      }
    }
  }
  void SendrecvRing() {
    for (const int r : world_) {
      Step step;
      step.what = Step::What::kSendrecv;
      step.peer = (r + 1) % Size();
      step.from = (r + Size() - 1) % Size();
      step.tag = 9;
      step.text = fmt::format("Sendrecv 2xMPI_DOUBLE peer={} tag=9 from={} fromtag=9{}", step.peer,
                              step.from, At());
      Put(r, std::move(step));
    }
  }
  void MasterAndWorkers() {
    for (int r = 1; r < Size(); ++r) {
      Put(0, Message(Step::What::kRecv, "Recv", -1, 6, 0));
      Put(r, Message(Step::What::kSend, "Send", 0, 6, 1));
    }
    for (int r = 1; r < Size(); ++r) {
      Put(0, Message(Step::What::kSend, "Send", r, 7, 2));
      Put(r, Message(Step::What::kRecv, "Recv", 0, 7, 3));
    }
  }
  void Persistent() {
    for (const int r : world_) {
      const std::string name = Request();
      const int partner = r ^ 1;
      if (partner >= Size()) continue;
      Put(r, Local(fmt::format("{} 1xMPI_INT peer={} tag=8 request={}",
                               r < partner ? "Send_init" : "Recv_init", partner, name)));
    }
    All("Barrier", 0);
  }

  std::string Request() { return fmt::format("q{}", requests_++); }

  static const std::vector<std::pair<std::string_view, Pattern>> kPatterns;

  std::mt19937_64 random_;
  Program program_;
  std::vector<int> world_;
  int line_ = 0;
  int requests_ = 0;
};

inline const std::vector<std::pair<std::string_view, Maker::Pattern>> Maker::kPatterns = {
    {"sub-communicator members only", &Maker::SubcommunicatorMembers},
    {"each half its own calls", &Maker::EachHalfItsOwnCalls},
    {"both arms make the call", &Maker::BothArms},
    {"arms in other functions", &Maker::ArmsInOtherFunctions},
    {"a condition that all share", &Maker::SharedCondition},
    {"roots may leave early", &Maker::RootsMayLeave},
    {"insignificant arguments", &Maker::InsignificantArguments},
    {"unequal counts of v-collectives", &Maker::VectorCollectives},
    {"alltoallv with holes", &Maker::AllToAllWithHoles},
    {"reduce_scatter, scan", &Maker::ReduceScatterUnevenly},
    {"MPI_IN_PLACE", &Maker::InPlace},
    {"zero counts", &Maker::ZeroCounts},
    {"other types of equal signature", &Maker::EqualSignatures},
    {"dup, split with MPI_UNDEFINED", &Maker::Creations},
    {"intercommunicator", &Maker::Intercommunicator},
    {"neighborhood", &Maker::Neighbors},
    {"completion in any order", &Maker::CompletionInAnyOrder},
    {"MPI_PROC_NULL at the ends", &Maker::ShiftIntoNothing},
    {"exchange in halves", &Maker::ExchangeInHalves},
    {"nonblocking ring", &Maker::NonblockingRing},
    {"wildcard master and workers", &Maker::MasterAndWorkers},
    {"Sendrecv ring", &Maker::SendrecvRing},
    {"persistent", &Maker::Persistent},
};

// Runs a program. `limits`: the number of calls that each rank makes; after them it computes. A
// rank that waits for a rank at its limit stays inside its call. `buffers`: standard sends return
// immediately.
class Run {
 public:
  Run(const Program& program, std::vector<size_t> limits, bool buffers)
      : program_(program), limits_(std::move(limits)), buffers_(buffers) {
    ranks_.resize(program.code.size());
  }

  bool finished() const {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].at < program_.code[r].size()) return false;
    }
    return true;
  }

  // The text of the trace, with the end of the program if all ranks reached it.
  std::string Trace() {
    lines_.push_back(fmt::format("ranks {}", program_.ranks));
    lines_.insert(lines_.end(), program_.declarations.begin(), program_.declarations.end());
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t r = 0; r < ranks_.size(); ++r) moved |= Advance(static_cast<int>(r));
    }
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const bool inside = ranks_[r].entered;
      if (inside) {
        lines_.push_back(fmt::format("{}: waits in {}", r, program_.code[r][ranks_[r].at].text));
      } else if (!finished()) {
        lines_.push_back(fmt::format("{}: computes @ main:20 > think:5", r));
      }
    }
    if (finished()) {
      lines_.push_back(fmt::format("0-{}: Finalize @ main:990", ranks_.size() - 1));
      lines_.push_back(fmt::format("0-{}: exits 0", ranks_.size() - 1));
    }
    return fmt::format("{}\n", fmt::join(lines_, "\n"));
  }

 private:
  struct Rank {
    size_t at = 0;
    bool entered = false;
    size_t other_half = 0;                               // the receive of a Sendrecv
    size_t half = 0;                                     // the message, if the call is one
    std::map<int, int> collectives;                      // entered, by communicator
    int number = 0;                                      // of the current collective
    std::map<std::string, size_t> messages;              // by request
    std::map<std::string, std::pair<int, int>> started;  // communicator, number
  };
  struct Half {
    int from, to, tag;
    bool sends;
    bool matched;
  };

  bool Advance(int rank) {
    Rank& state = ranks_[static_cast<size_t>(rank)];
    const std::vector<Step>& code = program_.code[static_cast<size_t>(rank)];
    if (state.at >= code.size()) return false;
    if (!state.entered && state.at >= limits_[static_cast<size_t>(rank)]) return false;
    const Step& step = code[state.at];
    bool moved = false;
    if (!state.entered) {
      state.entered = true;
      moved = true;
      Enter(rank, step);
    }
    if (!MayLeave(rank, step)) return moved;
    // A call is written when it returns. The messages of a channel are written in the order of
    // sending.
    lines_.push_back(fmt::format("{}: {}", rank, step.text));
    state.entered = false;
    ++state.at;
    return true;
  }

  void Enter(int rank, const Step& step) {
    Rank& state = ranks_[static_cast<size_t>(rank)];
    switch (step.what) {
      case Step::What::kCollective:
      case Step::What::kStart:
        state.number = ++state.collectives[step.comm];
        if (!step.request.empty()) state.started[step.request] = {step.comm, state.number};
        break;
      case Step::What::kSend:
      case Step::What::kIsend:
        state.half = Post({rank, step.peer, step.tag, true, false});
        break;
      case Step::What::kSendrecv:
        state.half = Post({rank, step.peer, step.tag, true, false});
        state.other_half = Post({step.from, rank, step.tag, false, false});
        break;
      case Step::What::kRecv:
      case Step::What::kIrecv:
        state.half = Post({step.peer, rank, step.tag, false, false});
        break;
      default:
        break;
    }
    if (step.what == Step::What::kIsend || step.what == Step::What::kIrecv) {
      state.messages[step.request] = state.half;
    }
  }

  size_t Post(Half half) {
    for (Half& other : halves_) {
      if (other.matched || other.sends == half.sends || other.tag != half.tag) continue;
      if (other.to != half.to) continue;
      if (other.from != half.from && other.from != -1 && half.from != -1) continue;
      other.matched = half.matched = true;
      break;
    }
    halves_.push_back(half);
    return halves_.size() - 1;
  }

  bool AllIn(int comm, int number) {
    const std::vector<int>& members = program_.comms[static_cast<size_t>(comm)];
    return std::all_of(members.begin(), members.end(), [&](int member) {
      return ranks_[static_cast<size_t>(member)].collectives[comm] >= number;
    });
  }

  bool MayLeave(int rank, const Step& step) {
    Rank& state = ranks_[static_cast<size_t>(rank)];
    switch (step.what) {
      case Step::What::kCollective:
        return step.early || AllIn(step.comm, state.number);
      case Step::What::kSend:
        return halves_[state.half].matched || (buffers_ && step.text.rfind("Ssend", 0) != 0);
      case Step::What::kRecv:
        return halves_[state.half].matched;
      case Step::What::kSendrecv:
        return halves_[state.half].matched && halves_[state.other_half].matched;
      case Step::What::kWait:
        return std::all_of(step.requests.begin(), step.requests.end(), [&](const auto& name) {
          if (const auto started = state.started.find(name); started != state.started.end()) {
            return AllIn(started->second.first, started->second.second);
          }
          return halves_[state.messages[name]].matched;
        });
      default:
        return true;
    }
  }

  const Program& program_;
  const std::vector<size_t> limits_;
  const bool buffers_;
  std::vector<Rank> ranks_;
  std::vector<Half> halves_;
  std::vector<std::string> lines_;
};

}  // namespace rollcall::healthy

#endif  // ROLLCALL_TESTS_COLLECTOR_DIAGNOSIS_HEALTHY_PROGRAMS_H_
