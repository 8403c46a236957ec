// SPDX-License-Identifier: Apache-2.0
#include "collector/live/python_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "collector/live/live_frames.h"
#include "collector/live/live_stack.h"
#include "tests/collector/live/fake_python.h"
#include "tests/collector/live/live_child.h"
#include "tests/collector/live/python_script.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_program.h"

namespace rollcall {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakePython;
using ::testing::HasSubstr;
using testing::Installed;
using testing::Interpreters;
using testing::kCode;
using testing::kFrameType;
using testing::kInner;
using testing::KnownInterpreters;
using testing::kOuter;
using testing::kRuntime;
using testing::kState;
using testing::kTable;
using testing::kText;
using testing::Patient;
using testing::Script;

// The main thread blocks in a system call below a method and a lambda. One thread waits for a
// queue, and one computes in C and competes for the GIL.
constexpr char kScript[] = R"(import os
import queue
import sys
import threading

batches = queue.Queue()
begun = threading.Barrier(3)


class Loader:
    def run(self):
        begun.wait()
        batches.get()  # @queue


def spin():
    begun.wait()
    while True:
        sum(range(1000))  # @spin


class Model:
    def step(self):
        os.write(1, b"r")
        return os.read(0, 1)  # @read


def main():
    for target in (Loader().run, spin):
        threading.Thread(target=target, daemon=True).start()
    begun.wait()
    return list(map(lambda one: Model().step(), [0]))  # @map


main()  # @module
)";

int LineOf(const std::string& mark) {
  const std::string text = kScript;
  const size_t at = text.find("# @" + mark + "\n");
  return at == std::string::npos
             ? -1
             : 1 + static_cast<int>(std::count(text.begin(), text.begin() + at, '\n'));
}

std::string Short(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "function file:line" for the user's script, and without the line for Python's own library.
std::vector<std::string> PythonPlaces(const std::vector<SourceFrame>& frames,
                                      const std::string& script) {
  std::vector<std::string> places;
  for (const SourceFrame& frame : frames) {
    if (frame.language != Language::kPython) continue;
    const std::string name = frame.function.substr(frame.function.rfind('.') + 1);
    places.push_back(name + " " + Short(frame.file) +
                     (frame.file == script ? ":" + std::to_string(frame.line) : ""));
  }
  return places;
}

std::string At(const std::string& function, const std::string& mark) {
  return function + " looked at.py:" + std::to_string(LineOf(mark));
}

std::vector<SourceFrame> PlacesOf(const LiveThread& thread, Symbolizer* symbolizer) {
  std::vector<SourceFrame> places;
  for (const LiveFrame& frame : LiveFrames(thread, symbolizer)) places.push_back(frame.frame);
  return places;
}

class PythonStackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) {
      GTEST_SKIP() << "ThreadSanitizer does not start programs from a forked child";
    }
  }
};

TEST_F(PythonStackTest, ReadsStacksOfEveryInstalledInterpreter) {
  for (const Installed& python : KnownInterpreters()) {
    SCOPED_TRACE(python.path);
    const TemporaryDirectory dir;
    const Script script(python, dir, kScript);
    Symbolizer symbolizer;
    const auto look = [&] {
      const LiveStacks stacks = CaptureLiveStacks(ProcSource(), script.child().pid(), Patient());
      EXPECT_EQ(stacks.threads.size(), 3U) << stacks.error;
      std::vector<std::vector<SourceFrame>> all;
      for (const LiveThread& thread : stacks.threads) {
        EXPECT_EQ(thread.python.end, ring::PythonEnd::kComplete) << thread.python.detail;
        all.push_back(PlacesOf(thread, &symbolizer));
      }
      return all;
    };
    const auto has = [&](const std::vector<std::vector<SourceFrame>>& all,
                         const std::string& place) {
      return std::any_of(all.begin(), all.end(), [&](const std::vector<SourceFrame>& frames) {
        const std::vector<std::string> places = PythonPlaces(frames, script.path());
        return std::find(places.begin(), places.end(), place) != places.end();
      });
    };
    // The threads have started, but may not have reached their final calls.
    const auto give_up = std::chrono::steady_clock::now() + testing::kPatience;
    auto all = look();
    while (!HasFailure() && std::chrono::steady_clock::now() < give_up &&
           !(has(all, At("run", "queue")) && has(all, At("spin", "spin")))) {
      all = look();
    }
    EXPECT_TRUE(has(all, At("run", "queue")));
    EXPECT_TRUE(has(all, At("spin", "spin")));
    ASSERT_EQ(all.size(), 3U);
    for (const std::vector<SourceFrame>& frames : all) {
      ASSERT_FALSE(frames.empty());
      for (const SourceFrame& frame : frames) {
        EXPECT_NE(frame.function, "_PyEval_EvalFrameDefault");
      }
    }
    EXPECT_EQ(all[0].front().language, Language::kNative) << "read(2) is inside of it";
    EXPECT_THAT(PythonPlaces(all[0], script.path()),
                ElementsAre(At("step", "read"), At("<lambda>", "map"), At("main", "map"),
                            At("<module>", "module")));
    for (const size_t thread : {1, 2}) {
      const std::vector<std::string> places = PythonPlaces(all[thread], script.path());
      ASSERT_FALSE(places.empty());
      EXPECT_THAT(places, Contains("run threading.py"));
      EXPECT_EQ(places.back(), "_bootstrap threading.py");
    }
  }
}

