// SPDX-License-Identifier: Apache-2.0
#include "shim/call_paths.h"

#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "proto/ring_format.h"
#include "shim/loaded_object.h"
#include "shim/python/capture.h"
#include "shim/python/check.h"
#include "shim/python/code_table.h"
#include "shim/python/context.h"

namespace rollcall::shim {
namespace {

// Known paths: hash -> (portable hash, id). Lock-free: a thread claims an entry by its hash and
// publishes the id last. The table is bounded. If it is full, further paths are not recorded, but
// counted in the section's `lost`.
struct Entry {
  std::atomic<uint64_t> hash;
  std::atomic<uint64_t> portable_hash;
  std::atomic<uint32_t> id;
};
constexpr uint32_t kEntries = 16384;
constexpr uint32_t kProbes = 32;
constexpr uint32_t kPending = 0;
constexpr uint32_t kNoRoom = ~uint32_t{0};  // known, but there was no room to store it
constinit Entry g_entries[kEntries];
uint32_t CellOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 20) % kEntries; }

// --- modules -------------------------------------------------------------------------------------

struct Wanted {
  uint64_t pc;
  CodeRange range;
  uint64_t bias;
  char path[512];
  uint8_t build_id[32];
  uint32_t build_id_bytes;
};

void CopyBuildId(const dl_phdr_info* info, Wanted* wanted) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    const uint64_t end = begin + segment.p_memsz;
    for (uint64_t at = begin; at + sizeof(ElfW(Nhdr)) <= end;) {
      const auto* note =
          reinterpret_cast<const ElfW(Nhdr)*>(at);  // NOLINT(performance-no-int-to-ptr)
      const uint64_t name = at + sizeof(*note);
      const uint64_t data = name + ((note->n_namesz + 3) & ~3u);
      if (data + note->n_descsz > end) break;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && note->n_descsz <= 32) {
        wanted->build_id_bytes = note->n_descsz;
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        memcpy(wanted->build_id, reinterpret_cast<const void*>(data), note->n_descsz);
        return;
      }
      at = data + ((note->n_descsz + 3) & ~3u);
    }
  }
}

int FindModule(dl_phdr_info* info, size_t, void* data) {
  auto* wanted = static_cast<Wanted*>(data);
  wanted->range = RangeOf(*info);
  if (!wanted->range.Contains(wanted->pc)) return 0;
  wanted->bias = info->dlpi_addr;
  const char* name = info->dlpi_name;
  if (name == nullptr || *name == '\0') name = g_process.header->executable;
  strncpy(wanted->path, name, sizeof(wanted->path) - 1);
  CopyBuildId(info, wanted);
  return 1;
}

// Returns 1 + the index of the module in the ring's table, entering it if it is new; 0 if there is
// none. Sets *id_hash to a hash that is the same for this module on every rank.
uint64_t ModuleOf(uint64_t pc, uint64_t* bias, uint64_t* id_hash) {
  Wanted wanted{};
  wanted.pc = pc;
  if (dl_iterate_phdr(FindModule, &wanted) == 0) return 0;
  *bias = wanted.bias;
  const char* base = strrchr(wanted.path, '/');
  base = base == nullptr ? wanted.path : base + 1;
  *id_hash = wanted.build_id_bytes != 0 ? HashBytes(wanted.build_id, wanted.build_id_bytes, 1)
                                        : HashBytes(base, strlen(base), 2);
  ring::Section* section = g_process.Of(ring::SectionKind::kModules);
  auto* table = g_process.Table<ring::Module>(ring::SectionKind::kModules);
  uint64_t used = LoadAcquire(&section->used);
  if (used > section->capacity) used = section->capacity;
  for (uint64_t i = used; i-- > 0;) {
    // The path reference is written last: without it, the entry is still being written.
    if (LoadAcquire(&table[i].path) != 0 && table[i].start == wanted.range.start &&
        table[i].end == wanted.range.end && table[i].bias == wanted.bias &&
        table[i].build_id_bytes == wanted.build_id_bytes &&
        memcmp(table[i].build_id, wanted.build_id, wanted.build_id_bytes) == 0) {
      return i + 1;
    }
  }
  const uint64_t index = TakeFrom(section, 1);
  if (index >= section->capacity) return 0;
  ring::Module& module = table[index];
  module.start = wanted.range.start;
  module.end = wanted.range.end;
  module.bias = wanted.bias;
  module.build_id_bytes = static_cast<uint8_t>(wanted.build_id_bytes);
  memcpy(module.build_id, wanted.build_id, wanted.build_id_bytes);
  StoreRelease(&module.path, InternString(wanted.path));
  // A Python that was loaded after MPI's initialisation is detected here, when it calls MPI.
  if (python::State() == ring::PythonState::kAbsent && python::FindInterpreter()) {
    python::PublishInterpreter();
  }
  return index + 1;
}

