// SPDX-License-Identifier: Apache-2.0
#include "collector/live/python_stack.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "collector/live/python_objects.h"
#include "collector/symbolize/python_lines.h"

namespace rollcall {
namespace {

using python::kFirstShimOwner;
using python::kFrameCodeTag;
using python::kGeneratorOwner;
using python::kNone;
using python::Layout;
using Clock = std::chrono::steady_clock;

// Includes frames that are not shown.
constexpr int kMaxSteps = 4 * static_cast<int>(kMaxLivePythonFrames);
constexpr uint64_t kMaxNameCharacters = 512;
constexpr uint64_t kMaxFileCharacters = 4096;
constexpr uint64_t kMaxTableBytes = 1 << 18;  // a function of some ten thousand lines

constexpr uint32_t kMaxFrameBytes = 512;
constexpr uint32_t kMaxCodeBytes = 1024;

// The content of a code object, apart from the instructions.
struct PythonCode {
  std::string function;
  std::string file;
  std::string table;
  bool table_kept = false;
  uint32_t first_line = 0;
  int64_t instructions = 0;
  int64_t first_traceable = 0;  // in instructions
};

class Walker {
 public:
  Walker(const ProcessMemory& memory, const PythonInterpreter& interpreter,
         Clock::time_point deadline)
      : memory_(memory),
        interpreter_(interpreter),
        layout_(interpreter.layout),
        deadline_(deadline),
        frame_bytes_(std::max(layout_.object_type + 8, python::FrameBytes(layout_))),
        objects_(&memory, &interpreter) {}

  PythonStack Walk(uint64_t state, bool locals, const std::vector<std::string>& asked) {
    uint64_t frame = 0;
    if (frame_bytes_ > kMaxFrameBytes || layout_.code_bytes > kMaxCodeBytes) {
      Fail("its structures are larger than any known");
    } else if (!FindFrame(state, &frame)) {
      Fail("its thread state could not be read");
    } else {
      Follow(frame);
    }
    // The locals are read last because the frames matter more.
    if (locals) TakeLocals(asked);
    return std::move(stack_);
  }

 private:
  enum class Place : uint8_t { kShown, kHidden, kNotStarted, kDamaged };

  void Fail(std::string why) {
    stack_.end = ring::PythonEnd::kUnreadable;
    stack_.detail = std::move(why);
  }

  bool Read(uint64_t address, void* to, size_t bytes) const {
    return objects_.Read(address, to, bytes);
  }

  bool FindFrame(uint64_t state, uint64_t* frame) const {
    if (!Read(state + layout_.thread_frame, frame, sizeof(*frame))) return false;
    if (layout_.cframe_frame == kNone || *frame == 0) return true;
    return Read(*frame + layout_.cframe_frame, frame, sizeof(*frame));
  }

  void TakeLocals(const std::vector<std::string>& asked) {
    std::vector<PythonLocals> all =
        ReadPythonLocals(memory_, interpreter_, addresses_, deadline_, asked);
    for (size_t i = 0; i < all.size(); ++i) {
      stack_.frames[i].integers = std::move(all[i].integers);
      stack_.frames[i].variables = std::move(all[i].variables);
      stack_.frames[i].digest = all[i].digest;
    }
  }

  void EndRun() {
    if (run_open_) stack_.frames.back().entry = true;
    run_open_ = false;
  }

  void Follow(uint64_t frame) {
    for (int step = 0; frame != 0; ++step) {
      if (step == kMaxSteps) return Fail("its chain of frames does not end");
      if (Clock::now() >= deadline_) return Fail("reading its frames took too long");
      std::array<unsigned char, kMaxFrameBytes> at{};
      if (!Read(frame, at.data(), frame_bytes_)) return Fail("a frame could not be read");
      const auto previous = PythonField<uint64_t>(at.data(), layout_.frame_previous);
      if (previous == frame) return Fail("a frame is its own caller");
      if (layout_.shim_frames && at[layout_.frame_owner] >= kFirstShimOwner) {
        EndRun();
        frame = previous;
        continue;
      }
      if (stack_.frames.size() == kMaxLivePythonFrames) {
        stack_.end = ring::PythonEnd::kDepthLimit;
        return;
      }
      if (layout_.lasti_bytes != 0 &&
          PythonField<uint64_t>(at.data(), layout_.object_type) != interpreter_.frame_type) {
        return Fail("a frame pointer does not point to a frame");
      }
      if (!Show(frame, at.data())) return;
      // Up to 3.10 each frame has its own call of the loop; 3.11 marks the frames that have one.
      if (layout_.lasti_bytes != 0 ||
          (layout_.frame_is_entry != kNone && at[layout_.frame_is_entry] != 0)) {
        EndRun();
      }
      frame = previous;
    }
    EndRun();
    stack_.end = stack_.frames.empty() ? ring::PythonEnd::kNoFrames : ring::PythonEnd::kComplete;
  }

