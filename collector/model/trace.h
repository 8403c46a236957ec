// SPDX-License-Identifier: Apache-2.0
// The trace model: every importer fills a Trace (from rings, text traces, Flight Recorder dumps),
// and every diagnosis reads it. Plain data without I/O, clock or threads. One Trace holds the data
// of one or several jobs, collected at one time.
//
// Ownership: a Trace owns everything. Indices (…Index) refer to its vectors and stay valid as long
// as nothing is erased, which no code does. Not thread-safe for writing; safe for concurrent reads.
// Units: *_ns are nanoseconds of the trace's common clock (the collector's CLOCK_REALTIME; a
// process without `clock` has the clock of its host), -1 if unknown. Ranks are world ranks unless a
// name says otherwise.
//
// Size matters: 16,384 ranks with 2,000 records each must fit in 3 GB, so an Event has 56 bytes,
// and everything that repeats (arguments, call paths, code addresses) is interned.
#ifndef ROLLCALL_COLLECTOR_MODEL_TRACE_H_
#define ROLLCALL_COLLECTOR_MODEL_TRACE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/data.h"
#include "collector/model/place.h"
#include "collector/model/problem.h"
#include "collector/model/source_blocks.h"
#include "collector/model/source_frame.h"
#include "collector/model/values.h"
#include "proto/mpi_errors.h"
#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall {

inline constexpr uint32_t kNoIndex = 0xffffffff;
inline constexpr int64_t kNoTime = -1;

// A recorded place in code, and its source once symbolized: inlined frames first, then the function
// in the binary. `frames` is never empty after symbolization. A place in Python has no module, and
// has its one frame from the beginning. If the place could not be read, the frame has no function.
struct Code {
  std::string module_path;
  std::string build_id;  // hex
  uint64_t vaddr = 0;    // ELF virtual address of the return address; Python: see Interner
  std::vector<SourceFrame> frames;
};

struct PythonFrame {
  uint32_t code = kNoIndex;  // into Trace::codes
  bool entry = false;        // the outermost frame run by one native frame of the interpreter

  friend bool operator==(const PythonFrame&, const PythonFrame&) = default;
};

struct CallPath {
  // Into Trace::codes, innermost first: native and Python frames in call order, built by
  // MergePythonFrames() from `native` and `python`.
  std::vector<uint32_t> codes;
  ring::StackEnd end = ring::StackEnd::kOff;  // of the native frames
  uint64_t portable_hash = 0;  // equal on ranks that run the same files; 0 if unknown
  ring::PythonEnd python_end = ring::PythonEnd::kNone;
  // The frames could not be merged: `codes` lacks the native frames between Python frames.
  bool python_apart = false;
  // If this thread runs no Python: the place of the main thread at that moment. Into
  // Trace::call_paths. Context for the reader only: not the place of the call, and not part of the
  // path's identity.
  uint32_t context = kNoIndex;
  // As recorded, innermost first; empty unless there are Python frames.
  std::vector<uint32_t> native;
  std::vector<PythonFrame> python;
};

// Whether the outermost frame of the path is known. Two paths can be compared from the outermost
// frame only if it is known. If all Python frames are known, native frames beyond a cut are the
// interpreter's own, or lie between known Python frames.
inline bool IsWhole(const CallPath& path) {
  if (path.python.empty()) return path.end == ring::StackEnd::kComplete;
  return path.python_end == ring::PythonEnd::kComplete;
}

struct DatatypeInfo {
  std::string name;        // "MPI_DOUBLE", or a description of a derived type
  uint16_t basic = 0;      // BasicType if all elements have one basic type, else 0
  uint64_t basics = 1;     // basic elements in one element of this type
  uint64_t bytes = 0;      // of data in one element
  uint64_t signature = 0;  // of one element
};

