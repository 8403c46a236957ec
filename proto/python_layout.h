// SPDX-License-Identifier: Apache-2.0
// Where CPython stores the data of Python stack frames: one row for each minor version.
//
// There are two readers. The shim, inside the process, reads the frames of the thread that it runs
// in. A reader outside reads the frames of a stalled process (process_vm_readv, or a core file).
// Neither can include CPython's own headers, because one binary must serve every interpreter.
//
// Sources: the interpreters' headers, in Include/ and Include/internal/ of each version:
// pycore_runtime.h (_PyRuntimeState; in 3.8 pycore_pystate.h), pycore_interp.h
// (PyInterpreterState), cpython/pystate.h (PyThreadState, _PyCFrame), cpython/frameobject.h
// (PyFrameObject, to 3.10), pycore_frame.h (_PyInterpreterFrame, from 3.11), cpython/code.h
// (PyCodeObject), cpython/unicodeobject.h, bytesobject.h, cpython/longintrepr.h, dictobject.h,
// pycore_dict.h, genobject.h.
//
// The layout is constant within a minor version ("only guaranteed to be stable between patch
// versions", pycore_runtime.h). From 3.13 on the interpreter publishes its own offsets at the start
// of _PyRuntime (_Py_DebugOffsets, in pycore_debug_offsets.h from 3.14). The readers prefer the
// published offsets. Offsets that are not published come from the row; they are used only if the
// published offsets and sizes agree with the row.
//
// tests/proto/python_layout_test.cc compares the rows with offsetof() in the headers of each
// installed interpreter. Only 64-bit, little-endian default builds are supported: no Py_TRACE_REFS
// (it moves every field), no free threading.
//
// Plain data and constexpr functions; depends on nothing, allocates nothing, async-signal-safe.
#ifndef ROLLCALL_PROTO_PYTHON_LAYOUT_H_
#define ROLLCALL_PROTO_PYTHON_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace rollcall::python {

inline constexpr uint32_t kNone = 0xffffffff;  // the version has no such field, or it is not public

// How the number of used slots of a frame is stored. The number is unknown for every running frame
// up to 3.10, and for a frame that is inside a call of C code up to 3.13.
enum class StackTop : uint8_t {
  kPointer,  // to the slot after the last used one; null: unknown
  kDepth,    // int, slots of the value stack; negative: unknown
  kIndex,    // int, slots; negative: unknown
};

// Where an object of a class with kManagedDict has its attributes (pycore_object.h).
enum class Attributes : uint8_t {
  kInDict,        // there are no such classes (up to 3.10)
  kBefore,        // 3.11: three words before the object, the dict; if it is null, four, the values
  kTaggedBefore,  // 3.12: three words before, the dict; or, if the lowest bit is set, values - 1
  kInline,        // from 3.13: as kBefore the dict; if it is null, the values follow the header
};

// Offsets in bytes from the start of the object that the name's prefix indicates.
struct Layout {
  uint32_t version = 0;  // major << 8 | minor

  // _PyRuntime, an exported variable.
  uint32_t runtime_finalizing = kNone;  // PyThreadState*: not null once Py_Finalize is under way
  uint32_t runtime_interpreters_head = kNone;  // PyInterpreterState*, newest first
  uint32_t runtime_interpreters_main = kNone;  // PyInterpreterState*
  uint32_t runtime_main_thread = kNone;        // pthread_t of the thread that initialised Python

  // PyInterpreterState
  uint32_t interpreter_next = kNone;
  uint32_t interpreter_threads_head = kNone;  // PyThreadState*, newest first

  // PyThreadState
  uint32_t thread_next = kNone;
  uint32_t thread_interpreter = kNone;
  uint32_t thread_id = kNone;         // pthread_t
  uint32_t thread_native_id = kNone;  // gettid(); from 3.11
  // Pointer to the innermost frame; in 3.11 and 3.12, to the _PyCFrame.
  uint32_t thread_frame = kNone;
  uint32_t cframe_frame = kNone;

