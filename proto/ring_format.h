// SPDX-License-Identifier: Apache-2.0
// The flight-recorder file, which librollcall.so writes and the other parts of rollcall read.
//
// This header defines the format; ring_format.md draws the layout and specifies what a reader may
// observe. It has no dependencies and contains no code that runs in the job. A change of any
// offset, size or meaning below requires a new kVersionMajor; new trailing fields in a reserved
// area, new section kinds and new enumerators require a new kVersionMinor. Readers accept every
// minor version of their major version.
//
// All integers are in the writer's byte order (see kByteOrder). Words that change while the file
// is in use are 64 bits, 8-byte aligned, and accessed with __atomic builtins by the writer; a
// reader uses pread() on a copy and never trusts a size, offset or count that it has not checked
// against the file.
#ifndef ROLLCALL_PROTO_RING_FORMAT_H_
#define ROLLCALL_PROTO_RING_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace rollcall::ring {

inline constexpr char kMagic[8] = {'R', 'O', 'L', 'L', 'C', 'A', 'L', 'L'};
inline constexpr uint32_t kByteOrder = 0x01020304;
inline constexpr uint16_t kVersionMajor = 1;
// 1.1: Python frames (kPythonCode, CallPathHeader::python_*, FileHeader::python_*).
// 1.2: NCCL (GpuProgress, ThreadEntry::nccl_group, Record's fields for device operations).
// 1.3: Member::device, Member::stopped_launch; completion marks that devices write (kMarks),
// and calls captured into CUDA graphs (kCaptured, FileHeader::calls_captured).
// 1.4: partitions (Record::detail2 of Psend_init and Precv_init).
// 1.5: uncaught exceptions (FileHeader::exception*).
// 1.5: local calls (in OpenCall only, unless they fail), objects never freed (kLeftover).
// 1.5: rejected calls (kRejected, kNullComm, Member::rejected).
// 1.5: cancelled requests (kCancelled).
// 1.6: the share of time that a thread spends inside unsuccessful polls (Polling::inside).
// 1.7: the pid namespace (FileHeader::pid_namespace).
// 1.8: the text of rollcall_phase() (FileHeader::user_phase).
// 1.9: the data of collectives (kData, kDataMembers).
// 1.10: why data was not read (DataMember::unread_why, outside).
// 1.11: the messages of each peer over all tags (kPeerCounts).
// 1.12: errors that MPI reported (FileHeader::exit_* without an exit_mark).
// 1.13: torch.distributed (kIsC10d; proto/torch_functions.def).
// 1.14: the values of rollcall_value() (kValues).
inline constexpr uint16_t kVersionMinor = 14;

// Bytes of the text of rollcall_phase(), with its NUL.
inline constexpr uint32_t kUserPhaseBytes = 256;

// Default size of a rank's file, and the default limit of the shared memory that a rank uses.
inline constexpr uint64_t kDefaultFileBytes = 4u << 20;

// ---------------------------------------------------------------------------------------------------
// Header
// ---------------------------------------------------------------------------------------------------

enum class SectionKind : uint32_t {
  kUnused = 0,
  kThreads = 1,       // ThreadEntry[]
  kMembers = 2,       // Member[]
  kOpenRequests = 3,  // OpenRequest[]
  kChannels = 4,      // Channel[]
  kGpuProgress = 5,   // GpuProgress[]
  kModules = 6,       // Module[]
  kDatatypes = 7,     // Datatype[]
  kStrings = 8,       // bytes: length-prefixed strings and lists; see StringRef
  kCallPaths = 9,     // uint64_t words; see CallPathHeader
  kRings = 10,        // Record[]: the pool from which each thread's two rings are allocated
  kPythonCode = 11,   // PythonCode[]; capacity 0 in version 1.0
  kMarks = 12,        // Mark[], on separate pages; absent unless marks were requested
  kData = 13,         // DataRecord[], a ring buffer; absent unless data is read
  kDataMembers = 14,  // DataMember[], parallel to kMembers; absent unless data is read
  kPeerCounts = 15,   // PeerCount[]; absent before version 1.11
  kValues = 16,       // NamedValues[]; absent before version 1.14
};
inline constexpr uint32_t kSectionKinds = 17;  // 1 + the last one
inline constexpr uint32_t kMaxSections = 16;

struct Section {
  uint32_t kind;           // SectionKind; a reader skips kinds that it does not know
  uint32_t element_bytes;  // stride; a reader accepts a larger one (a newer minor version)
  uint64_t offset;         // from the start of the file, a multiple of 64
  uint64_t capacity;       // elements
  uint64_t used;  // elements ever allocated, from the front; may exceed capacity (see lost)
  uint64_t lost;  // number of allocations that failed because no element was left
};
static_assert(sizeof(Section) == 40);

enum class Flavor : uint32_t {
  kUnknown = 0,
  kOpenMpi = 1,
  kMpich = 2,           // MPICH's ABI: MPICH, Intel MPI, MVAPICH, Cray
  kMpiStandardAbi = 3,  // MPI 5.0
};

