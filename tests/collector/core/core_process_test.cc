// SPDX-License-Identifier: Apache-2.0
#include "collector/core/core_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "collector/base/result.h"
#include "collector/core/core_unwinder.h"
#include "collector/live/live_stack.h"
#include "tests/collector/core/core_builder.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;

std::string BytesAt(const ProcessMemory& memory, uint64_t address, size_t size) {
  std::string text(size, '\0');
  text.resize(memory.Read(address, text.data(), size));
  return text;
}

void WriteText(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void WriteCore(const std::filesystem::path& path, CoreBuilder core) {
  const std::vector<uint8_t> bytes = core.Build();
  WriteText(path, {bytes.begin(), bytes.end()});
}

TEST(CoreMemoryTest, ReadsFromTheFileWhatWasNotDumped) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("library");
  WriteText(path, std::string(4096, 'a') + std::string(4096, 'b') + std::string(10, 'c'));
  CoreBuilder builder;
  builder.Thread(1, 1, 1)
      .File(0x10000, 0x13000, 0, path)
      .Memory(0x10000, "dump", 0x3000, PF_R | PF_X)
      .Memory(0x13000, "next");
  const std::vector<uint8_t> bytes = builder.Build();
  MemorySource source(bytes);
  const Result<CoreFile> core = ReadCoreFile(source);
  ASSERT_TRUE(core) << core.error();
  CoreMemory memory(&source, &*core);
  EXPECT_EQ(BytesAt(memory, 0x10000, 8), "dump") << "the file is not known to be the same";
  const Result<RegularFile> opened = OpenRegularFile(path, 1 << 20);
  ASSERT_TRUE(opened) << opened.error();
  memory.AddFile(path, opened->stamp);
  EXPECT_EQ(BytesAt(memory, 0x10000, 8), "dumpaaaa");
  EXPECT_EQ(BytesAt(memory, 0x10fff, 2), "ab");
  EXPECT_EQ(BytesAt(memory, 0x12000, 20), "cccccccccc") << "the file has no more";
  EXPECT_EQ(BytesAt(memory, 0x13002, 20), "xt");
  EXPECT_EQ(BytesAt(memory, 0x9000, 1), "");

  CoreMemory later(&source, &*core);
  later.AddFile(path, opened->stamp);
  WriteText(path, "another file by now");
  EXPECT_EQ(BytesAt(later, 0x10000, 8), "dump");
}

TEST(CoreProcessTest, DoesNotUseFilesWithoutBuildIds) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("library");
  WriteText(path, std::string(0x2000, 'a'));
  CoreBuilder builder;
  builder.Thread(1, 0x10010, 0x7000)
      .File(0x10000, 0x12000, 0, path)
      .Memory(0x10000, "no ELF header", 0x2000, PF_R | PF_X)
      .Memory(0x7000, std::string(64, '\0'));
  WriteCore(directory.Path("core"), builder);
  const auto process = CoreProcess::Open(directory.Path("core")).value_or(nullptr);
  ASSERT_NE(process, nullptr);
  EXPECT_THAT(process->unknown_modules(), ::testing::ElementsAre(path));
  const CoreStacks stacks = UnwindCore(*process);
  EXPECT_EQ(stacks.error, "");
  ASSERT_EQ(stacks.threads.size(), 1u);
  EXPECT_EQ(stacks.threads[0].end, ring::StackEnd::kNoUnwindInfo);
  EXPECT_EQ(stacks.threads[0].frames.size(), 1u);
}

// A core from which no stack can be unwound.
std::unique_ptr<CoreProcess> TinyCore(const TemporaryDirectory& directory) {
  CoreBuilder builder;
  WriteCore(directory.Path("core"), builder.Thread(7, 0x10010, 0x7000).Memory(0x7000, "stack"));
  return CoreProcess::Open(directory.Path("core")).value_or(nullptr);
}

