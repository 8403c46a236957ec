// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/device/observe.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "collector/import/device_work.h"
#include "tests/support/text_trace.h"

namespace rollcall::oracle::device {
namespace {

using ring::CompletionSource;

class Observer {
 public:
  Observer(const Program& program, const Machine& machine, Random* random)
      : program_(program), machine_(machine), random_(*random) {}

  Observation Run() {
    const int knows = Below(&random_, 10);
    result_.knowledge = knows < 5   ? CompletionSource::kMarks
                        : knows < 9 ? CompletionSource::kWaits
                                    : CompletionSource::kNone;
    waited_for_.assign(program_.code.size(), std::vector<int>(program_.comms.size(), 0));
    Line("ranks {} devices", program_.ranks);
    for (size_t c = 0; c < program_.comms.size(); ++c) {
      Line("comm c{} {}", c, fmt::join(program_.comms[c], ","));
    }
    Walk();
    for (int r = 0; r < program_.ranks; ++r) CurrentEvent(r);
    if (result_.ended) Line("idle 60");
    TextTraceResult parsed = ParseTextTrace(result_.text);
    if (!parsed.errors.empty()) throw std::logic_error(parsed.errors[0] + "\n" + result_.text);
    result_.trace = std::move(parsed.trace);
    SetProcesses();
    Analyze();
    return std::move(result_);
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    result_.text += fmt::format(format, std::forward<Args>(args)...) + '\n';
  }

  void Walk() {
    State& state = result_.state;
    state = machine_.Start();
    state.wrong_calls_pass = Chance(&random_, 50);
    const int early = Below(&random_, 3) * 50;
    for (std::vector<Cell>& row : state.cells) {
      for (Cell& cell : row) cell.early = Chance(&random_, early);
    }
    int steps_left = Chance(&random_, 20) ? Below(&random_, 80) : 100'000;
    for (;;) {
      const std::vector<Step> steps = machine_.Steps(state, Library::kAsDecided, false);
      if (steps.empty()) return;
      if (steps_left-- == 0) break;
      Take(steps[static_cast<size_t>(Below(&random_, static_cast<int>(steps.size())))]);
    }
    result_.ended = false;
  }

  // Returns whether a call of a host is recorded: waits for the device are not if no CUDA function
  // is wrapped.
  bool IsSeen(Do what) const {
    return !IsSync(what) || result_.knowledge != CompletionSource::kNone;
  }

  void Take(const Step& step) {
    const Op& op = machine_.At(step.rank, step.at);
    machine_.Take(step, &result_.state);
    const bool enters = step.what == Step::What::kEnter;
    if (enters && IsOnDevice(op.what)) {
      Line("{}: enqueues {} @ {}", step.rank, Call(op), Path(op));
    } else if (enters && (op.what == Do::kGroupStart || op.what == Do::kGroupEnd)) {
      Line("{}: {} @ {}", step.rank, Call(op), Path(op));
    } else if (step.what == Step::What::kReturn) {
      if (IsSeen(op.what)) Line("{}: {} @ {}", step.rank, Call(op), Path(op));
      if (IsSync(op.what)) NoteWait(step.rank, step.at);
    }
  }

  // Returns the last launch on the stream of `comm`, or with `any` on any stream, that was enqueued
  // before the call at `at`.
  int LastLaunch(int rank, int at, int comm, bool any) const {
    int last = 0;
    for (int i = 0; i < at; ++i) {
      const Op& op = machine_.At(rank, i);
      if (IsOnDevice(op.what) && (any || StreamOf(op.comm) == StreamOf(comm))) {
        last = std::max(last, CellOf(rank, i).launch);
      }
    }
    return last;
  }

  void NoteWait(int rank, int at) {
    const Op& op = machine_.At(rank, at);
    for (int c = 0; c < static_cast<int>(program_.comms.size()); ++c) {
      if (op.what == Do::kSyncStream && StreamOf(c) != StreamOf(op.comm)) continue;
      waited_for_[static_cast<size_t>(rank)][static_cast<size_t>(c)] =
          LastLaunch(rank, at, c, false);
    }
  }

  // Writes the last event of a host, as it is recorded at the time of the observation.
  void CurrentEvent(int r) {
    const RankState& host = result_.state.ranks[static_cast<size_t>(r)];
    const Op& op = machine_.At(r, host.at);
    if (host.inside && IsSeen(op.what)) {
      Line("{}: waits in {} @ {}", r, Call(op), Path(op));
    } else if (host.status == Status::kLeft && program_.mpi) {
      Line("{}: Finalize @ {}", r, Path(op));
    } else if (host.status == Status::kLeft) {
      Line("{}: calls-exit 0 @ {}", r, Path(op));
      Line("{}: exits 0", r);
    } else if (host.status == Status::kDead) {
      Line("{}: {}", r, op.what == Do::kExit ? "exits 1" : "is-killed 11");
    } else if (host.status == Status::kStalled && Chance(&random_, 50)) {
      Line("{}: computes @ {}", r, Path(op));
    }
  }

  void SetProcesses() {
    for (Communicator& comm : result_.trace.communicators) {
      if ((comm.flags & ring::kIsWorld) == 0) comm.flags |= ring::kIsNccl;
    }
    const int level = Below(&random_, 4);
    for (Process& process : result_.trace.processes) {
      if (program_.mpi) {
        process.flavor = ring::Flavor::kOpenMpi;
        process.thread_level = level;
      } else if (process.end.how == ProcessEnd::How::kExited && process.end.status == 0) {
        process.phase = ring::Phase::kFinalized;  // ring_process.cc: ReadEndOfNccl()
      }
    }
  }