// The phase that the process has reached. Never decreases.
enum class Phase : uint64_t {
  kStarting = 0,    // the file exists; initialisation entered
  kRunning = 1,     // MPI_Init returned, or the first communicator exists
  kFinalizing = 2,  // MPI_Finalize entered
  kFinalized = 3,   // MPI_Finalize returned
};

// How the process is about to exit, as it recorded itself. Written only by the process whose pid is
// in the header.
enum class ExitMark : uint64_t {
  kNone = 0,
  kExit = 1,       // exit() or return from main
  kQuickExit = 2,  // _exit(), _Exit(), quick_exit()
  kMpiAbort = 3,   // MPI_Abort entered
};

// The language of an uncaught exception.
enum class ExceptionKind : uint64_t {
  kNone = 0,
  kPython = 1,     // recorded before the interpreter shuts down
  kCPlusPlus = 2,  // recorded in abort() if an exception was being handled; it came from
                   // std::terminate if the call path shows that
};

// Whether the frames of the process' Python interpreter are recorded.
enum class PythonState : uint32_t {
  kAbsent = 0,     // no interpreter was found
  kUnchecked = 1,  // found; its frames have not yet been compared with those that its API returns
  kOn = 2,         // compared and equal: call paths hold Python frames
  kOff = 3,        // not recorded, for the reason in python_off
};
enum class PythonOff : uint32_t {
  kNone = 0,
  kAsked = 1,       // switched off by the environment
  kVersion = 2,     // the layout of this version is unknown
  kBuild = 3,       // free-threaded, debug, or not CPython
  kDiffers = 4,     // the frames read differ from those that the API returns
  kFinalizing = 5,  // Py_Finalize was called
  kNoMemory = 6,
};

// Unit of every *_ticks field.
enum class Clock : uint64_t {
  kMonotonicNs = 0,  // CLOCK_MONOTONIC, nanoseconds
  kTsc = 1,          // x86 invariant time-stamp counter; its rate follows from the anchors
};

struct ClockAnchor {
  uint64_t ticks;
  uint64_t monotonic_ns;  // CLOCK_MONOTONIC at the same moment
  uint64_t realtime_ns;   // CLOCK_REALTIME at the same moment
};

struct FileHeader {
  char magic[8];
  uint32_t byte_order;
  uint16_t version_major;
  uint16_t version_minor;
  uint32_t header_bytes;
  uint32_t section_count;
  uint64_t file_bytes;
  uint64_t process_id_random[2];  // new after each exec(), which keeps pid and start time
  uint32_t pid;                   // in the writer's own pid namespace
  uint32_t uid;
  uint64_t process_start_ticks;  // /proc/self/stat field 22, clock ticks since boot
  uint64_t job_key;              // hash of the launcher's job identifier; equal on all ranks
  int32_t world_rank;            // -1 until known
  int32_t world_size;            // -1 until known
  uint32_t flavor;               // Flavor
  uint32_t thread_level;         // provided MPI_THREAD_* level as 0..3; 0xffffffff until known
  uint64_t clock;                // Clock
  ClockAnchor first_anchor;      // taken when the file was created
  uint64_t last_anchor_lock;     // odd while last_anchor is being written
  ClockAnchor last_anchor;       // refreshed periodically; the rate is (last-first)/(last-first)
  uint64_t phase;                // Phase
  uint64_t phase_ticks;          // when phase last changed
  uint64_t exit_mark;            // ExitMark; stored last of these four
  // The argument of exit() or MPI_Abort. While exit_mark is kNone, this field and the next two
  // describe the last error that MPI reported: its code, time and call path.
  uint64_t exit_status;
  uint64_t exit_ticks;
  uint64_t exit_call_path;      // of the exit or abort; 0 if none was recorded
  uint64_t errors_seen;         // MPI calls that returned an error
  uint64_t last_error_class;    // MPI's class of the last of these errors
  uint64_t threads_unrecorded;  // threads without a ring because there was no room
  uint64_t stacks;              // 1 if call paths are recorded
  char host[64];                // NUL-terminated, like all arrays below
  char executable[256];
  char command[512];          // argv joined by spaces, truncated
  char library[128];          // first line of MPI_Get_library_version, truncated
  char cgroup[256];           // cgroup v2 path from /proc/self/cgroup, for the OOM count
  uint64_t calls_unrecorded;  // calls by signal handlers while a record was being written
  uint32_t python_version;    // PY_VERSION_HEX of the interpreter; 0 if there is none
  uint32_t python_state;      // PythonState
  uint32_t python_off;        // PythonOff
  uint32_t reserved0;
  uint64_t python_unreadable;    // requested Python stacks that could not be read
  uint64_t calls_captured;       // total NCCL calls captured into CUDA graphs (kCaptured)
  uint64_t exception;            // ExceptionKind; written after the four below
  uint32_t exception_type;       // StringRef: as in a traceback; for C++, the name in type_info
  uint32_t exception_message;    // StringRef: first line of the message; 0: none, or unknown
  uint64_t exception_call_path;  // where it was raised
  uint64_t exception_ticks;      // when it was recorded
  uint64_t pid_namespace;        // inode of /proc/self/ns/pid, the namespace of pid; 0: unknown
  uint64_t user_phase_lock;      // odd while the text below is being written
  // The text that the program passed to rollcall_phase() last (rollcall.h); empty if there is none.
  char user_phase[kUserPhaseBytes];
  uint8_t reserved[1664];
  Section sections[kMaxSections];
};
static_assert(offsetof(FileHeader, world_rank) == 72);
static_assert(offsetof(FileHeader, first_anchor) == 96);
static_assert(offsetof(FileHeader, phase) == 152);
static_assert(offsetof(FileHeader, host) == 232);
static_assert(offsetof(FileHeader, user_phase) == 1536);
static_assert(offsetof(FileHeader, sections) == 4096 - kMaxSections * sizeof(Section));
static_assert(sizeof(FileHeader) == 4096);

