// SPDX-License-Identifier: Apache-2.0
// Variables and digests of Python frames, from real interpreters and from constructed memory.
#include "collector/live/python_locals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/live/live_stack.h"
#include "collector/live/python_stack.h"
#include "tests/collector/live/fake_python.h"
#include "tests/collector/live/python_script.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using testing::FakeMemory;
using testing::FakePython;
using testing::Installed;
using ::testing::IsEmpty;
using testing::kCode;
using testing::kFrameType;
using testing::kInner;
using testing::KnownInterpreters;
using testing::kOuter;
using testing::kState;
using testing::kText;
using testing::Script;
using ::testing::UnorderedElementsAre;

// The Python frames of the script's main thread. On a busy machine the reader may not have enough
// time for all of them: it then takes another sample.
std::vector<LivePythonFrame> Look(const Script& script, bool locals = true,
                                  const std::vector<std::string>& asked = {}) {
  LiveStackOptions options = testing::Patient();
  options.python_asked = asked;
  options.tid = script.child().pid();
  options.python_locals = locals;
  const auto give_up = std::chrono::steady_clock::now() + testing::kPatience;
  for (;;) {
    const LiveStacks stacks = CaptureLiveStacks(ProcSource(), script.child().pid(), options);
    if (stacks.threads.size() != 1) {
      ADD_FAILURE() << stacks.error;
      return {};
    }
    const PythonStack& python = stacks.threads[0].python;
    const bool whole =
        python.end == ring::PythonEnd::kComplete &&
        (!locals || std::all_of(python.frames.begin(), python.frames.end(),
                                [](const LivePythonFrame& frame) { return frame.digest != 0; }));
    if (whole) return python.frames;
    if (std::chrono::steady_clock::now() > give_up) {
      ADD_FAILURE() << "unreadable: " << python.detail;
      return {};
    }
  }
}

std::string NameOf(const LivePythonFrame& frame) {
  return frame.frame.function.substr(frame.frame.function.rfind('.') + 1);
}

std::vector<std::string> Names(const std::vector<LivePythonFrame>& frames) {
  std::vector<std::string> names;
  names.reserve(frames.size());
  for (const LivePythonFrame& frame : frames) names.push_back(NameOf(frame));
  return names;
}

std::vector<std::string> IntegersOf(const LivePythonFrame& frame) {
  std::vector<std::string> all;
  all.reserve(frame.integers.size());
  for (const PythonInteger& one : frame.integers) {
    all.push_back(one.name + "=" + std::to_string(one.value));
  }
  return all;
}

std::vector<std::string> VariablesOf(const LivePythonFrame& frame) {
  std::vector<std::string> all;
  all.reserve(frame.variables.size());
  for (const Variable& one : frame.variables)
    all.push_back(one.name + "=" + one.Text(Language::kPython));
  return all;
}

class PythonLocalsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) {
      GTEST_SKIP() << "ThreadSanitizer does not start programs from a forked child";
    }
  }
};

constexpr char kVariables[] = R"(import os


class Own(int):
    pass


class OwnList(list):
    pass


def wait():
    os.write(1, b"r")
    os.read(0, 1)


def outer(parameter, captured):
    step = 7
    zero = 0
    negative = -1073741824
    two_digits = 1 << 30
    smallest = -(1 << 63)
    largest = (1 << 63) - 1
    too_large = 1 << 63
    too_small = -(1 << 63) - 1
    much_too_large = 1 << 200
    flag = True
    off = False
    nothing = None
    text = "secret"
    wide = "\u20ac\u20ac"
    raw = b"12345"
    ratio = 1.5
    own = Own(5)
    own_list = OwnList([1])
    both = [1, 2]
    pair = (1, 2, 3)
    table = {1: 2}
    members = {1, 2, 3, 4}
    members.remove(1)
    empty = []
    deleted = 6
    del deleted
    shared = 11

    def inner(own):
        count = captured + shared
        flagged = captured > 0
        return [wait() for item in [30, 31] if count and flagged]

    inner(2)


limit = 100
text = "secret"
flag = True
globals()["elsewhere"] = 9


def set_elsewhere():
    global by_function
    by_function = 8


