// SPDX-License-Identifier: Apache-2.0
// Merges the native and Python frames of one stack into one list in call order.
//
// The interpreter's loop, _PyEval_EvalFrameDefault, executes a run of Python frames: one frame up
// to 3.10; from 3.11 on, all frames that call each other without C in between. The native stack has
// one frame of the loop for each run. So the k-th native frame of the loop, counted from the
// innermost, is replaced by the k-th run. Other frames of the interpreter (calls, startup) do not
// help the user and are removed. Frames of extensions, of other libraries and of a program that
// embeds Python are kept.
//
// Pure functions; thread-safe.
#ifndef ROLLCALL_COLLECTOR_MODEL_PYTHON_MERGE_H_
#define ROLLCALL_COLLECTOR_MODEL_PYTHON_MERGE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// Whether the file is libpython or the interpreter's executable, by its name.
bool IsInterpreterModule(std::string_view path);
// Whether the function is the interpreter's loop, or a part of it that a compiler split off (.cold,
// …).
bool IsInterpreterLoop(std::string_view function);

enum class NativeKind : uint8_t { kOther, kInterpreter, kLoop };
// The kind of a frame of `function` in `module`. `embedding`: the module contains the interpreter's
// loop.
NativeKind NativeKindOf(std::string_view module, std::string_view function, bool embedding);

struct MergedStep {
  bool python = false;
  uint32_t index = 0;  // of the native or the Python frame

  friend bool operator==(const MergedStep&, const MergedStep&) = default;
};

struct MergedStack {
  std::vector<MergedStep> steps;  // innermost first
  // The numbers of runs and loop frames do not fit, or the loop was not recognized. It is then
  // unknown which native frames are between which Python frames, so all native frames in between
  // are left out. Native frames inside the innermost Python frame and outside the outermost one are
  // kept.
  bool apart = false;
};

// All lists are innermost first. `native_whole`: the native walk reached the outermost frame. If
// not, Python frames beyond the cut are appended as the outer frames. `entries[i]`: the i-th Python
// frame ends a run. If `python_end` shows that Python frames are missing, the remaining native
// frames of the loop are kept in their place.
MergedStack MergeStacks(const std::vector<NativeKind>& native, bool native_whole,
                        const std::vector<bool>& entries, ring::PythonEnd python_end);

// Sets CallPath::codes and python_apart of every call path with Python frames, from the recorded
// frames and the known functions of its codes. Call it again after symbolization: if more functions
// are known, more frames can be merged.
void MergePythonFrames(Trace* trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_PYTHON_MERGE_H_