// ---------------------------------------------------------------------------------------------------
// Records: one per call, written at entry and never changed; 16 words
// ---------------------------------------------------------------------------------------------------

enum RecordFlag : uint16_t {
  kSendInPlace = 1 << 0,  // MPI_IN_PLACE as the send buffer
  kRecvInPlace = 1 << 1,  // MPI_IN_PLACE as the receive buffer
  kIntercomm = 1 << 2,    // on an intercommunicator; root may be kRootSelf or kRootNone
  kConcurrent = 1 << 3,   // another thread was inside a collective of the same communicator
  kUnknownComm = 1 << 4,  // the communicator is not in the table: member is 0
  kCountsCut = 1 << 5,    // the count arrays were too long: only their hash is recorded
  kPolling = 1 << 6,      // the thread polls (Test, Iprobe): counted in ThreadEntry::polls
  kNotMainThread = 1 << 7,
  kNested = 1 << 8,       // called by a user callback inside another MPI call
  kProcNull = 1 << 9,     // the peer is MPI_PROC_NULL
  kSecondPart = 1 << 10,  // Sendrecv: peer2 and tag2 are significant
  kCaptured = 1 << 11,    // captured into a CUDA graph: on no stream until the graph is launched
  // In an error record: the call was rejected because of its arguments. It did not take part, and
  // its sequence number is reused.
  kRejected = 1 << 12,
  kNullComm = 1 << 13,   // with kUnknownComm: the communicator is MPI_COMM_NULL
  kCancelled = 1 << 14,  // in an OpenRequest: MPI_Cancel was called since the last start
};

// Values of root_or_peer that are not ranks. They do not depend on the MPI library.
inline constexpr int32_t kNoPeer = -1000;     // the operation has no root or peer
inline constexpr int32_t kAnySource = -1001;  // MPI_ANY_SOURCE
inline constexpr int32_t kProcNullPeer = -1002;
inline constexpr int32_t kRootSelf = -1003;  // MPI_ROOT
inline constexpr int32_t kRootNone = -1004;  // MPI_PROC_NULL as an intercommunicator's root
inline constexpr int32_t kAnyTag = -1005;
inline constexpr int32_t kNoTag = -1006;

struct Record {
  uint64_t lock;            // 2i+1 while record i is being written, 2i+2 when it is complete
  uint64_t start_ticks;     // entry
  uint64_t prev_end_ticks;  // end of this thread's previous call, 0 if none or unknown
  uint16_t operation;       // proto/functions.def
  uint16_t flags;           // RecordFlag
  uint32_t member;          // Member::uid; 0 if the call has no communicator
  uint64_t sequence;        // collectives: number on the communicator, from 1; else 0
  uint64_t semantic_hash;   // of the arguments that must be equal on all ranks; 0 if not collective
  uint64_t send_count;      // as passed, in elements; a negative count in two's complement
  uint64_t recv_count;
  uint64_t send_signature;  // of send_count elements (proto/signature.h); 0 if not significant
  uint64_t recv_signature;
  int32_t root_or_peer;  // root, destination or source
  int32_t tag;
  uint16_t send_datatype;  // index: < 256 BasicType, else Datatype[index - 256]
  uint16_t recv_datatype;
  uint16_t reduce_op;      // ReduceOp
  uint16_t continuations;  // number of Continuation records directly before this one
  uint32_t call_path;      // word index into kCallPaths; 0 if none
  uint32_t context_path;   // another thread's stack as context; 0 if none
  uint64_t request;        // uid of the request made, started or waited for; 0 if none
  // For an operation on a device: `request` numbers the process' device operations, `detail` is the
  // launch (the same for all operations of a group), `detail2` is the handle of the stream.
  // For other operations:
  //   split                             color << 32 | key
  //   error                             the error's class
  //   Waitall, Startall                 number of requests
  //   Start of a persistent collective  sequence number of its init << 32 | number of the start
  //   send                              1 + number of earlier sends to the same peer with its tag
  //   Pready                            first partition << 32 | last partition
  //   torch.distributed                 number of the bucket that DDP reduces, from 1 in each
  //                                     backward pass; or kDuringUnreducedBackward
  uint64_t detail;
  // For other operations:
  //   Sendrecv                          source << 32 | recvtag
  //   error                             the operation that failed
  //   Psend_init, Precv_init            number of partitions; in an OpenRequest also, << 32, the
  //                                     number of partitions marked ready since the last start
  uint64_t detail2;
};
// Record::detail of a collective of torch.distributed that the program called, not DDP, while a
// backward pass of DDP has begun and has not reduced all its buckets.
inline constexpr uint64_t kDuringUnreducedBackward = uint64_t{1} << 63;
static_assert(sizeof(Record) == 128);
static_assert(offsetof(Record, operation) == 24);
static_assert(offsetof(Record, root_or_peer) == 80);
static_assert(offsetof(Record, call_path) == 96);

