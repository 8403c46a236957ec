// SPDX-License-Identifier: Apache-2.0
#include "collector/live/python_locals.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "collector/base/text.h"
#include "collector/live/python_objects.h"

namespace rollcall {
namespace {

constexpr uint64_t kMaxVariableNameCharacters = 256;
constexpr uint64_t kMaxStoredNames = 4096;      // of a module
constexpr uint64_t kMaxGlobals = 8192;          // entries of a module's dict
constexpr uint64_t kMaxScannedBytes = 1 << 18;  // instructions of a module
// Limit for nesting: a generator may iterate over a generator, and so on.
constexpr int kMaxGenerators = 3;

// Limits for what is asked for.
constexpr int kMaxAsked = 32;     // of one frame
constexpr int kMaxPathNames = 8;  // "self.options.level" has 3

constexpr uint32_t kMaxFrameHeadBytes = 512;
constexpr uint32_t kMaxCodeHeadBytes = 1024;

class SlotDigest {
 public:
  // The shift is necessary: without it (FNV-1a), two changes of all bits, or of the highest bits,
  // may cancel each other. An example is an iterator whose index goes from 1 to -1 and that is
  // hashed twice, once as a variable and once on the stack.
  void Add(uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15;
    hash_ ^= hash_ >> 32;
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

// The code object's description of its frames' slots.
struct SlotCode {
  bool sound = false;
  bool optimized = false;
  std::vector<uint64_t> names;   // variables' names (str objects), of the first kMaxPythonSlots
  std::vector<bool> cells;       // whether the slot holds a cell
  uint64_t slots = 0;            // including the slots of the value stack
  std::vector<uint64_t> stored;  // names that a module stores, sorted; read on demand
  bool stored_read = false;
};

// The fields of a frame up to its slots.
struct SlotFrame {
  uint64_t code = 0;
  uint64_t instruction = 0;
  uint64_t globals = 0;
  uint64_t locals = 0;
  uint64_t live = 0;  // slots in use
  bool live_known = false;
  std::vector<uint64_t> slots;
};

// The indices of names that `instructions` store. From 3.11 on, caches lie between instructions.
// The content of a cache may look like an instruction or like an instruction's prefix, so each
// suffix of the prefixes is used. A wrong index yields a name that the code mentions. It is rarely
// a name that the code does not store.
std::vector<uint64_t> StoredIndices(const std::vector<unsigned char>& instructions,
                                    uint32_t version) {
  const python::StoreOpcodes opcodes = python::StoreOpcodesOf(version);
  const bool caches = version >= 0x30b;
  std::vector<uint64_t> indices;
  uint64_t extended = 0;
  int prefixes = 0;
  for (size_t i = 0; i + 1 < instructions.size(); i += 2) {
    const unsigned char opcode = instructions[i];
    const unsigned char argument = instructions[i + 1];
    if (opcode == opcodes.extended_argument) {
      extended = (extended << 8 | argument) & 0xffffff;
      prefixes = std::min(prefixes + 1, 3);
      continue;
    }
    if (opcode == opcodes.store_name || opcode == opcodes.store_global) {
      for (int used = caches ? 0 : prefixes; used <= prefixes; ++used) {
        const uint64_t higher = extended & ((uint64_t{1} << (8 * used)) - 1);
        indices.push_back(higher << 8 | argument);
      }
    }
    extended = 0;
    prefixes = 0;
  }
  return indices;
}

class LocalsReader {
 public:
  LocalsReader(const ProcessMemory& memory, const PythonInterpreter& interpreter,
               std::chrono::steady_clock::time_point deadline,
               const std::vector<std::string>& asked)
      : interpreter_(interpreter),
        layout_(interpreter.layout),
        deadline_(deadline),
        asked_(asked),
        objects_(&memory, &interpreter) {}

  // Whether all required addresses and offsets are known.
  bool Usable() const {
    return layout_.frame_slots != python::kNone && layout_.frame_slots <= kMaxFrameHeadBytes &&
           layout_.code_bytes <= kMaxCodeHeadBytes && interpreter_.integer_type != 0 &&
           interpreter_.cell_type != 0 && interpreter_.dict_type != 0 &&
           interpreter_.tuple_type != 0 && interpreter_.generator_type != 0 &&
           interpreter_.type_type != 0;
  }
  bool Late() const { return std::chrono::steady_clock::now() >= deadline_; }

  PythonLocals Read(uint64_t address) {
    PythonLocals locals;
    SlotFrame frame;
    const SlotCode* code = ReadFrame(address, &frame);
    if (code == nullptr) return locals;
    SlotDigest digest;
    digest.Add(address);
    AddFrame(frame, *code, kMaxGenerators, &digest);
    TakeVariables(frame, *code, &locals);
    if (!code->optimized && frame.locals == frame.globals) {
      TakeGlobals(frame, &locals, &digest);
    }
    // A partial list of variables must not be taken for a complete list.
    if (Late()) return {};
    if (code->slots <= kMaxPythonSlots) locals.digest = std::max<uint64_t>(digest.value(), 1);
    const size_t own = locals.variables.size();
    TakeAsked(frame, *code, &locals);
    if (Late()) locals.variables.resize(own);
    return locals;
  }

 private:
  // Owned by the reader; null if the frame cannot be one.
  SlotCode* ReadFrame(uint64_t address, SlotFrame* frame) {
    std::array<unsigned char, kMaxFrameHeadBytes> at{};
    if (!objects_.Read(address, at.data(), layout_.frame_slots)) return nullptr;
    if (layout_.lasti_bytes != 0 &&
        PythonField<uint64_t>(at.data(), layout_.object_type) != interpreter_.frame_type) {
      return nullptr;
    }
    frame->code = PythonField<uint64_t>(at.data(), layout_.frame_code) & ~python::kFrameCodeTag;
    frame->instruction = layout_.lasti_bytes != 0
                             ? PythonField<uint32_t>(at.data(), layout_.frame_instruction)
                             : PythonField<uint64_t>(at.data(), layout_.frame_instruction);
    frame->globals = PythonField<uint64_t>(at.data(), layout_.frame_globals);
    frame->locals = PythonField<uint64_t>(at.data(), layout_.frame_locals);
    SlotCode* code = FindCode(frame->code);
    if (code == nullptr) return nullptr;
    frame->live_known = FindLive(at.data(), address, *code, &frame->live);
    frame->slots.resize(std::min<uint64_t>(code->slots, kMaxPythonSlots));
    const bool read = objects_.Read(address + layout_.frame_slots, frame->slots.data(),
                                    frame->slots.size() * sizeof(uint64_t));
    return read ? code : nullptr;
  }

  bool FindLive(const unsigned char* frame, uint64_t address, const SlotCode& code,
                uint64_t* live) const {
    const uint64_t variables = code.names.size();
    switch (layout_.stack_top) {
      case python::StackTop::kPointer: {
        const auto top = PythonField<uint64_t>(frame, layout_.frame_stack_top);
        *live = (top - (address + layout_.frame_slots)) / sizeof(uint64_t);
        if (top < address + layout_.frame_slots) return false;
        break;
      }
      case python::StackTop::kDepth: {
        const auto depth = PythonField<int32_t>(frame, layout_.frame_stack_top);
        if (depth < 0) return false;
        *live = variables + static_cast<uint32_t>(depth);
        break;
      }
      case python::StackTop::kIndex: {
        const auto index = PythonField<int32_t>(frame, layout_.frame_stack_top);
        if (index < 0) return false;
        *live = static_cast<uint32_t>(index);
        break;
      }
    }
    return *live >= variables && *live <= code.slots;
  }

  SlotCode* FindCode(uint64_t address) {
    const auto [entry, is_new] = codes_.try_emplace(address);
    if (is_new) entry->second.sound = ReadCode(address, &entry->second);
    return entry->second.sound ? &entry->second : nullptr;
  }

  bool ReadCode(uint64_t address, SlotCode* code) const {
    std::array<unsigned char, kMaxCodeHeadBytes> at{};
    if (!objects_.Read(address, at.data(), layout_.code_bytes) ||
        PythonField<uint64_t>(at.data(), layout_.object_type) != interpreter_.code_type) {
      return false;
    }
    const auto object = [&](uint32_t field) { return PythonField<uint64_t>(at.data(), field); };
    const auto count = PythonField<int32_t>(at.data(), layout_.code_slot_count);
    const auto stack = PythonField<int32_t>(at.data(), layout_.code_stack_size);
    if (count < 0 || stack < 0) return false;
    code->optimized =
        (PythonField<uint32_t>(at.data(), layout_.code_flags) & python::kOptimizedCode) != 0;
    if (!objects_.ReadTuple(object(layout_.code_slot_names), kMaxPythonSlots, &code->names) ||
        code->names.size() != std::min<uint64_t>(static_cast<uint32_t>(count), kMaxPythonSlots)) {
      return false;
    }
    uint64_t variables = static_cast<uint32_t>(count);
    code->cells.resize(code->names.size());
    if (layout_.code_slot_kinds != python::kNone) {
      std::vector<unsigned char> kinds;
      if (!objects_.ReadBytes(object(layout_.code_slot_kinds), kMaxPythonSlots, &kinds) ||
          kinds.size() != code->names.size()) {
        return false;
      }
      for (size_t i = 0; i < kinds.size(); ++i) {
        code->cells[i] = (kinds[i] & (python::kCellSlot | python::kFreeSlot)) != 0;
      }
    } else {
      for (const uint32_t field : {layout_.code_cell_names, layout_.code_free_names}) {
        std::vector<uint64_t> names;
        if (!objects_.ReadTuple(object(field), kMaxPythonSlots, &names)) return false;
        variables += names.size();
        code->names.insert(code->names.end(), names.begin(), names.end());
        code->cells.resize(code->names.size(), true);
      }
    }
    code->slots = variables + static_cast<uint32_t>(stack);
    return true;
  }

  // Cached, because many variables share few objects. Null if it cannot be read; owned by the
  // reader.
  const PythonObject* Find(uint64_t address) {
    const auto [entry, is_new] = seen_.try_emplace(address);
    if (is_new && !objects_.ReadObject(address, &entry->second)) entry->second.size = 0;
    return entry->second.size == 0 ? nullptr : &entry->second;
  }

  // --- Digest

  void AddFrame(const SlotFrame& frame, const SlotCode& code, int generators, SlotDigest* digest) {
    digest->Add(frame.code);
    digest->Add(frame.instruction);
    const uint64_t variables = code.names.size();
    for (uint64_t i = 0; i < frame.slots.size() && !Late(); ++i) {
      if (frame.live_known && i >= frame.live) break;
      digest->Add(frame.slots[i]);
      AddObject(frame.slots[i], !frame.live_known && i >= variables, generators, digest);
    }
  }

  // `perhaps`: the object may have been freed.
  void AddObject(uint64_t slot, bool perhaps, int generators, SlotDigest* digest) {
    constexpr uint64_t kIntegerTag = 3;  // a _PyStackRef that is not a reference; from 3.14
    if ((slot & kIntegerTag) == kIntegerTag) return;
    const PythonObject* object = Find(slot & ~python::kFrameCodeTag);
    if (object == nullptr) return;
    const PythonType& type = objects_.TypeOf(*object);
    if (!type.sound || (perhaps && !type.iterates)) return;
    digest->Add(object->type);
    const size_t end = objects_.OwnBytes(*object, type);
    for (size_t at = kPythonHeaderBytes; at < end; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, &object->bytes[at], std::min(sizeof(word), end - at));
      digest->Add(word);
    }
    if (object->type == interpreter_.generator_type && generators != 0) {
      AddGenerator(slot & ~python::kFrameCodeTag, generators - 1, digest);
    }
  }

  // Adds suspended generators only. A running generator is among the frames itself. An ended
  // generator leaves a frame that refers to freed objects.
  void AddGenerator(uint64_t address, int generators, SlotDigest* digest) {
    uint64_t frame_address = address + layout_.generator_frame;
    if (layout_.generator_state != python::kNone) {
      const uint64_t word_address = (address + layout_.generator_state) & ~uint64_t{7};
      std::array<unsigned char, 8> word{};
      if (!objects_.Read(word_address, word.data(), word.size())) return;
      if (PythonField<int8_t>(word.data(), layout_.generator_state & 7) >= 0) return;
    } else if (!objects_.Read(frame_address, &frame_address, sizeof(frame_address)) ||
               frame_address == 0) {
      return;
    }
    SlotFrame frame;
    const SlotCode* code = ReadFrame(frame_address, &frame);
    // For a suspended generator, every version shows the depth.
    if (code != nullptr && frame.live_known) AddFrame(frame, *code, generators, digest);
  }

  // --- Integers

  void TakeVariables(const SlotFrame& frame, const SlotCode& code, PythonLocals* locals) {
    const size_t count = std::min(code.names.size(), frame.slots.size());
    for (size_t i = 0; i < count && !Late(); ++i) {
      const uint64_t address = VariableAt(frame, code, i);
      const PythonObject* object = Find(address);
      if (object != nullptr) Take(code.names[i], address, *object, locals);
    }
  }

  // The address of the object that the variable in slot `i` refers to; 0: none.
  uint64_t VariableAt(const SlotFrame& frame, const SlotCode& code, size_t i) {
    const uint64_t address = frame.slots[i] & ~python::kFrameCodeTag;
    const PythonObject* object = Find(address);
    if (object == nullptr || !code.cells[i] || object->type != interpreter_.cell_type) {
      return address;
    }
    if (object->size < layout_.cell_value + 8) return 0;
    return PythonField<uint64_t>(object->bytes.data(), layout_.cell_value);
  }

  // --- What was asked for

  void TakeAsked(const SlotFrame& frame, const SlotCode& code, PythonLocals* locals) {
    if (asked_.empty()) return;
    const std::unordered_map<std::string, uint64_t> names = NamesOf(frame.code);
    int taken = 0;
    for (const std::string& path : asked_) {
      if (Late() || taken == kMaxAsked) return;
      if (std::ranges::count(path, '.') >= kMaxPathNames) continue;
      if (std::ranges::find(locals->variables, path, &Variable::name) != locals->variables.end()) {
        continue;
      }
      std::string_view rest = path;
      const std::string root(TakeUntil('.', &rest));
      bool global = false;
      uint64_t address = RootOf(frame, code, names, root, &global);
      if (address != 0) ++taken;
      bool computed = false;
      while (!rest.empty() && address != 0 && !computed) {
        if (Late()) return;
        const auto name = names.find(std::string(TakeUntil('.', &rest)));
        const PythonObject* object = Find(address);
        if (name == names.end() || object == nullptr) {
          address = 0;
          break;
        }
        const auto attribute = objects_.FindAttribute(address, *object, name->second, deadline_);
        address = attribute.value;
        computed = attribute.computed;
      }
      std::optional<Variable> value;
      const PythonObject* object = Find(address);
      if (computed) {
        value = Variable{.name = {}, .kind = Variable::Kind::kComputed};
      } else if (object != nullptr) {
        value = objects_.Scalar(address, *object);
      }
      if (!value || locals->variables.size() == kMaxPythonVariables) continue;
      value->name = path;
      value->if_named = true;
      value->outlives = global;
      locals->variables.push_back(std::move(*value));
    }
  }

  // The object that the name refers to in the frame: a variable, or a global; 0: none.
  uint64_t RootOf(const SlotFrame& frame, const SlotCode& code,
                  const std::unordered_map<std::string, uint64_t>& names, const std::string& root,
                  bool* global) {
    const size_t count = std::min(code.names.size(), frame.slots.size());
    bool local = false;
    for (size_t i = 0; i < count; ++i) {
      if (NameText(code.names[i]) != root) continue;
      // Before 3.11, an argument that a closure captures has two slots; the first one is empty.
      if ((frame.slots[i] & ~python::kFrameCodeTag) != 0) return VariableAt(frame, code, i);
      local = true;
    }
    if (local) return 0;
    const auto name = names.find(root);
    uint64_t found = 0;
    // A class body, or code for exec(), may have the name among its own.
    if (name == names.end() || (!code.optimized && frame.locals != frame.globals)) return found;
    *global = true;
    objects_.ReadDict(frame.globals, kMaxGlobals, [&](uint64_t key, uint64_t value) {
      if (key == name->second) found = value;
    });
    return found;
  }

  // The names of globals and attributes that the code uses, as interned objects.
  std::unordered_map<std::string, uint64_t> NamesOf(uint64_t code) {
    std::array<unsigned char, kMaxCodeHeadBytes> at{};
    std::vector<uint64_t> names;
    std::unordered_map<std::string, uint64_t> found;
    if (!objects_.Read(code, at.data(), layout_.code_bytes) ||
        !objects_.ReadTuple(PythonField<uint64_t>(at.data(), layout_.code_names), kMaxStoredNames,
                            &names)) {
      return found;
    }
    for (const uint64_t name : names) {
      if (Late()) break;
      if (const std::string& text = NameText(name); !text.empty()) found.emplace(text, name);
    }
    return found;
  }

  // Empty if it cannot be read.
  const std::string& NameText(uint64_t name) {
    const auto [entry, is_new] = names_.try_emplace(name);
    if (is_new && !objects_.ReadText(name, kMaxVariableNameCharacters, &entry->second)) {
      entry->second.clear();
    }
    return entry->second;
  }

  void TakeGlobals(const SlotFrame& frame, PythonLocals* locals, SlotDigest* digest) {
    const std::vector<uint64_t>& stored = StoredNames(frame.code);
    objects_.ReadDict(frame.globals, kMaxGlobals, [&](uint64_t key, uint64_t value) {
      // Names in code are interned. A dict's key is the object that was stored first, which is
      // usually the interned name. Addresses are therefore compared, and no key's text is read.
      if (!std::ranges::binary_search(stored, key) || Late()) return;
      digest->Add(key);
      digest->Add(value);
      const PythonObject* object = Find(value);
      if (object == nullptr) return;
      const auto integer = objects_.Integer(*object);
      if (integer) digest->Add(static_cast<uint64_t>(*integer));
      Take(key, value, *object, locals);
    });
  }

  void Take(uint64_t name, uint64_t address, const PythonObject& object, PythonLocals* locals) {
    std::optional<Variable> value = objects_.Scalar(address, object);
    if (!value || locals->variables.size() == kMaxPythonVariables) return;
    const std::string& text = NameText(name);
    // A comprehension's variable hides the module's.
    if (text.empty() || std::ranges::any_of(locals->variables, [&](const Variable& one) {
          return one.name == text;
        })) {
      return;
    }
    value->name = text;
    if (value->kind == Variable::Kind::kInteger && locals->integers.size() < kMaxPythonIntegers) {
      locals->integers.push_back({text, static_cast<int64_t>(value->bits)});
    }
    locals->variables.push_back(std::move(*value));
  }

  const std::vector<uint64_t>& StoredNames(uint64_t address) {
    SlotCode* code = FindCode(address);
    if (code->stored_read) return code->stored;
    code->stored_read = true;
    std::array<unsigned char, kMaxCodeHeadBytes> at{};
    std::vector<uint64_t> names;
    if (!objects_.Read(address, at.data(), layout_.code_bytes) ||
        !objects_.ReadTuple(PythonField<uint64_t>(at.data(), layout_.code_names), kMaxStoredNames,
                            &names)) {
      return code->stored;
    }
    std::vector<unsigned char> instructions;
    if (layout_.lasti_bytes != 0) {
      objects_.ReadBytes(PythonField<uint64_t>(at.data(), layout_.code_instruction_object),
                         kMaxScannedBytes, &instructions);
    } else {
      const auto count = PythonField<uint64_t>(at.data(), layout_.object_size);
      instructions.resize(2 * std::min(count, kMaxScannedBytes / 2));
      if (!objects_.Read(address + layout_.code_instructions, instructions.data(),
                         instructions.size())) {
        instructions.clear();
      }
    }
    for (const uint64_t index : StoredIndices(instructions, layout_.version)) {
      if (index < names.size()) code->stored.push_back(names[index]);
    }
    std::ranges::sort(code->stored);
    return code->stored;
  }

  const PythonInterpreter& interpreter_;
  const python::Layout& layout_;
  const std::chrono::steady_clock::time_point deadline_;
  const std::vector<std::string>& asked_;
  PythonObjects objects_;
  std::unordered_map<uint64_t, PythonObject> seen_;
  std::unordered_map<uint64_t, SlotCode> codes_;
  std::unordered_map<uint64_t, std::string> names_;  // by address of the str; empty: unreadable
};

}  // namespace

std::vector<PythonLocals> ReadPythonLocals(const ProcessMemory& memory,
                                           const PythonInterpreter& interpreter,
                                           std::span<const uint64_t> frames,
                                           std::chrono::steady_clock::time_point deadline,
                                           const std::vector<std::string>& asked) {
  std::vector<PythonLocals> all(frames.size());
  LocalsReader reader(memory, interpreter, deadline, asked);
  if (!reader.Usable()) return all;
  for (size_t i = 0; i < frames.size() && !reader.Late(); ++i) all[i] = reader.Read(frames[i]);
  return all;
}

}  // namespace rollcall
