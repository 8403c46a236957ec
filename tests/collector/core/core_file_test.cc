// SPDX-License-Identifier: Apache-2.0
#include "collector/core/core_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "collector/base/result.h"
#include "collector/core/core_process.h"
#include "tests/collector/core/core_builder.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CoreBuilder SmallProcess() {
  CoreBuilder core;
  core.Process(100, 99, "app")
      .Thread(101, 0x401000, 0x7000)
      .Signal(SIGABRT, SI_USER, 1)
      .Thread(100, 0x402000, 0x8000)
      .Auxv({{AT_SYSINFO_EHDR, 0x9000}, {AT_ENTRY, 0x400800}, {AT_RANDOM, 0x7ff0}})
      .File(0x400000, 0x404000, 1, "/usr/bin/app")
      .Memory(0x400000, "ELF", 0x4000, PF_R | PF_X)
      .Memory(0x7000, "the stack");
  return core;
}

Result<CoreFile> ReadBytes(const std::vector<uint8_t>& bytes) {
  MemorySource source(bytes);
  return ReadCoreFile(source);
}

CoreFile ReadSound(CoreBuilder core) {
  Result<CoreFile> file = ReadBytes(core.Build());
  EXPECT_TRUE(file) << file.error();
  return std::move(file).value_or({});
}

std::string ErrorOf(const std::vector<uint8_t>& bytes) {
  const Result<CoreFile> file = ReadBytes(bytes);
  EXPECT_FALSE(file);
  return file.error();
}

TEST(CoreFileTest, ReadsThreadsSignalFilesAndMemory) {
  const CoreFile core = ReadSound(SmallProcess());
  EXPECT_EQ(core.pid, 100);
  EXPECT_EQ(core.parent, 99);
  EXPECT_EQ(core.name, "app");
  EXPECT_EQ(core.signal, SIGABRT);
  EXPECT_TRUE(core.signal_from_outside);
  EXPECT_EQ(core.signaled_thread, 101);
  ASSERT_EQ(core.threads.size(), 2u);
  EXPECT_EQ(core.threads[0].tid, 100) << "the main thread is the first";
  EXPECT_EQ(core.threads[0].pc, 0x402000u);
  EXPECT_EQ(core.threads[0].stack_pointer, 0x8000u);
  EXPECT_EQ(core.vdso, 0x9000u);
  EXPECT_EQ(core.entry, 0x400800u);
  EXPECT_EQ(core.random, 0x7ff0u);
  ASSERT_EQ(core.mappings.size(), 1u);
  EXPECT_EQ(core.mappings[0].path, "/usr/bin/app");
  EXPECT_EQ(core.mappings[0].offset, 4096u);
  ASSERT_EQ(core.segments.size(), 2u);
  EXPECT_EQ(core.segments[0].file_bytes, 9u);
  EXPECT_TRUE(core.segments[1].executable);
  EXPECT_THAT(core.problems, IsEmpty());
  EXPECT_EQ(core.FindSegment(0x403fff), &core.segments[1]);
  EXPECT_EQ(core.FindSegment(0x404000), nullptr);
}

TEST(CoreFileTest, SignalsOfTheProcessItselfAreNotFromOutside) {
  CoreBuilder raised;
  raised.Process(100, 99, "app").Thread(100, 1, 1).Signal(SIGSEGV, SI_TKILL, 100);
  EXPECT_FALSE(ReadSound(raised).signal_from_outside);
  CoreBuilder fault;
  fault.Process(100, 99, "app").Thread(100, 1, 1).Signal(SIGSEGV, SEGV_MAPERR, 77);
  EXPECT_FALSE(ReadSound(fault).signal_from_outside) << "the word is an address then";
}

TEST(CoreFileTest, FileThatIsNotACoreIsNotAnError) {
  EXPECT_EQ(ErrorOf({}), "");
  EXPECT_EQ(ErrorOf({'t', 'e', 'x', 't'}), "");
  std::vector<uint8_t> program = SmallProcess().Build();
  program[offsetof(Elf64_Ehdr, e_type)] = ET_EXEC;
  EXPECT_EQ(ErrorOf(program), "");
}

