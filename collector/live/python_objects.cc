// SPDX-License-Identifier: Apache-2.0
#include "collector/live/python_objects.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "collector/base/text.h"

namespace rollcall {
namespace {

constexpr uint64_t kMaxObjectBytes = 1 << 20;  // size of a type's objects, without items
constexpr uint64_t kMaxIndexBytes = uint64_t{1} << 32;
constexpr uint64_t kMaxAttributes = 4096;  // of an object or a class

// Address and number of a dict's entries.
struct DictTable {
  uint64_t entries = 0;
  uint64_t count = 0;
  uint32_t entry_bytes = 0;
  uint32_t key = 0;  // offset of the key within an entry; the value follows it
};

// `keys` is the table's head.
bool FindEntries(const unsigned char* keys, uint64_t address, const python::Layout& layout,
                 DictTable* table) {
  uint64_t index_bytes = 0;
  bool hashes = true;
  if (layout.keys_index_bytes != python::kNone) {
    const auto shift = PythonField<uint8_t>(keys, layout.keys_index_bytes);
    const auto kind = PythonField<uint8_t>(keys, layout.keys_kind);
    if (shift > 32 || kind > python::kSharedKeys) return false;
    index_bytes = uint64_t{1} << shift;
    hashes = kind == python::kAnyKeys;
  } else {
    const auto size = PythonField<uint64_t>(keys, layout.keys_size);
    if (size > kMaxIndexBytes / 8) return false;
    index_bytes = size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : 4);
  }
  table->entries = address + layout.keys_indices + index_bytes;
  table->count = PythonField<uint64_t>(keys, layout.keys_entry_count);
  table->entry_bytes = hashes ? 24 : 16;
  table->key = hashes ? 8 : 0;
  return true;
}

}  // namespace

bool PythonObjects::ReadObject(uint64_t address, PythonObject* object) const {
  if (address == 0 || (address & 7) != 0) return false;
  object->size = memory_.Read(address, object->bytes.data(), object->bytes.size());
  if (object->size < kPythonHeaderBytes) return false;
  object->type = PythonField<uint64_t>(object->bytes.data(), layout_.object_type);
  return true;
}

bool PythonObjects::ReadText(uint64_t address, uint64_t max_characters, std::string* text) const {
  std::array<unsigned char, 64> head{};
  if (layout_.text_ascii > head.size() || layout_.text_state + 4 > head.size() ||
      layout_.text_length + 8 > head.size() || !Read(address, head.data(), layout_.text_ascii) ||
      PythonField<uint64_t>(head.data(), layout_.object_type) != interpreter_.text_type) {
    return false;
  }
  const python::TextState state =
      python::DecodeTextState(PythonField<uint32_t>(head.data(), layout_.text_state), layout_);
  if (!state.compact || (state.kind != 1 && state.kind != 2 && state.kind != 4)) return false;
  const uint64_t length =
      std::min(PythonField<uint64_t>(head.data(), layout_.text_length), max_characters);
  std::vector<unsigned char> characters(length * state.kind);
  const uint64_t data = address + (state.ascii ? layout_.text_ascii : layout_.text_compact);
  if (memory_.Read(data, characters.data(), characters.size()) != characters.size()) return false;
  std::string raw(4 * length, '\0');
  raw.resize(python::ToUtf8(characters.data(), state.kind, length, raw.data(), raw.size()));
  *text = CleanText(raw, 4 * max_characters);
  return true;
}

bool PythonObjects::ReadBytes(uint64_t address, uint64_t max,
                              std::vector<unsigned char>* bytes) const {
  PythonObject object;
  if (!ReadObject(address, &object) || object.type != interpreter_.bytes_type ||
      object.size < layout_.object_size + 8) {
    return false;
  }
  bytes->resize(std::min(PythonField<uint64_t>(object.bytes.data(), layout_.object_size), max));
  return memory_.Read(address + layout_.bytes_data, bytes->data(), bytes->size()) == bytes->size();
}

bool PythonObjects::ReadTuple(uint64_t address, uint64_t max, std::vector<uint64_t>* items) const {
  PythonObject object;
  if (!ReadObject(address, &object) || object.type != interpreter_.tuple_type ||
      object.size < layout_.object_size + 8) {
    return false;
  }
  items->resize(std::min(PythonField<uint64_t>(object.bytes.data(), layout_.object_size), max));
  return Read(address + layout_.tuple_items, items->data(), items->size() * sizeof(uint64_t));
}