  // PyFrameObject up to 3.10, _PyInterpreterFrame from 3.11.
  uint32_t frame_previous = kNone;
  uint32_t frame_code = kNone;  // PyCodeObject*; from 3.14 with kFrameCodeTag bits
  // Up to 3.10, f_lasti: an int in units of `lasti_bytes`, -1 before the first instruction. From
  // 3.11, a pointer into the code (prev_instr, instr_ptr).
  uint32_t frame_instruction = kNone;
  uint32_t lasti_bytes = 0;         // 0: frame_instruction is a pointer
  uint32_t frame_owner = kNone;     // char, FrameOwner
  uint32_t frame_is_entry = kNone;  // bool; 3.11 only
  // A frame for the C stack (kFirstShimOwner and above) follows the outermost frame that one call
  // of the interpreter's loop runs. From 3.12.
  bool shim_frames = false;
  // For the values of variables. frame_slots is kNone if they cannot be read.
  uint32_t frame_globals = kNone;  // PyObject*
  uint32_t frame_locals = kNone;   // PyObject*; the globals in the frame of a module
  uint32_t frame_slots = kNone;    // f_localsplus, localsplus: variables, then the value stack
  uint32_t frame_stack_top = kNone;
  StackTop stack_top = StackTop::kPointer;

  // PyCodeObject
  uint32_t code_bytes = 0;  // sizeof(PyCodeObject)
  uint32_t code_file = kNone;
  uint32_t code_name = kNone;
  uint32_t code_qualname = kNone;            // from 3.11
  uint32_t code_first_line = kNone;          // int
  uint32_t code_line_table = kNone;          // bytes: co_lnotab up to 3.9, then co_linetable
  uint32_t code_instructions = kNone;        // from 3.11, in the object itself: co_code_adaptive
  uint32_t code_instruction_object = kNone;  // up to 3.10: co_code, a bytes object
  uint32_t code_first_traceable = kNone;  // int, index of the first instruction of the user's code
  uint32_t code_flags = kNone;            // int, CodeFlag
  uint32_t code_stack_size = kNone;       // int, slots
  uint32_t code_names = kNone;            // tuple of str, indexed by STORE_NAME and others
  uint32_t code_slot_count = kNone;       // int: co_nlocals up to 3.10, then co_nlocalsplus
  uint32_t code_slot_names = kNone;       // tuple of str: co_varnames, then co_localsplusnames
  uint32_t code_slot_kinds = kNone;       // bytes, SlotKind; from 3.11
  uint32_t code_cell_names = kNone;       // tuple of str, the slots after co_varnames; up to 3.10
  uint32_t code_free_names = kNone;       // tuple of str, the slots after those; up to 3.10

  // Objects
  uint32_t object_type = 8;
  uint32_t object_size = 16;  // ob_size of PyVarObject: for code, in 2-byte instructions
  uint32_t bytes_data = 32;   // ob_sval; its length is in object_size
  uint32_t text_length = 16;  // code points
  uint32_t text_state = 32;   // uint32_t bit field, see TextState
  uint32_t text_ascii = 0;    // sizeof(PyASCIIObject): start of the data of a compact ASCII string
  uint32_t text_compact = 0;  // sizeof(PyCompactUnicodeObject): the same for other compact strings
  uint32_t text_state_shift = 2;  // bits of `interned`, before `kind`
  uint32_t type_basic_size = 32;  // tp_basicsize and so on: Py_ssize_t, Py_ssize_t, unsigned long
  uint32_t type_item_size = 40;
  uint32_t type_flags = 168;
  uint32_t type_next = 224;  // tp_iternext, a function: not null if the objects are iterators
  uint32_t type_name = 24;   // tp_name, a C string
  uint32_t type_dict = 264;  // PyObject*; from 3.12 null in the interpreter's own types
  uint32_t type_set = 280;   // tp_descr_set, a function: not null if it computes an attribute
  uint32_t type_dict_offset = 288;    // tp_dictoffset: positive: of a dict in the object
  uint32_t type_mro = 344;            // tuple of types
  uint32_t type_cached_keys = kNone;  // PyDictKeysObject* of a class with kManagedDict; from 3.11
  uint32_t tuple_items = 24;          // PyObject*[object_size]
  uint32_t cell_value = 16;           // PyObject*
  // int: up to 3.11 the number of digits, negative for a negative int; from 3.12 lv_tag.
  uint32_t integer_size = 16;
  uint32_t integer_digits = 24;  // uint32_t of kDigitBits bits each, least significant first
  bool integer_tagged = false;
  uint32_t dict_keys = 32;    // PyDictKeysObject*
  uint32_t dict_values = 40;  // null: the values are stored with the keys
  Attributes attributes = Attributes::kInDict;
  uint32_t values_items = 0;  // of PyDictValues: PyObject*[number of keys]
  // The generator's frame: up to 3.10 a PyFrameObject*, from 3.11 the frame itself.
  uint32_t generator_frame = kNone;
  uint32_t generator_state = kNone;  // signed char, negative while it is suspended; from 3.11