// The arguments of a call, interned: calls in a loop share one entry.
struct Arguments {
  Operation operation = Operation::kNone;
  uint16_t flags = 0;  // ring::RecordFlag
  uint16_t reduce_op = 0;
  int32_t root_or_peer = ring::kNoPeer;
  int32_t tag = ring::kNoTag;
  int32_t peer2 = ring::kNoPeer;  // source of a Sendrecv
  int32_t tag2 = ring::kNoTag;
  uint64_t send_count = 0;
  uint64_t recv_count = 0;
  uint64_t send_signature = 0;  // of the whole buffer; 0 if not significant or unknown
  uint64_t recv_signature = 0;
  uint32_t send_datatype = kNoIndex;  // into Trace::datatypes
  uint32_t recv_datatype = kNoIndex;
  uint32_t send_counts = kNoIndex;  // into Trace::count_arrays
  uint32_t recv_counts = kNoIndex;
  uint64_t semantic_hash = 0;

  friend bool operator==(const Arguments&, const Arguments&) = default;
};

struct Event {
  uint64_t sequence = 0;  // collectives: number on the communicator, from 1; otherwise 0
  int64_t start_ns = kNoTime;
  int64_t end_ns = kNoTime;  // kNoTime: not known to have returned (see Process::open_calls)
  uint64_t request = 0;      // uid of the request made, started or waited for; 0 if none
  uint64_t detail = 0;       // as in ring::Record
  uint32_t arguments = kNoIndex;
  uint32_t call_path = kNoIndex;
  uint32_t member = kNoIndex;  // into Trace::members; kNoIndex if no communicator
  uint32_t thread = 0;         // index into Process::threads
};
static_assert(sizeof(Event) == 56);

struct Checkpoint {
  uint64_t sequence = 0;
  uint64_t semantic_hash = 0;
  uint64_t path_hash = 0;
};

// A communicator (window, file), shared by all its members.
struct Communicator {
  uint64_t key = 0;
  std::string name;            // "MPI_COMM_WORLD", a user-given name, or "comm split from …"
  uint32_t parent = kNoIndex;  // into Trace::communicators
  uint64_t parent_sequence = 0;
  Operation created_by = Operation::kNone;
  uint32_t flags = 0;                 // ring::MemberFlag, of any member
  uint32_t world = kNoIndex;          // into Trace::worlds
  std::vector<int32_t> ranks;         // world ranks by local rank; empty if unknown
  std::vector<int32_t> remote_ranks;  // intercommunicator
  std::vector<uint32_t> members;      // into Trace::members: those with a trace
};

// Whether this is a communicator of NCCL that is no process group of torch.distributed. `flags`:
// ring::MemberFlag.
inline bool IsNcclAlone(uint32_t flags) {
  return (flags & (ring::kIsNccl | ring::kIsC10d)) == ring::kIsNccl;
}

// Whether the communicator connects processes that were started separately (spawn, connect, join).
// Its members may belong to other worlds than the waiting process.
inline bool HasOutsiders(const Communicator& communicator) {
  return (communicator.flags & ring::kWeakIdentity) != 0 && !IsNcclAlone(communicator.flags);
}

// A process as a member of one communicator.
struct Member {
  uint32_t process = kNoIndex;
  uint32_t communicator = kNoIndex;
  uint32_t uid = 0;   // in its ring
  int32_t rank = -1;  // in the communicator
  ring::MemberState state = ring::MemberState::kLive;
  uint64_t entered = 0;  // number of collectives entered since the start
  uint64_t completed = 0;
  uint64_t rejected = 0;  // number of rejected collectives since the start
  // NCCL: an abort or a revoke stopped the operations that have no end and are not open.
  bool stopped = false;
  bool counted = true;  // false: not all were counted, and the real numbers may be larger
  // Collectives whose record is still present, by increasing sequence number. Records before
  // events.front().sequence are lost. A gap in the numbers is a lost record as well.
  std::vector<Event> events;
  std::vector<Checkpoint> checkpoints;  // by increasing sequence
  std::vector<int32_t> neighbors_in;    // topology, in communicator ranks
  std::vector<int32_t> neighbors_out;
  bool neighbors_known = false;  // both lists are on record
  uint32_t data = kNoIndex;      // into Trace::data; kNoIndex: no data was read
};