set_elsewhere()
)";

// More names than one byte can number, so that the last ones are stored with EXTENDED_ARG.
std::string ManyNames() {
  std::string script = kVariables;
  for (int i = 0; i < 300; ++i) script += "name_" + std::to_string(i) + " = None\n";
  return script + "late = 77\nfor turn in range(5, 7):\n    outer(1000, 3)\n";
}

TEST_F(PythonLocalsTest, IntegersOfEveryInstalledInterpreter) {
  for (const Installed& python : KnownInterpreters()) {
    SCOPED_TRACE(python.path);
    const TemporaryDirectory dir;
    const Script script(python, dir, ManyNames());
    std::vector<LivePythonFrame> frames = Look(script);
    if (python.minor <= 11) {
      ASSERT_THAT(Names(frames), ElementsAre("wait", "<listcomp>", "inner", "outer", "<module>"));
      EXPECT_THAT(IntegersOf(frames[1]), UnorderedElementsAre("item=30", "count=14"));
      EXPECT_THAT(IntegersOf(frames[2]),
                  UnorderedElementsAre("own=2", "count=14", "captured=3", "shared=11"));
      frames.erase(frames.begin() + 1);
    } else {
      ASSERT_THAT(Names(frames), ElementsAre("wait", "inner", "outer", "<module>"));
      EXPECT_THAT(IntegersOf(frames[1]),
                  UnorderedElementsAre("own=2", "count=14", "captured=3", "shared=11", "item=30"));
    }
    EXPECT_THAT(frames[0].integers, IsEmpty());
    EXPECT_THAT(IntegersOf(frames[2]),
                UnorderedElementsAre("parameter=1000", "captured=3", "step=7", "zero=0",
                                     "negative=-1073741824", "two_digits=1073741824",
                                     "smallest=-9223372036854775808", "largest=9223372036854775807",
                                     "shared=11"));
    EXPECT_THAT(
        VariablesOf(frames[2]),
        UnorderedElementsAre(
            "parameter=1000", "captured=3", "step=7", "zero=0", "negative=-1073741824",
            "two_digits=1073741824", "smallest=-9223372036854775808", "largest=9223372036854775807",
            "shared=11", "flag=True", "off=False", "nothing=None", "text=of length 6",
            "wide=of length 2", "raw=of length 5", "ratio=1.5", "both=of length 2",
            "pair=of length 3", "table=of length 1", "members=of length 3", "empty=of length 0"));
    EXPECT_THAT(IntegersOf(frames[3]), UnorderedElementsAre("limit=100", "late=77", "turn=5"));
    // The second iteration of the comprehension, then the second one of the module.
    script.GoOn();
    frames = Look(script);
    ASSERT_GE(frames.size(), 2U);
    EXPECT_THAT(IntegersOf(frames[1]), ::testing::Contains("item=31"));
    script.GoOn();
    frames = Look(script);
    ASSERT_FALSE(frames.empty());
    EXPECT_THAT(IntegersOf(frames.back()), UnorderedElementsAre("limit=100", "late=77", "turn=6"));
  }
}

TEST_F(PythonLocalsTest, ReadsOnlyRequestedVariables) {
  for (const Installed& python : KnownInterpreters()) {
    SCOPED_TRACE(python.path);
    const TemporaryDirectory dir;
    const Script script(python, dir, ManyNames());
    for (const LivePythonFrame& frame : Look(script, false)) {
      EXPECT_THAT(frame.integers, IsEmpty());
      EXPECT_EQ(frame.digest, 0U);
    }
  }
}

constexpr char kObjects[] = R"(import os


class Base:
    shared = 1
    hidden = 2

    @property
    def computed(self):
        return 5


class Plain(Base):
    def __init__(self, turn):
        self.turn = turn
        self.done = turn > 1
        self.hidden = 3
        self.text = "secret"
        self.best = None
        self.gone = 8
        del self.gone


class Materialized(Plain):
    def __init__(self, turn):
        super().__init__(turn)
        vars(self)["late"] = 4


class Many(Plain):
    def __init__(self, turn):
        super().__init__(turn)
        for i in range(70):
            setattr(self, "more_%d" % i, i)
        self.late = 4


