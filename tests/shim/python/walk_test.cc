// SPDX-License-Identifier: Apache-2.0
// Tests the walk over Python frames with fake interpreters of every layout; tests/python uses real
// interpreters.
#include <gtest/gtest.h>

#include <set>

#include "shim/python/code_table.h"
#include "tests/shim/python/fake_interpreter.h"

namespace rollcall::shim::python {
namespace {

using ring::PythonEnd;
using rollcall::python::Layout;

class Walks : public testing::TestWithParam<Layout> {
 protected:
  Stack Walked(uint64_t frame) {
    OwnMemory memory;
    Stack stack;
    Walk(fake_.shape(), memory, frame, &stack);
    return stack;
  }
  static uint64_t Offset(const Frame& frame) { return frame.place & ring::kPythonFrameOffsetMask; }
  static bool IsEntry(const Frame& frame) { return (frame.place & ring::kPythonFrameEntry) != 0; }
  bool has_entries() const { return fake_.layout().lasti_bytes == 0; }

  FakeInterpreter fake_{GetParam()};
};

TEST_P(Walks, ReturnsFramesFromInnermostToOutermost) {
  const uint64_t module = fake_.Code("a.py", "<module>", 1), f = fake_.Code("a.py", "f", 10);
  const uint64_t outer = fake_.Frame(module, 40, 0, true);
  const uint64_t middle = fake_.Frame(f, 20, outer, false);
  const uint64_t inner = fake_.Frame(f, 24, middle, true);
  const Stack stack = Walked(inner);
  ASSERT_EQ(stack.end, PythonEnd::kComplete);
  ASSERT_EQ(stack.depth, 3);
  EXPECT_EQ(stack.frames[0].code, f);
  EXPECT_EQ(stack.frames[2].code, module);
  EXPECT_EQ(Offset(stack.frames[0]), 24u);
  EXPECT_EQ(Offset(stack.frames[1]), 20u);
  EXPECT_EQ(Offset(stack.frames[2]), 40u);
  EXPECT_TRUE(IsEntry(stack.frames[0]));
  EXPECT_EQ(IsEntry(stack.frames[1]), !has_entries());
  EXPECT_TRUE(IsEntry(stack.frames[2]));
  EXPECT_EQ(stack.frames[0].fingerprint, stack.frames[1].fingerprint);
  EXPECT_NE(stack.frames[0].fingerprint, stack.frames[2].fingerprint);
}

TEST_P(Walks, FramesThatHaveNotBegunAreHiddenUnlessGenerators) {
  const uint64_t f = fake_.Code("a.py", "f", 1);
  const uint64_t outer = fake_.Frame(f, 40, 0, true);
  const Stack hidden = Walked(fake_.Frame(f, -1, outer, false));
  const Stack generator =
      Walked(fake_.Frame(f, -1, outer, false, rollcall::python::kGeneratorOwner));
  ASSERT_EQ(generator.depth, 2);
  EXPECT_EQ(Offset(generator.frames[0]), ring::kPythonFrameNoOffset);
  if (has_entries()) {
    ASSERT_EQ(hidden.depth, 1);
    EXPECT_EQ(hidden.hash, Walked(outer).hash);
  } else {
    EXPECT_EQ(Offset(hidden.frames[0]), ring::kPythonFrameNoOffset);
  }
}

TEST_P(Walks, EndsAtTheDepthLimitAndWithoutFrames) {
  const uint64_t f = fake_.Code("a.py", "f", 1);
  uint64_t frame = 0;
  for (int depth = 1; depth <= kMaxDepth + 3; ++depth) {
    frame = fake_.Frame(f, 20, frame, depth == 1);
    const Stack stack = Walked(frame);
    EXPECT_EQ(stack.end, depth <= kMaxDepth ? PythonEnd::kComplete : PythonEnd::kDepthLimit);
    EXPECT_EQ(stack.depth, std::min(depth, kMaxDepth));
  }
  const Stack none = Walked(0);
  EXPECT_EQ(none.end, PythonEnd::kNoFrames);
  EXPECT_EQ(none.depth, 0);
}

TEST_P(Walks, CyclesOfFramesEndTheWalk) {
  const uint64_t f = fake_.Code("a.py", "f", 1);
  const uint64_t outer = fake_.Frame(f, 20, 0), inner = fake_.Frame(f, 22, outer);
  fake_.Put(outer, fake_.layout().frame_previous, inner);
  EXPECT_EQ(Walked(inner).end, PythonEnd::kDepthLimit);
  // The same holds for frames that are never shown.
  if (!fake_.layout().shim_frames) return;
  fake_.Put(outer, fake_.layout().frame_owner, uint8_t{3});
  fake_.Put(inner, fake_.layout().frame_owner, uint8_t{3});
  EXPECT_EQ(Walked(inner).end, PythonEnd::kUnreadable);
}

TEST_P(Walks, DamagedFramesAreUnreadable) {
  const Layout& layout = fake_.layout();
  const uint64_t code = fake_.Code("a.py", "f", 1);
  const uint64_t outer = fake_.Frame(code, 20, 0);
  const uint64_t inner = fake_.Frame(code, 22, outer);
  const bool qualified = layout.code_qualname != rollcall::python::kNone;
  struct Place {
    uint64_t object;
    uint32_t field;
  };
  const Place places[] = {{inner, layout.frame_previous},
                          {outer, layout.frame_code},
                          {code, layout.object_type},
                          {code, layout.code_file},
                          {code, qualified ? layout.code_qualname : layout.code_name},
                          {code, layout.code_line_table}};
  ASSERT_EQ(Walked(inner).end, PythonEnd::kComplete);
  for (const auto& [object, field] : places) {
    for (const uint64_t bad : {uint64_t{16}, uint64_t{0x1004}, uint64_t{1} << 47, ~uint64_t{15},
                               uint64_t{0x7ffffffff000}, code}) {
      if (object == outer && bad == code) continue;
      uint64_t was = 0;
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      memcpy(&was, reinterpret_cast<const char*>(object + field), sizeof(was));
      fake_.Put(object, field, bad);
      const Stack stack = Walked(inner);
      EXPECT_EQ(stack.end, PythonEnd::kUnreadable) << field << " " << std::hex << bad;
      EXPECT_EQ(stack.depth, 0);
      fake_.Put(object, field, was);
    }
  }
  EXPECT_EQ(Walked(inner).end, PythonEnd::kComplete);
}

TEST_P(Walks, HashDependsOnContentAndOffsets) {
  std::set<uint64_t> hashes;
  const auto add = [&](uint64_t code, int offset) {
    hashes.insert(Walked(fake_.Frame(code, offset, 0, true)).hash);
  };
  const std::string longer(200, 'x');
  add(fake_.Code("a.py", "f", 1), 20);
  add(fake_.Code("a.py", "f", 1), 20);  // equal content at another address
  add(fake_.Code("a.py", "f", 1), 22);
  add(fake_.Code("b.py", "f", 1), 20);
  add(fake_.Code("a.py", "g", 1), 20);
  add(fake_.Code("a.py", "f", 2), 20);
  add(fake_.Code("a.py", "f", 1, "other"), 20);
  add(fake_.Code("a.py", "f", 1, longer), 20);
  add(fake_.Code("a.py", "f", 1, longer + "x"), 20);
  add(fake_.Code("a.py", "f", 1, longer + "y"), 20);
  add(fake_.Code("a.py", "f", 1, "z" + longer), 20);
  add(fake_.Code(longer, "f", 1), 20);
  add(fake_.Code(longer, longer, 1), 20);
  EXPECT_EQ(hashes.size(), 12u);
}

TEST_P(Walks, CopiedMemoryGivesTheSameFrames) {
  const uint64_t f = fake_.Code("some/file.py", "f.<locals>.g", 7, std::string(500, 't'));
  const uint64_t inner = fake_.Frame(f, 24, fake_.Frame(f, 20, 0, true));
  auto buffers = std::make_unique<CopiedMemory::Buffers>();
  CopiedMemory copied(buffers.get());
  Stack stack;
  Walk(fake_.shape(), copied, inner, &stack);
  if (stack.end == PythonEnd::kUnreadable) GTEST_SKIP() << "process_vm_readv is forbidden here";
  const Stack own = Walked(inner);
  EXPECT_EQ(stack.end, own.end);
  EXPECT_EQ(stack.hash, own.hash);

  CodeText text;
  ASSERT_TRUE(ReadCode(fake_.shape(), copied, f, &text));
  EXPECT_EQ(std::string(text.file, text.file_length), "some/file.py");
  EXPECT_EQ(std::string(text.name, text.name_length), "f.<locals>.g");
  EXPECT_EQ(text.first_line, 7u);
  EXPECT_EQ(text.fingerprint, own.frames[0].fingerprint);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(text.table), text.table_length),
            std::string(500, 't'));
}

TEST_P(Walks, LongNamesAndTablesAreTruncated) {
  const uint64_t code = fake_.Code(std::string(3000, 'f'), std::string(2000, 'n'), 1,
                                   std::string(kMaxLineTable + 1, 't'));
  OwnMemory memory;
  CodeText text;
  ASSERT_TRUE(ReadCode(fake_.shape(), memory, code, &text));
  EXPECT_EQ(text.file_length, kMaxText);
  EXPECT_EQ(text.name_length, kMaxText);
  EXPECT_FALSE(text.table_kept);
}

INSTANTIATE_TEST_SUITE_P(Python, Walks, testing::ValuesIn(AllLayouts()), [](const auto& info) {
  return "v3_" + std::to_string(info.param.version & 0xff);
});

}  // namespace
}  // namespace rollcall::shim::python