// Nesting of ncclGroupStart and ncclGroupEnd: the outermost ncclGroupEnd launches the operations.
struct GroupNesting {
  uint32_t depth = 0;             // starts without an end
  uint32_t call_path = kNoIndex;  // of the outermost start
  int64_t since_ns = kNoTime;
  uint64_t stray_ends = 0;  // ends without a start, which NCCL rejects
  uint32_t stray_call_path = kNoIndex;
};

struct Thread {
  uint32_t tid = 0;
  std::string name;
  bool main = false;
  bool ended = false;
  uint64_t polls = 0;
  bool polling = false;  // its last call was an unsuccessful poll: the thread is outside every call
  // When the thread began to poll tightly, as observed from outside the process: the same call site
  // tests the same condition, without any other record and with almost no CPU time in between.
  // kNoTime: not observed. Only a thread that polls tightly counts as waiting. Any other polling
  // thread may do something else next.
  int64_t polls_tightly_since_ns = kNoTime;
  Event asks = {};                // its last unsuccessful poll; without arguments if there was none
  uint64_t lost_collectives = 0;  // records that the ring has overwritten
  uint64_t lost_p2p = 0;
  int64_t last_end_ns = kNoTime;  // when its last call returned
  GroupNesting group = {};
};

// A call that was entered and has not returned.
struct OpenCall {
  Event event;
  uint32_t depth = 0;              // nesting: 0 is the outermost
  std::vector<uint64_t> requests;  // what a Wait, Waitall, … waits for; uids into open_requests
};

// A call that MPI rejected because of its arguments. The call had no effect, and the next call got
// its number.
struct RejectedCall {
  Event event;  // sequence: the number that the call would have had
  ErrorClass error = ErrorClass::kNone;
  bool open = false;  // it did not return: see ResolveRejections()
};

struct OpenRequest {
  uint64_t uid = 0;
  ring::RequestState state = ring::RequestState::kActive;
  uint32_t waiter = kNoIndex;  // thread inside a Wait on it
  bool running = false;        // Process::device: observed to have started there
  bool held = false;           // Process::device: in an open group, not yet launched
  bool cancelled = false;      // MPI_Cancel was called: a wait for it is local (MPI 4.0, 3.8.4)
  uint64_t launch = 0;  // Process::device: the same for all operations of a group; 0: unknown
  uint64_t starts = 0;
  uint32_t partitions = 0;  // of a partitioned send; 0: not partitioned, or unknown
  uint32_t marked = 0;      // number of partitions that are ready since the last start
  Event event;              // the call that made or last started it

  uint32_t Unmarked() const { return marked < partitions ? partitions - marked : 0; }
};

struct Channel {
  uint32_t member = kNoIndex;
  int32_t peer = 0;
  int32_t tag = 0;
  uint64_t sent = 0;
  uint64_t received = 0;
  // A receive ended without a record of its message: see ring::Channel.
  bool receives_unseen = false;
};

// The messages exchanged with one peer, over all tags.
struct PeerCount {
  uint32_t member = kNoIndex;
  int32_t peer = 0;  // as in Channel
  uint64_t sent = 0;
  uint64_t received = 0;
  bool receives_unseen = false;  // as in Channel, with any tag
};

// How a process ended, according to its parent or the kernel. Only a live observer can know it.
struct ProcessEnd {
  enum class How : uint8_t {
    kUnknown,   // not observed
    kAlive,     // alive at the last observation
    kExited,    // status
    kSignaled,  // signal
    kVanished,  // gone; how it ended is unknown
  };
  How how = How::kUnknown;
  int status = 0;  // exit status or signal number
  bool oom_killed = false;
  bool by_launcher = false;  // the launcher's clean-up after another rank's end ended it
  bool by_rollcall = false;  // rollcall ended the job
  bool parent_saw = false;   // the process' own `rollcall exec` reported it; logs: its launcher
  bool with_node = false;    // its node failed
  int64_t at_ns = kNoTime;
  uint32_t order = kNoIndex;  // 0 ended first
};

