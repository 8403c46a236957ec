// SPDX-License-Identifier: Apache-2.0
// Reads objects of a Python interpreter in another process. Reads only the parts that are needed.
//
// Memory is untrusted (see python_stack.h): an object is interpreted as a type only after its type
// was compared, and each read is bounded. Other threads of the process may be running, so data
// reached through a dict may not be of a single moment.
#ifndef ROLLCALL_COLLECTOR_LIVE_PYTHON_OBJECTS_H_
#define ROLLCALL_COLLECTOR_LIVE_PYTHON_OBJECTS_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/live/process_image.h"
#include "collector/live/python_interpreter.h"
#include "collector/model/values.h"

namespace rollcall {

inline constexpr size_t kPythonHeaderBytes = 16;  // reference count and type

template <typename T>
T PythonField(const unsigned char* bytes, uint32_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

// The first bytes of an object.
struct PythonObject {
  uint64_t type = 0;
  size_t size = 0;  // bytes that could be read; some may be after the object
  std::array<unsigned char, kPythonHeaderBytes + 48> bytes{};
};

// A type's description of its objects.
struct PythonType {
  bool sound = false;     // it is a valid type
  bool iterates = false;  // its objects are iterators
  bool is_integer = false;
  uint64_t basic_size = 0;
  uint64_t item_size = 0;
  uint64_t flags = 0;
};

// Not thread-safe. The constructor's arguments must outlive it.
class PythonObjects {
 public:
  PythonObjects(const ProcessMemory* memory, const PythonInterpreter* interpreter)
      : memory_(*memory), interpreter_(*interpreter), layout_(interpreter->layout) {}

  // Reads all `bytes` at `address`. Rejects unaligned addresses: Python's objects are aligned.
  bool Read(uint64_t address, void* to, size_t bytes) const {
    return (address & 7) == 0 && memory_.Read(address, to, bytes) == bytes;
  }
  // False: the header could not be read.
  bool ReadObject(uint64_t address, PythonObject* object) const;

  // Reads a str as UTF-8 without control characters, cut after `max_characters`.
  bool ReadText(uint64_t address, uint64_t max_characters, std::string* text) const;
  // Read the start of a bytes object or of a tuple: at most `max` elements.
  bool ReadBytes(uint64_t address, uint64_t max, std::vector<unsigned char>* bytes) const;
  bool ReadTuple(uint64_t address, uint64_t max, std::vector<uint64_t>* items) const;
  // Visits the first `max` entries of a dict's table, as addresses. False if the object is no dict,
  // if it shares its keys with others, or if its table cannot be read.
  bool ReadDict(uint64_t address, uint64_t max,
                const std::function<void(uint64_t key, uint64_t value)>& visit) const;

  // The value of an int; bools are excluded. Nothing if it takes more than 64 bits.
  std::optional<int64_t> Integer(const PythonObject& object) const;

  // The value of the object at `address`, without a name, if it is of one of the kinds of Variable:
  // also of a number of NumPy, of an array without dimensions, and the length of an array.
  std::optional<Variable> Scalar(uint64_t address, const PythonObject& object);

  // How the object's attribute with the interned name at `name` is found.
  struct Attribute {
    bool computed = false;  // a function of its class computes it
    uint64_t value = 0;     // address; 0: there is none, or it is not known
  };
  Attribute FindAttribute(uint64_t address, const PythonObject& object, uint64_t name,
                          std::chrono::steady_clock::time_point deadline);

  // Returns a reference owned by this object.
  const PythonType& TypeOf(const PythonObject& object);
  // The number of bytes in `object.bytes` that belong to the object. The bytes after them belong to
  // other objects. Other threads may change them, for example reference counts.
  size_t OwnBytes(const PythonObject& object, const PythonType& type) const;

 private:
  PythonType ReadType(uint64_t address) const;
  // The address of the value of the key at `name`; 0: none.
  uint64_t FindInDict(uint64_t dict, uint64_t name) const;
  // The same, of a table with its values at `values`.
  uint64_t FindInValues(uint64_t keys, uint64_t values, uint64_t name) const;
  uint64_t FindInObject(uint64_t address, uint64_t type, uint64_t name) const;
  std::optional<Variable> OfNumPy(const PythonObject& object) const;
  uint64_t Word(uint64_t address) const;

  const ProcessMemory& memory_;
  const PythonInterpreter& interpreter_;
  const python::Layout& layout_;
  std::unordered_map<uint64_t, PythonType> types_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PYTHON_OBJECTS_H_