// Holds a part of a count array of a v- or w-collective. An array takes as many slots as it needs,
// directly before the Record of its call. operation is kContinuation. Array 0 is for sends, 1 for
// receives.
inline constexpr uint16_t kContinuation = 0xffff;
inline constexpr uint32_t kContinuationValues = 12;
// Arrays of calls with more values than this are not recorded (kCountsCut).
inline constexpr uint32_t kMaxCountValues = 4096;
struct Continuation {
  uint64_t lock;
  uint64_t reserved;
  uint16_t reserved2;
  uint16_t reserved3;
  uint32_t value_count;  // number of significant entries in values[]
  uint16_t operation;    // kContinuation, at the same offset as Record::operation
  uint16_t array;        // 0 send counts, 1 receive counts
  uint32_t first;        // index of values[0] in the array
  uint64_t values[kContinuationValues];
};
static_assert(sizeof(Continuation) == sizeof(Record));
static_assert(offsetof(Continuation, operation) == offsetof(Record, operation));

// ---------------------------------------------------------------------------------------------------
// Tables: open calls and requests are never overwritten
// ---------------------------------------------------------------------------------------------------

enum RingKind : uint32_t { kCollectiveRing = 0, kP2pRing = 1, kRingKinds = 2 };
inline constexpr uint32_t kMaxNesting = 4;

// The last unsuccessful poll of a thread (Test, Iprobe and the like): polling counts as waiting.
// Rewritten when the thread polls for something else, and every 4096 polls. The thread is still
// polling if ThreadEntry::polls grows.
struct Polling {
  uint64_t lock;         // odd while being written; 0: never polled
  uint64_t since_ticks;  // when the first unsuccessful poll of this kind was made
  uint64_t since_polls;  // ThreadEntry::polls at that time
  uint16_t operation;
  // The share of recent time spent inside unsuccessful polls (EncodeShare). Written separately,
  // without the lock.
  uint16_t inside;
  uint32_t member;  // 0 if the call has no communicator
  int32_t peer;     // like Record::root_or_peer
  int32_t tag;
  uint64_t request;  // uid of the (first) request polled, 0 if none is known
  uint32_t call_path;
  uint32_t requests;  // number of requests polled
};
static_assert(sizeof(Polling) == 56);

// Encodes a share of 0 to 1 as 1 to 65535. 0 stands for an unknown share and is decoded as 0.
constexpr uint16_t EncodeShare(double share) {
  return static_cast<uint16_t>(1 + (share >= 1 ? 65534 : share * 65534));
}
constexpr double DecodeShare(uint16_t encoded) {
  return encoded == 0 ? 0 : (encoded - 1) / 65534.0;
}
static_assert(EncodeShare(2) == UINT16_MAX && DecodeShare(UINT16_MAX) == 1);

// A call in flight. record.lock is 0 when the entry is free and odd while record is being written.
// Otherwise it is the lock of the call's record in the ring, or 2 for a local call, which is in no
// ring.
struct OpenCall {
  Record record;
};

enum class ThreadState : uint32_t { kFree = 0, kLive = 1, kEnded = 2 };

struct ThreadEntry {
  uint32_t tid;
  uint32_t state;           // ThreadState
  uint64_t flags;           // bit 0: the thread that called MPI_Init
  uint64_t ring_first[2];   // by RingKind: index of the ring's first slot in kRings
  uint64_t ring_slots[2];   // a power of two, 0 if none
  uint64_t ring_head[2];    // total records written; the next index
  uint64_t polls;           // total unsuccessful polls (Test, Iprobe and the like)
  uint64_t calls_ended;     // total calls that returned
  uint64_t last_end_ticks;  // when the last call returned
  uint64_t depth;           // open calls; may exceed kMaxNesting. open[depth] and later are stale
  uint64_t incarnation;     // incremented when the entry of an ended thread is reused
  char name[16];
  Polling polling;
  uint64_t nccl_group;       // nesting depth of open ncclGroupStart << 32 | operations in the group
  uint64_t nccl_group_path;  // call path of the outermost ncclGroupStart
  OpenCall open[kMaxNesting];
};
static_assert(sizeof(ThreadEntry) == 192 + 512);
static_assert(offsetof(ThreadEntry, open) == 192);

struct Checkpoint {
  uint64_t sequence;       // 0 while being written; else the hashes include calls 1 to this number
  uint64_t semantic_hash;  // rolling hash of Record::semantic_hash 1..sequence
  uint64_t path_hash;      // rolling hash of portable call-path hashes; never proves a fault
};