  bool Show(uint64_t frame_address, const unsigned char* frame) {
    const uint64_t address = PythonField<uint64_t>(frame, layout_.frame_code) & ~kFrameCodeTag;
    const PythonCode* code = FindCode(address);
    if (code == nullptr) return false;
    uint64_t offset = 0;
    const Place place = FindOffset(frame, *code, address, &offset);
    if (place == Place::kDamaged) {
      Fail("a frame is outside of its code");
      return false;
    }
    if (place == Place::kHidden) return true;
    SourceFrame shown;
    shown.language = Language::kPython;
    shown.function = code->function;
    shown.file = code->file;
    shown.detail = FrameDetail::kSymbol;
    if (place == Place::kNotStarted) {
      shown.line = code->first_line <= INT32_MAX ? static_cast<int>(code->first_line) : 0;
      shown.note = "not started";
    } else if (!code->table_kept) {
      shown.note = "its line table is too large";
    } else {
      shown.line =
          PythonLine(layout_.version, code->table, code->first_line, static_cast<uint32_t>(offset));
    }
    if (shown.line != 0) shown.detail = FrameDetail::kSourceLine;
    stack_.frames.emplace_back().frame = std::move(shown);
    addresses_.push_back(frame_address);
    run_open_ = true;
    return true;
  }

  Place FindOffset(const unsigned char* frame, const PythonCode& code, uint64_t code_address,
                   uint64_t* offset) const {
    constexpr int64_t kInstructionBytes = 2;
    if (layout_.lasti_bytes != 0) {
      const auto lasti = PythonField<int32_t>(frame, layout_.frame_instruction);
      if (lasti < 0) return Place::kNotStarted;
      *offset = static_cast<uint64_t>(lasti) * layout_.lasti_bytes;
      return *offset <= UINT32_MAX ? Place::kShown : Place::kDamaged;
    }
    const auto distance =
        static_cast<int64_t>(PythonField<uint64_t>(frame, layout_.frame_instruction) -
                             (code_address + layout_.code_instructions));
    // The frame has not reached its function's first line yet, for example while a finalizer runs.
    // The interpreter's own tracebacks do not show such a frame either.
    if (frame[layout_.frame_owner] != kGeneratorOwner &&
        distance < code.first_traceable * kInstructionBytes) {
      return Place::kHidden;
    }
    if (distance < -kInstructionBytes || distance > code.instructions * kInstructionBytes) {
      return Place::kDamaged;
    }
    if (distance < 0) return Place::kNotStarted;
    *offset = static_cast<uint64_t>(distance);
    return Place::kShown;
  }

  // Owned by the walker. Null if the object is no code object; the stack then reports that.
  const PythonCode* FindCode(uint64_t address) {
    const auto [entry, is_new] = codes_.try_emplace(address);
    if (!is_new) return &entry->second;
    if (ReadCode(address, &entry->second)) return &entry->second;
    codes_.erase(entry);
    return nullptr;
  }

  bool ReadCode(uint64_t address, PythonCode* code) {
    std::array<unsigned char, kMaxCodeBytes> at{};
    if (!Read(address, at.data(), layout_.code_bytes) ||
        PythonField<uint64_t>(at.data(), layout_.object_type) != interpreter_.code_type) {
      Fail("the code of a frame is not a code object");
      return false;
    }
    const uint32_t name =
        layout_.code_qualname != kNone ? layout_.code_qualname : layout_.code_name;
    if (!objects_.ReadText(PythonField<uint64_t>(at.data(), name), kMaxNameCharacters,
                           &code->function) ||
        !objects_.ReadText(PythonField<uint64_t>(at.data(), layout_.code_file), kMaxFileCharacters,
                           &code->file)) {
      Fail("a name could not be read");
      return false;
    }
    if (code->function.empty()) code->function = "?";
    if (!ReadTable(PythonField<uint64_t>(at.data(), layout_.code_line_table), code)) {
      Fail("a line table could not be read");
      return false;
    }
    code->first_line = PythonField<uint32_t>(at.data(), layout_.code_first_line);
    if (layout_.lasti_bytes == 0) {
      code->instructions = PythonField<int64_t>(at.data(), layout_.object_size);
      if (code->instructions < 0 || code->instructions > (1 << 28)) {
        Fail("the code of a frame is not a code object");
        return false;
      }
    }
    if (layout_.code_first_traceable != kNone) {
      code->first_traceable = PythonField<int32_t>(at.data(), layout_.code_first_traceable);
    }
    return true;
  }

