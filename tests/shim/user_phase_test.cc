// SPDX-License-Identifier: Apache-2.0
#include "shim/user_phase.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "shim/process.h"

namespace rollcall::shim {
namespace {

constexpr size_t kMost = ring::kUserPhaseBytes - 1;

// A process that records into `header`.
class UserPhase : public ::testing::Test {
 protected:
  UserPhase() : process_(g_process), recording_(g_recording) {
    header.pid = static_cast<uint32_t>(getpid());
    g_process.header = &header;
    g_recording = &on_;
    SetUserPhase(nullptr);
  }
  ~UserPhase() override {
    SetUserPhase(nullptr);
    g_process = process_;
    g_recording = recording_;
  }
  std::string Text() const { return {header.user_phase, strnlen(header.user_phase, kMost + 1)}; }

  ring::FileHeader header{};

 private:
  const Process process_;
  const uint64_t* const recording_;
  const uint64_t on_ = 1;
};

TEST_F(UserPhase, IsInTheRingUntilTheNextOne) {
  SetUserPhase("the first, which is longer");
  SetUserPhase("second");
  EXPECT_EQ(Text(), "second");
  EXPECT_TRUE(std::all_of(header.user_phase + 6, std::end(header.user_phase),
                          [](char c) { return c == '\0'; }));
  EXPECT_EQ(header.user_phase_lock % 2, 0u);
}

TEST_F(UserPhase, NullAndEmptyEndIt) {
  for (const char* end : {static_cast<const char*>(nullptr), ""}) {
    SetUserPhase("something");
    SetUserPhase(end);
    EXPECT_EQ(Text(), "");
  }
}

TEST_F(UserPhase, LongTextIsCutBetweenCharacters) {
  SetUserPhase(std::string(kMost, 'x').c_str());
  EXPECT_EQ(Text().size(), kMost);
  SetUserPhase(std::string(5000, 'x').c_str());
  EXPECT_EQ(Text(), std::string(kMost, 'x'));
  for (const std::string_view character : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\x8c"}) {
    for (size_t before = kMost - character.size(); before <= kMost; ++before) {
      const std::string head(before, 'x');
      SetUserPhase((head + std::string(character) + "tail").c_str());
      const bool fits = before + character.size() <= kMost;
      EXPECT_EQ(Text().substr(0, before + character.size()),
                fits ? head + std::string(character) : head);
    }
  }
  SetUserPhase(std::string(5000, '\x80').c_str());  // not UTF-8
  EXPECT_GE(Text().size(), kMost - 3);
}

TEST_F(UserPhase, SetBeforeTheRingExistsIsPublishedWithIt) {
  const uint64_t off = 0;
  const uint64_t* const on = g_recording;
  g_recording = &off;
  SetUserPhase("early");
  EXPECT_EQ(Text(), "");
  g_recording = on;
  PublishUserPhase();
  EXPECT_EQ(Text(), "early");
}

TEST_F(UserPhase, ChildThatSharesTheMemoryDoesNotChangeIt) {
  SetUserPhase("the parent's");
  header.pid += 1;  // as a vfork child sees it
  const uint64_t lock = header.user_phase_lock;
  SetUserPhase("the child's");
  EXPECT_EQ(Text(), "the parent's");
  EXPECT_EQ(header.user_phase_lock, lock);
  header.pid -= 1;
}

TEST_F(UserPhase, KeepsErrno) {
  errno = EXDEV;
  SetUserPhase("text");
  EXPECT_EQ(errno, EXDEV);
}

std::string Repeated(char letter) { return std::string(kMost, letter); }

struct Reads {
  int whole = 0;
  int mixed = 0;  // of two texts
  int being_written = 0;
};

// Reads as ring_format.md says.
void ReadPhase(const ring::FileHeader& header, Reads* reads) {
  const uint64_t before = LoadAcquire(&header.user_phase_lock);
  const auto* words = reinterpret_cast<const uint64_t*>(header.user_phase);
  uint64_t copy[ring::kUserPhaseBytes / 8];
  for (size_t i = 0; i < std::size(copy); ++i) copy[i] = LoadAcquire(words + i);
  if (before % 2 != 0 || LoadAcquire(&header.user_phase_lock) != before) {
    ++reads->being_written;
    return;
  }
  char text[ring::kUserPhaseBytes];
  memcpy(text, copy, sizeof(text));
  const bool whole = std::count(text, text + kMost, text[0]) == static_cast<ptrdiff_t>(kMost);
  ++(whole ? reads->whole : reads->mixed);
}

const ring::FileHeader* g_header = nullptr;
Reads g_reads;                    // by the handler
char g_handlers_text[kMost + 1];  // a handler must not allocate

void ReadAndSetInHandler(int) {
  ReadPhase(*g_header, &g_reads);
  SetUserPhase(g_handlers_text);
}

// Two threads write; a signal handler reads what it has interrupted, and writes.
TEST_F(UserPhase, IsWholeIfThreadsAndASignalHandlerSetIt) {
  g_header = &header;
  g_reads = {};
  memset(g_handlers_text, 'h', kMost);
  const std::string texts[] = {Repeated('a'), Repeated('b'), Repeated('c')};
  SetUserPhase(texts[0].c_str());
  std::atomic<bool> stop{false};
  // The thread inherits the mask: a signal between its start and a mask of its own would run the
  // handler there too, in two threads at once.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread other([&] {
    while (!stop) SetUserPhase(texts[2].c_str());
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  struct sigaction action {
  }, old{};
  action.sa_handler = ReadAndSetInHandler;
  ASSERT_EQ(sigaction(SIGALRM, &action, &old), 0);
  const itimerval often{{0, 100}, {0, 100}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  const volatile Reads& reads = g_reads;
  for (int i = 0; reads.whole + reads.mixed < 100 || reads.being_written < 50; ++i) {
    SetUserPhase(texts[i % 2].c_str());
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &old, nullptr);
  stop = true;
  other.join();
  EXPECT_EQ(g_reads.mixed, 0);
  EXPECT_EQ(header.user_phase_lock % 2, 0u);
}

}  // namespace
}  // namespace rollcall::shim
