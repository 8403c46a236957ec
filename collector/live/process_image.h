// SPDX-License-Identifier: Apache-2.0
// Memory and loaded modules of another process.
#ifndef ROLLCALL_COLLECTOR_LIVE_PROCESS_IMAGE_H_
#define ROLLCALL_COLLECTOR_LIVE_PROCESS_IMAGE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collector/base/proc_source.h"
#include "collector/model/source_frame.h"

namespace rollcall {

// Reads another process's memory by process_vm_readv(2), which stops nothing.
class ProcessMemory {
 public:
  explicit ProcessMemory(pid_t pid) : pid_(pid) {}
  virtual ~ProcessMemory() = default;
  // Copies up to `size` bytes from `address` and returns the number copied: fewer at the end of
  // mapped memory, 0 if nothing could be read (errno is set).
  virtual size_t Read(uint64_t address, void* buffer, size_t size) const;

 private:
  pid_t pid_;
};

// Appends the variable of an environment at `address` and a NUL to `environment`, unless the
// variable has 1,024 bytes or more: no variable that is needed is as long.
void AppendVariable(const ProcessMemory& memory, uint64_t address, std::string* environment);

// One ELF file in a process's address space. Its data was read from the process itself, not from
// the file with that path, which may have been replaced or be in another mount namespace.
struct LoadedModule {
  std::string path;      // as in /proc/<pid>/maps, including " (deleted)"
  std::string build_id;  // lower-case hex; empty: none, or unreadable
  uint64_t start = 0;    // extent of its mappings
  uint64_t end = 0;
  uint64_t bias = 0;        // runtime address - ELF virtual address
  uint64_t data_start = 0;  // extent of its writable segments, with the data that begins as zeros
  uint64_t data_end = 0;
};

// The mappings of a process: modules with code, and the extent of its stacks.
class ProcessImage {
 public:
  // Reads /proc/<pid>/maps. Returns 0 or an errno. `memory` must outlive this object.
  int Load(const ProcSource& proc, pid_t pid, const ProcessMemory* memory);
  // The same, from the text of such a file.
  void LoadMaps(const std::string& maps, const ProcessMemory* memory);

  // The module that holds `address`, or null; owned by this object.
  const LoadedModule* FindModule(uint64_t address) const;
  const std::vector<LoadedModule>& modules() const { return modules_; }
  // End of the readable mapping that holds `address`; 0 if there is none.
  uint64_t MappingEnd(uint64_t address) const;
  // Converts `pc` to a form that outlives the process. If the pc is outside every module, the path
  // is empty and vaddr is the pc.
  CodeAddress Locate(uint64_t pc, bool is_return_address) const;
  const ProcessMemory& memory() const { return *memory_; }

  // The loaded parts of the module's file, copied from memory; empty if larger than `max_bytes` or
  // unreadable. It has no section headers, except for the vDSO, which is complete.
  std::vector<char> CopyFile(const LoadedModule& module, size_t max_bytes) const;

 private:
  struct Mapping {
    uint64_t start;
    uint64_t end;
  };
  const ProcessMemory* memory_ = nullptr;
  std::vector<LoadedModule> modules_;  // by start; disjoint
  std::vector<Mapping> readable_;      // by start
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PROCESS_IMAGE_H_