class Other(Plain):
    def __init__(self, turn):
        super().__init__(turn)
        self.__dict__ = {"turn": turn + 100, "done": None}


class Slots(Base):
    __slots__ = ("turn",)

    def __init__(self, turn):
        self.turn = turn


class Number(float):
    pass


def uses(self, one):
    os.write(1, b"r")
    os.read(0, 1)
    if not limit:  # never
        return (self.turn, self.done, self.hidden, self.text, self.best, self.gone, self.late,
                self.shared, self.computed, self.inner.turn, limit, one.turn, text)


limit = 12
text = "secret"
number = Number(7)
number.turn = 6
plain = Plain(1)
plain.inner = Plain(2)
for self in (plain, Materialized(2), Many(3), Other(4), Slots(5)):
    uses(self, number)
)";

TEST_F(PythonLocalsTest, ReadsAttributesAndGlobalsThatAreAskedFor) {
  const std::vector<std::string> asked = {
      "self.turn", "self.done", "self.hidden", "self.text",     "self.best",
      "self.gone", "self.late", "self.shared", "self.computed", "self.inner.turn",
      "limit",     "one.turn",  "text",        "unknown",       "self.unknown"};
  for (const Installed& python : KnownInterpreters()) {
    if (python.minor > 13) continue;
    SCOPED_TRACE(python.path);
    const TemporaryDirectory dir;
    const Script script(python, dir, kObjects);
    bool first = true;
    const auto look = [&] {
      if (!std::exchange(first, false)) script.GoOn();
      std::vector<std::string> shown;
      for (const LivePythonFrame& frame : Look(script, true, asked)) {
        if (NameOf(frame) != "uses") continue;
        for (const Variable& one : frame.variables) {
          EXPECT_TRUE(one.if_named) << one.name;
          shown.push_back(one.name + "=" + one.Text(Language::kPython));
        }
      }
      return shown;
    };
    const std::string computed = "self.computed=unknown";
    EXPECT_THAT(look(), UnorderedElementsAre("self.turn=1", "self.done=False", "self.hidden=3",
                                             "self.text=of length 6", "self.best=None", computed,
                                             "self.inner.turn=2", "limit=12", "one.turn=6",
                                             "text=of length 6"));
    EXPECT_THAT(look(),
                UnorderedElementsAre("self.turn=2", "self.done=True", "self.hidden=3",
                                     "self.text=of length 6", "self.best=None", "self.late=4",
                                     computed, "limit=12", "one.turn=6", "text=of length 6"));
    EXPECT_THAT(look(),
                UnorderedElementsAre("self.turn=3", "self.done=True", "self.hidden=3",
                                     "self.text=of length 6", "self.best=None", "self.late=4",
                                     computed, "limit=12", "one.turn=6", "text=of length 6"));
    EXPECT_THAT(look(), UnorderedElementsAre("self.turn=104", "self.done=None", computed,
                                             "limit=12", "one.turn=6", "text=of length 6"));
    EXPECT_THAT(look(),
                UnorderedElementsAre(computed, "limit=12", "one.turn=6", "text=of length 6"));
  }
}

// From 3.12 on, a comprehension of a module runs in the module's frame, but its variable does not
// belong to the module.
TEST_F(PythonLocalsTest, ReadsTheVariableOfAModulesComprehension) {
  constexpr char kScript[] = R"(import os
item = 1
[(os.write(1, b"r"), os.read(0, 1)) for item in [20, 21]]
)";
  for (const Installed& python : KnownInterpreters()) {
    SCOPED_TRACE(python.path);
    const TemporaryDirectory dir;
    const Script script(python, dir, kScript);
    const std::vector<LivePythonFrame> frames = Look(script);
    ASSERT_EQ(frames.size(), python.minor <= 11 ? 2U : 1U);
    EXPECT_THAT(IntegersOf(frames[0]), ElementsAre("item=20"));
  }
}

// Loops that have no int among their variables and the same object in `x` in each iteration.
// Another thread creates and drops objects, and references to objects of the main thread. It
// creates no iterators: a slot behind the value stack may still refer to the memory of an iterator
// of the main thread (PythonLocals::digest).
constexpr char kTurns[] = R"(import itertools
import os
import threading