enum class MemberState : uint32_t { kFree = 0, kLive = 1, kFreed = 2 };
enum MemberFlag : uint32_t {
  kIsWorld = 1 << 0,
  kIsSelf = 1 << 1,
  kIsInter = 1 << 2,
  kIsCartesian = 1 << 3,
  kIsGraph = 1 << 4,
  kIsDistGraph = 1 << 5,
  kIsWindow = 1 << 6,
  kIsFile = 1 << 7,
  kIsNccl = 1 << 8,
  kSawConcurrency = 1 << 9,  // two threads were in its collectives at once: the order is uncertain
  kWeakIdentity = 1 << 10,   // spawn, connect, join: the key is not equal by construction
  kIsC10d = 1 << 11,         // a process group of torch.distributed (1.13)
};

inline constexpr uint32_t kRecentCheckpoints = 8;    // [k]: the latest at a multiple of 4^k
inline constexpr uint32_t kHistoryCheckpoints = 16;  // evenly spaced since 1, stride doubling

// The process as a member of one communicator (or window, file). `lock` guards the identity fields;
// each other field is a single word.
struct Member {
  uint64_t lock;   // odd while identity is being written
  uint32_t uid;    // from 1, never reused within a process
  uint32_t state;  // MemberState
  uint64_t key;    // equal on all members of the communicator, by construction
  uint64_t parent_key;
  uint64_t parent_sequence;  // number of the creating call on the parent
  uint16_t creating_operation;
  uint16_t device;      // NCCL: 1 + number of its CUDA device; 0: unknown
  uint32_t flags;       // MemberFlag
  int32_t rank;         // this process' rank in the communicator (its local group)
  int32_t size;         // of the local group
  int32_t remote_size;  // of the remote group; 0 for an intracommunicator
  uint32_t name;        // StringRef; 0 if not named
  uint32_t ranks;       // RankList of world ranks (ncclCommShrink: parent's ranks); 0 if unknown
  uint32_t remote_ranks;
  uint32_t neighbors_in;  // RankList of the topology's sources, in communicator ranks
  uint32_t neighbors_out;
  uint64_t created_ticks;
  uint64_t entered;    // collectives entered except rejected ones; the last sequence number
  uint64_t completed;  // collectives completed
  uint64_t in_flight;  // blocking collectives now open
  uint64_t history_stride;
  uint64_t freed_ticks;
  uint64_t stopped_launch;  // NCCL: launches up to this one were aborted or revoked; 0: none
  uint64_t rejected;        // total rejected collectives (kRejected)
  uint64_t reserved[5];
  Checkpoint recent[kRecentCheckpoints];
  Checkpoint history[kHistoryCheckpoints];
};
static_assert(offsetof(Member, entered) == 88);
static_assert(offsetof(Member, recent) == 184);
static_assert(sizeof(Member) == 184 + 24 * 24);

enum class RequestState : uint32_t {
  kFree = 0,
  kActive = 1,    // started, not known to be complete
  kInactive = 2,  // persistent, not started
  kDone = 3,      // complete; persistent, or not yet freed
};

struct OpenRequest {
  uint64_t lock;    // odd while the entry is being written
  uint64_t uid;     // from 1
  uint32_t state;   // RequestState
  uint32_t waiter;  // 1 + index of the thread that is in a Wait for it; 0 if none
  uint64_t starts;  // persistent: number of starts
  Record record;    // of the call that created it (or last started it)
};
static_assert(sizeof(OpenRequest) == 160);

// Numbers of messages per (communicator, peer, tag), so that a missing message can be detected even
// after its record has been overwritten.
//
// Two sorts of messages are counted under kAnySource or kAnyTag: receives whose status the program
// ignored, and messages of a peer for whose tags the table had no more room.
enum ChannelFlag : uint32_t {
  // A receive ended without being counted (Request_free, an error): `received` may be too low.
  kReceivesUnseen = 1 << 0,
};
struct Channel {
  uint32_t member;    // uid; 0 when free
  int32_t peer;       // rank in the communicator (in its remote group), or kAnySource
  int32_t tag;        // or kAnyTag
  uint32_t flags;     // ChannelFlag
  uint64_t sent;      // sends entered; persistent and partitioned ones when started
  uint64_t received;  // receives completed; source and tag as in the status
};
static_assert(sizeof(Channel) == 32);

// Numbers of messages per (communicator, peer), over all tags: those in channels and those for
// which there was no channel. At most one entry for each pair. An entry is never removed, and its
// counters are incremented before those of the channel.
struct PeerCount {
  uint32_t member;    // uid; 0 when free
  int32_t peer;       // as Channel::peer
  uint32_t flags;     // ChannelFlag
  uint32_t reserved;  // 0
  uint64_t sent;      // as Channel::sent
  uint64_t received;  // as Channel::received
};
static_assert(offsetof(PeerCount, sent) == 16);
static_assert(sizeof(PeerCount) == 32);

// How GpuProgress::completed is determined.
enum class CompletionSource : uint32_t {
  kNone = 0,   // it is not determined: the field is 0 and has no meaning
  kWaits = 1,  // exact when the host has waited for or queried the stream and found it complete
  kMarks = 2,  // the device writes completion marks
};
// The progress of a device with one member's operations on one stream, in launches
// (Record::detail). A launch that uses several streams is entered for each.
struct GpuProgress {
  uint32_t member;     // uid
  uint32_t state;      // CompletionSource
  uint64_t stream;     // its handle
  uint64_t enqueued;   // the last launch enqueued on the stream
  uint64_t started;    // a launch observed to run there, not complete; 0: none observed
  uint64_t completed;  // every launch up to this one is complete
  uint64_t reserved[3];
};
static_assert(sizeof(GpuProgress) == 64);

