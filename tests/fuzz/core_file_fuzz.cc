// SPDX-License-Identifier: Apache-2.0
// Any bytes as a core file: nothing may crash, loop, or claim what the file does not have.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "collector/base/byte_source.h"
#include "collector/base/result.h"
#include "collector/core/core_file.h"
#include "collector/core/core_process.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rollcall;
  MemorySource source({data, size});
  const Result<CoreFile> core = ReadCoreFile(source);
  if (!core) return 0;
  uint64_t end = 0;
  for (const CoreSegment& segment : core->segments) {
    const bool held = segment.file_bytes == 0 ||
                      (segment.offset <= size && segment.file_bytes <= size - segment.offset);
    if (segment.start < end || segment.end <= segment.start || !held) std::abort();
    end = segment.end;
  }
  const CoreMemory memory(&source, &*core);
  ProcessImage image;
  image.LoadMaps(MapsOf(*core), &memory);
  for (const LoadedModule& module : image.modules()) image.CopyFile(module, size_t{1} << 20);
  for (const CoreThread& thread : core->threads) image.Locate(thread.pc, false);
  InitialEnvironment(*core, memory);
  return 0;
}