def churn():
    while True:
        kept = []
        while len(kept) < 500:
            kept.append([None, str(len(kept)), (1, len(kept)), 7, os])
        kept.sort(key=len)


def outside(data):
    for x in data:
        os.write(1, b"r")
        os.read(0, 1)


def wait():
    os.write(1, b"r")
    os.read(0, 1)


def below(data):
    for x in data:
        wait()


def generator():
    for x in [None] * 3:
        yield x


def nested():
    yield from generator()


threading.Thread(target=churn, daemon=True).start()
for turns in (outside, below):
    turns([None] * 3)
    turns((None,) * 3)
    turns(itertools.repeat(None, 3))
    turns(None for _ in [None] * 3)
    turns(nested())
    turns(reversed([None] * 3))
)";
constexpr int kTurnKinds = 12;

// Takes samples until two successive ones have the same digests and integers. On a busy machine the
// other thread may reuse the memory of an iterator that has ended when the main thread already
// waits: the digest then changes once.
std::vector<LivePythonFrame> LookUntilSettled(const Script& script) {
  constexpr int kMaxChanges = 3;
  std::vector<LivePythonFrame> before = Look(script);
  for (int change = 0; change <= kMaxChanges; ++change) {
    std::vector<LivePythonFrame> now = Look(script);
    const bool same = std::equal(before.begin(), before.end(), now.begin(), now.end(),
                                 [](const LivePythonFrame& a, const LivePythonFrame& b) {
                                   return a.digest == b.digest && a.integers == b.integers;
                                 });
    if (same) return now;
    before = std::move(now);
  }
  ADD_FAILURE() << "each look at a thread that waits has another digest";
  return {};
}

TEST_F(PythonLocalsTest, DigestDiffersBetweenIterations) {
  for (const Installed& python : KnownInterpreters()) {
    SCOPED_TRACE(python.path);
    const TemporaryDirectory dir;
    const Script script(python, dir, kTurns);
    for (int kind = 0; kind < kTurnKinds && !HasFailure(); ++kind) {
      SCOPED_TRACE(kind);
      std::set<uint64_t> turns;
      std::set<uint64_t> modules;
      for (int turn = 0; turn < 3; ++turn) {
        if (kind + turn > 0) script.GoOn();
        const std::vector<LivePythonFrame> first = LookUntilSettled(script);
        ASSERT_FALSE(first.empty());
        ASSERT_EQ(first.size(), kind < kTurnKinds / 2 ? 2U : 3U);
        EXPECT_EQ(NameOf(first[first.size() - 2]), kind < kTurnKinds / 2 ? "outside" : "below");
        EXPECT_THAT(first[first.size() - 2].integers, IsEmpty());
        turns.insert(first[first.size() - 2].digest);
        modules.insert(first.back().digest);
      }
      EXPECT_EQ(turns.size(), 3U);
      // If the module's frame refers to a generator, its digest depends on the generator's
      // iteration.
      EXPECT_THAT(modules.size(), ::testing::AnyOf(1U, 3U));
      if (kind % (kTurnKinds / 2) < 2) {
        EXPECT_EQ(modules.size(), 1U);
      }
    }
  }
}

TEST_F(PythonLocalsTest, DigestOfAModuleDiffersBetweenIterations) {
  constexpr char kScript[] = R"(import os
for x in [None, None, None]:
    os.write(1, b"r")
    os.read(0, 1)
while True:
    text = str(os.urandom(2))
    os.write(1, b"r")
    os.read(0, 1)
)";
  for (const Installed& python : KnownInterpreters()) {
    SCOPED_TRACE(python.path);
    const TemporaryDirectory dir;
    const Script script(python, dir, kScript);
    std::set<uint64_t> digests;
    for (int turn = 0; turn < 5; ++turn) {
      if (turn > 0) script.GoOn();
      const std::vector<LivePythonFrame> frames = Look(script);
      ASSERT_EQ(frames.size(), 1U);
      EXPECT_EQ(frames[0].digest, Look(script).at(0).digest);
      digests.insert(frames[0].digest);
    }
    EXPECT_GE(digests.size(), 4U) << "the last two may have their text in the same place";
  }
}