// --- first sight ---------------------------------------------------------------------------------

struct Native {
  uint64_t pcs[kMaxStackDepth];
  int depth = 0;
  StackEnd end = StackEnd::kNone;
};

// Checks the Python frames against the native ones. Returns stack.end, or kUnreadable if they do
// not match. The thread's state may belong to another interpreter than the one that the thread runs
// in (sub-interpreters up to 3.11), or the program may move states between threads. In both cases
// there are more native frames of the interpreter's loop than runs of Python frames. Fewer native
// frames are no contradiction, because compilers move parts of the loop elsewhere.
ring::PythonEnd AgreesWithNative(const Native& native, const python::Stack& stack) {
  const bool complete = stack.end == ring::PythonEnd::kComplete;
  if (stack.end == ring::PythonEnd::kNoFrames) {
    return python::CountLoops(native.pcs, native.depth) != 0 ? ring::PythonEnd::kUnreadable
                                                             : stack.end;
  }
  if (stack.depth == 0 || !python::MayBeOtherInterpreter()) return stack.end;
  int runs = 0;
  for (int i = 0; i < stack.depth; ++i) {
    if ((stack.frames[i].place & ring::kPythonFrameEntry) != 0) ++runs;
  }
  const bool believable =
      complete && IsComplete(native.end) && python::CountLoops(native.pcs, native.depth) <= runs;
  return believable ? stack.end : ring::PythonEnd::kUnreadable;
}

// Writes the Python frames' words to `words` (may be null) and mixes them into *hash. False if one
// of the code objects could not be read.
template <typename Memory>
bool StorePython(Memory& memory, const python::Stack& stack, uint64_t* words, uint64_t* hash) {
  for (int i = 0; i < stack.depth; ++i) {
    python::InternedCode code;
    if (!python::InternCode(memory, stack.frames[i], &code)) return false;
    *hash = Mix64(*hash, Mix64(code.portable_hash, stack.frames[i].place));
    if (words != nullptr) {
      words[i] = code.index_plus_one << ring::kPythonFrameCodeShift | stack.frames[i].place;
    }
  }
  return true;
}

template <typename Memory>
ROLLCALL_COLD uint32_t Store(const Native& native, Memory& memory, const python::Stack& stack,
                             uint64_t* portable_hash) {
  const ErrnoGuard keeper;
  ring::Section* section = g_process.Of(ring::SectionKind::kCallPaths);
  constexpr uint64_t kHeaderWords = sizeof(ring::CallPathHeader) / 8;
  ring::CallPathHeader header{};
  header.depth = static_cast<uint16_t>(native.depth);
  header.end = static_cast<uint8_t>(native.end);
  const ring::PythonEnd python_end = AgreesWithNative(native, stack);
  header.python_end = static_cast<uint8_t>(python_end);
  if (python_end == stack.end) header.python_depth = static_cast<uint16_t>(stack.depth);
  const uint64_t at =
      TakeFrom(section, kHeaderWords + uint64_t{header.depth} + uint64_t{header.python_depth});
  uint64_t* words = nullptr;
  if (at < section->capacity) words = g_process.Table<uint64_t>(ring::SectionKind::kCallPaths) + at;
  uint64_t hash = static_cast<uint64_t>(native.end);
  for (int i = 0; i < native.depth; ++i) {
    uint64_t bias = 0, id_hash = 0;
    const uint64_t module = ModuleOf(native.pcs[i], &bias, &id_hash);
    const uint64_t vaddr = (native.pcs[i] - bias) & ((uint64_t{1} << ring::kFrameModuleShift) - 1);
    // A frame without a module (JIT code) has a different address on every rank. The hash covers
    // only its presence.
    hash = Mix64(hash, module == 0 ? 1 : Mix64(id_hash, vaddr));
    if (words != nullptr) {
      words[kHeaderWords + static_cast<uint64_t>(i)] = module << ring::kFrameModuleShift | vaddr;
    }
  }
  uint64_t* python_words = words == nullptr ? nullptr : words + kHeaderWords + native.depth;
  if (header.python_depth != 0 && !StorePython(memory, stack, python_words, &hash)) {
    header.python_depth = 0;  // the reserved words stay unused
    header.python_end = static_cast<uint8_t>(ring::PythonEnd::kUnreadable);
  }
  if (header.python_end != static_cast<uint8_t>(stack.end)) {
    __atomic_fetch_add(&g_process.header->python_unreadable, 1, __ATOMIC_RELAXED);
  }
  *portable_hash = hash;
  if (words == nullptr) return 0;
  header.portable_hash = hash;
  memcpy(words, &header, sizeof(header));
  return static_cast<uint32_t>(at);
}