  // PyDictKeysObject; up to 3.10 it is in no installed header (Objects/dict-common.h).
  uint32_t keys_size = kNone;         // Py_ssize_t, number of indices; up to 3.10
  uint32_t keys_index_bytes = kNone;  // uint8_t, log2 of the indices' size in bytes; from 3.11
  uint32_t keys_kind = kNone;         // uint8_t, KeysKind; from 3.11
  uint32_t keys_entry_count = kNone;  // Py_ssize_t
  uint32_t keys_indices = kNone;      // the entries follow
};

// The `owner` of a _PyInterpreterFrame (pycore_frame.h). From 3.12 on, a frame with a value greater
// than kFrameObjectOwner represents the C stack and has no user code.
enum FrameOwner : uint8_t {
  kThreadOwner = 0,
  kGeneratorOwner = 1,
  kFrameObjectOwner = 2,
  kFirstShimOwner = 3,
};

// _PyStackRef's tag bits (pycore_stackref.h, 3.14); an object's address has none of them set.
inline constexpr uint64_t kFrameCodeTag = 7;

// co_flags: the code keeps its variables in slots. Module code does not.
inline constexpr uint32_t kOptimizedCode = 1;

// co_localspluskinds (pycore_code.h): the slot holds a cell once the frame has started.
enum SlotKind : uint8_t { kCellSlot = 0x40, kFreeSlot = 0x80 };

// dk_kind (pycore_dict.h).
enum KeysKind : uint8_t {
  kAnyKeys = 0,      // entries of hash, key, value; up to 3.10 the only kind
  kUnicodeKeys = 1,  // entries of key, value
  kSharedKeys = 2,   // the same; the values are elsewhere
};

inline constexpr uint32_t kDigitBits = 30;
inline constexpr uint64_t kIntegerFlag = 1 << 24;  // tp_flags of int and its subclasses
// tp_flags from 3.11: see Attributes; and from 3.13: the objects have values after the header.
inline constexpr uint64_t kManagedDict = 1 << 4;
inline constexpr uint64_t kInlineValues = 1 << 2;

// lv_tag (pycore_long.h): digits << 3 | flags.
inline constexpr uint32_t kTagShift = 3;
enum IntegerSign : uint8_t { kPositive = 0, kZero = 1, kNegative = 2, kSignMask = 3 };

// Instructions that store to a namespace; the argument is the index of the name (opcode.h; from
// 3.13, opcode_ids.h). No version specializes them.
struct StoreOpcodes {
  uint32_t first_version;
  uint8_t store_name;
  uint8_t store_global;
  uint8_t extended_argument;  // the higher bits of the next instruction's argument
};
inline constexpr StoreOpcodes kStoreOpcodes[] = {
    {0x308, 90, 97, 144}, {0x30d, 114, 113, 71}, {0x30e, 116, 115, 69}};
constexpr StoreOpcodes StoreOpcodesOf(uint32_t version) {
  StoreOpcodes found = kStoreOpcodes[0];
  for (const StoreOpcodes& row : kStoreOpcodes) {
    if (row.first_version <= version) found = row;
  }
  return found;
}

// The bit field `state` of a str. `kind` is the number of bytes per character (0: a legacy string
// that is not "ready"; code objects do not have these).
struct TextState {
  uint32_t kind;
  bool compact;
  bool ascii;
};
constexpr TextState DecodeTextState(uint32_t state, const Layout& layout) {
  const uint32_t bits = state >> layout.text_state_shift;
  return {bits & 7, (bits >> 3 & 1) != 0, (bits >> 4 & 1) != 0};
}

constexpr uint32_t VersionOf(uint32_t version_hex) { return version_hex >> 16; }

// --- The rows ------------------------------------------------------------------------------------