// --- Memory made by hand

constexpr uint64_t kTypeType = 0x1400, kTupleType = 0x1600, kDictType = 0x1800;
constexpr uint64_t kCellType = 0x1a00, kIntegerType = 0x1c00, kGeneratorType = 0x1e00;
constexpr uint64_t kOtherType = 0x2200, kIteratorType = 0x2400;
constexpr uint64_t kNames = 0xa000, kCellNames = 0xa100, kFreeNames = 0xa200, kOtherText = 0xa300;
constexpr uint64_t kInteger = 0xb000, kCell = 0xb100, kOther = 0xb200, kIterator = 0xb300;

// The innermost frame of FakePython with two variables, a captured variable, and two slots of the
// value stack.
class FakeLocals : public FakePython {
 public:
  FakeLocals() {
    python.type_type = kTypeType;
    python.tuple_type = kTupleType;
    python.dict_type = kDictType;
    python.cell_type = kCellType;
    python.integer_type = kIntegerType;
    python.generator_type = kGeneratorType;
    const python::Layout& at = python.layout;
    Type(kIntegerType, 24, 4, python::kIntegerFlag, 0);
    Type(kCellType, 24, 0, 0, 0);
    Type(kOtherType, 32, 0, 0, 0);
    Type(kIteratorType, 32, 0, 0, 0x1234);
    memory.Put(kCode + at.code_flags, python::kOptimizedCode);
    memory.Put(kCode + at.code_slot_count, int32_t{2});
    memory.Put(kCode + at.code_stack_size, int32_t{2});
    memory.Put(kCode + at.code_slot_names, kNames);
    memory.Put(kCode + at.code_cell_names, kCellNames);
    memory.Put(kCode + at.code_free_names, kFreeNames);
    Tuple(kNames, {kText, kOtherText});
    Tuple(kCellNames, {});
    Tuple(kFreeNames, {kOtherText});
    memory.Zero(kOtherText, 64);
    memory.Put(kOtherText + at.object_type, testing::kTextType);
    memory.Put(kOtherText + at.text_length, uint64_t{1});
    memory.Put(kOtherText + at.text_state, uint32_t{1 << 2 | 1 << 5 | 1 << 6});
    memory.Put(kOtherText + at.text_ascii, 'g');
    Integer(kInteger, 1, {42});
    Object(kCell, kCellType);
    memory.Put(kCell + at.cell_value, kInteger);
    Object(kOther, kOtherType);
    Object(kIterator, kIteratorType);
    for (const uint64_t frame : {kInner, kOuter}) {
      memory.Zero(frame + 256, at.frame_slots + 64 - 256);
      memory.Put(frame + at.frame_stack_top, int32_t{-1});
    }
    Slot(0, kInteger);
    Slot(2, kCell);
    Slot(3, kIterator);
    Slot(4, kOther);
  }
  void Object(uint64_t address, uint64_t type) {
    memory.Zero(address, 64);
    memory.Put(address + python.layout.object_type, type);
  }
  void Type(uint64_t address, uint64_t basic, uint64_t item, uint64_t flags, uint64_t next) {
    memory.Zero(address, 256);
    memory.Put(address + python.layout.object_type, kTypeType);
    memory.Put(address + python.layout.type_basic_size, basic);
    memory.Put(address + python.layout.type_item_size, item);
    memory.Put(address + python.layout.type_flags, flags);
    memory.Put(address + python.layout.type_next, next);
  }
  void Tuple(uint64_t address, const std::vector<uint64_t>& items) {
    Object(address, kTupleType);
    memory.Put(address + python.layout.object_size, static_cast<uint64_t>(items.size()));
    for (size_t i = 0; i < items.size(); ++i) {
      memory.Put(address + python.layout.tuple_items + 8 * i, items[i]);
    }
  }
  void Integer(uint64_t address, int64_t size, const std::vector<uint32_t>& digits) {
    Object(address, kIntegerType);
    memory.Put(address + python.layout.integer_size, size);
    for (size_t i = 0; i < digits.size(); ++i) {
      memory.Put(address + python.layout.integer_digits + 4 * i, digits[i]);
    }
  }
  void Slot(uint64_t index, uint64_t object) {
    memory.Put(kInner + python.layout.frame_slots + 8 * index, object);
  }

