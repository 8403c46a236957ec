// Objects of a Python interpreter in another process: as little of them as is needed.
//
// Memory is hostile (see python_stack.h): each object is taken for what its type says only after
// the type was compared, and each read is bounded. Other threads of the process may run on, so that
// what is reached through a dict may be of no one moment.
#ifndef ROLLCALL_COLLECTOR_LIVE_PYTHON_OBJECTS_H_
#define ROLLCALL_COLLECTOR_LIVE_PYTHON_OBJECTS_H_

#include <array>
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

namespace rollcall {

inline constexpr size_t kPythonHeaderBytes = 16;  // reference count and type

template <typename T>
T PythonField(const unsigned char* bytes, uint32_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

// The start of an object as it was read.
struct PythonObject {
  uint64_t type = 0;
  size_t size = 0;  // bytes that could be read: not all are the object's own
  std::array<unsigned char, kPythonHeaderBytes + 48> bytes{};
};

// What a type says of its objects.
struct PythonType {
  bool sound = false;     // it is a type
  bool iterates = false;  // its objects are iterators
  bool is_integer = false;
  uint64_t basic_size = 0;
  uint64_t item_size = 0;
};

// Not thread-safe. What is passed to the constructor must outlive it.
class PythonObjects {
 public:
  PythonObjects(const ProcessMemory* memory, const PythonInterpreter* interpreter)
      : memory_(*memory), interpreter_(*interpreter), layout_(interpreter->layout) {}

  // All `bytes` of what starts at `address`. Nothing of Python's is unaligned.
  bool Read(uint64_t address, void* to, size_t bytes) const {
    return (address & 7) == 0 && memory_.Read(address, to, bytes) == bytes;
  }
  // False: there is no header.
  bool ReadObject(uint64_t address, PythonObject* object) const;

  // A str as UTF-8 without control characters, cut after `max_characters`.
  bool ReadText(uint64_t address, uint64_t max_characters, std::string* text) const;
  // The start of a bytes object, of a tuple: at most `max`.
  bool ReadBytes(uint64_t address, uint64_t max, std::vector<unsigned char>* bytes) const;
  bool ReadTuple(uint64_t address, uint64_t max, std::vector<uint64_t>* items) const;
  // The first `max` entries of a dict's table, by address. False: it is no dict with such a table.
  bool ReadDict(uint64_t address, uint64_t max,
                const std::function<void(uint64_t key, uint64_t value)>& visit) const;

  // The value of an int, and of nothing else: no bool. Nothing if it takes more than 64 bits.
  std::optional<int64_t> Integer(const PythonObject& object) const;

  // Owned by this object.
  const PythonType& TypeOf(const PythonObject& object);
  // The bytes of `object.bytes` that belong to it. Behind them is what other threads may change:
  // their objects' reference counts.
  size_t OwnBytes(const PythonObject& object, const PythonType& type) const;

 private:
  PythonType ReadType(uint64_t address) const;

  const ProcessMemory& memory_;
  const PythonInterpreter& interpreter_;
  const python::Layout& layout_;
  std::unordered_map<uint64_t, PythonType> types_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PYTHON_OBJECTS_H_
