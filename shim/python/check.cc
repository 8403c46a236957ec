// SPDX-License-Identifier: Apache-2.0
#include "shim/python/check.h"

#include <limits.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "shim/process.h"
#include "shim/python/capture.h"
#include "shim/python/code_table.h"
#include "shim/python/exception.h"
#include "shim/python/object.h"

namespace rollcall::shim::python {
namespace {

using rollcall::python::kNone;
using rollcall::python::Layout;

enum class Verdict : uint8_t { kEqual, kDiffers, kNotNow };

// The number of pending calls that were requested. Several may be needed, because a check may end
// without a verdict (no memory, no frames).
constexpr uint32_t kMaxRequests = 64;
std::atomic<uint32_t> g_requests{0};
std::atomic<bool> g_requested{false};

// 1: equal, 0: different, -1: the API failed.
int Compare(const Object& attribute, const char* text, uint64_t length) {
  if (attribute.get() == nullptr) return -1;
  int64_t bytes = 0;
  const char* said = g_interpreter.api.TextUtf8(attribute.get(), &bytes);
  // A name that UTF-8 cannot express counts as equal: Python refuses to convert it.
  if (said == nullptr) {
    g_interpreter.api.ErrorClear();
    return 1;
  }
  if (length < static_cast<uint64_t>(bytes)) return static_cast<uint64_t>(bytes) > kMaxText ? 1 : 0;
  return length == static_cast<uint64_t>(bytes) && memcmp(said, text, length) == 0 ? 1 : 0;
}

int Compare(const Object& attribute, int64_t number) {
  if (attribute.get() == nullptr) return -1;
  return g_interpreter.api.LongValue(attribute.get()) == number ? 1 : 0;
}

int CompareBytes(const Object& attribute, const CodeText& code) {
  if (attribute.get() == nullptr) return -1;
  char* said = nullptr;
  int64_t bytes = 0;
  if (g_interpreter.api.BytesContent(attribute.get(), &said, &bytes) != 0) return -1;
  if (static_cast<uint64_t>(bytes) > kMaxLineTable) return 1;
  return static_cast<uint64_t>(bytes) == code.table_length &&
                 memcmp(said, code.table, code.table_length) == 0
             ? 1
             : 0;
}

void* Attribute(void* object, const char* name) { return g_interpreter.api.GetAttr(object, name); }

Verdict CompareFrame(const Frame& read, void* frame) {
  const Api& api = g_interpreter.api;
  const Layout& layout = g_interpreter.shape.layout;
  const Object code(api.FrameGetCode != nullptr ? api.FrameGetCode(frame)
                                                : Attribute(frame, "f_code"));
  if (code.get() == nullptr) return Verdict::kNotNow;
  if (reinterpret_cast<uint64_t>(code.get()) != read.code) return Verdict::kDiffers;
  OwnMemory memory;
  CodeText text;
  if (!ReadCode(g_interpreter.shape, memory, read.code, &text)) return Verdict::kDiffers;
  const bool has_qualname = layout.code_qualname != kNone;
  // f_lasti is not compared if the frame has not started: before the first instruction, it may be
  // -1 or any other value.
  const uint64_t offset = read.place & ring::kPythonFrameOffsetMask;
  int equal = 1;
  const auto all = [&](int result) { equal = equal == 1 ? result : equal; };
  all(Compare(Object(Attribute(code.get(), "co_filename")), text.file, text.file_length));
  all(Compare(Object(Attribute(code.get(), has_qualname ? "co_qualname" : "co_name")), text.name,
              text.name_length));
  all(Compare(Object(Attribute(code.get(), "co_firstlineno")), text.first_line));
  constexpr uint32_t kFirstLineTable = 0x30a;
  all(CompareBytes(Object(Attribute(code.get(), layout.version >= kFirstLineTable ? "co_linetable"
                                                                                  : "co_lnotab")),
                   text));
  if (offset != ring::kPythonFrameNoOffset) {
    all(Compare(Object(Attribute(frame, "f_lasti")), static_cast<int64_t>(offset)));
  }
  return equal == 1 ? Verdict::kEqual : equal == 0 ? Verdict::kDiffers : Verdict::kNotNow;
}

Verdict CompareStack(uint64_t thread_state, Stack* stack) {
  const Api& api = g_interpreter.api;
  const Quiet quiet;
  // A borrowed reference. Called before the walk, because it creates missing frame objects.
  void* innermost = api.EvalGetFrame();
  if (innermost == nullptr) return Verdict::kNotNow;
  ReadThreadState(thread_state, stack);
  if (stack->depth == 0) return Verdict::kDiffers;
  void* frame = innermost;
  void* owned = nullptr;
  Verdict verdict = Verdict::kEqual;
  int depth = 0;
  void* none = nullptr;
  for (; depth < stack->depth && verdict == Verdict::kEqual; ++depth) {
    if (frame == none) verdict = Verdict::kDiffers;
    if (verdict == Verdict::kEqual) verdict = CompareFrame(stack->frames[depth], frame);
    void* back = verdict == Verdict::kEqual ? api.GetAttr(frame, "f_back") : nullptr;
    if (verdict == Verdict::kEqual && back == nullptr) verdict = Verdict::kNotNow;
    if (owned != nullptr) api.DecRef(owned);
    owned = frame = back;
  }
  // The last `back` must be None exactly if our walk reached the outermost frame. None has no
  // f_lasti.
  if (verdict == Verdict::kEqual) {
    const Object lasti(api.GetAttr(frame, "f_lasti"));
    if (lasti.get() == nullptr) api.ErrorClear();
    const bool more = lasti.get() != nullptr;
    if (more != (stack->end == ring::PythonEnd::kDepthLimit)) verdict = Verdict::kDiffers;
  }
  if (owned != nullptr) api.DecRef(owned);
  if (verdict == Verdict::kNotNow) api.ErrorClear();
  return verdict;
}

// Finds the pthread key under which the interpreter stores thread states: the lowest key with this
// state. Other libraries (pybind11) store thread states under keys of their own. Those keys were
// created after the interpreter's key, so they have higher numbers.
bool FindKey(uint64_t thread_state, pthread_key_t* key) {
  for (pthread_key_t candidate = 0; candidate < PTHREAD_KEYS_MAX; ++candidate) {
    if (reinterpret_cast<uint64_t>(pthread_getspecific(candidate)) == thread_state) {
      *key = candidate;
      return true;
    }
  }
  return false;
}

// Stores the main thread, whose Python stack serves as context for other threads. Called in the
// main thread.
void StoreMainThread(uint64_t thread_state) {
  const auto tid = static_cast<uint32_t>(syscall(SYS_gettid));
  g_interpreter.main_thread_state.store(thread_state, std::memory_order_relaxed);
  g_interpreter.main_tid.store(tid, std::memory_order_release);
}

void CheckWith(uint64_t thread_state) {
  Stack stack;
  pthread_key_t key = 0;
  Verdict verdict = Verdict::kDiffers;
  if (FindKey(thread_state, &key)) {
    verdict = CompareStack(thread_state, &stack);
    g_interpreter.key = key;
  }
  if (verdict == Verdict::kDiffers) SwitchOff(ring::PythonOff::kDiffers);
  if (verdict == Verdict::kEqual) SwitchOn();
}

// Python's main thread runs this with the GIL, between two bytecodes. A forked child inherits
// pending calls and also runs it. Returning -1 raises the exception that is set.
int OnPendingCall(void*) {
  const ErrnoGuard keeper;
  g_requested.store(false, std::memory_order_relaxed);
  if (!Recording()) return 0;
  const uint64_t thread_state = StateIfHolding();
  if (thread_state == 0) return 0;
  if (State() == ring::PythonState::kUnchecked) CheckWith(thread_state);
  if (State() != ring::PythonState::kOn) return 0;
  StoreMainThread(thread_state);
  return WatchForExceptions();
}

void Ask() {
  if (g_requested.load(std::memory_order_relaxed)) return;
  if (g_interpreter.api.IsInitialized() == 0 || IsFinalizing()) return;
  if (g_requested.exchange(true)) return;
  if (g_requests.fetch_add(1) >= kMaxRequests) return;  // g_requested stays set: no more requests
  if (g_interpreter.api.AddPendingCall(OnPendingCall, nullptr) != 0) {
    g_requested.store(false, std::memory_order_relaxed);  // the queue of pending calls is full
  }
}

}  // namespace

ROLLCALL_COLD void TryCheck() {
  const ErrnoGuard keeper;
  const uint64_t thread_state = StateIfHolding();
  if (thread_state != 0) CheckWith(thread_state);
  if (State() == ring::PythonState::kOff) return;
  // Make a request even if this thread has checked: only Python's main thread can identify itself.
  if (thread_state != 0 && State() == ring::PythonState::kOn &&
      static_cast<pid_t>(syscall(SYS_gettid)) == getpid()) {
    StoreMainThread(thread_state);
  }
  Ask();
}

ROLLCALL_COLD void TryWatch() {
  const ErrnoGuard keeper;
  if (State() == ring::PythonState::kOn && !WatchesThreads()) Ask();
}

}  // namespace rollcall::shim::python