namespace rows {

constexpr Layout Python38() {
  Layout row;
  row.version = 0x308;
  row.runtime_finalizing = 16;
  row.runtime_interpreters_head = 32;
  row.runtime_interpreters_main = 40;
  row.runtime_main_thread = 72;
  row.interpreter_next = 0;
  row.interpreter_threads_head = 8;
  row.thread_next = 8;
  row.thread_interpreter = 16;
  row.thread_id = 176;
  row.thread_frame = 24;
  row.frame_previous = 24;
  row.frame_code = 32;
  row.frame_instruction = 104;
  row.lasti_bytes = 1;
  row.code_bytes = 176;
  row.code_file = 104;
  row.code_name = 112;
  row.code_first_line = 40;
  row.code_line_table = 120;
  row.code_instruction_object = 48;
  row.text_ascii = 48;
  row.text_compact = 72;
  row.frame_globals = 48;
  row.frame_locals = 56;
  row.frame_slots = 360;
  row.frame_stack_top = 72;
  row.code_flags = 36;
  row.code_stack_size = 32;
  row.code_names = 64;
  row.code_slot_count = 28;
  row.code_slot_names = 72;
  row.code_cell_names = 88;
  row.code_free_names = 80;
  row.generator_frame = 16;
  row.keys_size = 8;
  row.keys_entry_count = 32;
  row.keys_indices = 40;
  return row;
}

constexpr Layout Python39() {
  Layout row = Python38();
  row.version = 0x309;
  return row;
}

constexpr Layout Python310() {
  Layout row = Python39();
  row.version = 0x30a;
  row.frame_instruction = 96;
  row.lasti_bytes = 2;
  row.frame_slots = 352;
  row.frame_stack_top = 80;
  row.stack_top = StackTop::kDepth;
  return row;
}

constexpr Layout Python311() {
  Layout row;
  row.version = 0x30b;
  row.runtime_finalizing = 24;
  row.runtime_interpreters_head = 40;
  row.runtime_interpreters_main = 48;
  row.runtime_main_thread = 80;
  row.interpreter_next = 0;
  row.interpreter_threads_head = 16;
  row.thread_next = 8;
  row.thread_interpreter = 16;
  row.thread_id = 152;
  row.thread_native_id = 160;
  row.thread_frame = 56;
  row.cframe_frame = 8;
  row.frame_previous = 48;
  row.frame_code = 32;
  row.frame_instruction = 56;
  row.frame_owner = 69;
  row.frame_is_entry = 68;
  row.code_bytes = 192;
  row.code_file = 112;
  row.code_name = 120;
  row.code_qualname = 128;
  row.code_first_line = 72;
  row.code_line_table = 136;
  row.code_instructions = 184;
  row.code_first_traceable = 168;
  row.text_ascii = 48;
  row.text_compact = 72;
  row.frame_globals = 8;
  row.frame_locals = 24;
  row.frame_slots = 72;
  row.frame_stack_top = 64;
  row.stack_top = StackTop::kIndex;
  row.code_flags = 48;
  row.code_stack_size = 68;
  row.code_names = 32;
  row.code_slot_count = 76;
  row.code_slot_names = 96;
  row.code_slot_kinds = 104;
  row.generator_frame = 80;
  row.generator_state = 75;
  row.keys_index_bytes = 9;
  row.keys_kind = 10;
  row.keys_entry_count = 24;
  row.keys_indices = 32;
  row.type_cached_keys = 872;
  row.attributes = Attributes::kBefore;
  return row;
}

constexpr Layout Python312() {
  Layout row = Python311();
  row.version = 0x30c;
  row.runtime_main_thread = 64;
  row.interpreter_threads_head = 72;
  row.thread_id = 136;
  row.thread_native_id = 144;
  row.cframe_frame = 0;
  row.frame_previous = 8;
  row.frame_code = 0;
  row.frame_owner = 70;
  row.frame_is_entry = kNone;
  row.shim_frames = true;
  row.code_bytes = 200;
  row.code_first_line = 68;
  row.code_instructions = 192;
  row.code_first_traceable = 176;
  row.text_ascii = 40;
  row.text_compact = 56;
  row.frame_globals = 24;
  row.frame_locals = 40;
  row.code_stack_size = 64;
  row.code_slot_count = 72;
  row.integer_tagged = true;
  row.generator_frame = 72;
  row.generator_state = 67;
  row.type_cached_keys = 880;
  row.attributes = Attributes::kTaggedBefore;
  return row;
}

// From here on, the interpreter publishes most offsets; these rows hold the others.
constexpr Layout Python313() {
  Layout row = Python312();
  row.version = 0x30d;
  row.runtime_finalizing = 608;
  row.runtime_interpreters_head = 632;
  row.runtime_interpreters_main = 640;
  row.runtime_main_thread = 656;
  row.interpreter_next = 7264;
  row.interpreter_threads_head = 7344;
  row.thread_id = 152;
  row.thread_native_id = 160;
  row.thread_frame = 72;
  row.cframe_frame = kNone;
  row.code_bytes = 208;
  row.code_instructions = 200;
  row.code_first_traceable = 184;
  row.attributes = Attributes::kInline;
  row.values_items = 8;
  return row;
}

// Taken from the sources of 3.14, never tested with it. The address of the main interpreter is not
// published: the main interpreter is the last one of the list that starts at
// runtime_interpreters_head.
constexpr Layout Python314() {
  Layout row;
  row.version = 0x30e;
  row.shim_frames = true;
  row.text_state_shift = 16;
  // Needed for variables; used only if they agree with the published offsets.
  row.frame_previous = 8;
  row.frame_code = 0;
  row.frame_instruction = 56;
  row.frame_globals = 24;
  row.frame_locals = 40;
  row.frame_slots = 80;
  row.frame_stack_top = 64;
  row.code_file = 112;
  row.code_first_line = 68;
  row.code_flags = 48;
  row.code_stack_size = 64;
  row.code_names = 32;
  row.code_slot_count = 72;
  row.code_slot_names = 96;
  row.code_slot_kinds = 104;
  row.tuple_items = 32;
  row.integer_tagged = true;
  row.generator_frame = 72;
  row.generator_state = 67;
  row.keys_index_bytes = 9;
  row.keys_kind = 10;
  row.keys_entry_count = 24;
  row.keys_indices = 32;
  row.type_mro = kNone;  // attributes are not read
  return row;
}

}  // namespace rows