// Whether an end was observed.
inline bool HasEnded(const ProcessEnd& end) {
  return end.how != ProcessEnd::How::kUnknown && end.how != ProcessEnd::How::kAlive;
}

// The order of ends within this time is not certain, because each rank's end is noticed by its own
// observer, which the kernel schedules arbitrarily.
inline constexpr int64_t kEndOrderBlurNs = 1'000'000'000;

// An exception that is not caught and ends the process. The process takes part in no further
// operation.
struct UncaughtException {
  ring::ExceptionKind kind = ring::ExceptionKind::kNone;
  std::string type;
  std::string message;  // its first line; empty: no message, or not known
  uint32_t call_path = kNoIndex;
  int64_t at_ns = kNoTime;
  bool in_log = false;  // only a log has it: the rank may have caught it and then left
};

// The stack of a stalled thread, taken from outside the process.
struct LiveStack {
  uint32_t tid = 0;
  std::string thread_name;
  std::vector<SourceFrame> frames;  // innermost first
  std::string state;                // "running", "sleeping in read", "disk wait", …
  int64_t cpu_ns_per_s = -1;        // CPU time used per second while observed; -1 if unknown
  std::string unreadable;           // why there is no stack
};

// The wait of a process that is inside no MPI call, as seen from outside the process. A thread that
// runs the user's code sleeps until something arrives at its sockets, and no process of the job is
// a peer of a connection among these sockets. But if a socket listens, a rank may connect next.
struct OutsideWait {
  enum class For : uint8_t {
    kClient,   // a listening socket: any process may connect, also another rank
    kOutside,  // a connection to a process outside the job
  };
  uint32_t tid = 0;
  For what = For::kClient;

  friend bool operator==(const OutsideWait&, const OutsideWait&) = default;
};

// The names in journals and text traces.
inline constexpr std::array<std::string_view, 2> kOutsideWaitNames = {"client", "outside"};

// The most that the threads outside every MPI call could do, as seen in two samples from outside
// the process.
enum class OtherThreads : uint8_t {
  kUnseen,   // not sampled, or not readable
  kWait,     // no such threads; or each waits for another thread of the process, or is MPI's own
  kOutside,  // some threads may act at any time, but none of them has called MPI
  kCallers,  // a thread that has called MPI is outside it and may call it again
};

// The names in journals and text traces.
inline constexpr std::array<std::string_view, 4> kOtherThreadsNames = {"unseen", "wait", "outside",
                                                                       "callers"};

// The clock of a node: it is `offset_ns` ahead of the trace's clock, with an error of at most
// `error_ns`. The times of the node were corrected by the offset.
struct NodeClock {
  int64_t offset_ns = 0;
  int64_t error_ns = 0;

  friend bool operator==(const NodeClock&, const NodeClock&) = default;
};

