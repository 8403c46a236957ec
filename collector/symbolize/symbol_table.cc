// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/symbol_table.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>

namespace rollcall {
namespace {

Elf_Scn* FindTable(Elf* elf, GElf_Shdr* header) {
  Elf_Scn* dynamic = nullptr;
  GElf_Shdr dynamic_header{};
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    if (gelf_getshdr(section, header) == nullptr) continue;
    if (header->sh_type == SHT_SYMTAB) return section;
    if (header->sh_type == SHT_DYNSYM) {
      dynamic = section;
      dynamic_header = *header;
    }
  }
  *header = dynamic_header;
  return dynamic;
}

// Orders aliases of one function. The strong global name, which users know, comes first. Of two
// equal names, the name without underscores comes first (write, not __write).
uint8_t Rank(const GElf_Sym& symbol, const char* name) {
  uint8_t rank = 0;
  switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
      rank = 0;
      break;
    case STB_WEAK:
      rank = 1;
      break;
    default:
      rank = 2;
  }
  return static_cast<uint8_t>(rank + (name[0] == '_' ? 3 : 0) +
                              (GELF_ST_TYPE(symbol.st_info) == STT_NOTYPE ? 6 : 0));
}

}  // namespace

SymbolTable::SymbolTable(Elf* elf) {
  GElf_Shdr header{};
  Elf_Scn* section = FindTable(elf, &header);
  Elf_Data* data = section == nullptr ? nullptr : elf_getdata(section, nullptr);
  if (data == nullptr) return;
  GElf_Sym symbol;
  for (int i = 0; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)) {
      continue;
    }
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    // $x and $d are mapping symbols of the assembler, .L… its local labels.
    if (name == nullptr || name[0] == '\0' || name[0] == '$' || name[0] == '.') continue;
    uint64_t section_end = 0;
    GElf_Shdr home;
    if (Elf_Scn* in = elf_getscn(elf, symbol.st_shndx);
        in != nullptr && gelf_getshdr(in, &home) != nullptr) {
      if ((home.sh_flags & SHF_EXECINSTR) == 0) continue;
      section_end = home.sh_addr + home.sh_size;
    }
    if (symbol.st_value + symbol.st_size < symbol.st_value) continue;
    symbols_.push_back({.start = symbol.st_value,
                        .end = symbol.st_size != 0 ? symbol.st_value + symbol.st_size : section_end,
                        .name = name,
                        .rank = Rank(symbol, name)});
  }
  std::ranges::sort(symbols_, [](const Symbol& a, const Symbol& b) {
    if (a.start != b.start) return a.start < b.start;
    if (a.rank != b.rank) return a.rank < b.rank;
    return std::strcmp(a.name, b.name) < 0;
  });
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(),
                             [](const Symbol& a, const Symbol& b) { return a.start == b.start; }),
                 symbols_.end());
}

SymbolTable::Match SymbolTable::Find(uint64_t vaddr) const {
  auto after = std::ranges::upper_bound(symbols_, vaddr, {}, &Symbol::start);
  if (after == symbols_.begin()) return {};
  const Symbol& found = *std::prev(after);
  if (vaddr >= found.end) return {};
  return {.name = found.name, .offset = vaddr - found.start};
}

}  // namespace rollcall
