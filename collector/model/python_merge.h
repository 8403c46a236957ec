// Native and Python frames of one stack, put into the order of their calls.
//
// The interpreter's loop, _PyEval_EvalFrameDefault, executes a run of Python frames: one to 3.10,
// from 3.11 on as many as call each other without C in between. Natively it is one frame, whatever
// it executes. So the k-th native frame of the loop stands for the k-th run, both counted from the
// innermost, and is replaced by it. What else is the interpreter's own (how it calls, how it
// starts) says nothing to the person and is left out; frames of extensions, of other libraries and
// of a program that embeds Python stay where they are.
//
// Pure; no state; safe from any thread.
#ifndef ROLLCALL_COLLECTOR_MODEL_PYTHON_MERGE_H_
#define ROLLCALL_COLLECTOR_MODEL_PYTHON_MERGE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// libpython or the interpreter's executable, by the file's name.
bool IsInterpreterModule(std::string_view path);
// The interpreter's loop, and the parts into which a compiler cut it (.cold, .constprop.0, …).
bool IsInterpreterLoop(std::string_view function);

enum class NativeKind : uint8_t { kOther, kInterpreter, kLoop };
// Of a frame of `function` in `module`; `embedding`: the module holds the interpreter's loop.
NativeKind NativeKindOf(std::string_view module, std::string_view function, bool embedding);

struct MergedStep {
  bool python = false;
  uint32_t index = 0;  // of the native or the Python frame

  friend bool operator==(const MergedStep&, const MergedStep&) = default;
};

struct MergedStack {
  std::vector<MergedStep> steps;  // innermost first
  // The numbers do not agree, or the loop was not recognised: which native frames lie between which
  // Python frames is not known, and those that lie between any are left out. Native frames inside
  // of the innermost Python frame, and outside of the outermost one, are certain even so.
  bool apart = false;
};

// All lists innermost first. `native_whole`: the native walk reached its outer end; where it was
// cut, Python frames whose native ones are beyond the cut follow as the outer ones. `entries[i]`:
// the i-th Python frame ends a run. Python frames beyond `python_end` are stood for by the native
// frames of the loop that are left.
MergedStack MergeStacks(const std::vector<NativeKind>& native, bool native_whole,
                        const std::vector<bool>& entries, ring::PythonEnd python_end);

// Makes CallPath::codes and python_apart of every call path with Python frames, from what was
// recorded and what the frames of its codes say by now. Called again after symbolization, the
// result is the better one.
void MergePythonFrames(Trace* trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_PYTHON_MERGE_H_
