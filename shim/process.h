// SPDX-License-Identifier: Apache-2.0
// The process-wide state of the recorder.
//
// Start() creates it once, when the process initialises MPI or NCCL or creates a process group of
// PyTorch. Afterwards the hot path reads it without a lock. It is never torn down, because
// destructors may call MPI.
#ifndef ROLLCALL_SHIM_PROCESS_H_
#define ROLLCALL_SHIM_PROCESS_H_

#include <cstdint>

#include "proto/ring_format.h"
#include "shim/platform.h"

namespace rollcall::shim {

// Views into the mapped file.
struct Process {
  ring::FileHeader* header = nullptr;
  ring::Section* sections[ring::kSectionKinds] = {};  // by SectionKind
  bool use_tsc = false;
  bool stacks = false;
  bool gpu = true;     // device progress is recorded
  bool marks = false;  // devices write completion marks into the ring (ROLLCALL_GPU=marks)
  bool data = false;   // the data of collectives is read (ROLLCALL_DATA)
  int stack_depth = 32;
  bool multiple_threads = true;  // assumed until the provided thread level is known

  template <typename T>
  T* Table(ring::SectionKind kind) const {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(header) +
                                sections[static_cast<int>(kind)]->offset);
  }
  ring::Section* Of(ring::SectionKind kind) const { return sections[static_cast<int>(kind)]; }
};

// Constant-initialised; its fields are valid once Recording() is true.
extern ROLLCALL_HIDDEN Process g_process;

// Points to a word that is 1 while this process records. After a fork, the child's copy of the page
// is zero (MADV_WIPEONFORK), so that a child never writes its parent's ring.
extern ROLLCALL_HIDDEN const uint64_t* g_recording;

inline bool Recording() { return __builtin_expect(LoadRelaxed(g_recording) != 0, 1); }

inline uint64_t Ticks() { return g_process.use_tsc ? ReadTsc() : MonotonicNs(); }

// Creates the ring, once per process. Later and concurrent calls return at once; a call that is
// concurrent with the creation is not recorded. Called at the entry of an MPI or NCCL
// initialisation. Not async-signal-safe. Keeps errno.
void Start();

// True if the user has switched the shim off (ROLLCALL_DISABLE=1).
bool Disabled();

// Life cycle. Any thread; async-signal-safe.
void SetPhase(ring::Phase phase);
// Sets the library of the process, unless a library was set before.
void SetFlavor(ring::Flavor flavor);
void SetWorld(int rank, int size, int thread_level, const char* library, ring::Flavor flavor);
void RefreshClockAnchor();
// True if the calling process owns the ring (a vfork child shares our memory) and has not marked
// its exit yet. Only the first mark counts.
bool MayMarkExit();
// Marks the exit if MayMarkExit(). `call_path` is an interned path's id, 0 for none. A reader that
// sees the mark also sees the call path.
void MarkExit(ring::ExitMark mark, int status, uint64_t call_path);

// Notes an error that may end the process, with its call path. If the process continues, the next
// note or the exit replaces this one.
void NoteError(int code, uint64_t call_path);

// An uncaught exception that ends the process.
struct UncaughtException {
  ring::ExceptionKind kind;
  uint32_t type;     // StringRef, as FileHeader::exception_type
  uint32_t message;  // StringRef; 0: none, or not known
  uint32_t call_path;
};
// Only the first exception counts, and only in the process that owns the ring. Any thread;
// async-signal-safe.
void MarkException(const UncaughtException& exception);

// Allocates `elements` consecutive elements of a table whose elements are never freed. Returns the
// index of the first one, or `capacity` if the table is full.
uint64_t TakeFrom(ring::Section* section, uint64_t elements);

// Appends to kStrings. Returns the StringRef, 0 if there is no room. Any thread.
uint32_t InternBytes(const void* bytes, uint32_t length);
uint32_t InternString(const char* text);
// Appends a list of ranks, compressed into runs, to kStrings.
uint32_t InternRanks(const int* ranks, int count);

// Prints a line on stderr, "rollcall: text: detail". Async-signal-safe except for snprintf.
void PrintLine(const char* text, const char* detail = nullptr);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_PROCESS_H_
