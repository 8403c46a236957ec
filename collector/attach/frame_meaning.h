// Derives from a stack what its thread does. Pure.
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

// In order of precedence: a thread that waits in MPI_Barrier also reads a socket in an inner frame,
// and a thread that exits may be in MPI_Finalize.
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

// Readable text: "in a lock", "reading or writing".
std::string_view MeaningText(FrameMeaning meaning);

// The thread waits there for other ranks.
constexpr bool WaitsForRanks(FrameMeaning meaning) {
  return meaning == FrameMeaning::kMpi || meaning == FrameMeaning::kTorch ||
         meaning == FrameMeaning::kNccl || meaning == FrameMeaning::kRendezvous;
}

struct StackMeaning {
  FrameMeaning meaning = FrameMeaning::kCode;
  // The MPI function that the thread is in. kNone: it is in none, or in one that is not in
  // functions.def.
  Operation operation = Operation::kNone;
  std::string call;  // "MPI_Barrier", "torch.distributed.all_reduce", "read"; empty with kCode
  // Index of the frame that gives the meaning, the outermost of its kind; the frames after it are
  // the caller's. -1 with kCode.
  ptrdiff_t frame = -1;
};

// `frames`: innermost first.
StackMeaning MeaningOf(const std::vector<const SourceFrame*>& frames);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_FRAME_MEANING_H_
