// A process as its core file and the files that it had mapped show it.
#ifndef ROLLCALL_COLLECTOR_CORE_CORE_PROCESS_H_
#define ROLLCALL_COLLECTOR_CORE_CORE_PROCESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/base/file.h"
#include "collector/core/core_file.h"
#include "collector/live/process_image.h"

namespace rollcall {

// Memory out of a core. Code and other pages that no process has written are, as a rule, not in it:
// they come from the mapped file, if that is still the one that was mapped. Not thread-safe.
class CoreMemory : public ProcessMemory {
 public:
  // Both must outlive it.
  CoreMemory(ByteSource* source, const CoreFile* core)
      : ProcessMemory(0), source_(*source), core_(*core) {}

  size_t Read(uint64_t address, void* buffer, size_t size) const override;

  // Takes what the core lacks of a file's mappings from that file, opened when it is needed first.
  void AddFile(const std::string& path, const FileStamp& stamp);

 private:
  struct BackingFile {
    std::string path;
    FileStamp stamp;
    UniqueFd fd;
    bool failed = false;
  };

  size_t ReadPiece(uint64_t address, void* buffer, size_t size) const;
  size_t ReadFile(uint64_t address, void* buffer, size_t size) const;

  ByteSource& source_;
  const CoreFile& core_;
  mutable std::vector<BackingFile> files_;  // by path
};

// Not thread-safe.
class CoreProcess {
 public:
  // Null on failure, as ReadCoreFile() has it; with an empty `*error` it is no core file. Files
  // with code are believed to be those that were loaded by their build ids alone.
  static std::unique_ptr<CoreProcess> Open(const std::string& path, std::string* error);

  const CoreFile& core() const { return core_; }
  const CoreMemory& memory() const { return *memory_; }
  const ProcessImage& image() const { return image_; }
  // Whether the file of that name, as it is here, is the one that was loaded.
  bool IsSame(const LoadedModule& module) const;
  // Modules whose files here are others or missing, or that have no build id to tell: no stack goes
  // on through them. Sorted.
  const std::vector<std::string>& unknown_modules() const { return unknown_modules_; }

 private:
  CoreProcess() = default;
  void FindFiles();

  UniqueFd fd_;
  std::unique_ptr<ByteSource> source_;
  CoreFile core_;
  std::unique_ptr<CoreMemory> memory_;
  ProcessImage image_;
  std::vector<std::string> same_modules_;  // sorted
  std::vector<std::string> unknown_modules_;
};

// The lines that /proc/<pid>/maps had, as far as a core tells: of what has no file, only the vDSO
// has a name.
std::string MapsOf(const CoreFile& core);

// The strings that the process was started with, NAME=VALUE each ended by a NUL; empty if they
// cannot be found. What it changed afterwards is not in them.
std::string InitialEnvironment(const CoreFile& core, const ProcessMemory& memory);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_CORE_CORE_PROCESS_H_
