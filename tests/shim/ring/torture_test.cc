// SPDX-License-Identifier: Apache-2.0
// Tests the consistency of a ring under the worst conditions: four threads of another process fill
// their rings repeatedly and are killed at a random moment, while a reader reads through pread().
// A record that is whole by the protocol of ring_format.h must be whole: every word of it must
// equal the function of its index that was written.
//
// The test kills 60 processes; ROLLCALL_TORTURE_DEATHS=1000 gives the full run.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "shim/thread_log.h"
#include "tests/shim/ring/torture_writer.h"

namespace rollcall::shim::torture {
namespace {

constexpr uint64_t kRingBytes = kSlots * sizeof(ring::Record);
constexpr uint64_t kFileBytes = kThreads * kRingBytes;

int Deaths() {
  const char* text = getenv("ROLLCALL_TORTURE_DEATHS");
  return text != nullptr ? atoi(text) : 60;
}

// The result of one read of one slot.
enum class Seen { kNever, kWhole, kTorn, kLapped, kWrong };

struct Tally {
  uint64_t whole = 0, torn = 0, lapped = 0, wrong = 0;
  void Add(Seen seen) {
    whole += seen == Seen::kWhole ? 1 : 0;
    torn += seen == Seen::kTorn ? 1 : 0;
    lapped += seen == Seen::kLapped ? 1 : 0;
    wrong += seen == Seen::kWrong ? 1 : 0;
  }
};

uint64_t ReadWord(int file, off_t offset) {
  uint64_t word = 0;
  if (pread(file, &word, sizeof(word), offset) != sizeof(word)) abort();
  return word;
}

// The reader's side of the protocol: read the lock, copy the record, read the lock again. Each
// pread() is a system call, so a later one does not return data that was read before; the fences
// enforce the order for the compiler and the processor.
Seen ReadSlot(int file, uint32_t thread, uint64_t slot) {
  const off_t offset = static_cast<off_t>(thread * kRingBytes + slot * sizeof(ring::Record));
  const uint64_t before = ReadWord(file, offset);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (before == 0) return Seen::kNever;
  if (before % 2 == 1) return Seen::kTorn;
  ring::Record record;
  if (pread(file, &record, sizeof(record), offset) != sizeof(record)) abort();
  std::atomic_thread_fence(std::memory_order_acquire);
  if (ReadWord(file, offset) != before) return Seen::kLapped;
  const uint64_t index = before / 2 - 1;
  if (index % kSlots != slot) return Seen::kWrong;
  ring::Record expected = Payload(thread, index);
  expected.lock = record.lock;
  return memcmp(&record, &expected, sizeof(record)) == 0 ? Seen::kWhole : Seen::kWrong;
}

[[noreturn]] void Write(ring::Record* rings, Shared* shared, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([=] {
      static uint64_t heads[kThreads];
      RingWriter writer;
      writer.Attach(rings + thread * kSlots, kSlots, &heads[thread]);
      for (uint64_t index = 0;; ++index) {
        writer.Append(Payload(thread, index));
        shared->written[thread].store(index + 1, std::memory_order_relaxed);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  _exit(1);
}

class RingTorture : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = memfd_create("rollcall-torture", MFD_CLOEXEC);
    ASSERT_GE(file_, 0);
    ASSERT_EQ(ftruncate(file_, kFileBytes), 0);
    rings_ = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    ASSERT_NE(rings_, MAP_FAILED);
    shared_ = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(shared_), MAP_FAILED);
  }
  void TearDown() override {
    munmap(rings_, kFileBytes);
    munmap(shared_, sizeof(Shared));
    close(file_);
  }

  ring::Record* rings() { return static_cast<ring::Record*>(rings_); }
  uint64_t Written() const {
    uint64_t sum = 0;
    for (const auto& written : shared_->written) sum += written.load(std::memory_order_relaxed);
    return sum;
  }
  Tally ReadAll() const {
    Tally tally;
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      for (uint64_t slot = 0; slot < kSlots; ++slot) tally.Add(ReadSlot(file_, thread, slot));
    }
    return tally;
  }

  // Starts a writer, reads while it writes, kills it after `until` records, and reads its rings.
  void OneLife(uint64_t until, Tally* during, Tally* after) {
    memset(rings_, 0, kFileBytes);
    for (auto& written : shared_->written) written = 0;
    const pid_t parent = getpid();
    const pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) Write(rings(), shared_, parent);
    std::mt19937_64 random(until);
    while (Written() < until) {
      const auto thread = static_cast<uint32_t>(random() % kThreads);
      for (uint64_t slot = 0; slot < kSlots; ++slot) during->Add(ReadSlot(file_, thread, slot));
      int status = 0;
      ASSERT_EQ(waitpid(writer, &status, WNOHANG), 0) << "the writer died by itself";
    }
    ASSERT_EQ(kill(writer, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const Tally dead = ReadAll();
    after->whole += dead.whole;
    after->torn += dead.torn;
    after->wrong += dead.wrong;
    after->lapped += dead.lapped;
    // A thread can be killed inside at most one record; all other records of a full ring are whole.
    EXPECT_LE(dead.torn, kThreads);
    EXPECT_EQ(dead.lapped, 0u);
  }

 private:
  int file_ = -1;
  void* rings_ = nullptr;
  Shared* shared_ = nullptr;
};

TEST_F(RingTorture, NeverReadsAWrongRecord) {
  std::random_device seed;
  const uint64_t first = seed();
  std::mt19937_64 random(first);
  SCOPED_TRACE("seed " + std::to_string(first));
  Tally during, after;
  const int deaths = Deaths();
  int torn_deaths = 0;
  for (int death = 0; death < deaths && !HasFailure(); ++death) {
    const uint64_t torn_before = after.torn;
    OneLife(kThreads * kSlots + random() % 20000, &during, &after);
    torn_deaths += after.torn > torn_before ? 1 : 0;
  }
  EXPECT_EQ(during.wrong, 0u);
  EXPECT_EQ(after.wrong, 0u);
  // The test would prove nothing if the reader had never read a record during its writing.
  EXPECT_GT(during.torn + during.lapped, 0u);
  EXPECT_GE(torn_deaths, deaths / 20) << "too few deaths in the middle of a record";
  RecordProperty("deaths", deaths);
  RecordProperty("torn_deaths", torn_deaths);
  std::printf(
      "%d deaths, %d in the middle of a record; while writing: %llu whole, %llu torn, "
      "%llu lapped\n",
      deaths, torn_deaths, static_cast<unsigned long long>(during.whole),
      static_cast<unsigned long long>(during.torn), static_cast<unsigned long long>(during.lapped));
}

}  // namespace
}  // namespace rollcall::shim::torture