inline constexpr Layout kRows[] = {rows::Python38(),  rows::Python39(),  rows::Python310(),
                                   rows::Python311(), rows::Python312(), rows::Python313(),
                                   rows::Python314()};
inline constexpr uint32_t kFirstPublished = 0x30d;

// --- What the interpreter publishes --------------------------------------------------------------

inline constexpr char kDebugCookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
// The number of bytes at the start of _PyRuntime that contain all needed _Py_DebugOffsets.
inline constexpr size_t kDebugOffsetsBytes = 800;

enum class LayoutResult : uint8_t {
  kFound,
  kUnknownVersion,
  kOtherBuild,  // free-threaded
  kDamaged,     // the published offsets are inconsistent or missing
};

namespace published {

// Where the groups of _Py_DebugOffsets start, in words. The first word of each is the size of the
// structure. The order within a group is the same in 3.13 and 3.14, except for inserted words.
struct Groups {
  uint32_t runtime = 3;      // size, finalizing, interpreters_head
  uint32_t interpreter = 6;  // size, id, next, threads_head
  uint32_t thread;           // size, prev, next, interp, current_frame, thread_id, native_thread_id
  uint32_t frame;  // size, previous, executable, instr_ptr, localsplus, owner, stackpointer (3.14)
  // size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames,
  // localspluskinds, instructions
  uint32_t code;
  uint32_t object;   // size, ob_type
  uint32_t tuple;    // size, ob_item
  uint32_t dict;     // size, ma_keys, ma_values
  uint32_t integer;  // size, lv_tag, ob_digit
  uint32_t bytes;    // size, ob_size, ob_sval
  uint32_t text;     // size, state, length, size of PyASCIIObject
};

// 3.14 adds words to the groups interpreter (threads_main, two generations), frame (stackpointer,
// tlbc_index) and code (co_tlbc), and adds a group for sets.
constexpr Groups GroupsOf(uint32_t version) {
  return version == 0x30d ? Groups{.thread = 19,
                                   .frame = 28,
                                   .code = 34,
                                   .object = 44,
                                   .tuple = 50,
                                   .dict = 56,
                                   .integer = 61,
                                   .bytes = 64,
                                   .text = 67}
                          : Groups{.thread = 22,
                                   .frame = 31,
                                   .code = 39,
                                   .object = 50,
                                   .tuple = 56,
                                   .dict = 66,
                                   .integer = 71,
                                   .bytes = 74,
                                   .text = 77};
}

constexpr uint64_t WordAt(const unsigned char* bytes, uint32_t index) {
  uint64_t word = 0;
  for (uint32_t i = 8; i-- > 0;) word = word << 8 | bytes[index * 8 + i];
  return word;
}

// Returns whether the published offsets that are needed for variables equal those of the row.
// Further offsets that variables need are in the row only. They are trusted only if this function
// returns true; otherwise variables are not read.
constexpr bool AgreesOnVariables(const unsigned char* bytes, const Groups& groups,
                                 const Layout& row) {
  const auto is = [&](uint32_t group, uint32_t index, uint32_t offset) {
    return WordAt(bytes, group + index) == offset;
  };
  return is(groups.frame, 1, row.frame_previous) && is(groups.frame, 2, row.frame_code) &&
         is(groups.frame, 3, row.frame_instruction) && is(groups.frame, 4, row.frame_slots) &&
         (row.version == 0x30d || is(groups.frame, 6, row.frame_stack_top)) &&
         is(groups.code, 1, row.code_file) && is(groups.code, 5, row.code_first_line) &&
         is(groups.code, 7, row.code_slot_names) && is(groups.code, 8, row.code_slot_kinds) &&
         is(groups.tuple, 1, row.tuple_items) && is(groups.dict, 1, row.dict_keys) &&
         is(groups.dict, 2, row.dict_values) && is(groups.integer, 1, row.integer_size) &&
         is(groups.integer, 2, row.integer_digits);
}

constexpr LayoutResult Read(const unsigned char* bytes, uint32_t version_hex, Layout* layout) {
  for (uint32_t i = 0; i < 8; ++i) {
    if (bytes[i] != static_cast<unsigned char>(kDebugCookie[i])) return LayoutResult::kDamaged;
  }
  if (WordAt(bytes, 1) != version_hex) return LayoutResult::kDamaged;
  if (WordAt(bytes, 2) != 0) return LayoutResult::kOtherBuild;
  const Groups groups = GroupsOf(layout->version);
  bool sound = true;
  // Returns the offset of a field of `width` bytes, and checks that it is inside its structure.
  const auto field = [&](uint32_t group, uint32_t index, uint64_t width) {
    const uint64_t size = WordAt(bytes, group), offset = WordAt(bytes, group + index);
    if (size > (1u << 24) || offset > size || size - offset < width) sound = false;
    return static_cast<uint32_t>(offset);
  };
  const uint32_t row_code_bytes = layout->code_bytes;
  if (!AgreesOnVariables(bytes, groups, *layout)) layout->frame_slots = kNone;
  layout->runtime_finalizing = field(groups.runtime, 1, 8);
  layout->runtime_interpreters_head = field(groups.runtime, 2, 8);
  layout->interpreter_next = field(groups.interpreter, 2, 8);
  layout->interpreter_threads_head = field(groups.interpreter, 3, 8);
  layout->thread_next = field(groups.thread, 2, 8);
  layout->thread_interpreter = field(groups.thread, 3, 8);
  layout->thread_frame = field(groups.thread, 4, 8);
  layout->thread_id = field(groups.thread, 5, 8);
  layout->thread_native_id = field(groups.thread, 6, 8);
  layout->frame_previous = field(groups.frame, 1, 8);
  layout->frame_code = field(groups.frame, 2, 8);
  layout->frame_instruction = field(groups.frame, 3, 8);
  layout->frame_owner = field(groups.frame, 5, 1);
  layout->code_bytes = static_cast<uint32_t>(WordAt(bytes, groups.code));
  layout->code_file = field(groups.code, 1, 8);
  layout->code_name = field(groups.code, 2, 8);
  layout->code_qualname = field(groups.code, 3, 8);
  layout->code_line_table = field(groups.code, 4, 8);
  layout->code_first_line = field(groups.code, 5, 4);
  layout->code_instructions = field(groups.code, 9, 1);
  layout->object_type = field(groups.object, 1, 8);
  layout->object_size = field(groups.bytes, 1, 8);
  layout->bytes_data = field(groups.bytes, 2, 1);
  layout->text_state = field(groups.text, 1, 4);
  layout->text_length = field(groups.text, 2, 8);
  layout->text_ascii = static_cast<uint32_t>(WordAt(bytes, groups.text + 3));
  layout->text_compact = layout->text_ascii + 16;  // utf8_length, utf8
  // Values that no version's headers have: they detect a shifted group.
  if (WordAt(bytes, groups.object) != 16 || layout->object_type != 8) sound = false;
  if (WordAt(bytes, groups.text) != layout->text_compact + 8) sound = false;
  if (WordAt(bytes, groups.frame) > 256 || layout->code_bytes > 1024) sound = false;
  if (layout->text_state + 4 > layout->text_ascii || layout->object_size != 16) sound = false;
  if (row_code_bytes != layout->code_bytes) {
    layout->code_first_traceable = kNone;
  }
  return sound ? LayoutResult::kFound : LayoutResult::kDamaged;
}

}  // namespace published