template <typename Memory>
InternedPath Intern(uint64_t hash, const Native& native, Memory& memory,
                    const python::Stack& stack) {
  if (hash == 0) hash = 1;
  uint32_t cell = CellOf(hash);
  for (uint32_t probe = 0; probe < kProbes; ++probe, cell = (cell + 1) % kEntries) {
    Entry& entry = g_entries[cell];
    uint64_t found = entry.hash.load(std::memory_order_acquire);
    if (found == 0) {
      if (!entry.hash.compare_exchange_strong(found, hash, std::memory_order_acq_rel)) {
        if (found != hash) continue;
      } else {
        uint64_t portable = 0;
        const uint32_t id = Store(native, memory, stack, &portable);
        entry.portable_hash.store(portable, std::memory_order_relaxed);
        entry.id.store(id == 0 ? kNoRoom : id, std::memory_order_release);
        if (stack.depth > 0) python::TryWatch();
        return {.id = id, .portable_hash = portable};
      }
    }
    if (found == hash) {
      const uint32_t id = entry.id.load(std::memory_order_acquire);
      if (__builtin_expect(id == kPending, 0)) {
        // Another thread is storing this path now. A second copy is better than a record without a
        // path.
        uint64_t portable = 0;
        const uint32_t copy = Store(native, memory, stack, &portable);
        return {.id = copy, .portable_hash = portable};
      }
      return {.id = id == kNoRoom ? 0 : id,
              .portable_hash = entry.portable_hash.load(std::memory_order_relaxed)};
    }
  }
  __atomic_fetch_add(&g_process.Of(ring::SectionKind::kCallPaths)->lost, 1, __ATOMIC_RELAXED);
  return {};
}

}  // namespace

namespace {

uint64_t KeyOf(uint64_t hash, const python::Stack* stack) {
  return stack == nullptr ? hash : Mix64(hash, stack->hash);
}

// Stores the path unless it is known. `stack` is nullptr in a process without Python.
[[gnu::noinline]] InternedPath CapturePath(CallerFrame frame, const python::Stack* stack) {
  Native native;
  uint64_t hash = 0;
  native.depth = CaptureStack(frame, native.pcs, g_process.stack_depth, &native.end, &hash);
  if (native.depth <= 0) return {};
  python::OwnMemory memory;
  return Intern(KeyOf(hash, stack), native, memory, stack == nullptr ? python::Stack() : *stack);
}

// The usual case: the stack is remembered and its path is in the first cell.
ROLLCALL_INLINE InternedPath RecallPath(CallerFrame frame, const python::Stack* stack) {
  const uint64_t hash = RecallStack(frame, g_process.stack_depth);
  const uint64_t key = KeyOf(hash, stack);
  const Entry& entry = g_entries[CellOf(key)];
  if (__builtin_expect(hash != 0 && entry.hash.load(std::memory_order_acquire) == key, 1)) {
    const uint32_t id = entry.id.load(std::memory_order_acquire);
    if (__builtin_expect(id != kPending && id != kNoRoom, 1)) {
      return {.id = id, .portable_hash = entry.portable_hash.load(std::memory_order_relaxed)};
    }
  }
  return CapturePath(frame, stack);
}

[[gnu::noinline]] InternedPath RecallPathWithPython(CallerFrame frame) {
  python::Stack stack;
  python::Capture(&stack);
  InternedPath path = RecallPath(frame, &stack);
  if (stack.end == ring::PythonEnd::kNoFrames) path.context = python::MainThreadPath();
  return path;
}

}  // namespace

InternedPath CaptureCallPath(CallerFrame caller_frame) {
  if (python::State() != ring::PythonState::kAbsent) return RecallPathWithPython(caller_frame);
  return RecallPath(caller_frame, nullptr);
}

uint32_t InternPythonPath(python::CopiedMemory& memory, const python::Stack& stack) {
  Native none;
  return Intern(stack.hash, none, memory, stack).id;
}

uint32_t InternPythonPath(const python::Stack& stack) {
  Native none;
  python::OwnMemory memory;
  return Intern(stack.hash, none, memory, stack).id;
}

}  // namespace rollcall::shim
