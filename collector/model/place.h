// SPDX-License-Identifier: Apache-2.0
// The place of a rank whose calls are not recorded, from its stacks and from the objects of its MPI
// library. Plain data.
#ifndef ROLLCALL_COLLECTOR_MODEL_PLACE_H_
#define ROLLCALL_COLLECTOR_MODEL_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/source_frame.h"
#include "proto/operations.h"

namespace rollcall {

// What a frame shows about a thread, in order of precedence: a thread that waits in MPI_Barrier
// also reads a socket in an inner frame, and a thread that exits may be in MPI_Finalize.
enum class FrameMeaning : uint8_t {
  kExit,        // the process is exiting
  kMpi,         // inside a function of MPI
  kTorch,       // inside a collective of torch.distributed
  kNccl,        // inside a function of NCCL
  kRendezvous,  // the ranks connect to each other
  kDevice,      // waits for a device
  kLoader,      // waits for a data loader's queue
  kGil,         // waits for Python's global interpreter lock
  kLock,        // waits for a lock, a condition variable, another thread
  kSleep,
  kIo,    // reads or writes a file, pipe or socket, or waits for a child process
  kCode,  // none of these: presumably computing
};

// Readable text: "waiting for a lock or a thread", "reading or writing".
std::string_view MeaningText(FrameMeaning meaning);

// Whether the thread waits for other ranks.
constexpr bool WaitsForRanks(FrameMeaning meaning) {
  return meaning == FrameMeaning::kMpi || meaning == FrameMeaning::kTorch ||
         meaning == FrameMeaning::kNccl || meaning == FrameMeaning::kRendezvous;
}

struct StackMeaning {
  FrameMeaning meaning = FrameMeaning::kCode;
  // The MPI function that the thread is in. kNone: the thread is in none, or in a function that is
  // not in functions.def.
  Operation operation = Operation::kNone;
  std::string call;  // "MPI_Barrier", "torch.distributed.all_reduce", "read"; empty with kCode
  // Index of the frame that gives the meaning, the outermost one of its kind. The frames after it
  // are the caller's. -1 with kCode.
  ptrdiff_t frame = -1;
};

enum class Stillness : uint8_t {
  kAsleep,   // it did not run between the samples
  kSame,     // it ran, but its stack is unchanged, from the innermost user frame outwards
  kMoved,    // its stack has changed
  kUnknown,  // its stack could not be taken in both samples
};

// A variable that holds an int of at most 64 bits; bools are excluded.
struct PythonInteger {
  std::string name;
  int64_t value = 0;

  bool operator==(const PythonInteger&) const = default;
};

// The integers of a Python frame.
struct FrameVariables {
  SourceFrame frame;
  std::vector<PythonInteger> integers;
};

// What the objects of an MPI library show about the call that a thread is in.
struct LibraryCall {
  // The library's name for the communicator, which is the same on all of its members:
  // "MPI_COMM_WORLD", "MPI COMMUNICATOR 4 DUP FROM 0", "context id 0x1f0". Empty if unknown.
  std::string communicator;
  // The ranks of its members in MPI_COMM_WORLD, ascending: the first and the last rank of each run
  // of consecutive ranks. Empty: unknown.
  std::vector<int32_t> member_runs;
  // For MPI_Wait and similar calls: the call waits for a request of a nonblocking or persistent
  // collective.
  bool of_collective = false;
  // The rank in MPI_COMM_WORLD whose message, or whose receive, the call currently waits for; -1:
  // unknown. For a collective, this is the rank of one of the messages that the collective consists
  // of.
  int32_t awaited = -1;
  // In MPI_Waitall: further ranks for whose messages the call waits.
  std::vector<int32_t> also_awaited = {};
  // In MPI_Waitall: ranks from which the call has received a message that it waited for.
  std::vector<int32_t> answered = {};
  // The awaited message is from, or for, a process outside of MPI_COMM_WORLD.
  bool outside = false;

  bool HasMember(int32_t rank) const;
  // `awaited` and `also_awaited`, ascending, each rank once; empty if `awaited` is unknown.
  std::vector<int32_t> AllAwaited() const;
};

// A call site in a function of the stack. There is one entry for each function that is inlined at
// the site, and one for the function that holds the code.
struct NearbyCall {
  std::string callee;  // empty: unknown
  std::string function;
  std::string file;
  int line = 0;
};

struct Place {
  StackMeaning meaning;             // of one thread; the call's sequence number is unknown
  uint32_t call_path = UINT32_MAX;  // into Trace::call_paths: the caller's path, or the whole stack
  LibraryCall library;
  Stillness stillness = Stillness::kUnknown;
  bool gone = false;        // it had ended at the first sample, or by a fault
  bool ended = false;       // it ended between the samples
  bool stopped = false;     // stopped by a signal or a debugger: it will not continue by itself
  bool timed = false;       // in a timed sleep: it will continue by itself
  bool in_kernel = false;   // in an uninterruptible wait in both samples
  bool no_library = false;  // it has loaded no communication library
  bool unreadable = false;  // access is denied; the reason is in `problem`
  // Another thread of the process may act at any time, or could not be read.
  bool may_act = false;
  // The main thread waits for Python's global interpreter lock, and this is the place of another
  // thread.
  bool main_needs_gil = false;
  std::string state;    // "running", "sleeping in read"
  std::string problem;  // why its stack could not be taken
  std::string fault;    // if `gone`, from a core: "SIGSEGV", "abort()"
  // The variables of the user's Python frames that lead to the call, outermost first.
  std::vector<FrameVariables> variables;
  // If `timed`: the function that sleeps (last in the list, after the functions inlined into it),
  // and the calls that it makes.
  std::vector<SourceFrame> sleeper;
  std::vector<NearbyCall> nearby;
  // The places of processes or threads that the rank may wait for: the workers of its data loader,
  // or, if it is exiting, its threads. "process 4711 is in __getitem__ (loader.py:20)"
  std::vector<std::string> awaited;

  // Whether other ranks decide when the call returns.
  bool Waits() const;
  Kind kind() const { return FindOperation(static_cast<uint16_t>(meaning.operation)).kind; }
  bool IsStill() const { return stillness == Stillness::kAsleep || stillness == Stillness::kSame; }
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_PLACE_H_