// Finds the layout of the interpreter with PY_VERSION_HEX `version_hex`. `runtime` points to the
// first kDebugOffsetsBytes of its _PyRuntime; it is read only from 3.13 on, and may be null for
// older versions. Pre-releases are unknown, because their layouts changed from one to the next.
constexpr LayoutResult FindLayout(uint32_t version_hex, const unsigned char* runtime,
                                  Layout* layout) {
  constexpr uint32_t kReleaseCandidate = 0xc;
  if ((version_hex >> 4 & 0xf) < kReleaseCandidate) return LayoutResult::kUnknownVersion;
  for (const Layout& row : kRows) {
    if (row.version != VersionOf(version_hex)) continue;
    *layout = row;
    if (row.version < kFirstPublished) return LayoutResult::kFound;
    if (runtime == nullptr) return LayoutResult::kDamaged;
    return published::Read(runtime, version_hex, layout);
  }
  return LayoutResult::kUnknownVersion;
}

// The number of bytes from a frame's beginning that hold the fields which lead to the next frame.
constexpr uint32_t FrameBytes(const Layout& layout) {
  uint32_t end = 0;
  const auto cover = [&end](uint32_t field, uint32_t bytes) {
    if (field != kNone && field + bytes > end) end = field + bytes;
  };
  cover(layout.frame_previous, 8);
  cover(layout.frame_code, 8);
  cover(layout.frame_instruction, layout.lasti_bytes != 0 ? 4 : 8);
  cover(layout.frame_owner, 1);
  cover(layout.frame_is_entry, 1);
  return end;
}