// A completion mark, enqueued on a stream after a launch: the device writes `number` into `written`
// when all work enqueued before the mark is complete. Until then the mark is outstanding. The host
// writes all fields except `written`, only while the mark is not outstanding, and with an odd
// lock.
struct Mark {
  uint64_t lock;     // odd while the host writes
  uint64_t launch;   // the launch before the mark (Record::detail)
  uint64_t stream;   // as in GpuProgress
  uint32_t member;   // uid; 0: never used
  uint32_t number;   // increases with each mark of the process
  uint32_t written;  // by the device only
  uint32_t reserved0;
  uint64_t reserved[3];
};
static_assert(sizeof(Mark) == 64);
static_assert(offsetof(Mark, written) == 32);

// ---------------------------------------------------------------------------------------------------
// The data of collectives (docs/data.md)
// ---------------------------------------------------------------------------------------------------
//
// A buffer is read as the sequence of its bytes in the order of its type map, without gaps. The
// sequence is cut into words of 8 bytes (little-endian; the last word is padded with zeros). Two
// buffers with equal type signatures therefore have equal words if and only if their data is equal,
// whatever their memory layout.

enum class DataSide : uint16_t {
  kInput = 1,         // the data that the process passed, when the call (or start) was entered
  kResult = 2,        // the data in the receive buffer, when the call was known to be complete
  kInputBlocks = 3,   // DataBlocks: the data that is sent to each member
  kResultBlocks = 4,  // DataBlocks: the data that was received from each member
  kReplica = 5,       // a buffer passed to rollcall_replica() (rollcall.h)
};

// How a buffer was read, or why it was not.
enum class DataReading : uint16_t {
  kNone = 0,
  kWhole = 1,
  kSampled = 2,  // the words that SampledWord() selects
  // The next two: the buffer was not read, and the fields after `reading` are not significant.
  kDevice = 3,  // it is, or may be, memory of a device
  kLayout = 4,  // the type map is unknown, or has too many parts
};

// The mode `sampled` reads all words of a buffer of at most this many words, and this many words of
// a larger buffer. Where n members exchange blocks, it reads SampleOf(n) words of each block and of
// each buffer that is compared with a block.
inline constexpr uint64_t kSampledWords = 64;
constexpr uint64_t SampleOf(uint64_t members) {
  return members >= kSampledWords ? 1 : kSampledWords / members;
}
// Returns the index of the k-th word that is read, if `sample` of `words` words are read and
// `words` > `sample`. The indexes are evenly spread and equal on all members. They depend on the
// sequence number, so that successive calls read other words and together cover the buffer.
constexpr uint64_t SampledWord(uint64_t words, uint64_t sample, uint64_t sequence, uint64_t k) {
  const uint64_t stride = words / sample;
  return k * stride + sequence * 0x9e3779b97f4a7c15u % stride;
}

// The contents of DataRecord::pieces.
enum class DataPieces : uint16_t {
  kNone = 0,
  kWords = 1,  // the words that were read; there are at most kDataPieces
  // Hashes (HashFingerprint, proto/data_words.h) of consecutive parts of data that was read whole.
  // Each part has ceil(words / kDataPieces) words; the last may have fewer. Inputs of reductions
  // have no parts.
  kParts = 2,
};
inline constexpr uint32_t kDataPieces = 8;

// One buffer of a call. The section is a ring buffer: record i, counted from 0, is in slot i %
// capacity. Its lock is 2i+1 while it is being written and 2i+2 afterwards. Section::used is the
// number of records ever written.
struct DataRecord {
  uint64_t lock;
  uint64_t sequence;    // as Record::sequence; a replica: number of the call with this name
  uint64_t ticks;       // when it was read; an input: when the call (persistent: the start) began
  uint32_t member;      // Member::uid; a replica: 0
  uint32_t start;       // persistent collective: number of the start, from 1; else 0
  uint16_t side;        // DataSide
  uint16_t reading;     // DataReading
  uint16_t type_class;  // TypeClass of all elements (proto/datatypes.h); 0: several, or unknown
  uint16_t distinct;    // different values among the words read, counted up to kMaxDistinct
  uint32_t call_path;   // of the call (persistent: of the start), as in Record
  uint32_t name;        // a replica: StringRef
  uint64_t bytes;       // of data
  uint64_t words;       // words read; ceil(bytes / 8) if the buffer was read whole
  // Sums over the words that were read, w(1) to w(words), modulo 2^64. If one word differs between
  // two buffers by d, then `sum` differs by d and `weighted_sum` by d times the word's index.
  uint64_t sum;              // of w(j)
  uint64_t weighted_sum;     // of j * w(j)
  uint64_t squared_sum;      // of j * j * w(j)
  uint64_t exclusive;        // exclusive or of w(j)
  uint32_t nans;             // elements that are NaN; 0 for types that are not scanned
  uint32_t infinities;       // elements that are infinite
  uint64_t non_finite;       // index of the first NaN or infinity, in basic elements of the buffer
  uint64_t non_finite_bits;  // the bits of that element
  uint16_t piece_kind;       // DataPieces
  uint16_t reserved0;
  uint32_t reserved1;
  uint64_t pieces[kDataPieces];
};
static_assert(sizeof(DataRecord) == 192);
inline constexpr uint16_t kMaxDistinct = 9;

