// SPDX-License-Identifier: Apache-2.0
// Reads an ELF core file: threads, memory, mapped files, signal. A core may be truncated (ulimit
// -c, a full disk) or malicious, so each size and offset is checked against the file. The intact
// parts of a damaged core are used. Format: elf(5), core(5). Linux writes cores in fs/binfmt_elf.c;
// gdb's gcore writes the same format.
#ifndef ROLLCALL_COLLECTOR_CORE_CORE_FILE_H_
#define ROLLCALL_COLLECTOR_CORE_CORE_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/base/result.h"

namespace rollcall {

// A range of addresses.
struct CoreSegment {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;      // of its bytes in the core
  uint64_t file_bytes = 0;  // present in the core, from `start` on; the rest was not dumped
  bool readable = false;
  bool writable = false;
  bool executable = false;
};

// A range that a file was mapped to.
struct CoreMapping {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;  // in the file, in bytes
  std::string path;     // cleaned text
};

struct CoreThread {
  pid_t tid = 0;
  std::vector<uint8_t> status;  // the whole struct elf_prstatus
  uint64_t pc = 0;
  uint64_t stack_pointer = 0;
  uint64_t thread_pointer = 0;  // fs_base, tpidr; 0: unknown
};

struct CoreFile {
  std::vector<CoreSegment> segments;  // by start, disjoint
  std::vector<CoreMapping> mappings;  // by start, disjoint
  std::vector<CoreThread> threads;    // the main thread first
  size_t threads_left_out = 0;        // the thread that got the signal and wrote the core
  pid_t signaled_thread = 0;          // the one that wrote the core: it got the signal

  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;  // of the program, at most 15 bytes; cleaned text
  int signal = 0;    // that ended it; 0: none, as in a core made by gcore(1)
  // From NT_SIGINFO. False if the process itself or the kernel (a fault) sent the signal, or if the
  // sender is not recorded.
  bool signal_from_outside = false;

  uint64_t vdso = 0;         // AT_SYSINFO_EHDR
  uint64_t entry = 0;        // AT_ENTRY: lies in the program itself
  uint64_t random = 0;       // AT_RANDOM: 16 bytes between the auxiliary vector and the strings
  std::vector<char> auxv{};  // as in the process's memory

  // Damaged or missing parts, with the offset in the file; for the user.
  std::vector<std::string> problems{};

  // The segment or mapping that contains `address`, or null; owned by this object.
  const CoreSegment* FindSegment(uint64_t address) const;
  const CoreMapping* FindMapping(uint64_t address) const;
};

inline constexpr size_t kMaxCoreThreads = 256;
inline constexpr size_t kMaxCoreSegments = 1 << 18;

// The error is empty if the file is not a core file. Otherwise it says why the core cannot be used,
// for example because of another architecture. Reads headers and notes only.
Result<CoreFile> ReadCoreFile(ByteSource& source);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_CORE_CORE_FILE_H_