TEST(CoreUnwinderTest, SurvivesACrashOfTheLibrary) {
  const TemporaryDirectory directory;
  const auto process = TinyCore(directory);
  ASSERT_NE(process, nullptr);
  const CoreStacks stacks =
      UnwindCore(*process, {.max_frames = 8, .in_child = [] { raise(SIGSEGV); }});
  EXPECT_THAT(stacks.error, HasSubstr("ended by SIGSEGV"));
  ASSERT_EQ(stacks.threads.size(), 1u);
  EXPECT_EQ(stacks.threads[0].detail, stacks.error);
  const CoreStacks killed =
      UnwindCore(*process, {.max_frames = 8, .in_child = [] { raise(SIGKILL); }});
  EXPECT_THAT(killed.error, HasSubstr("ended by SIGKILL"));
}

TEST(CoreUnwinderTest, SurvivesAHangOfTheLibrary) {
  const TemporaryDirectory directory;
  const auto process = TinyCore(directory);
  ASSERT_NE(process, nullptr);
  const CoreStacks stacks = UnwindCore(
      *process,
      {.max_frames = 8, .deadline = std::chrono::milliseconds(200), .in_child = [] { pause(); }});
  EXPECT_THAT(stacks.error, HasSubstr("did not finish"));
}

bool KernelWritesCoresHere() {
  std::ifstream file("/proc/sys/kernel/core_pattern");
  std::string pattern;
  std::getline(file, pattern);
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  return !pattern.empty() && pattern.find_first_of("|/%") == std::string::npos &&
         (limit.rlim_max == RLIM_INFINITY || geteuid() == 0);
}

// The kernel's own core of a process whose stack another unwinder read while it was alive.
TEST(CoreProcessTest, AgreesWithTheLiveProcess) {
  if (!KernelWritesCoresHere()) GTEST_SKIP() << "core_pattern is not a plain file name";
  const TemporaryDirectory directory;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit limit = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    const char* variables[] = {"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=3",
                               "LAST=", nullptr};
    if (setrlimit(RLIMIT_CORE, &limit) != 0 || chdir(directory.path().c_str()) != 0) _exit(1);
    dup2(ends[0], STDIN_FILENO);
    execle("/bin/sh", "reader", "-c", "read line", "RANK=1", nullptr, variables);
    _exit(1);
  }
  const ProcSource proc;
  LiveStacks live;
  LiveStackOptions options;
  options.deadline = options.stop_deadline = std::chrono::seconds(20);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  do {
    const auto state = ReadProcessState(proc, pid, 0);
    ASSERT_TRUE(state) << state.error();
    const std::optional<BlockedCall>& call = state->threads.at(0).blocked_call;
    if (!call || call->number != SYS_read) continue;
    live = CaptureLiveStacks(proc, pid, options);
  } while (live.threads.empty() && std::chrono::steady_clock::now() < deadline);
  kill(pid, SIGABRT);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  for (const int end : ends) close(end);
  ASSERT_EQ(live.threads.size(), 1u) << live.error;
  ASSERT_TRUE(WIFSIGNALED(status) && WCOREDUMP(status)) << status;

  const std::filesystem::directory_iterator files(directory.path());
  const auto process = CoreProcess::Open(files->path()).value_or(nullptr);
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(process->core().pid, pid);
  EXPECT_EQ(process->core().parent, getpid());
  EXPECT_EQ(process->core().name, "sh");
  EXPECT_EQ(process->core().signal, SIGABRT);
  EXPECT_TRUE(process->core().signal_from_outside);
  using namespace std::literals;
  EXPECT_EQ(InitialEnvironment(process->core(), process->memory()),
            "OMPI_COMM_WORLD_RANK=2\0OMPI_COMM_WORLD_SIZE=3\0LAST=\0"sv);
  const CoreStacks stacks = UnwindCore(*process);
  EXPECT_EQ(stacks.error, "");
  ASSERT_EQ(stacks.threads.size(), 1u);
  EXPECT_EQ(stacks.threads[0].end, ring::StackEnd::kComplete) << stacks.threads[0].detail;
  EXPECT_EQ(stacks.threads[0].frames, live.threads[0].frames);
}

}  // namespace
}  // namespace rollcall
