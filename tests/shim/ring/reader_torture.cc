// SPDX-License-Identifier: Apache-2.0
// Tests the collector's reader with a real ring file whose writers are killed: four threads of
// another process record through the shim's thread logs, and the reader takes snapshots during and
// after their life. Each record that it returns must equal the function of its index that was
// written, and each other record must be counted as lost or unreadable.
//
// The test kills 40 processes; ROLLCALL_TORTURE_DEATHS=1000 gives the full run.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/import/ring_reader.h"
#include "gtest/gtest.h"
#include "proto/environment.h"
#include "proto/operations.h"
#include "proto/run_directory.h"
#include "shim/process.h"
#include "shim/thread_log.h"
#include "tests/shim/ring/torture_writer.h"

namespace rollcall::shim::torture {
namespace {

// Returns a barrier in the fields that the reader interprets; the other fields are a function of
// thread and index.
ring::Record Barrier(uint32_t tid, uint64_t index) {
  ring::Record record{};
  record.operation = static_cast<uint16_t>(Operation::kBarrier);
  record.member = 1 + static_cast<uint32_t>(index % 1000);
  record.sequence = index + 1;
  record.root_or_peer = ring::kNoPeer;
  record.tag = ring::kNoTag;
  const auto word = [&](uint64_t which) { return Scramble(index * 64 + which * 8 + tid % 8); };
  record.start_ticks = word(0);
  record.prev_end_ticks = word(1);
  record.semantic_hash = word(2);
  record.send_signature = word(3);
  record.recv_signature = word(4);
  record.request = word(5);
  record.detail = word(6);
  record.detail2 = word(7);
  return record;
}

class ReaderTorture : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/dev/shm/rollcall-torture-XXXXXX";
    if (mkdtemp(pattern) == nullptr) GTEST_SKIP() << "no /dev/shm to write to";
    directory_ = pattern;
    void* page =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    shared_ = static_cast<Shared*>(page);
  }
  void TearDown() override {
    if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  [[noreturn]] void Write(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    setenv(env::kRunDirectory, directory_.c_str(), 1);
    setenv(env::kRingKiB, "512", 1);
    setenv(env::kStacks, "0", 1);
    Start();
    if (!Recording()) _exit(2);
    std::vector<std::thread> threads;
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([this, thread] {
        ThreadLog* log = CurrentLog();
        if (log == nullptr) _exit(3);
        for (uint64_t index = 0;; ++index) {
          log->rings[ring::kCollectiveRing].Append(Barrier(log->entry->tid, index));
          shared_->written[thread].store(index + 1, std::memory_order_relaxed);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    _exit(4);
  }

  // Waits for the writer's ring and opens it.
  int OpenRing(pid_t writer) const {
    while (waitpid(writer, nullptr, WNOHANG) == 0) {
      std::error_code error;
      const auto rings = std::filesystem::path(directory_) / kRingsDirectory;
      for (const auto& entry : std::filesystem::directory_iterator(rings, error)) {
        return open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      }
      sched_yield();
    }
    return -1;
  }

  void Look(int file) {
    FileSource source(file);
    const RingSnapshot snapshot = ReadRing(source, "ring");
    if (!snapshot.usable) return;  // not published yet
    for (const RingThread& thread : snapshot.threads) {
      const RingCalls& calls = thread.calls[ring::kCollectiveRing];
      lost_ += calls.lost;
      EXPECT_LE(calls.unreadable, 1u) << "a thread dies, or is met, inside one record at most";
      EXPECT_LE(calls.records.size() + calls.lost + calls.unreadable, calls.head);
      uint64_t last = 0;
      for (const RingRecord& seen : calls.records) {
        ring::Record expected = Barrier(thread.state.tid, seen.index);
        expected.lock = seen.record.lock;
        wrong_ += memcmp(&expected, &seen.record, sizeof(expected)) == 0 ? 0 : 1;
        EXPECT_TRUE(last == 0 || seen.index + 1 > last);
        last = seen.index + 1;
        ++whole_;
      }
    }
  }

  // Counts the records that were not finished.
  static uint64_t CountTorn(int file) {
    ring::FileHeader header;
    if (pread(file, &header, sizeof(header), 0) != sizeof(header)) return 0;
    uint64_t torn = 0;
    for (const ring::Section& section : header.sections) {
      if (section.kind != static_cast<uint32_t>(ring::SectionKind::kRings)) continue;
      for (uint64_t i = 0; i < section.capacity; ++i) {
        uint64_t lock = 0;
        const auto at = static_cast<off_t>(section.offset + i * sizeof(ring::Record));
        torn += pread(file, &lock, sizeof(lock), at) == sizeof(lock) ? lock % 2 : 0;
      }
    }
    return torn;
  }

  void OneLife(uint64_t until) {
    std::filesystem::remove_all(std::filesystem::path(directory_) / kRingsDirectory);
    for (auto& written : shared_->written) written = 0;
    const pid_t parent = getpid();
    const pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) Write(parent);
    const int file = OpenRing(writer);
    ASSERT_GE(file, 0);
    const auto total = [&] {
      uint64_t sum = 0;
      for (const auto& written : shared_->written) sum += written.load(std::memory_order_relaxed);
      return sum;
    };
    while (total() < until) {
      Look(file);
      int status = 0;
      ASSERT_EQ(waitpid(writer, &status, WNOHANG), 0) << "the writer ended: " << status;
    }
    kill(writer, SIGKILL);
    ASSERT_EQ(waitpid(writer, nullptr, 0), writer);
    Look(file);
    torn_deaths_ += CountTorn(file) > 0 ? 1 : 0;
    close(file);
  }

  std::string directory_;
  Shared* shared_ = nullptr;
  uint64_t whole_ = 0, lost_ = 0, wrong_ = 0, torn_deaths_ = 0;
};

TEST_F(ReaderTorture, NeverReadsAWrongRecord) {
  const char* text = getenv("ROLLCALL_TORTURE_DEATHS");
  const int deaths = text != nullptr ? atoi(text) : 40;
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int death = 0; death < deaths && !HasFailure(); ++death) OneLife(10000 + random() % 200000);
  EXPECT_EQ(wrong_, 0u);
  EXPECT_GT(whole_, 0u);
  EXPECT_GT(lost_, 0u) << "the rings never wrapped";
  EXPECT_GE(torn_deaths_, static_cast<uint64_t>(deaths) / 20);
  std::printf("%d deaths, %llu in the middle of a record; %llu records whole\n", deaths,
              static_cast<unsigned long long>(torn_deaths_),
              static_cast<unsigned long long>(whole_));
}

}  // namespace
}  // namespace rollcall::shim::torture