struct Process {
  // Set instead of the calls, if the calls of the process are not recorded; see Trace::evidence.
  std::optional<Place> place;
  uint32_t world = kNoIndex;  // into Trace::worlds
  int32_t rank = -1;          // in its world
  std::string host;
  std::optional<NodeClock> clock;  // of its host; empty: not measured, times are the host's
  uint32_t pid = 0;
  std::string executable;
  ring::Flavor flavor = ring::Flavor::kUnknown;
  // Its operations are enqueued and run on a device. No call blocks, and `open_requests` are the
  // operations that have not completed on the device, in the order in which they were enqueued.
  bool device = false;
  // It uses NCCL or PyTorch and never initialized MPI, so it does not have to call MPI_Finalize.
  bool without_mpi = false;
  // A host process with several ranks of one NCCL communicator is represented by several Process
  // entries, one for each device. They share threads, ends and stacks. `host_process` is the first
  // entry (also in the first entry itself); kNoIndex: there is only one. `held_up_by`: the entries
  // whose calls block the thread that drives this one.
  uint32_t host_process = kNoIndex;
  int32_t device_number = -1;  // CUDA's; -1 unknown
  std::vector<uint32_t> held_up_by;
  // Some operations were captured into CUDA graphs, whose launches are not recorded.
  bool graphs = false;
  // The channel table was full. Messages of further channels are counted under any tag of the peer,
  // or not at all.
  bool channels_lost = false;
  // The ring had no room for all sums, or has no sums: some messages may be counted in no sum.
  bool peer_counts_lost = false;
  int thread_level = -1;  // 0 SINGLE .. 3 MULTIPLE, as provided; -1 unknown
  OtherThreads other_threads = OtherThreads::kUnseen;  // relevant at level MULTIPLE only
  ring::Phase phase = ring::Phase::kStarting;
  int64_t phase_ns = kNoTime;
  ring::ExitMark exit_mark = ring::ExitMark::kNone;
  int exit_status = 0;
  int64_t exit_ns = kNoTime;
  // MPICH: when the process reported an error. Set if the process is alive, or if only the times
  // show that it ended for this error.
  int64_t reports_error_ns = kNoTime;
  // MPI ended the process for an error of this class (kNone: unknown class); see rejections.h.
  std::optional<ErrorClass> ended_by;
  uint32_t exit_call_path = kNoIndex;
  std::optional<UncaughtException> exception;
  std::vector<NamedValues> values;  // by name; of rollcall_value() (rollcall.h)
  // The variables of the user's frames that lead to the call that the process is in, outermost
  // first: of Python or, if it runs none, of C, C++ and Fortran. Read of few processes, after a
  // hang was found.
  std::vector<VariablesOfFrame> variables;
  std::string user_phase;  // as passed to rollcall_phase() (rollcall.h); or empty
  ProcessEnd end;
  // There was no activity between two samples, of which the second began after the first ended; or
  // the process is gone. If false, the process is not proven to hang.
  bool quiet = false;
  int64_t idle_since_ns = kNoTime;  // last observed movement
  int64_t taken_at_ns = kNoTime;    // when this snapshot of the process was taken
  // When a hang was reported, if the process has not moved since then; otherwise kNoTime.
  int64_t judged_ns = kNoTime;
  uint64_t records_unreadable = 0;  // torn or damaged
  uint64_t table_overflows = 0;     // open requests, communicators, threads that did not fit
  uint64_t calls_unrecorded = 0;    // unrecorded threads, and calls of signal handlers
  uint64_t errors_seen = 0;
  uint32_t python_version = 0;  // PY_VERSION_HEX; 0 if there is no interpreter
  ring::PythonState python_state = ring::PythonState::kAbsent;
  ring::PythonOff python_off = ring::PythonOff::kNone;
  uint64_t python_unreadable = 0;  // requested Python stacks that could not be read
  std::vector<Thread> threads;
  std::vector<Event> p2p;  // point-to-point and completion calls, oldest first
  // Init, Finalize, Abort, errors (including rejected calls) and frees, oldest first.
  std::vector<Event> lifecycle;
  std::vector<RejectedCall> rejected;  // oldest first
  std::vector<OpenCall> open_calls;
  std::vector<OpenRequest> open_requests;
  // For a finalized process: objects that it made and never freed, by the operations and call paths
  // that made them. `detail` is the number of objects (with kCountsCut: the least number).
  std::vector<Event> leftovers;
  std::vector<Channel> channels;
  // One entry for each member and peer; complete even if `channels_lost`.
  std::vector<PeerCount> peer_counts;
  std::vector<ring::GpuProgress> gpu;
  std::vector<LiveStack> live_stacks;
  std::optional<OutsideWait>
      outside_wait;                   // when the stacks were taken, and no call was made since
  std::vector<ReplicaRead> replicas;  // oldest first
  bool reads_data = false;            // --data
  uint64_t data_unreadable = 0;       // torn, damaged or forgotten records of data
  std::string source;                 // the file or address of its data, for messages

  // Whether the rings of some thread have overwritten records.
  bool HasLostRecords() const {
    return std::ranges::any_of(threads, [](const Thread& thread) {
      return thread.lost_collectives != 0 || thread.lost_p2p != 0;
    });
  }
};

