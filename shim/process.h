// The process-wide state of the recorder.
//
// Nothing of it exists until the process initialises MPI (or NCCL): Start() makes it, once. From
// then on the hot path reads it without a lock. It is never torn down: MPI may be called in
// destructors.
#ifndef ROLLCALL_SHIM_PROCESS_H_
#define ROLLCALL_SHIM_PROCESS_H_

#include <cstdint>

#include "proto/ring_format.h"
#include "shim/platform.h"

namespace rollcall::shim {

// Views into the mapped file.
struct Process {
  ring::FileHeader* header = nullptr;
  ring::Section* sections[ring::kMaxSections] = {};  // by SectionKind
  bool use_tsc = false;
  bool stacks = false;
  bool gpu = true;     // whether anything of devices is looked at
  bool marks = false;  // whether devices are to tell by themselves what they completed
  int stack_depth = 32;
  bool multiple_threads = true;  // until the provided level is known

  template <typename T>
  T* Table(ring::SectionKind kind) const {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(header) +
                                sections[static_cast<int>(kind)]->offset);
  }
  ring::Section* Of(ring::SectionKind kind) const { return sections[static_cast<int>(kind)]; }
};

// Constant-initialised; valid fields once Recording() is true.
extern Process g_process;

// Points to a word that is 1 while this very process records. After a fork the child's copy of the
// page is zero (MADV_WIPEONFORK): a child never writes its parent's ring.
extern const uint64_t* g_recording;

inline bool Recording() { return __builtin_expect(LoadRelaxed(g_recording) != 0, 1); }

inline uint64_t Ticks() { return g_process.use_tsc ? ReadTsc() : MonotonicNs(); }

// Makes the ring, once per process; later and concurrent calls return at once (the latter
// unrecorded). Called at the entry of an initialisation. Not async-signal-safe. Keeps errno.
void Start();

// Whether the user switched the shim off (ROLLCALL_DISABLE=1).
bool Disabled();

// Life cycle. Any thread; async-signal-safe.
void SetPhase(ring::Phase phase);
void SetWorld(int rank, int size, int thread_level, const char* library, ring::Flavor flavor);
void RefreshClockAnchor();
// Whether the calling process is the one that the ring belongs to (a vfork child shares our
// memory), and has not marked its exit. Only the first mark counts.
bool MayMarkExit();
// Marks the exit, if it may. `call_path` is an interned path's id, 0 for none: a reader that sees
// the mark sees it, too.
void MarkExit(ring::ExitMark mark, int status, uint64_t call_path);

// An exception that nobody caught, and which ends the process.
struct UncaughtException {
  ring::ExceptionKind kind;
  uint32_t type;     // StringRef, as FileHeader::exception_type
  uint32_t message;  // StringRef; 0: none, or not known
  uint32_t call_path;
};
// Only the first one counts; likewise of the ring's own process. Any thread; async-signal-safe.
void MarkException(const UncaughtException& exception);

// Space in a table that is only ever handed out: the index, or `capacity` if there is none left.
uint64_t TakeFrom(ring::Section* section, uint64_t elements);

// Appends to kStrings. Returns the StringRef, 0 if there is no room. Any thread.
uint32_t InternBytes(const void* bytes, uint32_t length);
uint32_t InternString(const char* text);
// Compresses ranks into runs first.
uint32_t InternRanks(const int* ranks, int count);

// A line on stderr, "rollcall: text: detail". Async-signal-safe but for snprintf.
void PrintLine(const char* text, const char* detail = nullptr);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_PROCESS_H_