// The blocks of a buffer that the members exchange: one hash (HashFingerprint) for each member.
// They take as many slots as needed. Communicators of more than kMaxDataBlocks members have no such
// records.
inline constexpr uint32_t kMaxDataBlocks = 64;
inline constexpr uint32_t kDataBlocksPerRecord = 17;
struct DataBlocks {
  uint64_t lock;
  uint64_t sequence;
  uint64_t ticks;
  uint32_t member;
  uint32_t start;
  uint16_t side;     // DataSide::kInputBlocks or kResultBlocks
  uint16_t reading;  // DataReading: kWhole or kSampled
  uint16_t first;    // the rank of hashes[0]
  uint16_t count;    // significant entries of hashes[]
  uint64_t reserved[2];
  uint64_t hashes[kDataBlocksPerRecord];  // of data of 0 bytes: 0
};
static_assert(sizeof(DataBlocks) == sizeof(DataRecord));
static_assert(offsetof(DataBlocks, side) == offsetof(DataRecord, side));

// The first buffer of a reduction in which a NaN or an infinity was read. An infinity does not
// count in MPI_MAX and MPI_MIN, whose neutral element it is.
struct NonFinite {
  uint64_t sequence;  // of the call; 0: none
  uint64_t ticks;
  uint16_t operation;
  uint16_t reduce_op;
  uint16_t datatype;
  uint16_t reading;    // DataReading
  uint32_t start;      // as in DataRecord
  uint32_t call_path;  // as in DataRecord
  uint64_t count;      // elements of `datatype`
  uint64_t element;    // as DataRecord::non_finite
  uint64_t bits;       // as DataRecord::non_finite_bits
  uint32_t nans;
  uint32_t infinities;
};
static_assert(sizeof(NonFinite) == 64);

// A hash of the first `results` results of a communicator. Only results that are equal on all
// members count: those of Bcast, Allgather, Allgatherv, and Allreduce with a predefined reduction.
// A checkpoint is taken when all calls that were entered are complete. [k] is the latest checkpoint
// at a multiple of 4^k results.
struct DataCheckpoint {
  uint64_t results;  // 0 while being written
  uint64_t hash;     // a sum over the results, because they complete in any order
};
inline constexpr uint32_t kDataCheckpoints = 8;

// Why buffers of a member were not read: bits of DataMember::unread_why.
enum class Unread : uint32_t {
  // The entry belonged to another member before, which had a NaN or an infinity. This reason adds
  // one to `unread`, so that no later NaN counts as the first one of the process.
  kEntryReused = 1,
  kDevice = 2,    // DataReading::kDevice
  kLayout = 4,    // DataReading::kLayout, or blocks that are received into overlapping places
  kRequests = 8,  // the request had no place in kOpenRequests
  kThreads = 16,  // FileHeader::threads_unrecorded
  kAtOnce = 32,   // two threads, or a signal handler and its thread, would have written at once
};

// Facts about a member's data since the start of the job. Never overwritten while the member lives.
struct DataMember {
  uint64_t lock;        // odd while it is being written
  uint32_t uid;         // Member::uid; 0: nothing was read
  uint32_t unread_why;  // Unread, of what is counted in `unread`; 0 before 1.10
  // Numbers of buffers that were read and that were not read. These two fields, `unread_why` and
  // `outside` also cover the members that had this entry before (1.10).
  uint64_t read;
  uint64_t unread;  // also each call that is counted in `outside`
  NonFinite input;
  NonFinite result;
  DataCheckpoint recent[kDataCheckpoints];
  uint64_t outside;  // calls outside ROLLCALL_DATA_SCOPE (1.10)
};
static_assert(sizeof(DataMember) == 296);

// ---------------------------------------------------------------------------------------------------
// The values that the program recorded (docs/values.md)
// ---------------------------------------------------------------------------------------------------

// How RecordedValue::bits are read.
enum class ValueType : uint16_t {
  kNone = 0,
  kSigned = 1,    // a 64-bit integer in two's complement
  kUnsigned = 2,  // a 64-bit integer
  kFloat = 3,     // an IEEE 754 double
  kHash = 4,      // a hash of bytes and of their number
};

// One call of rollcall_value().
struct RecordedValue {
  uint64_t bits;
  uint64_t ticks;
  uint32_t call_path;  // as in Record
  uint16_t type;       // ValueType; kNone: no value has been stored here
  uint16_t reserved;
};
static_assert(sizeof(RecordedValue) == 24);

// The last values with one name. Entries are never freed. Value n, counted from 1, is in
// recent[(n - 1) % kRecentValues].
inline constexpr uint32_t kRecentValues = 8;
inline constexpr uint32_t kValueNameBytes = 63;  // the significant bytes of a name
struct NamedValues {
  uint64_t lock;   // odd while it is being written; 0: not in use
  uint64_t count;  // values ever passed with this name
  uint32_t name;   // StringRef
  uint32_t reserved0;
  RecordedValue recent[kRecentValues];
};
static_assert(sizeof(NamedValues) == 216);

