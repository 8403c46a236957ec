// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/observe.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "collector/model/message_counts.h"
#include "tests/support/text_trace.h"

namespace rollcall::oracle {
namespace {

class Observer {
 public:
  Observer(const Program& program, const Machine& machine, Random* random,
           CollectiveWatcher* watcher)
      : program_(program), machine_(machine), random_(*random), watcher_(watcher) {}

  Observation Run() {
    constexpr const char* kLevels[] = {"single", "funneled", "serialized", "multiple"};
    Line("ranks {} {}", program_.ranks, kLevels[program_.thread_level]);
    for (size_t c = 1; c < program_.comms.size(); ++c) {
      const int first = program_.FirstGroup(static_cast<int>(c));
      const auto middle = program_.comms[c].begin() + first;
      if (first == 0) {
        Line("comm c{} {}", c, fmt::join(program_.comms[c], ","));
      } else {
        Line("comm c{} {} remote {}", c, fmt::join(program_.comms[c].begin(), middle, ","),
             fmt::join(middle, program_.comms[c].end(), ","));
      }
      Topology(static_cast<int>(c));
    }
    Walk();
    int dead = 0;
    for (int r = 0; r < program_.ranks; ++r) dead += Here(r).status == Status::kDead;
    dies_alone_ = dead == 1;
    constexpr int kIdle[] = {3, 8, 12, 25, 40};
    if (result_.ended) result_.idle = Chance(&random_, 60) ? 60 : kIdle[Below(&random_, 5)];
    result_.doubts.resize(static_cast<size_t>(program_.ranks));
    for (int line = 0; line < program_.lines(); ++line) CurrentEvent(line);
    for (int r = 0; r < program_.ranks; ++r) OtherThreadsOf(r);
    if (result_.ended) Line("idle {}", result_.idle);
    if (watcher_ != nullptr) result_.text += watcher_->LastLines();
    TextTraceResult parsed = ParseTextTrace(result_.text);
    if (!parsed.errors.empty()) throw std::logic_error(parsed.errors[0] + "\n" + result_.text);
    result_.trace = std::move(parsed.trace);
    SetChannels();
    return std::move(result_);
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    result_.text += fmt::format(format, std::forward<Args>(args)...) + '\n';
  }

  void Topology(int comm) {
    const oracle::Topology& topology = program_.TopologyOf(comm);
    if (!topology.dims.empty()) {
      Line("cart c{} {}{}", comm, fmt::join(topology.dims, "x"),
           topology.periodic ? " periodic" : "");
    } else if (!topology.graph.empty()) {
      std::string edges;
      for (const auto& [from, to] : topology.graph) edges += fmt::format(" {}>{}", from, to);
      Line("dist-graph c{}{}", comm, edges);
    }
  }

  void Walk() {
    State& state = result_.state;
    state = machine_.Start();
    // The library buffers no send, half of them, or all; likewise for early returns.
    const int buffers = Below(&random_, 3) * 50;
    const int early = Below(&random_, 3) * 50;
    for (size_t r = 0; r < state.cells.size(); ++r) {
      for (size_t at = 0; at < state.cells[r].size(); ++at) {
        const Do what = machine_.At(static_cast<int>(r), static_cast<int>(at)).what;
        const bool send = what == Do::kSend || what == Do::kPsend;
        state.cells[r][at].early = Chance(&random_, send ? buffers : early);
      }
    }
    for (WrongCall& wrong : state.wrong) {
      wrong = Chance(&random_, 50) ? WrongCall::kPasses : WrongCall::kHangs;
    }
    for (LineState& line : state.lines) line.gives_up = Chance(&random_, 25);
    // In half of the runs, sleeping threads sleep until after the observation.
    const bool sleeps = Chance(&random_, 50);
    // Ranks and threads run at different speeds.
    std::vector<int> speed;
    speed.reserve(state.lines.size());
    for (int r = 0; r < program_.lines(); ++r) speed.push_back(1 + Below(&random_, 5));
    int steps_left = Chance(&random_, 20) ? Below(&random_, 60) : 100'000;
    for (;;) {
      std::vector<Step> steps = machine_.Steps(state, Library::kAsDecided, false);
      if (sleeps) {
        std::erase_if(steps, [](const Step& step) { return step.what == Step::What::kResume; });
      }
      if (steps.empty()) break;
      if (steps_left-- == 0) {
        result_.ended = false;
        break;
      }
      Step step = steps[static_cast<size_t>(Below(&random_, static_cast<int>(steps.size())))];
      if (Chance(&random_, 20 * (5 - speed[static_cast<size_t>(step.line)]))) {
        step = steps[static_cast<size_t>(Below(&random_, static_cast<int>(steps.size())))];
      }
      Take(step);
    }
    for (LineState& line : state.lines) line.gives_up = false;
  }