// Whether the process can no longer act: it has ended, or has called a function that ends it.
inline bool IsGone(const Process& process) {
  return HasEnded(process.end) || process.exit_mark != ring::ExitMark::kNone;
}

// Whether the two are ranks of one host process.
inline bool ShareProcess(const Process& a, const Process& b) {
  return a.host_process != kNoIndex && a.host_process == b.host_process;
}

// One MPI_COMM_WORLD: one launch (or one spawn).
struct World {
  uint64_t job_key = 0;
  int32_t size = -1;
  bool all_here = false;  // stacks: the launcher started all ranks on the machine that was examined
  std::vector<uint32_t> processes;  // by rank; kNoIndex if the trace is missing
};

// A rank's call that makes a communicator from an id instead of the next number of a parent:
// ncclCommInitRank. The members are known only from the ranks that made the call. Also a rank's
// connection to the store where the ranks of a job of torch.distributed meet, with one key for the
// job.
struct Creation {
  uint64_t key = 0;  // of the unique id: equal for all ranks that pass the same id
  uint32_t process = kNoIndex;
  int32_t rank = -1;              // as passed
  int32_t size = -1;              // as passed: number of ranks expected
  std::vector<int32_t> expected;  // their world ranks if known, otherwise empty
  std::string call;               // "ncclCommInitRank"
  std::string endpoint;           // of the store; empty: this is no connection to a store
  Event event;                    // times and call path; end_ns is kNoTime while the rank is inside
};

// A line of a log that states something about a process.
struct LogLine {
  uint32_t process = kNoIndex;  // into Trace::processes; kNoIndex: see `statement`
  uint32_t communicator = kNoIndex;
  uint64_t sequence = 0;  // of the call that the line states; 0 if none
  std::string file;
  uint64_t line = 0;  // 1-based
  std::string text;   // valid UTF-8 without control characters
  // Without a process: what the log shows about the job, as a sentence. It names no rank.
  std::string statement = {};
};

struct Trace {
  // kStacks, kCores: no process has records. Every process has a place, from two samples of the
  // process or from its core file. kLogs: the calls and ends are those that lines of the job's
  // output state.
  enum class Evidence : uint8_t { kRecords, kStacks, kCores, kLogs };
  Evidence evidence = Evidence::kRecords;
  bool HasRecords() const { return evidence == Evidence::kRecords || evidence == Evidence::kLogs; }

  std::vector<World> worlds;
  std::vector<Process> processes;
  std::vector<Communicator> communicators;
  std::vector<Member> members;
  std::vector<Creation> creations;
  std::vector<Arguments> arguments;
  std::vector<CallPath> call_paths;
  std::vector<Code> codes;
  std::vector<DatatypeInfo> datatypes;
  std::vector<std::vector<uint64_t>> count_arrays;
  std::vector<MemberData> data;
  // Loops and branches of the user's files, if they could be read: see import/add_sources.h.
  std::vector<SourceBlocks> sources;
  // The lines that matter most, for each process, in the order of the log.
  std::vector<LogLine> log_lines;
  std::vector<Problem> problems;
  int64_t taken_at_ns = kNoTime;  // when the newest snapshot of a process was taken
};

// Whether every rank of the world has a trace.
inline bool HasAllTraces(const World& world) {
  return world.size >= 0 && world.processes.size() >= static_cast<size_t>(world.size) &&
         std::ranges::find(world.processes, kNoIndex) == world.processes.end();
}

// The process of a rank; kNoIndex if its trace is missing, or if there is no such world or rank.
inline uint32_t ProcessOf(const Trace& trace, uint32_t world, int32_t rank) {
  if (world >= trace.worlds.size() || rank < 0) return kNoIndex;
  const std::vector<uint32_t>& processes = trace.worlds[world].processes;
  return static_cast<size_t>(rank) < processes.size() ? processes[static_cast<size_t>(rank)]
                                                      : kNoIndex;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_TRACE_H_
