// SPDX-License-Identifier: Apache-2.0
// The ring's table of Python code objects. Each code object is stored once, so that it is available
// after the process has ended.
#ifndef ROLLCALL_SHIM_PYTHON_CODE_TABLE_H_
#define ROLLCALL_SHIM_PYTHON_CODE_TABLE_H_

#include <cstdint>

#include "proto/python_layout.h"
#include "shim/python/frames.h"

namespace rollcall::shim::python {

inline constexpr uint64_t kMaxText = 1024;  // bytes kept of a file's or function's name
inline constexpr uint64_t kMaxLineTable = CopiedMemory::kTableBytes;  // longer ones are not kept

// The stored parts of a code object, as read.
struct CodeText {
  char file[kMaxText];
  char name[kMaxText];
  uint64_t file_length = 0;
  uint64_t name_length = 0;
  uint64_t fingerprint = 0;
  uint32_t first_line = 0;
  const unsigned char* table = nullptr;  // in the process, or in the memory's buffers
  uint64_t table_length = 0;             // may be 0 for code of one line (up to 3.9)
  bool table_kept = false;               // false if it is too long
};

// Returns false if the code object is not readable.
template <typename Memory>
bool ReadCode(const Shape& shape, Memory& memory, uint64_t code, CodeText* text);

struct InternedCode {
  uint64_t index_plus_one = 0;  // in kPythonCode; 0 if there was no room
  uint64_t portable_hash = 0;
};

// Finds the frame's code object in the ring's table, or enters it. False if the code object is not
// readable, or has changed since the walk. Called only for new paths; allocates nothing; any
// thread.
template <typename Memory>
bool InternCode(Memory& memory, const Frame& frame, InternedCode* code);

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_CODE_TABLE_H_