  const LineState& Here(int line) const { return result_.state.lines[static_cast<size_t>(line)]; }

  // Takes a step and writes the record of a call when it returns. Enter() writes the records of
  // calls that return at once.
  void Take(const Step& step) {
    const Op& op = machine_.At(step.line, step.at);
    std::string requests;
    const bool returns = step.what == Step::What::kReturn;
    if (returns && IsWait(op.what)) requests = Open(step.line, op);
    const bool gives_up = returns && IsPoll(op.what) && GivesUp(step);
    if (gives_up) Line("{}: polled {}", Rank(step.line), Polled(step.line, op));
    const std::vector<int> unfinished = Unfinished(step.line, op);
    machine_.Take(step, Library::kAsDecided, &result_.state);
    if (watcher_ != nullptr) Tell(step, unfinished);
    if (gives_up) return;
    if (returns && IsExchange(step.line, step.at)) {
      Line("{}: {}{}", Rank(step.line), Exchange(step.line, op), Place(step.line, op));
    } else if (returns && IsPoll(op.what) && op.what != Do::kPoll) {
      Line("{}: {}", Rank(step.line), Polled(step.line, op));
    } else if (returns && IsWait(op.what)) {
      // The requests that this call completed: open before it, but not after it.
      std::string finished;
      const std::string still = Open(step.line, op) + ",";
      for (const int request : op.requests) {
        const std::string name = RequestName(step.line, request) + ",";
        if ((requests + ",").find(name) != std::string::npos &&
            still.find(name) == std::string::npos) {
          finished += name;
        }
      }
      if (!finished.empty()) finished = " for=" + finished.substr(0, finished.size() - 1);
      Line("{}: {}{}{}", Rank(step.line), WaitName(op), finished, Place(step.line, op));
    } else if (returns) {
      const std::string made = op.init ? fmt::format(" request=p{}", op.handle) : "";
      const char* error = !op.fails ? "" : op.what == Do::kRecv ? "error 15 " : "error 16 ";
      Line("{}: {}{}{}{}", Rank(step.line), error, Name(op), made, Place(step.line, op));
    } else if (step.what == Step::What::kEnter) {
      Enter(step.line, step.at);
    }
  }

  // Returns the operations whose requests `wait` waits for and that are not finished.
  std::vector<int> Unfinished(int line, const Op& wait) const {
    std::vector<int> makers;
    if (watcher_ == nullptr) return makers;
    for (const int request : wait.requests) {
      const int maker = machine_.MakerOf(line, request);
      if (!IsFinished(line, maker)) makers.push_back(maker);
    }
    return makers;
  }
  bool IsFinished(int line, int at) const {
    return result_.state.cells[static_cast<size_t>(line)][static_cast<size_t>(at)].finished;
  }

  // Tells the watcher what a step, which was taken, did.
  void Tell(const Step& step, const std::vector<int>& unfinished) {
    const auto moves_data = [](const Op& op) {
      return IsCollective(op.what) && !op.rejected && !op.init;
    };
    const Op& op = machine_.At(step.line, step.at);
    if (step.what == Step::What::kEnter) {
      // The other starts of a Startall are entered with the first.
      for (int at = step.at;; ++at) {
        if (moves_data(machine_.At(step.line, at))) watcher_->Entered(step.line, at);
        if (!machine_.At(step.line, at).fused) break;
      }
    } else if (step.what == Step::What::kReturn) {
      if (moves_data(op) && op.request == kNone) watcher_->Completed(step.line, step.at);
      for (const int at : unfinished) {
        const bool finished = IsFinished(step.line, at);
        if (finished && moves_data(machine_.At(step.line, at))) watcher_->Completed(step.line, at);
      }
    }
  }