bool PythonObjects::ReadDict(uint64_t address, uint64_t max,
                             const std::function<void(uint64_t key, uint64_t value)>& visit) const {
  PythonObject dict;
  if (!ReadObject(address, &dict) || dict.type != interpreter_.dict_type ||
      dict.size < layout_.dict_values + 8 ||
      PythonField<uint64_t>(dict.bytes.data(), layout_.dict_values) != 0) {
    return false;
  }
  const auto keys = PythonField<uint64_t>(dict.bytes.data(), layout_.dict_keys);
  std::array<unsigned char, 48> head{};
  DictTable table;
  if (layout_.keys_indices > head.size() || !Read(keys, head.data(), layout_.keys_indices) ||
      !FindEntries(head.data(), keys, layout_, &table)) {
    return false;
  }
  std::vector<unsigned char> entries(std::min(table.count, max) * table.entry_bytes);
  if (memory_.Read(table.entries, entries.data(), entries.size()) != entries.size()) return false;
  for (size_t at = 0; at < entries.size(); at += table.entry_bytes) {
    const auto key = PythonField<uint64_t>(&entries[at], table.key);
    const auto value = PythonField<uint64_t>(&entries[at], table.key + 8);
    if (key != 0 && value != 0) visit(key, value);
  }
  return true;
}

std::optional<int64_t> PythonObjects::Integer(const PythonObject& object) const {
  constexpr uint64_t kMaxDigits = 3;
  if (object.type != interpreter_.integer_type || object.size < layout_.integer_digits) return {};
  const auto size = PythonField<uint64_t>(object.bytes.data(), layout_.integer_size);
  uint64_t digits = 0;
  bool negative = false;
  if (layout_.integer_tagged) {
    const uint64_t sign = size & python::kSignMask;
    digits = size >> python::kTagShift;
    if (sign == python::kSignMask || (sign == python::kZero) != (digits == 0)) return {};
    negative = sign == python::kNegative;
  } else {
    negative = static_cast<int64_t>(size) < 0;
    digits = negative ? -size : size;
  }
  if (digits > kMaxDigits || object.size < layout_.integer_digits + 4 * digits) return {};
  unsigned __int128 magnitude = 0;
  for (uint64_t i = digits; i-- > 0;) {
    const auto digit = PythonField<uint32_t>(object.bytes.data(),
                                             layout_.integer_digits + 4 * static_cast<uint32_t>(i));
    if (digit >> python::kDigitBits != 0) return {};
    magnitude = magnitude << python::kDigitBits | digit;
  }
  const uint64_t limit = uint64_t{INT64_MAX} + (negative ? 1 : 0);
  if (magnitude > limit) return {};
  const auto value = static_cast<uint64_t>(magnitude);
  return static_cast<int64_t>(negative ? -value : value);
}

std::optional<Variable> PythonObjects::Scalar(uint64_t address, const PythonObject& object) {
  using Kind = Variable::Kind;
  const auto of = [&](Kind kind, uint64_t bits) { return Variable{{}, kind, bits}; };
  // A type that the interpreter does not export is 0, which no object has.
  if (object.type == 0) return {};
  if (address == interpreter_.none) return of(Kind::kNone, 0);
  if (object.type == interpreter_.bool_type && interpreter_.yes != 0) {
    return of(Kind::kBool, address == interpreter_.yes ? 1 : 0);
  }
  if (const auto integer = Integer(object)) {
    return of(Kind::kInteger, static_cast<uint64_t>(*integer));
  }
  // The word after the header: the value of a float (Include/cpython/floatobject.h), and the number
  // of elements of each of these containers (setobject.h: `fill`, then `used`).
  const bool has_size =
      object.type == interpreter_.list_type || object.type == interpreter_.tuple_type ||
      object.type == interpreter_.dict_type || object.type == interpreter_.text_type ||
      object.type == interpreter_.bytes_type;
  const uint32_t at = kPythonHeaderBytes + (object.type == interpreter_.set_type ? 8 : 0);
  const bool is_float = object.type == interpreter_.float_type;
  if (!has_size && !is_float && object.type != interpreter_.set_type) return OfNumPy(object);
  if (object.size < at + sizeof(uint64_t)) return {};
  return of(is_float ? Kind::kFloat : Kind::kLength,
            PythonField<uint64_t>(object.bytes.data(), at));
}

uint64_t PythonObjects::Word(uint64_t address) const {
  uint64_t word = 0;
  return Read(address, &word, sizeof(word)) ? word : 0;
}

uint64_t PythonObjects::FindInDict(uint64_t dict, uint64_t name) const {
  PythonObject object;
  if (!ReadObject(dict, &object) || object.type != interpreter_.dict_type ||
      object.size < layout_.dict_values + 8) {
    return 0;
  }
  const auto values = PythonField<uint64_t>(object.bytes.data(), layout_.dict_values);
  if (values != 0) {
    return FindInValues(PythonField<uint64_t>(object.bytes.data(), layout_.dict_keys), values,
                        name);
  }
  uint64_t found = 0;
  ReadDict(dict, kMaxAttributes, [&](uint64_t key, uint64_t value) {
    if (key == name) found = value;
  });
  return found;
}

