// What a Python frame computes with, as far as it tells one turn of a loop from the next.
//
// No values but those of ints leave the process: strings and all others may be secrets, and of them
// nothing is read but what goes into a hash.
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

namespace rollcall {

// A variable that holds an int of at most 64 bits; a bool is none.
struct PythonInteger {
  std::string name;
  int64_t value = 0;

  bool operator==(const PythonInteger&) const = default;
};

struct PythonLocals {
  // In the order of the code's variables, at most kMaxPythonIntegers. Of a module's frame: the
  // variables of a comprehension that runs in it, then the globals that its own code stores.
  std::vector<PythonInteger> integers;
  // Of the instruction, the variables, the value stack, and of the objects that these refer to: the
  // type and the first 48 bytes behind the header, of what is theirs; of a suspended generator, its
  // frame likewise. Equal at two looks, nothing that was seen has moved. Not of reference counts,
  // which other threads change. Comparable within one process only. 0: it could not be read.
  //
  // Where the interpreter does not tell the depth of the value stack (python_layout.h, StackTop),
  // the slots behind it may refer to what exists no more. Then of the objects on the stack only
  // iterators are looked into: what else moves there, does so by another object in the slot. Where
  // another thread takes the memory of an iterator that such a slot refers to, the digest changes
  // although the frame did not move: once by any object, at each turn by an iterator.
  uint64_t digest = 0;
};

inline constexpr size_t kMaxPythonIntegers = 256;
inline constexpr size_t kMaxPythonSlots = 512;

// One for each of `frames`, addresses of frames of one thread that does not move now. Those not
// reached at `deadline`, and those that cannot be read, are empty; so are all if the interpreter's
// layout is not known well enough. A frame with more slots has integers from the first
// kMaxPythonSlots and no digest.
std::vector<PythonLocals> ReadPythonLocals(const ProcessMemory& memory,
                                           const PythonInterpreter& interpreter,
                                           std::span<const uint64_t> frames,
                                           std::chrono::steady_clock::time_point deadline);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PYTHON_LOCALS_H_