  // Writes the record of a call that returns at once.
  void Enter(int line, int at) {
    const Op& op = machine_.At(line, at);
    const int rank = Rank(line);
    if (op.rejected) {
      const char* error = op.tag < kAny        ? "TAG"
                          : IsMessage(op.what) ? "RANK"
                          : HasRoot(op.what)   ? "ROOT"
                                               : "COUNT";
      Line("{}: is-rejected MPI_ERR_{} {}", rank, error, Call(line, op));
      return;
    }
    if (op.fused && op.handle == kNone) return;  // the Sendrecv is recorded as a whole
    if (op.what == Do::kParrived) return;        // a poll: its outcome is recorded
    if (op.what == Do::kPready) {
      Line("{}: Pready for=p{} partitions={}{}", rank, op.handle, op.partitions, Place(line, op));
    } else if (op.what == Do::kFree) {
      Line("{}: Request_free for=p{}{}", rank, op.handle, Place(line, op));
    } else if (op.what == Do::kMrecv) {
      Op taken = op;
      const Cell& cell = MatchOf(line, op.message);
      taken.peer = program_.LocalRank(op.comm, cell.match_rank);
      taken.tag = machine_.At(cell.match_rank, cell.match_at).tag;
      Line("{}: {}", rank, Call(line, taken));
    } else if (op.init && IsMessage(op.what)) {
      Line("{}: {} request=p{}{}", rank, Name(op), op.handle, Place(line, op));
    } else if (op.handle != kNone && !op.init) {
      Line("{}: {}{}", rank, Starts(line, at), Place(line, op));
    } else if (op.request != kNone) {
      Line("{}: {} request=r{}{}", rank, Name(op), op.request, Place(line, op));
    }
  }

  // Returns the Start of one handle, or the Startall of all handles that one call starts.
  std::string Starts(int rank, int at) const {
    std::string names = fmt::format("p{}", machine_.At(rank, at).handle);
    if (!machine_.At(rank, at).fused) return "Start for=" + names;
    while (machine_.At(rank, at).fused) {
      names += fmt::format(",p{}", machine_.At(rank, ++at).handle);
    }
    return "Startall for=" + names;
  }

  // Returns the cell of the Mprobe that matched a message.
  const Cell& MatchOf(int rank, int message) const {
    int at = 0;
    while (machine_.At(rank, at).what != Do::kMprobe || machine_.At(rank, at).message != message) {
      ++at;
    }
    return result_.state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  }

  bool IsExchange(int rank, int at) const {
    return at > 0 && machine_.At(rank, at - 1).fused && machine_.At(rank, at - 1).handle == kNone;
  }

  // Returns the text of the MPI_Sendrecv whose last part is `wait`.
  std::string Exchange(int rank, const Op& wait) const {
    std::string to = "none";
    std::string from = "none";
    std::string tag = "0";
    std::string from_tag = "0";
    int comm = 0;
    for (const int request : wait.requests) {
      const Op& half = machine_.At(rank, machine_.MakerOf(rank, request));
      (IsSend(half.what) ? to : from) = std::to_string(half.peer);
      (IsSend(half.what) ? tag : from_tag) = std::to_string(half.tag);
      comm = half.comm;
    }
    return fmt::format("Sendrecv{} 1xMPI_INT peer={} tag={} from={} fromtag={}",
                       comm == 0 ? "" : fmt::format(" on=c{}", comm), to, tag, from, from_tag);
  }

  std::string RequestName(int rank, int request) const {
    const Op& maker = machine_.At(rank, machine_.MakerOf(rank, request));
    return maker.handle == kNone ? fmt::format("r{}", request) : fmt::format("p{}", maker.handle);
  }

  // Returns whether the line stops polling although its last poll failed, too.
  bool GivesUp(const Step& step) const {
    State patient = result_.state;
    patient.lines[static_cast<size_t>(step.line)].gives_up = false;
    return !machine_.Complete(patient, Library::kAsDecided, step.line, step.at);
  }

  static bool IsPoll(Do what) {
    return what == Do::kPoll || what == Do::kIprobe || what == Do::kParrived;
  }

  // Returns the text of the call that a polling loop makes.
  std::string Polled(int line, const Op& op) const {
    if (op.what == Do::kIprobe) return Call(line, op);
    const std::string what = op.what == Do::kParrived
                                 ? fmt::format("Parrived for=p{}", op.handle)
                                 : fmt::format("Test for={}", RequestName(line, op.requests[0]));
    return what + Place(line, op);
  }

