// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/import/ring_reader.h"
#include "collector/import/trace_builder.h"
#include "tests/collector/import/read_rings.h"
#include "tests/support/problem_codes.h"
#include "tests/support/ring_file_builder.h"
#include "tests/support/trace_checks.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A ring with one barrier, which MPI.so called; the given Python frames, innermost first, called
// MPI.so.
class PythonRing {
 public:
  PythonRing() : builder_(0, 1) {
    thread_ = builder_.AddThread(100);
    world_ = builder_.AddMember(1, 0, 1, ring::kIsWorld);
    extension_ = builder_.AddModule("/lib/MPI.so");
    python_ = builder_.AddModule("/usr/bin/python3.11");
    step_ = builder_.AddPythonCode("/src/train.py", "Trainer.step", 10);
    top_ = builder_.AddPythonCode("/src/train.py", "<module>", 1);
  }
  uint32_t Path(const std::vector<uint64_t>& frames,
                ring::PythonEnd end = ring::PythonEnd::kComplete) {
    const uint32_t path = builder_.AddPath({{extension_, 0x10}, {python_, 0x20}});
    builder_.AddPythonFrames(path, frames, end);
    return path;
  }
  Trace Build(uint32_t path, uint32_t context = 0) {
    ring::Record record = builder_.MakeRecord(Operation::kBarrier, 1000, world_, 1);
    record.call_path = path;
    record.context_path = context;
    builder_.Append(thread_, record);
    return TraceOf(std::vector<RingFileBuilder::Bytes>{builder_.Build()});
  }

  RingFileBuilder builder_;
  uint32_t thread_;
  uint32_t world_;
  uint32_t extension_;
  uint32_t python_;
  uint32_t step_;
  uint32_t top_;
};

std::vector<std::string> Frames(const Trace& trace, uint32_t path) {
  std::vector<std::string> texts;
  for (const uint32_t code : trace.call_paths[path].codes) {
    if (trace.codes[code].frames.empty()) {
      texts.push_back(trace.codes[code].module_path);
      continue;
    }
    const SourceFrame& frame = trace.codes[code].frames[0];
    EXPECT_EQ(frame.language, Language::kPython);
    texts.push_back(frame.function + " " + frame.file + ":" + std::to_string(frame.line) +
                    (frame.note.empty() ? "" : " " + frame.note));
  }
  return texts;
}
uint32_t PathOf(const Trace& trace) { return trace.members[0].events[0].call_path; }

TEST(PythonImport, FramesHaveFunctionFileAndLine) {
  PythonRing ring;
  ring.builder_.header.python_version = 0x030b02f0;
  ring.builder_.header.python_state = static_cast<uint32_t>(ring::PythonState::kOff);
  ring.builder_.header.python_off = static_cast<uint32_t>(ring::PythonOff::kDiffers);
  ring.builder_.header.python_unreadable = 9;
  const Trace trace = ring.Build(ring.Path({RingFileBuilder::PythonFrame(ring.step_, 14, false),
                                            RingFileBuilder::PythonFrame(ring.top_, 0, true)}));
  EXPECT_THAT(
      Frames(trace, PathOf(trace)),
      ElementsAre("/lib/MPI.so", "Trainer.step /src/train.py:13", "<module> /src/train.py:1"));
  EXPECT_THAT(trace.problems, IsEmpty());
  const CallPath& path = trace.call_paths[PathOf(trace)];
  EXPECT_EQ(path.python_end, ring::PythonEnd::kComplete);
  EXPECT_TRUE(IsWhole(path));
  EXPECT_FALSE(path.python[0].entry);
  EXPECT_TRUE(path.python[1].entry);
  EXPECT_EQ(trace.processes[0].python_version, 0x030b02f0u);
  EXPECT_EQ(trace.processes[0].python_state, ring::PythonState::kOff);
  EXPECT_EQ(trace.processes[0].python_off, ring::PythonOff::kDiffers);
  EXPECT_EQ(trace.processes[0].python_unreadable, 9u);
}

TEST(PythonImport, InstructionsOfOneLineAreOneCallSite) {
  PythonRing ring;
  const uint32_t a = ring.Path({RingFileBuilder::PythonFrame(ring.step_, 12, true)});
  const uint32_t b = ring.Path({RingFileBuilder::PythonFrame(ring.step_, 14, true)});
  ring.Build(a);
  const Trace trace = ring.Build(b);
  EXPECT_THAT(trace.call_paths, SizeIs(1));
}

TEST(PythonImport, FileOfVersion10HasNoPythonFrames) {
  PythonRing ring;
  ring.builder_.header.version_minor = 0;
  ring.builder_.header.python_state = 77;  // reserved in that version: may have any value
  const Trace trace = ring.Build(ring.Path({RingFileBuilder::PythonFrame(ring.step_, 0, true)}));
  EXPECT_THAT(Frames(trace, PathOf(trace)), ElementsAre("/lib/MPI.so", "/usr/bin/python3.11"));
  EXPECT_EQ(trace.call_paths[PathOf(trace)].python_end, ring::PythonEnd::kNone);
  EXPECT_EQ(trace.processes[0].python_state, ring::PythonState::kAbsent);
  EXPECT_THAT(trace.problems, IsEmpty());
}

