// SPDX-License-Identifier: Apache-2.0
#include "collector/live/process_image.h"

#include <elf.h>
#include <link.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>

#include "collector/base/text.h"

namespace rollcall {
namespace {

using Ehdr = ElfW(Ehdr);
using Phdr = ElfW(Phdr);
using Nhdr = ElfW(Nhdr);

constexpr size_t kMaxSegments = 256;
constexpr size_t kMaxNoteBytes = 1 << 16;
constexpr size_t kMaxPathBytes = 4096;

bool ReadExactly(const ProcessMemory& memory, uint64_t address, void* buffer, size_t size) {
  return memory.Read(address, buffer, size) == size;
}

struct Headers {
  Ehdr elf{};
  std::vector<Phdr> segments;
  uint64_t bias = 0;
};

// The ELF and program headers of the file that is mapped at `start`.
std::optional<Headers> ReadHeaders(const ProcessMemory& memory, uint64_t start) {
  Headers headers;
  if (!ReadExactly(memory, start, &headers.elf, sizeof(Ehdr)) ||
      std::memcmp(headers.elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      headers.elf.e_ident[EI_CLASS] != ELFCLASS64 || headers.elf.e_phentsize != sizeof(Phdr) ||
      headers.elf.e_phnum > kMaxSegments) {
    return std::nullopt;
  }
  headers.segments.resize(headers.elf.e_phnum);
  if (!ReadExactly(memory, start + headers.elf.e_phoff, headers.segments.data(),
                   headers.segments.size() * sizeof(Phdr))) {
    return std::nullopt;
  }
  // The segment that begins the file was mapped, rounded down to its alignment, at `start`.
  for (const Phdr& segment : headers.segments) {
    if (segment.p_type != PT_LOAD || segment.p_offset != 0) continue;
    headers.bias = start - segment.p_vaddr;
    return headers;
  }
  return std::nullopt;
}

std::string ReadBuildId(const ProcessMemory& memory, const Headers& headers) {
  for (const Phdr& segment : headers.segments) {
    if (segment.p_type != PT_NOTE) continue;
    std::vector<char> notes(std::min<uint64_t>(segment.p_memsz, kMaxNoteBytes));
    notes.resize(memory.Read(headers.bias + segment.p_vaddr, notes.data(), notes.size()));
    for (size_t at = 0; at + sizeof(Nhdr) <= notes.size();) {
      Nhdr note;
      std::memcpy(&note, notes.data() + at, sizeof(note));
      const size_t name = at + sizeof(Nhdr);
      const size_t description = name + ((size_t{note.n_namesz} + 3) & ~size_t{3});
      if (description > notes.size() || note.n_descsz > notes.size() - description) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(notes.data() + name, "GNU", 4) == 0) {
        return ToHex(notes.data() + description, note.n_descsz);
      }
      at = description + ((size_t{note.n_descsz} + 3) & ~size_t{3});
    }
  }
  return "";
}

}  // namespace

void AppendVariable(const ProcessMemory& memory, uint64_t address, std::string* environment) {
  std::array<char, 1024> bytes{};
  const std::string_view all(bytes.data(), memory.Read(address, bytes.data(), bytes.size()));
  const size_t end = all.find('\0');
  if (end != std::string_view::npos) environment->append(all.substr(0, end)).push_back('\0');
}

size_t ProcessMemory::Read(uint64_t address, void* buffer, size_t size) const {
  const iovec local{buffer, size};
  const iovec remote{reinterpret_cast<void*>(address), size};
  const ssize_t got = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

int ProcessImage::Load(const ProcSource& proc, pid_t pid, const ProcessMemory* memory) {
  std::string text;
  const int status = proc.Read("/proc/" + std::to_string(pid) + "/maps", &text, 64 << 20);
  LoadMaps(text, memory);
  return status;
}

void ProcessImage::LoadMaps(const std::string& maps, const ProcessMemory* memory) {
  memory_ = memory;
  modules_.clear();
  readable_.clear();
  struct Group {
    std::string path;
    uint64_t start = 0;
    uint64_t end = 0;
    bool has_code = false;
  };
  std::vector<Group> groups;
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    unsigned long start = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    char mode[5] = "";
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &start, &end, mode, &offset,
                    &path_at) < 4 ||
        path_at == 0) {
      continue;
    }
    if (mode[0] == 'r') readable_.push_back({start, end});
    const std::string path =
        line.substr(std::min<size_t>(static_cast<size_t>(path_at), line.size()));
    if (!path.starts_with('/') && path != "[vdso]") continue;
    const bool code = mode[2] == 'x';
    // A file that is mapped a second time, as data, starts again at offset 0.
    if (offset == 0 || groups.empty() || groups.back().path != path) {
      // A mapping that does not follow its headers cannot be related to the file.
      if (offset == 0) groups.push_back({path, start, end, code});
      continue;
    }
    groups.back().end = end;
    groups.back().has_code |= code;
  }
  for (Group& group : groups) {
    if (!group.has_code) continue;
    const auto headers = ReadHeaders(*memory_, group.start);
    if (!headers) continue;
    LoadedModule& module = modules_.emplace_back();
    module = {.path = CleanText(group.path, kMaxPathBytes),
              .build_id = ReadBuildId(*memory_, *headers),
              .start = group.start,
              .end = group.end,
              .bias = headers->bias};
    for (const Phdr& segment : headers->segments) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
      const uint64_t address = headers->bias + segment.p_vaddr;
      if (module.data_end == 0) module.data_start = address;
      module.data_end = address + segment.p_memsz;
    }
  }
}

