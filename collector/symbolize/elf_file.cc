// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/elf_file.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/base/text.h"

namespace rollcall {
namespace {

// The total unpacked size that the compressed sections claim.
uint64_t UnpackedBytes(Elf* elf) {
  uint64_t total = 0;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    GElf_Chdr compressed;
    uint64_t size = 0;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if ((header.sh_flags & SHF_COMPRESSED) != 0) {
      if (gelf_getchdr(section, &compressed) == nullptr) continue;
      size = compressed.ch_size;
    } else if (const ssize_t old_style = dwelf_scn_gnu_compressed_size(section); old_style > 0) {
      size = static_cast<uint64_t>(old_style);
    }
    if (total + size < total) return UINT64_MAX;
    total += size;
  }
  return total;
}

}  // namespace

ElfFile::ElfFile(UniqueFd fd, std::string path, const FileStamp& stamp)
    : fd_(std::move(fd)), path_(std::move(path)), stamp_(stamp) {}

ElfFile::~ElfFile() { elf_end(elf_); }

Result<std::unique_ptr<ElfFile>> ElfFile::Open(const std::string& path, const Limits& limits) {
  static const bool initialised = elf_version(EV_CURRENT) != EV_NONE;
  Result<RegularFile> opened = OpenRegularFile(path, limits.max_file_bytes);
  if (!opened) return Error{opened.error()};
  std::unique_ptr<ElfFile> file(new ElfFile(std::move(opened->fd), path, opened->stamp));
  const bool map = file->stamp_.size > limits.max_read_bytes;
  file->elf_ = elf_begin(file->fd_.get(), map ? ELF_C_READ_MMAP_PRIVATE : ELF_C_READ, nullptr);
  if (!initialised || file->elf_ == nullptr || elf_kind(file->elf_) != ELF_K_ELF) {
    return Error{"is not an ELF file"};
  }
  if (UnpackedBytes(file->elf_) > limits.max_unpacked_bytes) {
    return Error{"holds compressed sections that claim to be too large"};
  }
  const void* id = nullptr;
  const ssize_t id_size = dwelf_elf_gnu_build_id(file->elf_, &id);
  if (id_size > 0) file->build_id_ = ToHex(id, static_cast<size_t>(id_size));
  return file;
}

bool ElfFile::HasSection(const char* name) const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return false;
  const std::string_view wanted(name);
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf_, section)) != nullptr) {
    GElf_Shdr header;
    // Files made by `strip --only-keep-debug`, and the stripped files, have sections with a header
    // but without contents.
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* found = elf_strptr(elf_, names, header.sh_name);
    if (found == nullptr) continue;
    if (wanted == found) return true;
    if (wanted.starts_with(".debug_") && found == ".z" + std::string(wanted.substr(1))) return true;
  }
  return false;
}

bool ElfFile::Needs(const char* library_prefix) const {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf_, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNAMIC) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Dyn entry;
    for (int i = 0; data != nullptr && gelf_getdyn(data, i, &entry) != nullptr; ++i) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag != DT_NEEDED) continue;
      const char* needed = elf_strptr(elf_, header.sh_link, entry.d_un.d_val);
      if (needed != nullptr && std::string_view(needed).starts_with(library_prefix)) return true;
    }
  }
  return false;
}

uint32_t ElfFile::Crc32() const {
  // The CRC of zlib and Ethernet, reflected polynomial 0xEDB88320; see "Debugging Information in
  // Separate Files" in gdb's manual.
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) * 0xEDB88320U);
      t[i] = value;
    }
    return t;
  }();
  std::vector<uint8_t> buffer(1 << 16);
  uint32_t crc = ~0U;
  off_t at = 0;
  ssize_t got = 0;
  while ((got = pread(fd_.get(), buffer.data(), buffer.size(), at)) > 0) {
    for (ssize_t i = 0; i < got; ++i) crc = (crc >> 8) ^ table[(crc ^ buffer[i]) & 0xFF];
    at += got;
  }
  return ~crc;
}

bool ElfFile::Unchanged() const {
  struct stat st;
  return fstat(fd_.get(), &st) == 0 && StampOf(st) == stamp_;
}

}  // namespace rollcall