TEST(PythonImport, DamagedCodeObjectIsOneUnreadableFrame) {
  PythonRing ring;
  const uint32_t path = ring.Path({RingFileBuilder::PythonFrame(ring.step_, 0, false),
                                   RingFileBuilder::PythonFrame(ring.top_, 4, true)});
  ring.builder_.python_code[0].name = 0xfffffff0;
  const Trace trace = ring.Build(path);
  EXPECT_THAT(Frames(trace, PathOf(trace)),
              ElementsAre("/lib/MPI.so", " :0 unreadable", "<module> /src/train.py:2"));
  ASSERT_THAT(Codes(trace.problems), ElementsAre(ProblemCode::kDamaged, ProblemCode::kDamaged));
  const RingFileBuilder::Bytes bytes = ring.builder_.Build();
  const auto section =
      GetAt<ring::Section>(bytes, SectionAt(bytes, ring::SectionKind::kPythonCode));
  EXPECT_EQ(trace.problems[0].source, "x.ring");
  EXPECT_THAT(trace.problems[0].message, HasSubstr("a frame of Python code 0"));
  EXPECT_EQ(trace.problems[1].offset, static_cast<int64_t>(section.offset));
  EXPECT_THAT(trace.problems[1].message, HasSubstr("Python code 0 refers to a string"));
}

TEST(PythonImport, UnknownPartsOfAFrameAreMarked) {
  PythonRing ring;
  ring.builder_.python_code[1].line_table = 0;
  const uint32_t unfinished = ring.builder_.AddPythonCode("/src/a.py", "a", 1);
  ring.builder_.python_code[unfinished - 1].portable_hash = 0;
  const uint32_t path = ring.Path(
      {RingFileBuilder::PythonFrame(0, 0, false), RingFileBuilder::PythonFrame(77, 0, false),
       RingFileBuilder::PythonFrame(unfinished, 0, false),
       RingFileBuilder::PythonFrame(ring.step_, ring::kPythonFrameNoOffset, false),
       RingFileBuilder::PythonFrame(ring.step_, 4000, false),
       RingFileBuilder::PythonFrame(ring.top_, 4, true)});
  const Trace trace = ring.Build(path);
  EXPECT_THAT(
      Frames(trace, PathOf(trace)),
      ElementsAre("/lib/MPI.so", " :0 the ring had no room for this Python code", " :0 unreadable",
                  " :0 unreadable", "Trainer.step /src/train.py:10 not started",
                  "Trainer.step /src/train.py:0",
                  "<module> /src/train.py:0 its line table was not kept"));
  ASSERT_THAT(Codes(trace.problems), ElementsAre(ProblemCode::kDamaged, ProblemCode::kDamaged));
  EXPECT_THAT(trace.problems[0].message, HasSubstr("Python code 76, of 3"));
  // The file offset of the frame's word, which follows the header, the native frames and one Python
  // frame.
  const RingFileBuilder::Bytes bytes = ring.builder_.Build();
  const auto paths = GetAt<ring::Section>(bytes, SectionAt(bytes, ring::SectionKind::kCallPaths));
  EXPECT_EQ(trace.problems[0].offset, static_cast<int64_t>(paths.offset + (path + 2 + 2 + 1) * 8));
}

TEST(PythonImport, MissingPythonFramesLeaveTheNativeOnes) {
  for (const uint16_t depth : {uint16_t{3}, uint16_t{65535}}) {
    PythonRing ring;
    const uint32_t path = ring.Path({RingFileBuilder::PythonFrame(ring.step_, 0, true)});
    ring::CallPathHeader header;
    std::memcpy(&header, &ring.builder_.path_words[path], sizeof(header));
    header.python_depth = depth;
    std::memcpy(&ring.builder_.path_words[path], &header, sizeof(header));
    const Trace trace = ring.Build(path);
    EXPECT_THAT(Frames(trace, PathOf(trace)), ElementsAre("/lib/MPI.so", "/usr/bin/python3.11"));
    EXPECT_EQ(trace.call_paths[PathOf(trace)].python_end, ring::PythonEnd::kUnreadable);
    EXPECT_THAT(Codes(trace.problems), ElementsAre(ProblemCode::kDamaged));
  }
}

TEST(PythonImport, PathOfAnotherThreadIsContextOnly) {
  PythonRing ring;
  const uint32_t engine = ring.builder_.AddPath({{ring.extension_, 0x50}});
  ring.builder_.AddPythonFrames(engine, {}, ring::PythonEnd::kNoFrames);
  const uint32_t main = ring.Path({RingFileBuilder::PythonFrame(ring.step_, 4, true)});
  const Trace trace = ring.Build(engine, main);
  const CallPath& path = trace.call_paths[PathOf(trace)];
  EXPECT_THAT(Frames(trace, PathOf(trace)), ElementsAre("/lib/MPI.so"));
  EXPECT_EQ(path.python_end, ring::PythonEnd::kNoFrames);
  ASSERT_NE(path.context, kNoIndex);
  EXPECT_THAT(Frames(trace, path.context),
              ElementsAre("/lib/MPI.so", "Trainer.step /src/train.py:11"));
}

}  // namespace
}  // namespace rollcall
