// SPDX-License-Identifier: Apache-2.0
#include "shim/recorded_values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "shim/process.h"
#include "shim/stack/stack.h"

namespace rollcall::shim {
namespace {

constexpr uint64_t kNames = 200;

struct ValueTables {
  ring::FileHeader header;
  ring::NamedValues values[kNames];
  char strings[64 << 10];
};

// A process that records into tables of its own.
class RecordedValues : public ::testing::Test {
 protected:
  RecordedValues() : process_(g_process), recording_(g_recording) {
    g_process = {};
    g_process.header = &tables_.header;
    Place(ring::SectionKind::kValues, tables_.values, kNames, 0);
    Place(ring::SectionKind::kStrings, tables_.strings, sizeof(tables_.strings), 8);
    g_recording = &on_;
  }
  ~RecordedValues() override {
    g_process = process_;
    g_recording = recording_;
  }

  static void Record(const std::string& name, int64_t value) {
    RecordValue(name.c_str(), ring::ValueType::kSigned, &value, sizeof(value),
                ROLLCALL_CALLER_FRAME());
  }
  // nullptr if there is none.
  static const ring::NamedValues* Find(const std::string& name) {
    for (uint64_t i = 0; i < Values().used; ++i) {
      const ring::NamedValues& values = tables_.values[i];
      uint32_t length = 0;
      std::memcpy(&length, tables_.strings + values.name, sizeof(length));
      if (std::string(tables_.strings + values.name + sizeof(length), length) == name) {
        return &values;
      }
    }
    return nullptr;
  }
  static ring::Section& Values() {
    return tables_.header.sections[static_cast<int>(ring::SectionKind::kValues) - 1];
  }

 private:
  static void Place(ring::SectionKind kind, const void* table, uint64_t capacity, uint64_t used) {
    ring::Section& section = tables_.header.sections[static_cast<int>(kind) - 1];
    section.offset = static_cast<uint64_t>(static_cast<const char*>(table) -
                                           reinterpret_cast<const char*>(&tables_.header));
    section.capacity = capacity;
    // The names of earlier tests stay: a process never forgets a name.
    if (section.used == 0) section.used = used;
    g_process.sections[static_cast<int>(kind)] = &section;
  }

  static ValueTables tables_;
  const Process process_;
  const uint64_t* const recording_;
  const uint64_t on_ = 1;
};
ValueTables RecordedValues::tables_ = {};

TEST_F(RecordedValues, KeepsTheLastOnesOfEachName) {
  for (int64_t i = 1; i <= 11; ++i) {
    Record("step", 10 * i);
    if (i % 2 == 0) Record("even", i);
  }
  const ring::NamedValues* step = Find("step");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->count, 11u);
  EXPECT_EQ(step->lock % 2, 0u);
  for (uint64_t number = 4; number <= 11; ++number) {
    const ring::RecordedValue& value = step->recent[(number - 1) % ring::kRecentValues];
    EXPECT_EQ(value.bits, 10 * number);
    EXPECT_EQ(value.type, static_cast<uint16_t>(ring::ValueType::kSigned));
    EXPECT_NE(value.ticks, 0u);
  }
  const ring::NamedValues* even = Find("even");
  ASSERT_NE(even, nullptr);
  EXPECT_EQ(even->count, 5u);
}

TEST_F(RecordedValues, OnlyTheBeginningOfANameCounts) {
  const std::string long_name(ring::kValueNameBytes, 'x');
  Record(long_name + "a", 1);
  Record(long_name + "b", 2);
  ASSERT_NE(Find(long_name), nullptr);
  EXPECT_EQ(Find(long_name)->count, 2u);
  Record("", 3);
  ASSERT_NE(Find(""), nullptr);
}

TEST_F(RecordedValues, OfBytesAHashIsStored) {
  const char one[] = "0123456789";
  const char other[] = "0123456788";
  const auto record = [](const char* name, const char* bytes, size_t size) {
    RecordValue(name, ring::ValueType::kHash, bytes, size, ROLLCALL_CALLER_FRAME());
  };
  record("one", one, 10);
  record("same", std::string(one).c_str(), 10);
  record("other", other, 10);
  record("shorter", one, 9);
  const uint64_t hash = Find("one")->recent[0].bits;
  EXPECT_EQ(Find("same")->recent[0].bits, hash);
  EXPECT_NE(Find("other")->recent[0].bits, hash);
  EXPECT_NE(Find("shorter")->recent[0].bits, hash);
}

TEST_F(RecordedValues, WithoutRoomAreCounted) {
  const uint64_t capacity = Values().capacity;
  Values().capacity = Values().used;
  const uint64_t lost = Values().lost;
  Record("no room", 1);
  EXPECT_EQ(Find("no room"), nullptr);
  EXPECT_EQ(Values().lost, lost + 1);
  Values().capacity = capacity;
  Record("no room", 2);
  ASSERT_NE(Find("no room"), nullptr);
  EXPECT_EQ(Find("no room")->count, 1u);
}

TEST_F(RecordedValues, NothingIsRecordedByAChildOrWithoutArguments) {
  const uint64_t off = 0;
  g_recording = &off;
  Record("of a child", 1);
  EXPECT_EQ(Find("of a child"), nullptr);
  RecordValue(nullptr, ring::ValueType::kSigned, &off, sizeof(off), ROLLCALL_CALLER_FRAME());
  RecordValue("no value", ring::ValueType::kHash, nullptr, 8, ROLLCALL_CALLER_FRAME());
  EXPECT_EQ(Find("no value"), nullptr);
}

// A call that was not counted would shift the numbers of later calls.
TEST_F(RecordedValues, OfManyThreadsAreAllCounted) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < kCalls; ++i) {
        Record("shared", i);
        Record("of thread " + std::to_string(t), i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Find("shared")->count, uint64_t{kThreads * kCalls});
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(Find("of thread " + std::to_string(t))->count, uint64_t{kCalls});
  }
}

}  // namespace
}  // namespace rollcall::shim
