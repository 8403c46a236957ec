// SPDX-License-Identifier: Apache-2.0
#include "collector/core/core_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "collector/base/text.h"
#include "collector/symbolize/elf_file.h"

namespace rollcall {
namespace {

constexpr size_t kMaxVariables = 4096;
constexpr uint64_t kMaxFileBytes = std::numeric_limits<int64_t>::max();
// The kernel places the auxiliary vector directly below AT_RANDOM's bytes and the platform name.
constexpr size_t kAuxvNear = 4096;

bool ReadWord(const ProcessMemory& memory, uint64_t address, uint64_t* word) {
  return memory.Read(address, word, sizeof(*word)) == sizeof(*word);
}

}  // namespace

size_t CoreMemory::Read(uint64_t address, void* buffer, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const size_t got = ReadPiece(address + done, static_cast<char*>(buffer) + done, size - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

size_t CoreMemory::ReadPiece(uint64_t address, void* buffer, size_t size) const {
  const CoreSegment* segment = core_.FindSegment(address);
  const uint64_t offset = segment == nullptr ? 0 : address - segment->start;
  if (segment != nullptr && offset < segment->file_bytes) {
    return source_.Read(segment->offset + offset, buffer,
                        std::min<uint64_t>(size, segment->file_bytes - offset));
  }
  // Stop at the next segment, which may be in the core.
  const auto next = std::ranges::upper_bound(core_.segments, address, {}, &CoreSegment::start);
  const uint64_t room =
      next == core_.segments.end() ? std::numeric_limits<uint64_t>::max() : next->start - address;
  return ReadFile(address, buffer, std::min<uint64_t>(size, room));
}

size_t CoreMemory::ReadFile(uint64_t address, void* buffer, size_t size) const {
  const CoreMapping* mapping = core_.FindMapping(address);
  if (mapping == nullptr) return 0;
  const auto file = std::ranges::lower_bound(files_, mapping->path, {}, &BackingFile::path);
  if (file == files_.end() || file->path != mapping->path || file->failed) return 0;
  if (!file->fd) {
    Result<RegularFile> opened = OpenRegularFile(file->path, kMaxFileBytes);
    file->failed = !opened || opened->stamp != file->stamp;
    if (file->failed) return 0;
    file->fd = std::move(opened->fd);
  }
  return FileSource(file->fd.get())
      .Read(mapping->offset + (address - mapping->start), buffer,
            std::min<uint64_t>(size, mapping->end - address));
}

void CoreMemory::AddFile(const std::string& path, const FileStamp& stamp) {
  const auto at = std::ranges::lower_bound(files_, path, {}, &BackingFile::path);
  BackingFile file;
  file.path = path;
  file.stamp = stamp;
  files_.insert(at, std::move(file));
}

std::string MapsOf(const CoreFile& core) {
  std::map<uint64_t, std::string> lines;
  const auto add = [&](uint64_t start, uint64_t end, std::string_view mode,
                       const CoreMapping* mapping) {
    const uint64_t offset = mapping == nullptr ? 0 : mapping->offset + (start - mapping->start);
    const bool vdso = mapping == nullptr && core.vdso >= start && core.vdso < end;
    const std::string_view path = mapping != nullptr ? std::string_view(mapping->path)
                                  : vdso             ? "[vdso]"
                                                     : "";
    lines.emplace(start,
                  fmt::format("{:x}-{:x} {} {:x} 00:00 0 {}\n", start, end, mode, offset, path));
  };
  for (const CoreSegment& segment : core.segments) {
    const std::string mode = {segment.readable ? 'r' : '-', segment.writable ? 'w' : '-',
                              segment.executable ? 'x' : '-', 'p'};
    add(segment.start, segment.end, mode, core.FindMapping(segment.start));
  }
  // gcore(1) writes no segments for memory that it does not dump.
  for (const CoreMapping& mapping : core.mappings) {
    if (core.FindSegment(mapping.start) == nullptr) {
      add(mapping.start, mapping.end, "r-xp", &mapping);
    }
  }
  std::string maps;
  for (const auto& [start, line] : lines) maps += line;
  return maps;
}

Result<std::unique_ptr<CoreProcess>> CoreProcess::Open(const std::string& path) {
  std::unique_ptr<CoreProcess> process(new CoreProcess);
  Result<RegularFile> file = OpenRegularFile(path, kMaxFileBytes);
  if (!file) return Error{file.error()};
  process->fd_ = std::move(file->fd);
  process->source_ = std::make_unique<FileSource>(process->fd_.get());
  Result<CoreFile> core = ReadCoreFile(*process->source_);
  if (!core) return Error{core.error()};
  process->core_ = std::move(*core);
  process->memory_ = std::make_unique<CoreMemory>(process->source_.get(), &process->core_);
  process->image_.LoadMaps(MapsOf(process->core_), process->memory_.get());
  process->FindFiles();
  return process;
}

// The first page of a module, with its build id, is in a core by default (core(5), bit 4 of
// coredump_filter).
void CoreProcess::FindFiles() {
  std::set<std::string> unknown;
  std::set<std::string> same;
  for (const CoreSegment& segment : core_.segments) {
    const CoreMapping* mapping = core_.FindMapping(segment.start);
    if (segment.executable && mapping != nullptr) unknown.insert(mapping->path);
  }
  for (const LoadedModule& module : image_.modules()) {
    if (module.path == "[vdso]" || module.build_id.empty() || same.contains(module.path)) continue;
    const auto file = ElfFile::Open(module.path, {}).value_or(nullptr);
    if (file == nullptr || file->build_id() != module.build_id) {
      unknown.insert(module.path);
      continue;
    }
    memory_->AddFile(module.path, file->stamp());
    same.insert(module.path);
  }
  std::erase_if(unknown, [&same](const std::string& path) { return same.contains(path); });
  same_modules_.assign(same.begin(), same.end());
  unknown_modules_.assign(unknown.begin(), unknown.end());
}

bool CoreProcess::IsSame(const LoadedModule& module) const {
  return std::ranges::binary_search(same_modules_, module.path);
}

// The initial stack, upwards from its first word: argc, argv, NULL, envp, NULL, auxv, AT_RANDOM's
// bytes, the strings (fs/binfmt_elf.c of Linux).
std::string InitialEnvironment(const CoreFile& core, const ProcessMemory& memory) {
  std::string environment;
  constexpr size_t kCompared = 64;
  if (core.auxv.size() < kCompared || core.random < kAuxvNear) return environment;
  uint64_t at = core.random & ~uint64_t{15};
  std::array<char, kCompared> words{};
  for (const uint64_t lowest = at - kAuxvNear;; at -= 8) {
    if (at < lowest) return environment;
    if (memory.Read(at, words.data(), words.size()) != words.size()) continue;
    if (std::memcmp(words.data(), core.auxv.data(), words.size()) == 0) break;
  }
  std::vector<uint64_t> variables;
  uint64_t word = 0;
  for (at -= 16; variables.size() < kMaxVariables; at -= 8) {
    if (!ReadWord(memory, at, &word) || word == 0) break;
    variables.push_back(word);
  }
  for (auto variable = variables.rbegin(); variable != variables.rend(); ++variable) {
    AppendVariable(memory, *variable, &environment);
  }
  return environment;
}

}  // namespace rollcall