const LoadedModule* ProcessImage::FindModule(uint64_t address) const {
  const auto after = std::ranges::upper_bound(modules_, address, {}, &LoadedModule::start);
  if (after == modules_.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

uint64_t ProcessImage::MappingEnd(uint64_t address) const {
  const auto after = std::ranges::upper_bound(readable_, address, {}, &Mapping::start);
  if (after == readable_.begin() || address >= std::prev(after)->end) return 0;
  return std::prev(after)->end;
}

CodeAddress ProcessImage::Locate(uint64_t pc, bool is_return_address) const {
  // If a call is the last instruction of a module, its return address is after the end of the
  // module.
  const LoadedModule* module = FindModule(pc - (is_return_address ? 1 : 0));
  if (module == nullptr) {
    return {.module_path = "", .build_id = "", .vaddr = pc, .is_return_address = is_return_address};
  }
  return {.module_path = module->path,
          .build_id = module->build_id,
          .vaddr = pc - module->bias,
          .is_return_address = is_return_address};
}

std::vector<char> ProcessImage::CopyFile(const LoadedModule& module, size_t max_bytes) const {
  std::vector<char> file;
  const auto headers = ReadHeaders(*memory_, module.start);
  if (!headers) return file;
  if (module.path == "[vdso]") {
    file.resize(std::min<uint64_t>(module.end - module.start, max_bytes));
    file.resize(memory_->Read(module.start, file.data(), file.size()));
    return file;
  }
  for (const Phdr& segment : headers->segments) {
    // Writable segments may no longer have the file's content, and unwinding does not need them.
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    if (segment.p_offset > max_bytes || segment.p_filesz > max_bytes - segment.p_offset) return {};
    const size_t end = segment.p_offset + segment.p_filesz;
    if (file.size() < end) file.resize(end);
    if (!ReadExactly(*memory_, headers->bias + segment.p_vaddr, file.data() + segment.p_offset,
                     segment.p_filesz)) {
      return {};
    }
  }
  if (file.size() < sizeof(Ehdr)) return {};
  Ehdr header = headers->elf;
  header.e_shoff = 0;
  header.e_shnum = 0;
  header.e_shstrndx = SHN_UNDEF;
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

}  // namespace rollcall