  // Writes that a line polls: tightly since the last movement, tightly since a later observation,
  // or with work in between.
  void Polls(int line, const Op& op) {
    Doubt& doubt = result_.doubts[static_cast<size_t>(Rank(line))];
    const bool tightly = Chance(&random_, 75);
    int seconds = result_.idle;
    std::string call = Polled(line, op);
    if (tightly && result_.idle > 5 && Chance(&random_, 25)) {
      seconds = 1 + Below(&random_, result_.idle - 1);
      if (seconds == 10 || seconds == 30) ++seconds;
      call.insert(call.find(' '), fmt::format(" tightly-for={}", seconds));
    }
    Line("{}: {} {}", Rank(line), tightly ? "polls" : "polled", call);
    // If several threads of the rank poll, the weaker evidence counts: not tight, and the shorter
    // duration.
    doubt.tightly = tightly && (!doubt.polls || doubt.tightly);
    doubt.seconds = doubt.polls ? std::min(doubt.seconds, seconds) : seconds;
    doubt.polls = true;
  }

  // Writes what the threads of a rank that are inside no call could do. Besides the threads of the
  // program, random ones that the program does not contain are assumed.
  void OtherThreadsOf(int rank) {
    if (program_.thread_level != 3 || Here(rank).status == Status::kDead) return;
    const int besides = Below(&random_, 100);
    OtherThreads& threads = result_.doubts[static_cast<size_t>(rank)].threads;
    if (besides < 12) threads = OtherThreads::kOutside;
    const Doubt& doubt = result_.doubts[static_cast<size_t>(rank)];
    if (besides < 4 || (doubt.polls && !doubt.tightly)) threads = OtherThreads::kCallers;
    for (int line = 0; line < program_.lines(); ++line) {
      const LineState& here = Here(line);
      const bool waits = here.inside || here.status == Status::kLeft ||
                         machine_.At(line, here.at).what == Do::kFinalize;
      if (Rank(line) != rank || waits) continue;
      bool called = line < program_.ranks || HiddenThread(line).called;
      for (int at = 0; at < here.at; ++at) called |= machine_.At(line, at).what != Do::kSleep;
      threads = std::max(threads, called ? OtherThreads::kCallers : OtherThreads::kOutside);
    }
    if (besides >= 92) threads = OtherThreads::kUnseen;
    if (threads != OtherThreads::kWait) {
      Line("{}: other-threads {}", rank, kOtherThreadsNames[static_cast<size_t>(threads)]);
    }
  }

  const ThreadOfRank& HiddenThread(int line) const {
    return program_.threads[static_cast<size_t>(line - program_.ranks)];
  }
  int Rank(int line) const { return program_.RankOf(line); }

  // Writes what a thread does at the time of the observation.
  void CurrentEvent(int line) {
    const LineState& rank = Here(line);
    const int r = Rank(line);
    const Op& op = machine_.At(line, rank.at);
    if (line >= program_.ranks && rank.status == Status::kLeft) return;
    if (rank.status == Status::kLeft) {
      bool all = true;
      for (const LineState& other : result_.state.lines) all &= other.status == Status::kLeft;
      // While other ranks have not left, Finalize may wait for them or return.
      Line("{}: {}Finalize @ {}", r, all || Chance(&random_, 50) ? "" : "waits in ", Path(op));
      return;
    }
    if (rank.inside && IsPoll(op.what)) {
      Polls(line, op);
    } else if (rank.inside && IsExchange(line, rank.at)) {
      Line("{}: waits in {}{}", r, Exchange(line, op), Place(line, op));
    } else if (rank.inside && IsWait(op.what)) {
      Line("{}: waits in {} for={}{}", r, WaitName(op), Open(line, op), Place(line, op));
    } else if (rank.inside) {
      Line("{}: waits in {}", r, Call(line, op));
    }
    if (line >= program_.ranks) return;
    if (rank.status == Status::kDead) {
      const bool exits = !rank.inside && op.what == Do::kExit;
      // If several ranks die, signal 9 could be the clean-up after another death; signal 11, a
      // crash, could not.
      const bool kill = dies_alone_ && Chance(&random_, 50);
      Line("{}: {}", r, exits ? "exits 1" : kill ? "is-killed 9" : "is-killed 11");
    } else if (rank.status == Status::kStalled && Chance(&random_, 50)) {
      Line("{}: computes @ {}", r, Path(op));
    }
  }

