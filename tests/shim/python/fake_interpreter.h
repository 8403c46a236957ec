// SPDX-License-Identifier: Apache-2.0
// Creates frames, code objects and strings in memory in the layout of a given interpreter.
#ifndef ROLLCALL_TESTS_SHIM_PYTHON_FAKE_INTERPRETER_H_
#define ROLLCALL_TESTS_SHIM_PYTHON_FAKE_INTERPRETER_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "proto/python_layout.h"
#include "shim/python/frames.h"

namespace rollcall::shim::python {

class FakeInterpreter {
 public:
  explicit FakeInterpreter(const rollcall::python::Layout& layout) {
    shape_.layout = layout;
    shape_.code_type = Make(64);
    shape_.frame_type = Make(64);
    shape_.text_type = Make(64);
    shape_.bytes_type = Make(64);
    shape_.frame_bytes = FrameBytes(shape_.layout);
  }

  const Shape& shape() const { return shape_; }
  const rollcall::python::Layout& layout() const { return shape_.layout; }

  template <typename T>
  void Put(uint64_t object, uint32_t field, T value) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    memcpy(reinterpret_cast<char*>(object + field), &value, sizeof(value));
  }

  // Creates a str of `characters` of `kind` bytes each.
  uint64_t Str(const std::string& characters, uint32_t kind = 1, bool ascii = true) {
    const uint32_t data = ascii ? layout().text_ascii : layout().text_compact;
    const uint64_t object = Make(data + characters.size() + 8);
    Put(object, layout().object_type, shape_.text_type);
    Put(object, layout().text_length, uint64_t{characters.size() / kind});
    const uint32_t state = kind | 1 << 3 | (ascii ? 1 << 4 : 0);
    Put(object, layout().text_state, static_cast<uint32_t>(state << layout().text_state_shift));
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    memcpy(reinterpret_cast<char*>(object + data), characters.data(), characters.size());
    return object;
  }

  uint64_t Bytes(const std::string& content) {
    const uint64_t object = Make(layout().bytes_data + content.size() + 8);
    Put(object, layout().object_type, shape_.bytes_type);
    Put(object, layout().object_size, uint64_t{content.size()});
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    memcpy(reinterpret_cast<char*>(object + layout().bytes_data), content.data(), content.size());
    return object;
  }

  static constexpr int64_t kInstructions = 100;
  static constexpr int32_t kFirstTraceable = 2;

  uint64_t Code(const std::string& file, const std::string& name, uint32_t first_line,
                const std::string& table = "table") {
    const uint64_t object = Make(layout().code_bytes + 2 * kInstructions);
    Put(object, layout().object_type, shape_.code_type);
    if (layout().lasti_bytes == 0) Put(object, layout().object_size, kInstructions);
    Put(object, layout().code_file, Str(file));
    Put(object, layout().code_name, Str(name));
    if (layout().code_qualname != rollcall::python::kNone) {
      Put(object, layout().code_qualname, Str(name));
    }
    Put(object, layout().code_first_line, first_line);
    Put(object, layout().code_line_table, Bytes(table));
    if (layout().code_first_traceable != rollcall::python::kNone) {
      Put(object, layout().code_first_traceable, kFirstTraceable);
    }
    return object;
  }

  // Creates a frame at the byte `offset` of its code; -1 means that it has not begun.
  uint64_t Frame(uint64_t code, int offset, uint64_t previous, bool entry = false,
                 uint8_t owner = rollcall::python::kThreadOwner) {
    const uint64_t object = Make(256);
    Put(object, layout().frame_previous, previous);
    const bool tagged = layout().version >= 0x30e;
    Put(object, layout().frame_code, code | (tagged ? 1 : 0));
    if (layout().lasti_bytes != 0) {
      Put(object, layout().object_type, shape_.frame_type);
      const int lasti = offset < 0 ? -1 : offset / static_cast<int>(layout().lasti_bytes);
      Put(object, layout().frame_instruction, lasti);
      return object;
    }
    const int distance = offset < 0 ? -2 : offset;
    Put(object, layout().frame_instruction,
        code + layout().code_instructions + static_cast<uint64_t>(int64_t{distance}));
    Put(object, layout().frame_owner, owner);
    if (layout().frame_is_entry != rollcall::python::kNone) {
      Put(object, layout().frame_is_entry, static_cast<uint8_t>(entry));
    }
    if (!entry || !layout().shim_frames) return object;
    // The frame of the C stack lies between this one and `previous`.
    const uint64_t shim = Make(256);
    Put(shim, layout().frame_previous, previous);
    Put(shim, layout().frame_owner, uint8_t{rollcall::python::kFirstShimOwner});
    Put(object, layout().frame_previous, shim);
    return object;
  }

 private:
  uint64_t Make(size_t bytes) {
    blocks_.push_back(std::make_unique<Block[]>((bytes + sizeof(Block) - 1) / sizeof(Block)));
    return reinterpret_cast<uint64_t>(blocks_.back().get());
  }

  struct alignas(16) Block {
    char bytes[16] = {};
  };
  Shape shape_;
  std::vector<std::unique_ptr<Block[]>> blocks_;
};

// Returns one layout of each kind; the last is that of 3.14 with the offsets of 3.13.
inline std::vector<rollcall::python::Layout> AllLayouts() {
  std::vector<rollcall::python::Layout> all(std::begin(rollcall::python::kRows),
                                            std::end(rollcall::python::kRows));
  const rollcall::python::Layout last = all.back();
  all.back() = rollcall::python::rows::Python313();
  all.back().version = last.version;
  all.back().text_state_shift = last.text_state_shift;
  all.back().code_first_traceable = last.code_first_traceable;
  return all;
}

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_TESTS_SHIM_PYTHON_FAKE_INTERPRETER_H_
