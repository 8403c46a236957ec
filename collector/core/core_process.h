// SPDX-License-Identifier: Apache-2.0
// A process, reconstructed from its core file and the files that it had mapped.
#ifndef ROLLCALL_COLLECTOR_CORE_CORE_PROCESS_H_
#define ROLLCALL_COLLECTOR_CORE_CORE_PROCESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/base/file.h"
#include "collector/base/result.h"
#include "collector/core/core_file.h"
#include "collector/live/process_image.h"

namespace rollcall {

// Memory from a core. Pages that the process has not written, such as code, are usually not in the
// core. They are read from the mapped file, if the file is unchanged. Not thread-safe.
class CoreMemory : public ProcessMemory {
 public:
  // Both arguments must outlive it.
  CoreMemory(ByteSource* source, const CoreFile* core)
      : ProcessMemory(0), source_(*source), core_(*core) {}

  size_t Read(uint64_t address, void* buffer, size_t size) const override;

  // From now on, the parts of a file's mappings that the core lacks are read from that file. The
  // file is opened when first needed.
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
  // Never null. Errors as of ReadCoreFile(): an empty one means that the file is not a core file.
  // Files with code are identified by their build ids alone.
  static Result<std::unique_ptr<CoreProcess>> Open(const std::string& path);

  const CoreFile& core() const { return core_; }
  const CoreMemory& memory() const { return *memory_; }
  const ProcessImage& image() const { return image_; }
  // Whether the file of that name on this machine is the file that was loaded.
  bool IsSame(const LoadedModule& module) const;
  // Modules whose files on this machine differ or are missing, or that have no build id to compare.
  // No stack continues through them. Sorted.
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

// The lines of /proc/<pid>/maps, as far as the core contains them. Of mappings without a file, only
// the vDSO has a name.
std::string MapsOf(const CoreFile& core);

// The environment with which the process was started, NAME=VALUE each ended by a NUL; empty if it
// cannot be found. Later changes are not included.
std::string InitialEnvironment(const CoreFile& core, const ProcessMemory& memory);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_CORE_CORE_PROCESS_H_