TEST(CoreFileTest, ReportsWhyACoreCannotBeRead) {
  std::vector<uint8_t> other = SmallProcess().Build();
  other[offsetof(Elf64_Ehdr, e_machine)] = EM_PPC64;
  EXPECT_THAT(ErrorOf(other), HasSubstr("another architecture"));
  CoreBuilder empty;
  EXPECT_THAT(ErrorOf(empty.Memory(0x7000, "stack").Build()), HasSubstr("no thread"));
}

// At each length, all segments lie within the file, and missing parts are reported.
TEST(CoreFileTest, ReadsTruncatedCoreAsFarAsPossible) {
  const std::vector<uint8_t> whole = SmallProcess().Build();
  size_t read = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    const Result<CoreFile> core = ReadBytes(cut);
    if (!core) continue;
    ++read;
    EXPECT_FALSE(core->problems.empty()) << size;
    for (const CoreSegment& segment : core->segments) {
      EXPECT_TRUE(segment.file_bytes == 0 || segment.offset + segment.file_bytes <= size) << size;
    }
  }
  EXPECT_GT(read, 12u) << "the memory's 12 bytes, and some notes, may be missing";
}

TEST(CoreFileTest, ReportsTruncation) {
  std::vector<uint8_t> bytes = SmallProcess().Build();
  bytes.resize(bytes.size() - 5);
  const Result<CoreFile> core = ReadBytes(bytes);
  ASSERT_TRUE(core) << core.error();
  EXPECT_THAT(core->problems, ElementsAre(HasSubstr("it is truncated: 5 bytes")));
}

TEST(CoreFileTest, BoundsHostileSizes) {
  CoreBuilder core = SmallProcess();
  core.Memory(0x10000, "x", ~uint64_t{0});  // ends beyond the address space
  core.Memory(~uint64_t{0} - 5, "x", 100);  // likewise
  core.Memory(0x7004, "y", 0x100);          // overlaps the stack
  core.Thread(102, 1, 1);
  const uint64_t files[] = {uint64_t{1} << 61, 4096, 1, 2, 3};
  core.Note(NT_FILE, files, sizeof(files));
  std::vector<uint8_t> bytes = core.Build();
  const Result<CoreFile> file = ReadBytes(bytes);
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(file->threads.size(), 3u);
  EXPECT_EQ(file->segments.size(), 2u);
  EXPECT_THAT(file->problems,
              ElementsAre(HasSubstr("list of files"), HasSubstr("1 of its segments overlap")));
  // More segments than the file has room for, and a note that claims four gigabytes.
  bytes[offsetof(Elf64_Ehdr, e_phnum)] = 0xfe;
  bytes[offsetof(Elf64_Ehdr, e_phnum) + 1] = 0xff;
  static_cast<void>(ReadBytes(bytes));
  bytes = core.Build();
  const size_t notes = sizeof(Elf64_Ehdr) + 6 * sizeof(Elf64_Phdr);
  std::memset(bytes.data() + notes + offsetof(Elf64_Nhdr, n_descsz), 0xff, 4);
  EXPECT_THAT(ErrorOf(bytes), HasSubstr("larger than all notes"));
}

TEST(CoreFileTest, CountsThreadsAboveTheLimit) {
  CoreBuilder core;
  core.Process(5, 1, "app");
  for (pid_t tid = 1000; tid < 1000 + static_cast<pid_t>(kMaxCoreThreads) + 3; ++tid) {
    core.Thread(tid, 1, 1);
  }
  core.Thread(5, 1, 1);
  const CoreFile file = ReadSound(core);
  EXPECT_EQ(file.threads.size(), kMaxCoreThreads);
  EXPECT_EQ(file.threads_left_out, 4u);
  EXPECT_EQ(file.threads[0].tid, 5) << "the main thread is never left out";
}

TEST(CoreFileTest, RebuildsTheMapsOfTheProcess) {
  CoreBuilder core = SmallProcess();
  core.Memory(0x9000, "vdso", 0x1000, PF_R | PF_X).File(0x500000, 0x501000, 0, "/lib/gone.so");
  EXPECT_EQ(MapsOf(ReadSound(core)),
            "7000-7009 rw-p 0 00:00 0 \n"
            "9000-a000 r-xp 0 00:00 0 [vdso]\n"
            "400000-404000 r-xp 1000 00:00 0 /usr/bin/app\n"
            "500000-501000 r-xp 0 00:00 0 /lib/gone.so\n");
}

}  // namespace
}  // namespace rollcall
