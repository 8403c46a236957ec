// SPDX-License-Identifier: Apache-2.0
// The functions in an ELF symbol table, by address: used for code without debug information.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_SYMBOL_TABLE_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_SYMBOL_TABLE_H_

#include <libelf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall {

// Immutable after construction; refers to the Elf's string table, so the Elf must outlive it.
class SymbolTable {
 public:
  SymbolTable() = default;
  // Reads .symtab if `elf` has one, else .dynsym.
  explicit SymbolTable(Elf* elf);

  struct Match {
    const char* name = nullptr;  // owned by the Elf; null: nothing covers the address
    uint64_t offset = 0;
  };
  // The function that covers `vaddr`. Symbols without a size (assembler) extend to the next symbol,
  // but not beyond their section.
  Match Find(uint64_t vaddr) const;

  bool empty() const { return symbols_.empty(); }

 private:
  struct Symbol {
    uint64_t start;
    uint64_t end;
    const char* name;
    uint8_t rank;  // of the symbols at one address, the lowest is preferred
  };
  std::vector<Symbol> symbols_;  // by (start, rank); one for each start
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_SYMBOL_TABLE_H_