uint64_t PythonObjects::FindInValues(uint64_t keys, uint64_t values, uint64_t name) const {
  std::array<unsigned char, 48> head{};
  DictTable table;
  if (layout_.keys_indices > head.size() || !Read(keys, head.data(), layout_.keys_indices) ||
      !FindEntries(head.data(), keys, layout_, &table)) {
    return 0;
  }
  std::vector<unsigned char> entries(std::min(table.count, kMaxAttributes) * table.entry_bytes);
  if (memory_.Read(table.entries, entries.data(), entries.size()) != entries.size()) return 0;
  for (size_t i = 0; i * table.entry_bytes < entries.size(); ++i) {
    if (PythonField<uint64_t>(&entries[i * table.entry_bytes], table.key) != name) continue;
    return Word(values + layout_.values_items + i * sizeof(uint64_t));
  }
  return 0;
}

uint64_t PythonObjects::FindInObject(uint64_t address, uint64_t type, uint64_t name) const {
  using python::Attributes;
  const uint64_t flags = Word(type + layout_.type_flags);
  if (layout_.attributes == Attributes::kInDict || (flags & python::kManagedDict) == 0) {
    const auto offset = static_cast<int64_t>(Word(type + layout_.type_dict_offset));
    if (offset <= 0 || offset > (1 << 20)) return 0;
    return FindInDict(Word(address + static_cast<uint64_t>(offset)), name);
  }
  const uint64_t before = Word(address - 3 * sizeof(uint64_t));
  const uint64_t keys = Word(type + layout_.type_cached_keys);
  if (layout_.attributes == Attributes::kTaggedBefore) {
    return (before & 1) != 0 ? FindInValues(keys, before + 1, name) : FindInDict(before, name);
  }
  if (before != 0) return FindInDict(before, name);
  if (layout_.attributes == Attributes::kBefore) {
    const uint64_t values = Word(address - 4 * sizeof(uint64_t));
    return values == 0 ? 0 : FindInValues(keys, values, name);
  }
  // PyDictValues: capacity, size, embedded, valid.
  const uint64_t values = address + kPythonHeaderBytes;
  constexpr uint64_t kValid = uint64_t{1} << 24;
  const bool is_inline = (flags & python::kInlineValues) != 0 && (Word(values) & kValid) != 0;
  return is_inline ? FindInValues(keys, values, name) : 0;
}

PythonObjects::Attribute PythonObjects::FindAttribute(
    uint64_t address, const PythonObject& object, uint64_t name,
    std::chrono::steady_clock::time_point deadline) {
  constexpr uint64_t kMaxBases = 64;
  std::vector<uint64_t> bases;
  if (layout_.type_mro == python::kNone || !TypeOf(object).sound ||
      !ReadTuple(Word(object.type + layout_.type_mro), kMaxBases, &bases)) {
    return {};
  }
  for (const uint64_t base : bases) {
    if (std::chrono::steady_clock::now() >= deadline) return {};
    const uint64_t value = FindInDict(Word(base + layout_.type_dict), name);
    PythonObject found;
    if (value == 0 || !ReadObject(value, &found)) continue;
    if (Word(found.type + layout_.type_set) != 0) {
      // A slot of the object (__slots__) is stored, not computed.
      std::array<char, 32> type{};
      memory_.Read(Word(found.type + layout_.type_name), type.data(), type.size() - 1);
      return {.computed = std::string_view(type.data()) != "member_descriptor"};
    }
    break;
  }
  return {.value = FindInObject(address, object.type, name)};
}