  bool ReadTable(uint64_t object, PythonCode* code) const {
    std::array<unsigned char, 64> head{};
    if (layout_.bytes_data > head.size() || layout_.object_size + 8 > layout_.bytes_data ||
        !Read(object, head.data(), layout_.bytes_data) ||
        PythonField<uint64_t>(head.data(), layout_.object_type) != interpreter_.bytes_type) {
      return false;
    }
    const auto length = PythonField<uint64_t>(head.data(), layout_.object_size);
    if (length > kMaxTableBytes) return true;
    code->table.resize(length);
    code->table_kept = true;
    return memory_.Read(object + layout_.bytes_data, code->table.data(), length) == length;
  }

  const ProcessMemory& memory_;
  const PythonInterpreter& interpreter_;
  const Layout& layout_;
  const Clock::time_point deadline_;
  const uint32_t frame_bytes_;
  PythonObjects objects_;
  PythonStack stack_;
  std::vector<uint64_t> addresses_;  // of stack_.frames
  bool run_open_ = false;  // the last frame shown belongs to an unfinished call of the loop
  std::unordered_map<uint64_t, PythonCode> codes_;
};

}  // namespace

PythonStack ReadPythonFrames(const ProcessMemory& memory, const PythonInterpreter& interpreter,
                             uint64_t state, Clock::time_point deadline, bool locals,
                             const std::vector<std::string>& asked) {
  return Walker(memory, interpreter, deadline).Walk(state, locals, asked);
}

PythonReader::PythonReader(const ProcessImage* image, const std::string& file_root,
                           std::chrono::milliseconds timeout)
    : image_(image), timeout_(timeout) {
  presence_ = FindPythonInterpreter(*image, file_root, &interpreter_, &why_);
  if (present()) threads_ = ListPythonThreads(image_->memory(), interpreter_);
}

bool PythonReader::IsThread(const PythonThread& thread, uint64_t native_id, uint64_t thread_pointer,
                            bool is_main) const {
  if (thread_pointer != 0) return thread.pthread == thread_pointer;
  if (native_id != 0 && thread.native_id != 0) return thread.native_id == native_id;
  // Python's main thread is the process's main thread, except in programs that embed Python.
  return is_main && threads_.main_pthread != 0 && thread.pthread == threads_.main_pthread;
}

PythonStack PythonReader::Read(uint64_t native_id, uint64_t thread_pointer, bool is_main,
                               bool locals, const std::vector<std::string>& asked) const {
  PythonStack stack;
  if (presence_ == PythonPresence::kAbsent) return stack;
  if (!present()) {
    stack.end = ring::PythonEnd::kOff;
    stack.detail = why_;
    return stack;
  }
  const auto deadline = Clock::now() + timeout_;
  stack.end = ring::PythonEnd::kNoFrames;
  // A thread that runs a sub-interpreter has a state in each interpreter. The newer state was
  // entered from frames of the older one.
  for (const PythonThread& thread : threads_.threads) {
    if (!IsThread(thread, native_id, thread_pointer, is_main)) continue;
    PythonStack part =
        ReadPythonFrames(image_->memory(), interpreter_, thread.state, deadline, locals, asked);
    if (part.end == ring::PythonEnd::kNoFrames) continue;
    stack.end = part.end;
    stack.detail = std::move(part.detail);
    std::move(part.frames.begin(), part.frames.end(), std::back_inserter(stack.frames));
    if (stack.end != ring::PythonEnd::kComplete) return stack;
  }
  if (!stack.frames.empty()) return stack;
  const bool by_id = interpreter_.layout.thread_native_id != kNone && native_id != 0;
  if (!threads_.problem.empty()) {
    stack.end = ring::PythonEnd::kUnreadable;
    stack.detail = threads_.problem;
  } else if (thread_pointer == 0 && !by_id && !is_main) {
    stack.end = ring::PythonEnd::kUnchecked;
    stack.detail = "up to Python 3.10, a thread that cannot be stopped cannot be identified";
  }
  return stack;
}

}  // namespace rollcall
