// SPDX-License-Identifier: Apache-2.0
// Reads a thread's Python frames from the interpreter's memory: without the GIL, without calling
// into the interpreter, without allocation.
//
// Only a thread itself changes its chain of frames. A thread inside an MPI call, with or without
// the GIL, can therefore walk its own chain. A frame is recorded as a position in a code object.
// Code objects are identified by their content, not by their address, because exec() in a loop
// creates different code at the same address, and the same code at different addresses.
#ifndef ROLLCALL_SHIM_PYTHON_FRAMES_H_
#define ROLLCALL_SHIM_PYTHON_FRAMES_H_

#include <cstdint>

#include "proto/python_layout.h"
#include "proto/ring_format.h"
#include "shim/platform.h"
#include "shim/python/memory.h"

namespace rollcall::shim::python {

// A stack is cut at this depth (ring::PythonEnd::kDepthLimit); its innermost frames are kept.
inline constexpr int kMaxDepth = 64;
// The maximum number of frames visited, including those that are not shown (see Walk).
inline constexpr int kMaxSteps = 4 * kMaxDepth;

struct Frame {
  uint64_t code;         // address of the code object
  uint64_t fingerprint;  // hash of its content: file, name, first line, line table
  uint64_t place;        // the frame's word in the ring, without the index of the code
};

struct Stack {
  ring::PythonEnd end = ring::PythonEnd::kNone;
  int depth = 0;
  uint64_t hash = 0;  // hash of fingerprints, places and end; equal stacks have the same everywhere
  Frame frames[kMaxDepth];
};

// The facts about an interpreter that the walk needs.
struct Shape {
  rollcall::python::Layout layout;
  uint64_t code_type = 0;    // address of PyCode_Type
  uint64_t frame_type = 0;   // address of PyFrame_Type; used up to 3.10
  uint64_t text_type = 0;    // address of PyUnicode_Type
  uint64_t bytes_type = 0;   // address of PyBytes_Type
  uint32_t frame_bytes = 0;  // FrameBytes(layout)
};

// The parts that a fingerprint covers: the start of a text, and the start, last word and length of
// a line table. If two code objects have equal file, name and first line, and their tables differ
// only in the middle, they count as the same.
inline constexpr uint64_t kTextBytes = 256;
inline constexpr uint64_t kTableBytes = 96;

// Finds the characters of a str: their address, their number, and the bytes per character (`kind`).
// Sets length 0 and kind 1 if the str is not of the form that code objects hold. False: not
// readable.
struct Text {
  uint64_t address = 0;
  uint64_t length = 0;
  uint32_t kind = 1;
};
template <typename Memory>
[[gnu::always_inline]] inline bool FindText(const Shape& shape, Memory& memory, uint64_t object,
                                            Slot slot, Text* text) {
  const rollcall::python::Layout& layout = shape.layout;
  if ((object & 7) != 0) return false;
  const unsigned char* at = memory.At(object, layout.text_ascii, slot);
  if (at == nullptr || Load<uint64_t>(at + layout.object_type) != shape.text_type) return false;
  const auto length = Load<uint64_t>(at + layout.text_length);
  const rollcall::python::TextState state =
      rollcall::python::DecodeTextState(Load<uint32_t>(at + layout.text_state), layout);
  *text = {};
  const bool known = state.kind == 1 || state.kind == 2 || state.kind == 4;
  if (!known || !state.compact || length > (uint64_t{1} << 20)) return true;
  *text = {object + (state.ascii ? layout.text_ascii : layout.text_compact), length, state.kind};
  return true;
}

// Finds the bytes of a bytes object. False: not readable.
template <typename Memory>
[[gnu::always_inline]] inline bool FindBytes(const Shape& shape, Memory& memory, uint64_t object,
                                             uint64_t* address, uint64_t* length) {
  const rollcall::python::Layout& layout = shape.layout;
  if ((object & 7) != 0) return false;
  const unsigned char* at = memory.At(object, layout.bytes_data, Slot::kTable);
  if (at == nullptr || Load<uint64_t>(at + layout.object_type) != shape.bytes_type) return false;
  *address = object + layout.bytes_data;
  *length = Load<uint64_t>(at + layout.object_size);
  return *length < (uint64_t{1} << 28);
}

// A multilinear hash: its products are independent of each other, and all bytes of the input count.
// It reads whole words. The last word does not cross into another page, because the bytes start at
// a multiple of 8 in the process.
class ContentHash {
 public:
  [[gnu::always_inline]] void Add(uint64_t word) {
    sum_ += (word ^ (word >> 29)) * factor_;
    factor_ += 0x9e3779b97f4a7c16;  // even: factors stay odd
  }
  [[gnu::always_inline]] void Add(const unsigned char* bytes, uint64_t length) {
    uint64_t at = 0;
    for (; at + 8 <= length; at += 8) Add(Load<uint64_t>(bytes + at));
    if (at < length) {
      Add(Load<uint64_t>(bytes + at) & ((uint64_t{1} << 8 * (length - at)) - 1));
    }
  }
  // The upper bits of a sum of products depend on all bits, the lower ones on few.
  uint64_t Value() const {
    const uint64_t value = (sum_ ^ (sum_ >> 32)) * 0xd6e8feb86659fd93;
    return value ^ (value >> 32);
  }