// Layouts: numpy/arrayscalars.h and ndarraytypes.h. The same in NumPy 1 and 2.
std::optional<Variable> PythonObjects::OfNumPy(const PythonObject& object) const {
  using Kind = Variable::Kind;
  struct Row {
    std::string_view name;
    Kind kind;
    size_t bytes;
    bool is_signed;
  };
  static constexpr Row kRows[] = {
      {"bool", Kind::kBool, 1, false},      {"bool_", Kind::kBool, 1, false},
      {"int8", Kind::kInteger, 1, true},    {"int16", Kind::kInteger, 2, true},
      {"int32", Kind::kInteger, 4, true},   {"int64", Kind::kInteger, 8, true},
      {"uint8", Kind::kInteger, 1, false},  {"uint16", Kind::kInteger, 2, false},
      {"uint32", Kind::kInteger, 4, false}, {"uint64", Kind::kInteger, 8, false},
      {"float32", Kind::kFloat, 4, true},   {"float64", Kind::kFloat, 8, true}};
  constexpr uint32_t kData = 16, kDimensionCount = 24, kDimensions = 32, kDescription = 56;
  constexpr uint32_t kDescriptionType = 16, kByteOrder = 26;
  const auto name_of = [&](uint64_t type) -> std::string {
    if (type < interpreter_.numpy_begin || type >= interpreter_.numpy_end) return {};
    std::array<char, 32> text{};
    memory_.Read(Word(type + layout_.type_name), text.data(), text.size() - 1);
    const std::string_view name = text.data();
    return name.starts_with("numpy.") ? std::string(name.substr(6)) : std::string();
  };
  const auto value_of = [&](const std::string& type, const void* data) -> std::optional<Variable> {
    const auto* row = std::ranges::find(kRows, type, &Row::name);
    if (row == std::end(kRows)) return {};
    uint64_t bits = 0;
    std::memcpy(&bits, data, row->bytes);
    if (row->kind == Kind::kFloat && row->bytes == 4) {
      bits = std::bit_cast<uint64_t>(double{std::bit_cast<float>(static_cast<uint32_t>(bits))});
    } else if (row->is_signed && row->kind == Kind::kInteger) {
      const size_t unused = 64 - 8 * row->bytes;
      bits = static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
    } else if (row->kind == Kind::kInteger && static_cast<int64_t>(bits) < 0) {
      return {};
    }
    return Variable{.name = {}, .kind = row->kind, .bits = bits};
  };
  const std::string type = name_of(object.type);
  if (type.empty() || object.size < object.bytes.size()) return {};
  if (type != "ndarray") return value_of(type, &object.bytes[kPythonHeaderBytes]);
  const auto dimensions = PythonField<int32_t>(object.bytes.data(), kDimensionCount);
  if (dimensions > 0) {
    const uint64_t length = Word(PythonField<uint64_t>(object.bytes.data(), kDimensions));
    if (static_cast<int64_t>(length) < 0) return {};
    return Variable{.name = {}, .kind = Kind::kLength, .bits = length};
  }
  const auto description = PythonField<uint64_t>(object.bytes.data(), kDescription);
  std::array<unsigned char, 8> order{};
  uint64_t data = 0;
  if (dimensions != 0 || !Read(description + (kByteOrder & ~7U), order.data(), order.size()) ||
      (order[kByteOrder & 7] != '=' && order[kByteOrder & 7] != '|') ||
      memory_.Read(PythonField<uint64_t>(object.bytes.data(), kData), &data, sizeof(data)) == 0) {
    return {};
  }
  return value_of(name_of(Word(description + kDescriptionType)), &data);
}

const PythonType& PythonObjects::TypeOf(const PythonObject& object) {
  const auto [entry, is_new] = types_.try_emplace(object.type);
  if (is_new) entry->second = ReadType(object.type);
  return entry->second;
}

PythonType PythonObjects::ReadType(uint64_t address) const {
  PythonType type;
  std::array<unsigned char, 256> at{};
  if (layout_.type_next + 8 > at.size() || !Read(address, at.data(), layout_.type_next + 8)) {
    return type;
  }
  // A class defined in Python may have its own metaclass, whose type is `type`.
  const auto metaclass = PythonField<uint64_t>(at.data(), layout_.object_type);
  if (metaclass != interpreter_.type_type) {
    PythonObject object;
    if (!ReadObject(metaclass, &object) || object.type != interpreter_.type_type) return type;
  }
  type.basic_size = PythonField<uint64_t>(at.data(), layout_.type_basic_size);
  type.item_size = PythonField<uint64_t>(at.data(), layout_.type_item_size);
  type.sound = type.basic_size >= kPythonHeaderBytes && type.basic_size <= kMaxObjectBytes &&
               type.item_size <= kMaxObjectBytes;
  type.iterates = PythonField<uint64_t>(at.data(), layout_.type_next) != 0;
  type.flags = PythonField<uint64_t>(at.data(), layout_.type_flags);
  type.is_integer = (type.flags & python::kIntegerFlag) != 0;
  return type;
}

size_t PythonObjects::OwnBytes(const PythonObject& object, const PythonType& type) const {
  uint64_t own = type.basic_size;
  if (type.item_size != 0 && object.size >= layout_.object_size + 8) {
    const auto size = PythonField<uint64_t>(object.bytes.data(), layout_.object_size);
    const uint64_t items = type.is_integer && layout_.integer_tagged ? size >> python::kTagShift
                           : static_cast<int64_t>(size) < 0          ? -size
                                                                     : size;
    own += std::min<uint64_t>(items, object.bytes.size()) * type.item_size;
  }
  return std::min<uint64_t>(own, object.size);
}

}  // namespace rollcall