  std::string Open(int r, const Op& wait) const {
    std::string names;
    for (const int request : wait.requests) {
      const int maker = machine_.MakerOf(r, request);
      if (result_.state.cells[static_cast<size_t>(r)][static_cast<size_t>(maker)].finished) {
        continue;
      }
      names += (names.empty() ? "" : ",") + RequestName(r, request);
    }
    return names;
  }

  static std::string Path(const Op& op) {
    if (op.outer_line == 0) return fmt::format("main:{}", op.line);
    return fmt::format("main:{} > step:{}", op.outer_line, op.line);
  }

  static std::string WaitName(const Op& op) {
    if (op.what == Do::kWaitany) return "Waitany";
    if (op.what == Do::kWaitsome) return "Waitsome";
    if (op.what == Do::kPoll) return "Test";
    return op.requests.size() == 1 ? "Wait" : "Waitall";
  }

  // Returns the thread that makes a call (unless it is the main thread) and the call path.
  std::string Place(int line, const Op& op) const {
    const int thread = ThreadNumber(line);
    return (thread == 0 ? "" : fmt::format(" thread={}", thread)) + " @ " + Path(op);
  }
  int ThreadNumber(int line) const {
    int number = 0;
    for (int other = program_.ranks; other <= line; ++other) number += Rank(other) == Rank(line);
    return number;
  }

  std::string Call(int line, const Op& op) const { return Name(op) + Place(line, op); }

  static std::string Name(const Op& op) {
    constexpr const char* kNames[] = {"barrier",
                                      "bcast",
                                      "reduce",
                                      "allreduce",
                                      "gather",
                                      "scatter",
                                      "allgather",
                                      "alltoall",
                                      "scan",
                                      "gatherv",
                                      "scatterv",
                                      "allgatherv",
                                      "alltoallv",
                                      "reduce_scatter",
                                      "neighbor_allgather",
                                      "neighbor_alltoall",
                                      "neighbor_allgatherv",
                                      "neighbor_alltoallv",
                                      "Comm_dup",
                                      "Comm_split",
                                      "send",
                                      "ssend",
                                      "recv",
                                      "mprobe",
                                      "mrecv",
                                      "probe",
                                      "psend",
                                      "precv"};
    std::string text = op.what == Do::kIprobe ? "iprobe" : kNames[static_cast<size_t>(op.what)];
    if (op.request != kNone) {
      text = "I" + text;
    } else {
      text[0] = static_cast<char>(toupper(text[0]));
    }
    if (op.init) text += "_init";
    if (op.what == Do::kPsend) text += fmt::format(" partitions={}", op.partitions);
    if (op.comm != 0) text += fmt::format(" on=c{}", op.comm);
    const char* type = op.type == 0 ? "MPI_INT" : "MPI_DOUBLE";
    if (!IsCollective(op.what)) {
      return text + fmt::format("{} peer={} tag={}", IsProbe(op.what) ? "" : " 1xMPI_INT",
                                op.peer == kAny ? "any" : std::to_string(op.peer),
                                op.tag == kAny ? "any" : std::to_string(op.tag));
    }
    if (op.what == Do::kBarrier || op.what == Do::kDup || op.what == Do::kSplit) return text;
    if (op.peer != kNone) {
      text += " root=" + (op.peer == kRootSelf   ? "self"
                          : op.peer == kRootNone ? "none"
                                                 : std::to_string(op.peer));
    }
    if (Reduces(op.what)) {
      constexpr const char* kReductions[] = {" sum", " max", " min", " user"};
      text += kReductions[op.reduction];
    }
    const bool keeps_its_own = op.what == Do::kScatter || op.what == Do::kScatterv;
    if (op.in_place) text += keeps_its_own ? " recv-in-place" : " in-place";
    if (HasCountsOfItsOwn(op.what)) return text + Counts(op);
    if (op.in_place) text += keeps_its_own ? " send=" : " recv=";
    if (!op.in_place) text += ' ';
    return text + fmt::format("{}x{}", op.count, type);
  }