  PythonLocals Locals() const {
    const uint64_t frames[] = {kInner};
    return ReadPythonLocals(memory, python, frames,
                            std::chrono::steady_clock::now() + std::chrono::seconds(60))[0];
  }
  uint64_t Digest() const { return Locals().digest; }
};

TEST(PythonLocalsHostileTest, SoundMemoryIsRead) {
  const FakeLocals fake;
  const PythonLocals locals = fake.Locals();
  EXPECT_THAT(locals.integers, ElementsAre(PythonInteger{"f", 42}, PythonInteger{"g", 42}));
  EXPECT_NE(locals.digest, 0U);
  const PythonStack stack =
      ReadPythonFrames(fake.memory, fake.python, kState,
                       std::chrono::steady_clock::now() + std::chrono::seconds(60), true);
  EXPECT_EQ(stack.end, ring::PythonEnd::kComplete) << stack.detail;
  ASSERT_EQ(stack.frames.size(), 2U);
  EXPECT_EQ(stack.frames[0].integers, locals.integers);
  EXPECT_EQ(stack.frames[0].digest, locals.digest);
  EXPECT_NE(stack.frames[1].digest, 0U);
  EXPECT_THAT(stack.frames[1].integers, IsEmpty());
}

TEST(PythonLocalsHostileTest, InvalidAndTooLargeIntegersAreMissing) {
  const struct {
    int64_t size;
    std::vector<uint32_t> digits;
    bool tagged;
    bool taken;
    int64_t value;
  } kCases[] = {
      {0, {99}, false, true, 0},
      {-3, {0, 0, 8}, false, true, INT64_MIN},
      {-3, {1, 0, 8}, false, false, 0},
      {3, {0x3fffffff, 0x3fffffff, 7}, false, true, INT64_MAX},
      {3, {0, 0, 8}, false, false, 0},
      {4, {1, 1, 1, 1}, false, false, 0},
      {1, {0x40000000}, false, false, 0},
      {INT64_MIN, {1}, false, false, 0},
      {INT64_MAX, {1}, false, false, 0},
      {1, {99}, true, true, 0},
      {1 << 3, {42}, true, true, 42},
      {1 << 3 | 2, {42}, true, true, -42},
      {1 << 3 | 4, {42}, true, true, 42},
      {1 << 3 | 3, {42}, true, false, 0},
      {1 << 3 | 1, {42}, true, false, 0},
      {0, {42}, true, false, 0},
      {3 << 3 | 2, {0, 0, 8}, true, true, INT64_MIN},
      {-1, {42}, true, false, 0},
  };
  for (const auto& one : kCases) {
    FakeLocals fake;
    fake.python.layout.integer_tagged = one.tagged;
    fake.Slot(2, 0);
    fake.Integer(kInteger, one.size, one.digits);
    const PythonLocals locals = fake.Locals();
    if (one.taken) {
      EXPECT_THAT(locals.integers, ElementsAre(PythonInteger{"f", one.value})) << one.size;
    } else {
      EXPECT_THAT(locals.integers, IsEmpty()) << one.size;
    }
  }
}

