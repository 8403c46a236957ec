// SPDX-License-Identifier: Apache-2.0
#include "shim/python/frames.h"

namespace rollcall::shim::python {
namespace {

using rollcall::python::kFirstShimOwner;
using rollcall::python::kFrameCodeTag;
using rollcall::python::kGeneratorOwner;
using rollcall::python::kNone;
using rollcall::python::Layout;

enum class Step : uint8_t { kShown, kHidden, kUnreadable };

// Finds the frame's position in its code. `frame` and `code` point to the objects' bytes.
[[gnu::always_inline]] inline Step FindOffset(const Layout& layout, const unsigned char* frame,
                                              const unsigned char* code, uint64_t code_address,
                                              uint64_t* offset) {
  if (layout.lasti_bytes != 0) {
    const auto lasti = Load<int32_t>(frame + layout.frame_instruction);
    *offset =
        lasti < 0 ? ring::kPythonFrameNoOffset : static_cast<uint64_t>(lasti) * layout.lasti_bytes;
    return *offset <= ring::kPythonFrameOffsetMask ? Step::kShown : Step::kUnreadable;
  }
  constexpr int64_t kInstructionBytes = 2;
  const auto instruction = Load<uint64_t>(frame + layout.frame_instruction);
  const int64_t distance =
      static_cast<int64_t>(instruction - (code_address + layout.code_instructions));
  const bool generator = frame[layout.frame_owner] == kGeneratorOwner;
  int64_t first = 0;
  if (layout.code_first_traceable != kNone) {
    first = kInstructionBytes * Load<int32_t>(code + layout.code_first_traceable);
  }
  if (!generator && distance < first) return Step::kHidden;
  const auto instructions = Load<int64_t>(code + layout.object_size);
  if (instructions < 0 || instructions > (1 << 28)) return Step::kUnreadable;
  if (distance < -kInstructionBytes || distance > instructions * kInstructionBytes) {
    return Step::kUnreadable;
  }
  *offset = distance < 0 ? ring::kPythonFrameNoOffset : static_cast<uint64_t>(distance);
  return Step::kShown;
}

}  // namespace

template <typename Memory>
void Walk(const Shape& shape, Memory& memory, uint64_t frame, Stack* stack) {
  const Layout& layout = shape.layout;
  Frame* frames = stack->frames;
  int depth = 0;
  uint64_t hash = 0x70797468;
  auto end = ring::PythonEnd::kUnreadable;
  // The frame before this one, if it belongs to the same call of the interpreter's loop.
  Frame* same_run = nullptr;
  FileHash last_file;
  const auto end_run = [&] {
    if (same_run != nullptr) same_run->place |= ring::kPythonFrameEntry;
    same_run = nullptr;
  };
  for (int step = 0; step < kMaxSteps; ++step) {
    if (frame == 0) {
      end_run();
      end = depth == 0 ? ring::PythonEnd::kNoFrames : ring::PythonEnd::kComplete;
      break;
    }
    if ((frame & 7) != 0) break;
    const unsigned char* at = memory.At(frame, shape.frame_bytes, Slot::kFrame);
    if (at == nullptr) break;
    const auto previous = Load<uint64_t>(at + layout.frame_previous);
    if (layout.shim_frames && at[layout.frame_owner] >= kFirstShimOwner) {
      end_run();
      frame = previous;
      continue;
    }
    if (depth == kMaxDepth) {
      end = ring::PythonEnd::kDepthLimit;
      break;
    }
    if (layout.lasti_bytes != 0 && Load<uint64_t>(at + layout.object_type) != shape.frame_type) {
      break;
    }
    const uint64_t code_address = Load<uint64_t>(at + layout.frame_code) & ~kFrameCodeTag;
    const unsigned char* code = memory.At(code_address, layout.code_bytes, Slot::kCode);
    if (code == nullptr || Load<uint64_t>(code + layout.object_type) != shape.code_type) break;
    uint64_t offset = 0;
    const Step seen = FindOffset(layout, at, code, code_address, &offset);
    if (seen == Step::kUnreadable) break;
    if (seen == Step::kShown) {
      Frame& shown = frames[depth];
      if (!Fingerprint(shape, memory, code, &last_file, &shown.fingerprint)) break;
      shown.code = code_address;
      shown.place = offset;
      same_run = &shown;
      ++depth;
      hash = Mix64(hash, shown.fingerprint + offset);
    }
    // Up to 3.10, each frame has a call of the loop of its own. In 3.11, a flag marks the outermost
    // frame of each call. From 3.12 on, shim frames do (above).
    if (layout.lasti_bytes != 0 ||
        (layout.frame_is_entry != kNone && at[layout.frame_is_entry] != 0)) {
      end_run();
    }
    frame = previous;
  }
  if (end == ring::PythonEnd::kUnreadable || end == ring::PythonEnd::kNoFrames) {
    EndStack(stack, end);
    return;
  }
  for (int i = 0; i < depth; ++i) hash += (frames[i].place >> 31) << (i & 63);
  stack->end = end;
  stack->depth = depth;
  stack->hash = Mix64(hash, static_cast<uint64_t>(end) << 8 | static_cast<uint64_t>(depth));
}

template void Walk(const Shape&, OwnMemory&, uint64_t, Stack*);
template void Walk(const Shape&, CopiedMemory&, uint64_t, Stack*);

}  // namespace rollcall::shim::python