// --- Text ----------------------------------------------------------------------------------------

// Converts `length` characters of `kind` bytes each to UTF-8. Writes at most `room` bytes, whole
// characters only. Returns the number of bytes written. A surrogate that represents an undecodable
// byte of a file name (PEP 383) becomes that byte. Other surrogates have no form in UTF-8 and
// become '?'.
constexpr size_t ToUtf8(const unsigned char* characters, uint32_t kind, uint64_t length, char* out,
                        size_t room) {
  size_t used = 0;
  for (uint64_t i = 0; i < length; ++i) {
    uint32_t code = 0;
    for (uint32_t byte = kind; byte-- > 0;) code = code << 8 | characters[i * kind + byte];
    char text[4] = {};
    size_t bytes = 0;
    if (code >= 0xdc80 && code <= 0xdcff) {
      text[bytes++] = static_cast<char>(code & 0xff);
    } else if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
      text[bytes++] = '?';
    } else if (code < 0x80) {
      text[bytes++] = static_cast<char>(code);
    } else {
      const uint32_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
      constexpr uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
      text[bytes++] = static_cast<char>(kLead[more] | code >> (6 * more));
      for (uint32_t rest = more; rest-- > 0;) {
        text[bytes++] = static_cast<char>(0x80 | (code >> (6 * rest) & 0x3f));
      }
    }
    if (bytes > room - used) break;
    for (size_t byte = 0; byte < bytes; ++byte) out[used++] = text[byte];
  }
  return used;
}

}  // namespace rollcall::python

#endif  // ROLLCALL_PROTO_PYTHON_LAYOUT_H_
