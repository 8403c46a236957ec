// What an MPI library's own objects say of the call that a thread stands in: more than its stack.
#ifndef ROLLCALL_COLLECTOR_LIVE_LIBRARY_CALL_H_
#define ROLLCALL_COLLECTOR_LIVE_LIBRARY_CALL_H_

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/live/process_image.h"
#include "collector/live/unwinder.h"

namespace rollcall {

struct LibraryCall {
  // The library's name of the communicator, the same on all of its members: "MPI_COMM_WORLD",
  // "MPI COMMUNICATOR 4 DUP FROM 0", "context id 0x1f0". Empty: unknown.
  std::string communicator;
  // Its members' ranks in MPI_COMM_WORLD, rising: the first and the last of each run. Empty:
  // unknown.
  std::vector<int32_t> member_runs;
  // In MPI_Wait or the like: it waits for a request of a nonblocking or persistent collective.
  bool of_collective = false;
  // The rank in MPI_COMM_WORLD of the one whose message, or whose receive, it waits for now; -1:
  // unknown. In a collective, that is one of the messages the collective is made of.
  int32_t awaited = -1;

  bool HasMember(int32_t rank) const;
};

// Of two looks at one call: what either of them knows. False if they contradict each other.
bool Merge(const LibraryCall& other, LibraryCall* call);

// A frame of a stack, as far as it is looked at.
struct CallFrame {
  FrameRegisters registers;
  std::string_view function;  // empty: unknown
  std::string_view module;    // path
};

// What `frame` has put into the registers that it must preserve, since its caller called it: what
// it works with. The caller's own may be anything.
std::set<uint64_t> ChangedRegisters(const CallFrame& frame, const CallFrame& caller);

// `frames`: innermost first, the function of MPI that was called last, and then its caller. None if
// the library is not known, or tells nothing. Reads memory of the process, which may run on: what
// is read is checked. `file_root`: see FindExports(). `world_size`: -1 if unknown.
std::optional<LibraryCall> ReadLibraryCall(const ProcessImage& image, const std::string& file_root,
                                           std::span<const CallFrame> frames, int32_t world_size);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_LIBRARY_CALL_H_