TEST(PythonLocalsHostileTest, DigestCoversOnlyTheFramesVariables) {
  const python::Layout at = python::rows::Python310();
  const uint64_t before = FakeLocals().Digest();
  const struct {
    const char* what;
    uint64_t address;
    uint64_t value;
    bool seen;
  } kChanges[] = {
      {"the instruction", kInner + at.frame_instruction, 7, true},
      {"a variable", kInner + at.frame_slots + 8, kOther, true},
      {"a slot of the stack", kInner + at.frame_slots + 32, kInteger, true},
      {"an int", kInteger + at.integer_digits, 43, true},
      {"a cell", kCell + at.cell_value, 0, true},
      {"an iterator on the stack", kIterator + 24, 1, true},
      {"a reference count", kInteger, 77, false},
      {"an iterator's neighbour", kIterator + 32, 1, false},
      {"an int's neighbour", kInteger + 32, 1, false},
      {"what may not exist", kOther + 16, 1, false},
      {"behind the stack", kInner + at.frame_slots + 40, kOther, false},
  };
  for (const auto& change : kChanges) {
    FakeLocals fake;
    fake.memory.Put(change.address, change.value);
    EXPECT_EQ(fake.Digest() != before, change.seen) << change.what;
    EXPECT_NE(fake.Digest(), 0U) << change.what;
  }
  // If the depth of the stack is known, the digest covers all objects in use, and none behind them.
  FakeLocals fake;
  fake.memory.Put(kInner + at.frame_stack_top, int32_t{2});
  const uint64_t known = fake.Digest();
  fake.memory.Put(kOther + 16, uint64_t{1});
  EXPECT_NE(fake.Digest(), known);
  fake.memory.Put(kInner + at.frame_stack_top, int32_t{1});
  const uint64_t shorter = fake.Digest();
  fake.Slot(4, kInteger);
  EXPECT_EQ(fake.Digest(), shorter);
}

TEST(PythonLocalsHostileTest, InvalidMemoryIsNotRead) {
  const python::Layout at = python::rows::Python310();
  const struct {
    const char* what;
    uint64_t address;
    uint64_t value;
  } kDamages[] = {
      {"frame's type", kInner + at.object_type, kTypeType},
      {"code's type", kCode + at.object_type, kTypeType},
      {"no code", kInner + at.frame_code, 0x99990000},
      {"names' type", kNames + at.object_type, kCellType},
      {"names' count", kNames + at.object_size, 1},
      {"names' length", kNames + at.object_size, uint64_t{1} << 40},
      {"free names", kCode + at.code_free_names, 0x99990001},
  };
  for (const auto& damage : kDamages) {
    FakeLocals fake;
    fake.memory.Put(damage.address, damage.value);
    const PythonLocals locals = fake.Locals();
    EXPECT_EQ(locals.digest, 0U) << damage.what;
    EXPECT_THAT(locals.integers, IsEmpty()) << damage.what;
  }
  FakeLocals fake;
  fake.memory.Put(kCode + at.code_stack_size, int32_t{1 << 20});
  fake.memory.Zero(kInner + at.frame_slots + 40, 8 * kMaxPythonSlots);
  EXPECT_EQ(fake.Digest(), 0U) << "more slots than are looked at";
  EXPECT_EQ(fake.Locals().integers.size(), 2U);
  fake = FakeLocals();
  fake.memory.Put(kOtherText + at.object_type, kTypeType);
  EXPECT_THAT(fake.Locals().integers, ElementsAre(PythonInteger{"f", 42}));
  fake = FakeLocals();
  fake.python.generator_type = 0;
  EXPECT_EQ(fake.Digest(), 0U) << "the interpreter exports less";
  const uint64_t frames[] = {kInner};
  const auto late = ReadPythonLocals(FakeLocals().memory, FakeLocals().python, frames,
                                     std::chrono::steady_clock::now());
  EXPECT_EQ(late.at(0).digest, 0U);
}