TEST_F(PythonStackTest, UnknownVersionIsReported) {
  for (const Installed& python : Interpreters()) {
    if (IsKnown(python)) continue;
    SCOPED_TRACE(python.path);
    const TemporaryDirectory dir;
    const Script script(python, dir, "import os\nos.write(1, b'r')\nos.read(0, 1)\n");
    const LiveStacks stacks = CaptureLiveStacks(ProcSource(), script.child().pid(), Patient());
    ASSERT_EQ(stacks.threads.size(), 1U) << stacks.error;
    EXPECT_EQ(stacks.threads[0].python.end, ring::PythonEnd::kOff);
    Symbolizer symbolizer;
    const std::vector<SourceFrame> frames = PlacesOf(stacks.threads[0], &symbolizer);
    ASSERT_FALSE(frames.empty());
    EXPECT_THAT(frames.back().function, HasSubstr("unreadable: "));
  }
}

TEST_F(PythonStackTest, FramesOfSubInterpretersFollowTheirCallers) {
  constexpr char kNested[] = R"(try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
made = interpreters.create()
interpreters.run_string(made, "import os\nos.write(1, b'r')\nos.read(0, 1)\n")
)";
  for (const Installed& python : KnownInterpreters()) {
    SCOPED_TRACE(python.path);
    const TemporaryDirectory dir;
    const Script script(python, dir, kNested);
    const LiveStacks stacks = CaptureLiveStacks(ProcSource(), script.child().pid(), Patient());
    ASSERT_EQ(stacks.threads.size(), 1U) << stacks.error;
    const PythonStack& stack = stacks.threads[0].python;
    EXPECT_EQ(stack.end, ring::PythonEnd::kComplete) << stack.detail;
    ASSERT_EQ(stack.frames.size(), 2U);
    EXPECT_NE(stack.frames[0].frame.file, script.path());
    EXPECT_EQ(stack.frames[0].frame.line, 3);
    EXPECT_EQ(stack.frames[1].frame.file, script.path());
  }
}

TEST(PythonStackHostileTest, SoundMemoryIsRead) {
  const PythonStack stack = FakePython().Read();
  EXPECT_EQ(stack.end, ring::PythonEnd::kComplete) << stack.detail;
  ASSERT_EQ(stack.frames.size(), 2U);
  EXPECT_EQ(stack.frames[0].frame.function, "f");
  EXPECT_EQ(stack.frames[0].frame.line, 6);
  EXPECT_TRUE(stack.frames[0].entry);
}