  // Returns the counts of a v-collective: the caller's own, and those of each member or neighbor.
  static std::string Counts(const Op& op) {
    const char* type = op.type == 0 ? "MPI_INT" : "MPI_DOUBLE";
    std::string text;
    if (op.in_place) {
      // MPI ignores the caller's own count.
    } else if (op.what == Do::kGatherv || op.what == Do::kAllgatherv ||
               op.what == Do::kNeighborAllgatherv) {
      text += fmt::format(" send={}x{}", op.count, type);
    } else if (op.what == Do::kScatterv) {
      text += fmt::format(" recv={}x{}", op.count, type);
    }
    if (!op.sends.empty()) text += fmt::format(" sendcounts={}x{}", fmt::join(op.sends, ","), type);
    if (!op.recvs.empty()) text += fmt::format(" recvcounts={}x{}", fmt::join(op.recvs, ","), type);
    return text;
  }

  // Returns the operations that the threads of a rank have entered, as (line, index).
  std::vector<std::pair<int, int>> EnteredBy(int rank) const {
    std::vector<std::pair<int, int>> entered;
    for (int line = 0; line < program_.lines(); ++line) {
      for (int at = 0; at <= Here(line).at && Rank(line) == rank; ++at) {
        if (machine_.Entered(result_.state, line, at)) entered.emplace_back(line, at);
      }
    }
    return entered;
  }

  // Counts messages as a ring does (proto/ring_format.h): sends when they are entered, receives
  // when they complete, by source and tag of the status; under kAnySource and kAnyTag if the
  // program ignored the status.
  void SetChannels() {
    for (int r = 0; r < program_.ranks; ++r) {
      const uint32_t index = result_.trace.worlds[0].processes[static_cast<size_t>(r)];
      if (index == kNoIndex) continue;  // it has no trace
      std::map<std::tuple<int, int, int>, std::pair<uint64_t, uint64_t>> counts;
      for (const auto& [line, at] : EnteredBy(r)) {
        const Op& op = machine_.At(line, at);
        const Cell& cell = result_.state.cells[static_cast<size_t>(line)][static_cast<size_t>(at)];
        if (op.init || op.rejected) continue;
        if (op.what == Do::kPsend || IsSend(op.what)) ++counts[{op.comm, op.peer, op.tag}].first;
        if (op.what == Do::kPrecv && cell.finished) {
          ++counts[{op.comm, op.peer, op.tag}].second;
        }
        if (op.what != Do::kRecv && op.what != Do::kMrecv) continue;
        const bool returned = at < Here(line).at;
        if (!(op.request == kNone ? returned : cell.finished)) continue;
        const Cell& match = op.what == Do::kMrecv ? MatchOf(line, op.message) : cell;
        int peer = program_.LocalRank(op.comm, match.match_rank);
        int tag = machine_.At(match.match_rank, match.match_at).tag;
        // The Mprobe has recorded the source and tag of the message.
        const bool told = op.what == Do::kMrecv;
        if (!told && (op.peer == kAny || op.tag == kAny) && Chance(&random_, 30)) {
          peer = op.peer == kAny ? ring::kAnySource : peer;
          tag = op.tag == kAny ? ring::kAnyTag : tag;
        }
        ++counts[{op.comm, peer, tag}].second;
      }
      Process& process = result_.trace.processes[index];
      // Keeps the channels of receives whose requests were freed; their completion is not recorded.
      std::vector<Channel> channels;
      std::copy_if(process.channels.begin(), process.channels.end(), std::back_inserter(channels),
                   [](const Channel& channel) { return channel.receives_unseen; });
      for (Channel& channel : channels) channel.sent = channel.received = 0;
      process.channels = std::move(channels);
      for (const auto& [key, count] : counts) {
        const auto& [comm, peer, tag] = key;
        for (const uint32_t m : result_.trace.communicators[static_cast<size_t>(comm)].members) {
          if (result_.trace.members[m].process != index) continue;
          process.channels.push_back({.member = m,
                                      .peer = peer,
                                      .tag = tag,
                                      .sent = count.first,
                                      .received = count.second});
        }
      }
      process.peer_counts = SumByPeer(process.channels);
    }
  }

  const Program& program_;
  const Machine& machine_;
  Random& random_;
  CollectiveWatcher* const watcher_;
  bool dies_alone_ = false;
  Observation result_;
};

}  // namespace

Observation Observe(const Program& program, const Machine& machine, Random* random,
                    CollectiveWatcher* watcher) {
  return Observer(program, machine, random, watcher).Run();
}

}  // namespace rollcall::oracle