// A module's frame, in which each word of the dict and of the objects around it is damaged in turn.
TEST(PythonLocalsHostileTest, DamagedDictsAreUnreadable) {
  constexpr uint64_t kDict = 0xc000, kKeys = 0xc100, kInstructions = 0xc800;
  constexpr uint64_t kIndices = 8;
  const auto make = [] {
    FakeLocals fake;
    const python::Layout& at = fake.python.layout;
    fake.memory.Put(kCode + at.code_flags, uint32_t{0});
    fake.memory.Put(kCode + at.code_names, kNames);
    fake.memory.Put(kCode + at.code_instruction_object, kInstructions);
    fake.memory.Put(kInner + at.frame_globals, kDict);
    fake.memory.Put(kInner + at.frame_locals, kDict);
    fake.Slot(0, 0);
    fake.Slot(2, 0);
    fake.Object(kInstructions, testing::kBytesType);
    fake.memory.Put(kInstructions + at.object_size, uint64_t{4});
    fake.memory.Put(kInstructions + at.bytes_data, uint32_t{0x015a0000});  // STORE_NAME 1
    fake.Object(kDict, kDictType);
    fake.memory.Put(kDict + at.dict_keys, kKeys);
    fake.memory.Zero(kKeys, 256);
    fake.memory.Put(kKeys + at.keys_size, kIndices);
    fake.memory.Put(kKeys + at.keys_entry_count, uint64_t{2});
    for (const uint64_t entry : {0, 1}) {
      const uint64_t address = kKeys + at.keys_indices + kIndices + 24 * entry;
      fake.memory.Put(address + 8, entry == 0 ? kText : kOtherText);
      fake.memory.Put(address + 16, kInteger);
    }
    return fake;
  };
  EXPECT_THAT(make().Locals().integers, ElementsAre(PythonInteger{"g", 42}))
      << "what its code stores";
  for (const uint64_t begin : {kDict, kKeys, kInstructions, kNames, kInner, kCode}) {
    for (uint64_t word = begin; word < begin + 96; word += 8) {
      for (const uint64_t value : {uint64_t{0}, uint64_t{1}, kDict, kInteger, uint64_t{1} << 40,
                                   ~uint64_t{0} / 2, ~uint64_t{0}, ~uint64_t{7}}) {
        FakeLocals fake = make();
        fake.memory.Put(word, value);
        EXPECT_LE(fake.Locals().integers.size(), 2U) << word;
      }
    }
  }
}

// Intact memory of which some words are replaced. These words, and all other memory, have random
// values, most of which are valid addresses.
class Garbage : public ProcessMemory {
 public:
  Garbage(const FakeMemory* sound, uint64_t seed) : ProcessMemory(0), sound_(*sound), seed_(seed) {}
  size_t Read(uint64_t address, void* buffer, size_t size) const override {
    auto* to = static_cast<unsigned char*>(buffer);
    for (size_t i = 0; i < size; ++i) {
      const uint64_t word = Word((address + i) & ~uint64_t{7});
      to[i] = static_cast<unsigned char>(word >> (8 * ((address + i) & 7)));
    }
    return size;
  }

 private:
  uint64_t Word(uint64_t address) const {
    constexpr uint64_t kValues[] = {
        testing::kCodeType,
        kFrameType,
        testing::kTextType,
        testing::kBytesType,
        kTypeType,
        kTupleType,
        kDictType,
        kCellType,
        kIntegerType,
        kGeneratorType,
        kIteratorType,
        kInner,
        kOuter,
        kCode,
        kText,
        kNames,
        kFreeNames,
        kInteger,
        kCell,
        kIterator,
        0,
        1,
        2,
        600,
        uint64_t{1} << 40,
        ~uint64_t{0},
        ~uint64_t{7},
        0x40404040404040,
    };
    uint64_t mixed = (address ^ seed_) * 0x9e3779b97f4a7c15;
    mixed ^= mixed >> 29;
    mixed *= 0xbf58476d1ce4e5b9;
    mixed ^= mixed >> 32;
    uint64_t word = 0;
    const bool known = sound_.Read(address, &word, sizeof(word)) == sizeof(word);
    const bool keep = known && (mixed >> 8 & 0xf) != 0;
    return keep ? word : kValues[mixed % std::size(kValues)];
  }
  const FakeMemory& sound_;
  uint64_t seed_;
};

TEST(PythonLocalsHostileTest, ReadingRandomMemoryEnds) {
  const FakeLocals fake;
  const uint64_t frames[] = {kInner, kOuter, kCode, kIterator, kNames};
  size_t read = 0;
  for (const python::Layout& row : python::kRows) {
    PythonInterpreter python = fake.python;
    python.layout = row;
    python.layout.code_bytes = std::max<uint32_t>(row.code_bytes, 208);
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const Garbage garbage(&fake.memory, seed);
      const auto all =
          ReadPythonLocals(garbage, python, frames,
                           std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
      ASSERT_EQ(all.size(), std::size(frames));
      for (const PythonLocals& one : all) {
        EXPECT_LE(one.integers.size(), kMaxPythonIntegers);
        read += one.digest != 0;
      }
    }
  }
  EXPECT_GT(read, 0U);
}

}  // namespace
}  // namespace rollcall
