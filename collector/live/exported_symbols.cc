// SPDX-License-Identifier: Apache-2.0
#include "collector/live/exported_symbols.h"

#include <gelf.h>

#include <unordered_map>

#include "collector/symbolize/elf_file.h"

namespace rollcall {
namespace {

void ReadExports(Elf* elf, const std::unordered_map<std::string_view, uint64_t*>& wanted) {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) continue;
    const uint64_t count = data->d_size / header.sh_entsize;
    for (uint64_t i = 0; i < count && i < (uint64_t{1} << 24); ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name == nullptr) continue;
      const auto entry = wanted.find(name);
      if (entry != wanted.end() && *entry->second == 0) *entry->second = symbol.st_value;
    }
  }
}

}  // namespace

bool FindExports(const LoadedModule& module, const std::string& file_root,
                 std::span<const std::string_view> names, std::span<uint64_t> found) {
  std::unordered_map<std::string_view, uint64_t*> wanted;
  for (size_t i = 0; i < names.size(); ++i) wanted.emplace(names[i], &found[i]);
  for (const std::string& root : {file_root, std::string()}) {
    const auto file = ElfFile::Open(root + module.path, {}).value_or(nullptr);
    if (file == nullptr || file->build_id() != module.build_id) continue;
    ReadExports(file->elf(), wanted);
    return true;
  }
  return false;
}

}  // namespace rollcall