struct Module {
  uint64_t start;  // lowest mapped address
  uint64_t end;
  uint64_t bias;  // run-time address minus ELF virtual address
  uint32_t path;  // StringRef
  uint8_t build_id_bytes;
  uint8_t build_id[35];
};
static_assert(sizeof(Module) == 64);

// A derived datatype as first used. The signature is that of one element (proto/signature.h).
struct Datatype {
  uint64_t signature;
  uint64_t basics;  // basic elements in one element
  uint64_t bytes;   // MPI_Type_size
  uint32_t basic;   // BasicType if it is the same for all, else 0
  uint32_t name;    // StringRef
};
static_assert(sizeof(Datatype) == 32);

// A StringRef is a byte offset into kStrings (0: none) of a uint32_t length and that many bytes.
// A RankList is a StringRef whose bytes are RankRun[].
struct RankRun {
  int32_t first;
  int32_t stride;
  uint32_t count;
};
static_assert(sizeof(RankRun) == 12);

// A call path: this header, then `depth` words of native frames, then `python_depth` words of
// Python frames, both innermost first. A native frame is 1 + Module index in the upper 16 bits and
// the ELF virtual address of the *return address* in the lower 48; index 0 is an address outside
// every module. A Python frame's word has the bits below. The n-th Python frame with the entry bit
// (kPythonFrameEntry) ends the run of frames that the n-th native frame of the interpreter's loop
// (_PyEval_EvalFrameDefault) executes.
struct CallPathHeader {
  uint64_t portable_hash;  // of build ids and offsets, file names and lines: equal on ranks that
                           // run the same files
  uint16_t depth;
  uint8_t end;  // StackEnd: why the stack walk ended
  uint8_t flags;
  uint16_t python_depth;
  uint8_t python_end;  // PythonEnd: why the Python frames end
  uint8_t reserved;
};
static_assert(sizeof(CallPathHeader) == 16);
inline constexpr uint32_t kFrameModuleShift = 48;

// The bits of a Python frame's word.
inline constexpr uint32_t kPythonFrameCodeShift = 32;  // upper: 1 + PythonCode index; 0: no room
inline constexpr uint64_t kPythonFrameEntry = uint64_t{1} << 31;
// Lower bits: offset of the current instruction, in bytes from the start of the bytecode.
inline constexpr uint64_t kPythonFrameOffsetMask = (uint64_t{1} << 31) - 1;
inline constexpr uint64_t kPythonFrameNoOffset = kPythonFrameOffsetMask;  // not started yet

// A code object as first seen. The line table maps instruction offsets to lines, in the
// interpreter's own encoding (Objects/lnotab_notes.txt for 3.8 to 3.10, Objects/locations.md or
// InternalDocs/code_objects.md from 3.11).
struct PythonCode {
  uint64_t portable_hash;  // of the contents of the fields below; written last, 0: incomplete
  uint32_t file;           // StringRef, as co_filename
  uint32_t name;           // StringRef: co_qualname from 3.11 on, co_name before
  uint32_t line_table;     // StringRef: co_lnotab to 3.9, co_linetable from 3.10; 0: not kept
  uint32_t first_line;     // co_firstlineno
  uint32_t version;        // of the interpreter: major << 8 | minor
  uint32_t reserved;
};
static_assert(sizeof(PythonCode) == 32);

// Why the Python frames of a call path end where they do.
enum class PythonEnd : uint8_t {
  kNone = 0,        // no interpreter in the process, or a file of version 1.0
  kComplete = 1,    // the thread's outermost Python frame is included
  kDepthLimit = 2,  // there are further frames
  kNoFrames = 3,    // a thread without Python, started by native code (Record::context_path)
  kOff = 4,         // switched off: FileHeader::python_off
  kUnchecked = 5,   // the interpreter's layout had not been checked yet
  kUnreadable = 6,  // the chain of frames is damaged, or the interpreter is shutting down
};

// Why a call path, or a live stack, ends where it does. Verdicts rest on complete stacks only.
enum class StackEnd : uint8_t {
  kNone = 0,             // nothing was captured
  kComplete = 1,         // the unwind tables mark the outermost frame (_start, a thread's start)
  kDepthLimit = 2,       // there are further frames
  kNoUnwindInfo = 3,     // an address without unwind info (JIT code, hand-written assembly)
  kUnsupportedRule = 4,  // unwind info that is damaged or too complex for a cached rule
  kBadFrame = 5,         // the next frame is unreadable, unaligned or not above the previous one
  kForeignStack = 6,     // not on the thread's own stack (coroutine, sigaltstack)
  kUnsupportedArch = 7,  // no stack walker for this architecture
  kInterrupted = 8,      // a capture inside a capture (in a signal handler) had to stop
  kOff = 9,              // stacks are switched off
  kNoRoom = 10,          // the call-path table is full
};

}  // namespace rollcall::ring

#endif  // ROLLCALL_PROTO_RING_FORMAT_H_
