// SPDX-License-Identifier: Apache-2.0
// Reads the variables of a Python frame, as far as they distinguish the iterations of a loop.
//
// Only the values of ints, floats, bools and None, and the lengths of containers, leave the
// process. Strings and all other values may be secrets: they are read only to compute a hash.
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
#include "collector/model/values.h"

namespace rollcall {

struct PythonLocals {
  // In the order of the code's variables, at most kMaxPythonIntegers. For a module's frame: the
  // variables of a comprehension that runs in it, then the globals that its own code stores.
  std::vector<PythonInteger> integers;
  // The same variables, and those of the other kinds of Variable; at most kMaxPythonVariables. Then
  // what was asked for.
  std::vector<Variable> variables;
  // Hash of the frame's instruction, its variables, its value stack, and the objects that they
  // refer to. Of each object, the hash covers the type and, within the first 48 bytes after the
  // header, the object's own bytes. Of a suspended generator it also covers the frame. If the
  // digests of two samples are equal, no data that was read has changed. Reference counts are
  // excluded because other threads change them. Digests are comparable within one process only. 0:
  // the frame could not be read.
  //
  // If the interpreter does not show the depth of the value stack (python_layout.h, StackTop),
  // slots above its top may refer to freed objects. In this case only iterators are read among the
  // objects on the stack; other changes on the stack show as another object in the slot. Another
  // thread may reuse the memory of an iterator that a slot above the top refers to. The digest then
  // changes although the frame did not move: once if the new object is no iterator, and at each
  // iteration if it is an iterator.
  uint64_t digest = 0;
};

inline constexpr size_t kMaxPythonIntegers = 256;
inline constexpr size_t kMaxPythonVariables = 512;
inline constexpr size_t kMaxPythonSlots = 512;

// Returns one entry for each of `frames`, which are addresses of frames of one thread that is
// currently not moving. An entry is empty if its frame cannot be read or was not reached by
// `deadline`. All entries are empty if the interpreter's layout is not known well enough. A frame
// with more slots than kMaxPythonSlots has the integers of the first slots and no digest. `asked`:
// globals, and attributes of variables ("self.done"), to read in each frame whose code names them.
std::vector<PythonLocals> ReadPythonLocals(const ProcessMemory& memory,
                                           const PythonInterpreter& interpreter,
                                           std::span<const uint64_t> frames,
                                           std::chrono::steady_clock::time_point deadline,
                                           const std::vector<std::string>& asked = {});

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PYTHON_LOCALS_H_