 private:
  uint64_t sum_ = 0;
  uint64_t factor_ = 0xbf58476d1ce4e5b9;
};

template <typename Memory>
[[gnu::always_inline]] inline bool AddText(const Shape& shape, Memory& memory, uint64_t object,
                                           Slot slot, ContentHash* hash) {
  Text text;
  if (!FindText(shape, memory, object, slot, &text)) return false;
  hash->Add(text.length << 3 | text.kind);
  uint64_t bytes = text.length * text.kind;
  if (bytes > kTextBytes) bytes = kTextBytes;
  if (bytes == 0) return true;
  const unsigned char* at = memory.At(text.address, bytes, slot);
  if (at == nullptr) return false;
  hash->Add(at, bytes);
  return true;
}

// Caches the hash of the last file name: most frames of a stack are in few files.
struct FileHash {
  uint64_t object = 0;
  uint64_t value = 0;
};

// Computes the fingerprint of a code object; `code` points to its bytes. False: not readable.
template <typename Memory>
[[gnu::always_inline]] inline bool Fingerprint(const Shape& shape, Memory& memory,
                                               const unsigned char* code, FileHash* last_file,
                                               uint64_t* fingerprint) {
  const rollcall::python::Layout& layout = shape.layout;
  const bool has_qualname = layout.code_qualname != rollcall::python::kNone;
  const auto name = Load<uint64_t>(code + (has_qualname ? layout.code_qualname : layout.code_name));
  const auto file = Load<uint64_t>(code + layout.code_file);
  const auto table = Load<uint64_t>(code + layout.code_line_table);
  if (file != last_file->object) {
    ContentHash hash;
    if (!AddText(shape, memory, file, Slot::kFile, &hash)) return false;
    *last_file = {file, hash.Value()};
  }
  ContentHash hash;
  hash.Add(last_file->value);
  hash.Add(Load<uint32_t>(code + layout.code_first_line));
  if (!AddText(shape, memory, name, Slot::kName, &hash)) return false;
  uint64_t address = 0, length = 0;
  if (!FindBytes(shape, memory, table, &address, &length)) return false;
  hash.Add(length);
  if (length != 0) {
    const unsigned char* at =
        memory.At(address, length < kTableBytes ? length : kTableBytes, Slot::kTable);
    if (at == nullptr) return false;
    hash.Add(at, length < kTableBytes ? length : kTableBytes);
    if (length > kTableBytes) {
      const uint64_t last = (length - 1) & ~uint64_t{7};
      at = memory.At(address + last, length - last, Slot::kTable);
      if (at == nullptr) return false;
      hash.Add(at, length - last);
    }
  }
  *fingerprint = hash.Value();
  return true;
}

// Walks the chain from the innermost frame `frame` (0: none) outwards. Two types of frames are left
// out: frames of the C stack, which only mark where a call of the interpreter's loop begins, and
// "incomplete" frames, which have not reached the first line of their function. A finalizer may run
// while a frame is incomplete.
template <typename Memory>
void Walk(const Shape& shape, Memory& memory, uint64_t frame, Stack* stack);

extern template void Walk(const Shape&, OwnMemory&, uint64_t, Stack*);
extern template void Walk(const Shape&, CopiedMemory&, uint64_t, Stack*);

// Ends a stack without frames.
inline void EndStack(Stack* stack, ring::PythonEnd end) {
  stack->end = end;
  stack->depth = 0;
  stack->hash = Mix64(0x70797468, static_cast<uint64_t>(end));
}

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_FRAMES_H_