TEST(PythonStackHostileTest, CyclesAreCutOff) {
  FakePython fake;
  fake.memory.Put(kOuter + fake.python.layout.frame_previous, kInner);
  PythonStack stack = fake.Read();
  EXPECT_NE(stack.end, ring::PythonEnd::kComplete);
  EXPECT_LE(stack.frames.size(), kMaxLivePythonFrames);
  fake.memory.Put(kOuter + fake.python.layout.frame_previous, kOuter);
  stack = fake.Read();
  EXPECT_EQ(stack.end, ring::PythonEnd::kUnreadable);
  // Hidden frames count as well.
  fake.python.layout = python::rows::Python312();
  const python::Layout& at = fake.python.layout;
  fake.memory.Put(kState + at.thread_frame, kState + 128);
  fake.memory.Put(kState + 128 + at.cframe_frame, kInner);
  for (const uint64_t frame : {kInner, kOuter}) {
    fake.memory.Put(frame + at.frame_owner, static_cast<char>(python::kFirstShimOwner));
    fake.memory.Put(frame + at.frame_previous, frame == kInner ? kOuter : kInner);
  }
  stack = fake.Read();
  EXPECT_EQ(stack.end, ring::PythonEnd::kUnreadable);
  EXPECT_EQ(stack.detail, "its chain of frames does not end");
}

TEST(PythonStackHostileTest, InvalidMemoryIsUnreadable) {
  const python::Layout at = python::rows::Python310();
  const struct {
    const char* what;
    uint64_t address;
    uint64_t value;
  } kDamages[] = {
      {"no such state", kState + at.thread_frame, 0x99990000},
      {"unaligned frame", kState + at.thread_frame, kInner + 1},
      {"frame's type", kInner + at.object_type, testing::kCodeType},
      {"unreadable caller", kInner + at.frame_previous, ~uint64_t{7}},
      {"code's type", kCode + at.object_type, kFrameType},
      {"unreadable code", kInner + at.frame_code, 0x99990000},
      {"name's type", kText + at.object_type, testing::kBytesType},
      {"name's length", kText + at.text_length, ~uint64_t{0}},
      {"name's kind", kText + at.text_state, ~uint64_t{0}},
      {"table's type", kTable + at.object_type, testing::kTextType},
      {"table's end", kTable + at.object_size, 4096},
  };
  for (const auto& damage : kDamages) {
    FakePython fake;
    fake.memory.Put(damage.address, damage.value);
    const PythonStack stack = fake.Read();
    EXPECT_EQ(stack.end, ring::PythonEnd::kUnreadable) << damage.what;
    EXPECT_NE(stack.detail, "") << damage.what;
  }
  FakePython fake;  // with a length of gigabytes only the line is unknown
  fake.memory.Put(kTable + at.object_size, ~uint64_t{0});
  const PythonStack stack = fake.Read();
  EXPECT_EQ(stack.end, ring::PythonEnd::kComplete);
  EXPECT_EQ(stack.frames.at(0).frame.line, 0);
}

TEST(PythonStackHostileTest, CyclicListsOfThreadsAreCutOff) {
  FakePython fake;
  const python::Layout& at = fake.python.layout;
  constexpr uint64_t kInterpreter = 0x8000;
  fake.memory.Zero(kRuntime, 256);
  fake.memory.Zero(kInterpreter, 256);
  fake.memory.Put(kRuntime + at.runtime_interpreters_head, kInterpreter);
  fake.memory.Put(kInterpreter + at.interpreter_threads_head, kState);
  fake.memory.Put(kState + at.thread_id, uint64_t{77});
  PythonThreads list = ListPythonThreads(fake.memory, fake.python);
  EXPECT_EQ(list.problem, "");
  ASSERT_EQ(list.threads.size(), 1U);
  EXPECT_EQ(list.threads[0].pthread, 77U);

  fake.memory.Put(kState + at.thread_next, kState);
  list = ListPythonThreads(fake.memory, fake.python);
  EXPECT_THAT(list.problem, HasSubstr("threads"));
  EXPECT_EQ(list.threads.size(), size_t{kMaxPythonThreads});

  fake.memory.Put(kState + at.thread_next, uint64_t{0});
  fake.memory.Put(kInterpreter + at.interpreter_next, kInterpreter);
  list = ListPythonThreads(fake.memory, fake.python);
  EXPECT_THAT(list.problem, HasSubstr("interpreters"));
  EXPECT_EQ(list.threads.size(), size_t{kMaxPythonInterpreters});
}

}  // namespace
}  // namespace rollcall
