// SPDX-License-Identifier: Apache-2.0
#include "shim/python/capture.h"

#include "shim/process.h"

namespace rollcall::shim::python {
namespace {

using ring::PythonEnd;
using rollcall::python::kNone;
using rollcall::python::Layout;

void EndUnreadable(Stack* stack) {
  EndStack(stack, PythonEnd::kUnreadable);
  __atomic_fetch_add(&g_process.header->python_unreadable, 1, __ATOMIC_RELAXED);
}

// During finalization, Python frees its objects while threads still run: no frames are read any
// more. If Python is initialised again afterwards, it is checked again.
ROLLCALL_COLD void LeaveInterpreter(Stack* stack) {
  SwitchOff(ring::PythonOff::kFinalizing);
  EndUnreadable(stack);
}

}  // namespace

void ReadThreadState(uint64_t thread_state, Stack* stack) {
  const Interpreter& it = g_interpreter;
  const Layout& layout = it.shape.layout;
  OwnMemory memory;
  const uint64_t span =
      (layout.thread_id > layout.thread_frame ? layout.thread_id : layout.thread_frame) +
      sizeof(uint64_t);
  const unsigned char* state =
      (thread_state & 7) != 0 ? nullptr : memory.At(thread_state, span, Slot::kFrame);
  // Do not read a state that was moved to another thread.
  if (state == nullptr ||
      Load<uint64_t>(state + layout.thread_id) != static_cast<uint64_t>(pthread_self())) {
    return EndStack(stack, PythonEnd::kUnreadable);
  }
  auto frame = Load<uint64_t>(state + layout.thread_frame);
  if (layout.cframe_frame != kNone) {
    const unsigned char* cframe =
        (frame & 7) != 0 ? nullptr : memory.At(frame + layout.cframe_frame, 8, Slot::kFrame);
    if (cframe == nullptr) return EndStack(stack, PythonEnd::kUnreadable);
    frame = Load<uint64_t>(cframe);
  }
  Walk(it.shape, memory, frame, stack);
}

void Capture(Stack* stack) {
  const ring::PythonState state = State();
  if (state != ring::PythonState::kOn) [[unlikely]] {
    if (state == ring::PythonState::kAbsent) return EndStack(stack, PythonEnd::kNone);
    const bool off = state == ring::PythonState::kOff && !DetectReinitialization();
    return EndStack(stack, off ? PythonEnd::kOff : PythonEnd::kUnchecked);
  }
  if (IsFinalizing()) [[unlikely]]
    return LeaveInterpreter(stack);
  const auto thread_state = reinterpret_cast<uint64_t>(pthread_getspecific(g_interpreter.key));
  if (thread_state == 0) return EndStack(stack, PythonEnd::kNoFrames);
  ReadThreadState(thread_state, stack);
  if (stack->end == PythonEnd::kUnreadable) [[unlikely]]
    EndUnreadable(stack);
  // The hash is changed, because such a path is checked: when it is stored, the number of native
  // frames decides whether its Python frames can be used (call_paths.cc).
  if (MayBeOtherInterpreter()) [[unlikely]]
    stack->hash = Mix64(stack->hash, 1);
}

int CountLoops(const uint64_t* pcs, int depth) {
  int loops = 0;
  for (int i = 0; i < depth; ++i) {
    if (pcs[i] - g_interpreter.eval_begin <= g_interpreter.eval_end - g_interpreter.eval_begin) {
      ++loops;
    }
  }
  return g_interpreter.eval_begin == 0 ? 0 : loops;
}

}  // namespace rollcall::shim::python
