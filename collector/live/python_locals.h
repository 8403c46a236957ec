// Reads the variables of a Python frame, as far as they distinguish the iterations of a loop.
//
// Only values of ints leave the process. Strings and all other values may be secrets; they are read
// only into a hash.
#ifndef ROLLCALL_COLLECTOR_LIVE_PYTHON_LOCALS_H_
#define ROLLCALL_COLLECTOR_LIVE_PYTHON_LOCALS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collector/live/process_image.h"
#include "collector/live/python_interpreter.h"
#include "collector/model/place.h"

namespace rollcall {

struct PythonLocals {
  // In the order of the code's variables, at most kMaxPythonIntegers. For a module's frame: the
  // variables of a comprehension that runs in it, then the globals that its own code stores.
  std::vector<PythonInteger> integers;
  // Hash of the instruction, the variables, the value stack, and the objects that these refer to:
  // of each object its type and, within the first 48 bytes after the header, its own bytes; of a
  // suspended generator its frame, too. If equal in two samples, nothing that was read has changed.
  // Excludes reference counts, which other threads change. Comparable within one process only. 0:
  // it could not be read.
  //
  // If the interpreter does not show the depth of the value stack (python_layout.h, StackTop),
  // slots above its top may refer to freed objects. Then, of the objects on the stack, only
  // iterators are read: other changes there show as another object in the slot. If another thread
  // reuses the memory of an iterator that such a slot refers to, the digest changes although the
  // frame did not move: once for any object, at each iteration for an iterator.
  uint64_t digest = 0;
};

inline constexpr size_t kMaxPythonIntegers = 256;
inline constexpr size_t kMaxPythonSlots = 512;

// Returns one entry for each of `frames`, the addresses of frames of one thread that is currently
// not moving. Entries are empty for frames that cannot be read or were not reached by `deadline`,
// and all are if the interpreter's layout is not known well enough. A frame with more slots than
// kMaxPythonSlots has the integers of the first ones and no digest.
std::vector<PythonLocals> ReadPythonLocals(const ProcessMemory& memory,
                                           const PythonInterpreter& interpreter,
                                           std::span<const uint64_t> frames,
                                           std::chrono::steady_clock::time_point deadline);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PYTHON_LOCALS_H_
