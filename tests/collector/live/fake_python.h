// SPDX-License-Identifier: Apache-2.0
// The memory of a process with a Python interpreter, constructed for damage that real interpreters
// do not have.
#ifndef ROLLCALL_TESTS_COLLECTOR_LIVE_FAKE_PYTHON_H_
#define ROLLCALL_TESTS_COLLECTOR_LIVE_FAKE_PYTHON_H_

#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>

#include "collector/live/python_stack.h"

namespace rollcall::testing {

// Memory in which only the values that were put there can be read.
class FakeMemory : public ProcessMemory {
 public:
  FakeMemory() : ProcessMemory(0) {}
  size_t Read(uint64_t address, void* buffer, size_t size) const override {
    auto* to = static_cast<unsigned char*>(buffer);
    for (size_t i = 0; i < size; ++i) {
      const auto byte = bytes_.find(address + i);
      if (byte == bytes_.end()) return i;
      to[i] = byte->second;
    }
    return size;
  }
  void Zero(uint64_t address, size_t size) {
    for (size_t i = 0; i < size; ++i) bytes_[address + i] = 0;
  }
  template <typename T>
  void Put(uint64_t address, T value) {
    unsigned char raw[sizeof(T)];
    memcpy(raw, &value, sizeof(T));
    for (size_t i = 0; i < sizeof(T); ++i) bytes_[address + i] = raw[i];
  }
  void Remove(uint64_t address) { bytes_.erase(address); }

 private:
  std::map<uint64_t, unsigned char> bytes_;
};

inline constexpr uint64_t kCodeType = 0x1000, kFrameType = 0x1100, kTextType = 0x1200,
                          kBytesType = 0x1300;
inline constexpr uint64_t kRuntime = 0x2000, kState = 0x3000, kText = 0x4000, kTable = 0x5000;
inline constexpr uint64_t kCode = 0x6000, kInner = 0x7000, kOuter = 0x7800;

// Two frames of one code object, in the layout of Python 3.10.
class FakePython {
 public:
  FakePython() {
    python.layout = python::rows::Python310();
    python.runtime = kRuntime;
    python.code_type = kCodeType;
    python.frame_type = kFrameType;
    python.text_type = kTextType;
    python.bytes_type = kBytesType;
    const python::Layout& at = python.layout;
    memory.Zero(kState, 256);
    memory.Put(kState + at.thread_frame, kInner);
    for (const uint64_t frame : {kInner, kOuter}) {
      memory.Zero(frame, 256);
      memory.Put(frame + at.object_type, kFrameType);
      memory.Put(frame + at.frame_code, kCode);
    }
    memory.Put(kInner + at.frame_previous, kOuter);
    memory.Zero(kCode, at.code_bytes);
    memory.Put(kCode + at.object_type, kCodeType);
    memory.Put(kCode + at.code_name, kText);
    memory.Put(kCode + at.code_file, kText);
    memory.Put(kCode + at.code_first_line, uint32_t{5});
    memory.Put(kCode + at.code_line_table, kTable);
    memory.Zero(kText, 64);
    memory.Put(kText + at.object_type, kTextType);
    memory.Put(kText + at.text_length, uint64_t{1});
    memory.Put(kText + at.text_state, uint32_t{1 << 2 | 1 << 5 | 1 << 6});  // kind, compact, ASCII
    memory.Put(kText + at.text_ascii, 'f');
    memory.Zero(kTable, 64);
    memory.Put(kTable + at.object_type, kBytesType);
    memory.Put(kTable + at.object_size, uint64_t{2});
    memory.Put(kTable + at.bytes_data, uint16_t{0x0104});  // four bytes of code, one line further
  }
  PythonStack Read() const {
    return ReadPythonFrames(memory, python, kState,
                            std::chrono::steady_clock::now() + std::chrono::seconds(60));
  }

  PythonInterpreter python;
  FakeMemory memory;
};

}  // namespace rollcall::testing

#endif  // ROLLCALL_TESTS_COLLECTOR_LIVE_FAKE_PYTHON_H_