  // Collects calls and waits as AddCall() and AddHostWait() in ring_device.cc do from a ring, and
  // simulates the streams.
  void Analyze() {
    std::vector<DeviceCall> calls;
    std::vector<HostWait> waits;
    for (int r = 0; r < program_.ranks; ++r) {
      AddCalls(r, &calls);
      const RankState& host = result_.state.ranks[static_cast<size_t>(r)];
      const Op& op = machine_.At(r, host.at);
      if (!host.inside || !IsSync(op.what) || !IsSeen(op.what)) continue;
      HostWait wait;
      wait.process = static_cast<uint32_t>(r);
      wait.stream = StreamOf(op.comm);
      wait.any_stream = op.what == Do::kSyncAll;
      wait.launch = static_cast<uint64_t>(LastLaunch(r, host.at, op.comm, op.what == Do::kSyncAll));
      if (wait.launch != 0) waits.push_back(wait);
    }
    SimulateStreams(std::move(calls), waits, &result_.trace);
    for (const Process& process : result_.trace.processes) {
      for (const OpenRequest& request : process.open_requests) {
        const Member& member = result_.trace.members[request.event.member];
        Line("# open on {}: {} #{} on {}{}", process.rank,
             FindOperation(
                 static_cast<uint16_t>(result_.trace.arguments[request.event.arguments].operation))
                 .name,
             request.event.sequence, result_.trace.communicators[member.communicator].name,
             request.held ? ", held" : "");
      }
    }
  }

  void AddCalls(int r, std::vector<DeviceCall>* calls) {
    Process& process = result_.trace.processes[static_cast<size_t>(r)];
    const RankState& host = result_.state.ranks[static_cast<size_t>(r)];
    std::vector<OpenRequest> requests;
    std::swap(requests, process.open_requests);
    AddProgress(r, &process);
    size_t next = 0;
    for (int at = 0; at < host.at; ++at) {
      const Op& op = machine_.At(r, at);
      if (!IsOnDevice(op.what)) continue;
      const int launch = CellOf(r, at).launch;
      DeviceCall call;
      call.process = static_cast<uint32_t>(r);
      call.event = requests[next].event;
      call.event.request = call.event.detail = next + 1;
      EventOf(call.event, &process)->request = next + 1;
      EventOf(call.event, &process)->detail = next + 1;
      ++next;
      call.launch = static_cast<uint64_t>(launch != 0 ? launch : host.launches + 1);
      call.stream = StreamOf(op.comm);
      call.held = launch == 0;
      call.exact = launch != 0 && result_.knowledge == CompletionSource::kMarks;
      call.done = launch != 0 && launch <= Completed(r, op.comm);
      calls->push_back(call);
    }
  }

  Event* EventOf(const Event& event, Process* process) {
    std::vector<Event>& events =
        event.sequence == 0 ? process->p2p : result_.trace.members[event.member].events;
    return &*std::find_if(events.begin(), events.end(),
                          [&](const Event& other) { return other.start_ns == event.start_ns; });
  }

  void AddProgress(int r, Process* process) const {
    for (int c = 0; c < static_cast<int>(program_.comms.size()); ++c) {
      if (program_.LocalRank(c, r) == kNone) continue;
      ring::GpuProgress progress{};
      progress.member = static_cast<uint32_t>(c) + 2;
      progress.state = static_cast<uint32_t>(result_.knowledge);
      progress.stream = StreamOf(c);
      const int at = result_.state.ranks[static_cast<size_t>(r)].at;
      progress.enqueued = static_cast<uint64_t>(LastLaunch(r, at, c, false));
      progress.completed = static_cast<uint64_t>(Completed(r, c));
      process->gpu.push_back(progress);
    }
  }

  // Returns the last launch of those that are, with all before them, recorded as complete.
  int Completed(int r, int comm) const {
    if (result_.knowledge == CompletionSource::kNone) return 0;
    if (result_.knowledge == CompletionSource::kWaits) {
      return waited_for_[static_cast<size_t>(r)][static_cast<size_t>(comm)];
    }
    const int at = result_.state.ranks[static_cast<size_t>(r)].at;
    int completed = LastLaunch(r, at, comm, false);
    for (int i = 0; i < at; ++i) {
      const Op& op = machine_.At(r, i);
      const Cell& cell = CellOf(r, i);
      if (!IsOnDevice(op.what) || StreamOf(op.comm) != StreamOf(comm)) continue;
      if (cell.launch == 0 || cell.done) continue;
      completed = std::min(completed, cell.launch - 1);
    }
    return completed;
  }

  uint64_t StreamOf(int comm) const {
    return static_cast<uint64_t>(program_.streams[static_cast<size_t>(comm)]) + 1;
  }
  const Cell& CellOf(int rank, int at) const {
    return result_.state.cells[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  }

  static std::string Path(const Op& op) {
    if (op.outer_line == 0) return fmt::format("main:{}", op.line);
    return fmt::format("main:{} > step:{}", op.outer_line, op.line);
  }

  const Program& program_;
  const Machine& machine_;
  Random& random_;
  std::vector<std::vector<int>> waited_for_;  // by rank and communicator: a launch
  Observation result_;
};

}  // namespace

Observation Observe(const Program& program, const Machine& machine, Random* random) {
  return Observer(program, machine, random).Run();
}

}  // namespace rollcall::oracle::device
