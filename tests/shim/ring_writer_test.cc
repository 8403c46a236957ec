// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "shim/thread_log.h"

namespace rollcall::shim {
namespace {

constexpr uint64_t kSlots = 64;

// All words after the lock are the same number, so a mixture of two records can be detected.
ring::Record Filled(uint64_t value) {
  uint64_t words[sizeof(ring::Record) / 8];
  std::fill(std::begin(words), std::end(words), value);
  ring::Record record;
  memcpy(&record, words, sizeof(record));
  return record;
}

bool IsWhole(const ring::Record& record) {
  uint64_t words[sizeof(ring::Record) / 8];
  memcpy(words, &record, sizeof(words));
  return std::all_of(std::begin(words) + 2, std::end(words),
                     [&](uint64_t w) { return w == words[1]; });
}

struct Ring {
  std::vector<ring::Record> slots = std::vector<ring::Record>(kSlots);
  uint64_t head = 0;
  RingWriter writer;
  Ring() { writer.Attach(slots.data(), kSlots, &head); }
};

TEST(RingWriter, NumbersSlotsByTheirIndex) {
  Ring ring;
  for (uint64_t i = 0; i < 3 * kSlots; ++i) EXPECT_EQ(ring.writer.Append(Filled(i)), 2 * i + 2);
  EXPECT_EQ(ring.head, 3 * kSlots);
  for (uint64_t i = 2 * kSlots; i < 3 * kSlots; ++i) {
    const ring::Record& record = ring.slots[i % kSlots];
    EXPECT_EQ(record.lock, 2 * i + 2);
    EXPECT_TRUE(IsWhole(record));
    EXPECT_EQ(record.start_ticks, i);
  }
}

Ring* g_interrupted = nullptr;
volatile uint64_t g_interruptions = 0;
void AppendInHandler(int) {
  g_interrupted->writer.Append(Filled(0xffff0000 + g_interruptions));
  g_interruptions = g_interruptions + 1;
}

// MPI_Abort is often called in a signal handler, which may interrupt the writing of a record.
TEST(RingWriter, RecordsStayWholeIfASignalHandlerAppends) {
  Ring ring;
  g_interrupted = &ring;
  g_interruptions = 0;
  struct sigaction action {};
  action.sa_handler = AppendInHandler;
  ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  const itimerval often{{0, 50}, {0, 50}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  uint64_t written = 0;
  uint64_t mixed = 0;
  while (g_interruptions < 2000) {
    const uint64_t lock = ring.writer.Append(Filled(written++));
    const ring::Record& mine = ring.slots[(lock / 2 - 1) % kSlots];
    if (mine.lock == lock && !IsWhole(mine)) ++mixed;
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  signal(SIGALRM, SIG_DFL);
  for (const ring::Record& record : ring.slots) EXPECT_TRUE(IsWhole(record)) << record.lock;
  EXPECT_EQ(mixed, 0u);
  // No record is counted twice. A record may be lost to one of the handler only if the signal
  // arrives immediately before its slot is claimed, which is rare (sanitizers make this interval
  // longer).
  EXPECT_LE(ring.head, written + g_interruptions);
  EXPECT_GE(ring.head + g_interruptions / 4, written + g_interruptions);
}

}  // namespace
}  // namespace rollcall::shim
