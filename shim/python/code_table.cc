// SPDX-License-Identifier: Apache-2.0
#include "shim/python/code_table.h"

#include <atomic>

#include "shim/process.h"
#include "shim/python/interpreter.h"

namespace rollcall::shim::python {
namespace {

using rollcall::python::kNone;

// Code objects in the ring: fingerprint -> index + 1. Lock-free: a thread claims an entry by its
// fingerprint and publishes the index last. An entry has no index if it is not published yet or if
// the ring's table was full. A thread that finds such an entry tries to enter the code itself.
struct Entry {
  std::atomic<uint64_t> fingerprint;
  std::atomic<uint64_t> index_plus_one;
};
constexpr uint32_t kEntries = 4096;
constexpr uint32_t kProbes = 32;
constinit Entry g_entries[kEntries];

template <typename Memory>
bool ReadText(const Shape& shape, Memory& memory, uint64_t object, Slot slot, char* out,
              uint64_t* length) {
  Text text;
  if (!FindText(shape, memory, object, slot, &text)) return false;
  uint64_t characters = text.length;
  if (characters > kMaxText) characters = kMaxText;  // each takes at least one byte
  *length = 0;
  if (characters == 0) return true;
  const unsigned char* at = memory.At(text.address, characters * text.kind, slot);
  if (at == nullptr) return false;
  *length = rollcall::python::ToUtf8(at, text.kind, characters, out, kMaxText);
  return true;
}

uint64_t PortableHash(const CodeText& text) {
  uint64_t hash = HashBytes(text.file, text.file_length, 21);
  hash = Mix64(hash, HashBytes(text.name, text.name_length, 22));
  hash = Mix64(hash, HashBytes(text.table, text.table_length, text.first_line));
  return hash == 0 ? 1 : hash;
}

uint64_t Enter(const CodeText& text, uint64_t portable_hash) {
  ring::Section* section = g_process.Of(ring::SectionKind::kPythonCode);
  const uint64_t index = TakeFrom(section, 1);
  if (index >= section->capacity) return 0;
  ring::PythonCode& code = g_process.Table<ring::PythonCode>(ring::SectionKind::kPythonCode)[index];
  code.file = InternBytes(text.file, static_cast<uint32_t>(text.file_length));
  code.name = InternBytes(text.name, static_cast<uint32_t>(text.name_length));
  if (text.table_kept) {
    code.line_table = InternBytes(text.table, static_cast<uint32_t>(text.table_length));
  }
  code.first_line = text.first_line;
  code.version = g_interpreter.shape.layout.version;
  StoreRelease(&code.portable_hash, portable_hash);
  return index + 1;
}

}  // namespace

template <typename Memory>
bool ReadCode(const Shape& shape, Memory& memory, uint64_t code, CodeText* text) {
  const rollcall::python::Layout& layout = shape.layout;
  const unsigned char* at = memory.At(code, layout.code_bytes, Slot::kCode);
  if (at == nullptr) return false;
  const bool has_qualname = layout.code_qualname != kNone;
  const auto file = Load<uint64_t>(at + layout.code_file);
  const auto name = Load<uint64_t>(at + (has_qualname ? layout.code_qualname : layout.code_name));
  const auto table = Load<uint64_t>(at + layout.code_line_table);
  text->first_line = Load<uint32_t>(at + layout.code_first_line);
  FileHash last_file;
  if (!Fingerprint(shape, memory, at, &last_file, &text->fingerprint)) return false;
  if (!ReadText(shape, memory, file, Slot::kFile, text->file, &text->file_length)) return false;
  if (!ReadText(shape, memory, name, Slot::kName, text->name, &text->name_length)) return false;
  uint64_t address = 0, length = 0;
  if (!FindBytes(shape, memory, table, &address, &length)) return false;
  text->table_kept = length <= kMaxLineTable;
  text->table_length = text->table_kept ? length : 0;
  text->table = memory.At(address, text->table_length + 1, Slot::kTable);  // a NUL follows
  return text->table != nullptr;
}

template <typename Memory>
bool InternCode(Memory& memory, const Frame& frame, InternedCode* code) {
  const uint64_t fingerprint = frame.fingerprint == 0 ? 1 : frame.fingerprint;
  const auto* table = g_process.Table<ring::PythonCode>(ring::SectionKind::kPythonCode);
  Entry* mine = nullptr;
  for (uint32_t probe = 0; probe < kProbes && mine == nullptr; ++probe) {
    Entry& entry = g_entries[(fingerprint + probe) % kEntries];
    uint64_t found = entry.fingerprint.load(std::memory_order_acquire);
    if (found == 0 &&
        entry.fingerprint.compare_exchange_strong(found, fingerprint, std::memory_order_acq_rel)) {
      mine = &entry;
    } else if (found == fingerprint) {
      const uint64_t known = entry.index_plus_one.load(std::memory_order_acquire);
      if (known == 0) {
        mine = &entry;
        continue;
      }
      *code = {known, table[known - 1].portable_hash};
      return true;
    }
  }
  CodeText text;
  if (!ReadCode(g_interpreter.shape, memory, frame.code, &text) ||
      text.fingerprint != frame.fingerprint) {
    return false;
  }
  code->portable_hash = PortableHash(text);
  code->index_plus_one = Enter(text, code->portable_hash);
  if (mine != nullptr) mine->index_plus_one.store(code->index_plus_one, std::memory_order_release);
  return true;
}

template bool ReadCode(const Shape&, OwnMemory&, uint64_t, CodeText*);
template bool ReadCode(const Shape&, CopiedMemory&, uint64_t, CodeText*);
template bool InternCode(OwnMemory&, const Frame&, InternedCode*);
template bool InternCode(CopiedMemory&, const Frame&, InternedCode*);

}  // namespace rollcall::shim::python
