// What a thread does, by its stack. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_FRAME_MEANING_H_
#define ROLLCALL_COLLECTOR_ATTACH_FRAME_MEANING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/source_frame.h"
#include "proto/operations.h"

namespace rollcall::attach {

// In the order in which they count: a thread that waits in MPI_Barrier reads a socket somewhere
// below it, and one that ends may be in MPI_Finalize.
enum class FrameMeaning : uint8_t {
  kExit,        // the process ends
  kMpi,         // inside a function of MPI
  kTorch,       // a collective of torch.distributed
  kNccl,        // inside a function of NCCL
  kRendezvous,  // the ranks find each other
  kDevice,      // waits for a device
  kLoader,      // a data loader's queue
  kGil,         // Python's lock
  kLock,        // a lock, a condition, another thread
  kSleep,
  kIo,    // a file, a pipe, a socket, a child
  kCode,  // none of these: it computes, as far as can be seen
};

// For a person: "in a lock", "reading or writing".
std::string_view MeaningText(FrameMeaning meaning);

// Waits there for what other ranks do.
constexpr bool WaitsForRanks(FrameMeaning meaning) {
  return meaning == FrameMeaning::kMpi || meaning == FrameMeaning::kTorch ||
         meaning == FrameMeaning::kNccl || meaning == FrameMeaning::kRendezvous;
}

struct StackMeaning {
  FrameMeaning meaning = FrameMeaning::kCode;
  // The function of MPI that it is in; kNone: none, or not one of functions.def.
  Operation operation = Operation::kNone;
  std::string call;  // "MPI_Barrier", "torch.distributed.all_reduce", "read"; empty with kCode
  // The frame that says so, the outermost of its kind; the frames behind it are the caller's. With
  // kCode: none, and `frame` is -1.
  ptrdiff_t frame = -1;
};

// `frames` innermost first.
StackMeaning MeaningOf(const std::vector<const SourceFrame*>& frames);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_FRAME_MEANING_H_
