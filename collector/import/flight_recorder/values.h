// SPDX-License-Identifier: Apache-2.0
// The values of a Flight Recorder dump while it is read: shared by the pickle and JSON readers.
//
// Both readers build values here, and hand over each entry as soon as it is complete. A dump of any
// length therefore needs the memory of one entry, plus the values that the file itself requires to
// be kept (the memo). The file is untrusted: a value may have any type, be shared, or contain
// itself. Code that visits values descends to a fixed depth and counts its visits. Not thread-safe.
#ifndef ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_VALUES_H_
#define ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rollcall::flight_recorder {

// The most values that one file may keep at a time. A dump of 20,000 entries that Python has
// rewritten, with everything memoised, needs 4 million.
inline constexpr size_t kMaxValues = size_t{1} << 24;
inline constexpr size_t kMaxStringBytes = size_t{1} << 28;  // of all strings of a file together

// The keys that are read; all others are skipped.
enum class Key : uint8_t {
  kOther,
#define FLIGHT_RECORDER_KEY(identifier, name) k##identifier,
#include "collector/import/flight_recorder/keys.def"
#undef FLIGHT_RECORDER_KEY
};

// The strings of one file, each stored once.
class StringTable {
 public:
  // Returns the index of the string, which is copied.
  uint32_t Add(std::string_view text);
  std::string_view Get(uint32_t index) const { return strings_[index]; }
  Key KeyOf(uint32_t index) const { return keys_[index]; }
  size_t bytes() const { return bytes_; }
  size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;  // a deque: addresses are stable
  std::vector<Key> keys_;
  std::unordered_map<std::string_view, uint32_t> index_;
  size_t bytes_ = 0;
};

struct Value {
  enum class Type : uint8_t { kNone, kBool, kInt, kFloat, kString, kList, kDict, kMark };
  Type type = Type::kNone;
  union {
    int64_t integer = 0;  // also of kBool
    double real;
    uint32_t index;  // kString: into the StringTable; kList, kDict: into Values
  };

  static Value Of(Type type, uint32_t index) {
    Value value;
    value.type = type;
    value.integer = 0;
    value.index = index;
    return value;
  }
  static Value Int(int64_t integer) {
    Value value;
    value.type = Type::kInt;
    value.integer = integer;
    return value;
  }
  bool IsContainer() const { return type == Type::kList || type == Type::kDict; }
};

class Values {
 public:
  StringTable strings;

  Value NewContainer(Value::Type type);
  // Appends to a list; to a dict, keys and values alternately. False if there is no room.
  bool Append(Value container, std::span<const Value> items);
  std::span<const Value> Items(Value container) const;
  // Calls use(key, value) for each pair of a dict's items; pairs without a string as key are
  // skipped.
  template <typename Use>
  void ForEachField(std::span<const Value> pairs, Use use) const {
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (pairs[i].type == Value::Type::kString) use(strings.KeyOf(pairs[i].index), pairs[i + 1]);
    }
  }
  // A number if it fits; `otherwise` for any other value.
  static int64_t IntegerOr(Value value, int64_t otherwise);
  std::string_view StringOr(Value value, std::string_view otherwise) const;

  // Enclose the values of one entry. `keep`: keep the values, because a memo may refer to them.
  void BeginEntry() { entry_begin_ = {containers_.size(), items_.size()}; }
  void EndEntry(bool keep);
  // Whether the container was made before the current entry. It is then permanent and keeps its
  // index.
  bool IsLasting(Value container) const { return container.index < entry_begin_.containers; }
  size_t size() const { return containers_.size() + items_.size(); }

 private:
  struct Container {
    size_t begin = 0;
    size_t count = 0;
  };
  struct Point {
    size_t containers = 0;
    size_t items = 0;
  };
  std::vector<Container> containers_;
  std::vector<Value> items_;
  Point entry_begin_;
};

// Receives the entries and fields from the readers, in file order.
class DumpSink {
 public:
  virtual ~DumpSink() = default;
  // One entry of the list `entries`; the value is valid during the call only.
  virtual void Entry(const Values& values, Value entry) = 0;
  // A key of the dump's outermost dict, other than `entries`.
  virtual void Field(const Values& values, Key key, Value value) = 0;
  // Hands over the fields among `pairs`.
  void Fields(const Values& values, std::span<const Value> pairs) {
    values.ForEachField(pairs, [&](Key key, Value value) {
      if (key != Key::kEntries) Field(values, key, value);
    });
  }
};

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_VALUES_H_
