// SPDX-License-Identifier: Apache-2.0
// Tests the division of a ring file for every size that it can have, and its creation in a
// temporary directory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "gtest/gtest.h"
#include "proto/run_directory.h"
#include "shim/ring_file.h"

namespace rollcall::shim {
namespace {

std::vector<uint64_t> Sizes() {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = kSmallestFileBytes; bytes <= (8u << 20); bytes += 4096)
    sizes.push_back(bytes);
  for (uint64_t bytes = kSmallestFileBytes; bytes <= kSmallestFileBytes + 8192; ++bytes) {
    sizes.push_back(bytes);
  }
  for (uint64_t bytes = 16u << 20; bytes <= (uint64_t{1} << 34); bytes *= 2) {
    for (const int64_t off : {-4097, -1, 0, 1, 4095}) {
      sizes.push_back(bytes + static_cast<uint64_t>(off));
    }
  }
  return sizes;
}

TEST(PlanLayout, SectionsFitIntoAFileOfAnySize) {
  for (const uint64_t bytes : Sizes()) {
    const Layout layout = PlanLayout(bytes);
    ASSERT_LE(layout.file_bytes, bytes);
    ASSERT_EQ(layout.file_bytes % 4096, 0u);
    const uint64_t used =
        sizeof(ring::FileHeader) + layout.threads * sizeof(ring::ThreadEntry) +
        layout.members * sizeof(ring::Member) + layout.requests * sizeof(ring::OpenRequest) +
        layout.channels * sizeof(ring::Channel) + layout.peer_counts * sizeof(ring::PeerCount) +
        layout.gpu_slots * sizeof(ring::GpuProgress) + layout.modules * sizeof(ring::Module) +
        layout.datatypes * sizeof(ring::Datatype) + layout.string_bytes +
        layout.call_path_words * 8 + layout.python_codes * sizeof(ring::PythonCode) +
        layout.values * sizeof(ring::NamedValues) + layout.ring_slots * sizeof(ring::Record);
    // Each section may start up to 63 bytes after the end of the previous one.
    ASSERT_LE(used + 63 * ring::kMaxSections, layout.file_bytes) << bytes;
    // All sections that a verdict needs are large enough, and at least a quarter is history.
    ASSERT_GE(layout.threads, 16u);
    ASSERT_GE(layout.members, 32u) << bytes;
    ASSERT_GE(layout.requests, 64u) << bytes;
    ASSERT_GE(layout.channels, 64u) << bytes;
    ASSERT_GE(layout.peer_counts, layout.channels) << bytes;
    ASSERT_GE(layout.modules, 16u) << bytes;
    ASSERT_GE(layout.call_path_words, 1024u) << bytes;
    ASSERT_GE(layout.values, 8u) << bytes;
    ASSERT_GE(layout.ring_slots * sizeof(ring::Record), layout.file_bytes / 4) << bytes;
  }
}

// The code objects use space that the default size leaves unused: the lengths of the rings are
// powers of two and do not change.
TEST(PlanLayout, PythonDoesNotReduceTheHistory) {
  for (const uint64_t bytes : Sizes()) {
    const Layout with = PlanLayout(bytes, {.python = true}), without = PlanLayout(bytes);
    ASSERT_GT(with.python_codes, without.python_codes);
    ASSERT_GT(without.python_codes, 0u);
    ASSERT_GT(with.string_bytes, without.string_bytes);
    ASSERT_LE(with.ring_slots * sizeof(ring::Record) +
                  with.python_codes * sizeof(ring::PythonCode) + with.string_bytes +
                  with.call_path_words * 8,
              with.file_bytes);
    ASSERT_EQ(with.members, without.members);
  }
  constexpr uint64_t kHistory = 16384;  // see CutRings
  EXPECT_GE(PlanLayout(ring::kDefaultFileBytes, {.python = true}).ring_slots, kHistory);
  EXPECT_GE(PlanLayout(ring::kDefaultFileBytes).ring_slots, kHistory);
}

// The marks also use space that the default size leaves unused.
TEST(PlanLayout, MarksDoNotReduceTheHistory) {
  EXPECT_EQ(PlanLayout(ring::kDefaultFileBytes).marks, 0u);
  const Layout layout = PlanLayout(ring::kDefaultFileBytes, {.python = true, .marks = true});
  EXPECT_GT(layout.marks, 0u);
  EXPECT_GE(layout.ring_slots, 16384u);
}

TEST(PlanLayout, GrowsWithTheFile) {
  Layout last = PlanLayout(kSmallestFileBytes);
  for (uint64_t bytes = kSmallestFileBytes; bytes <= (8u << 20); bytes += 4096) {
    const Layout layout = PlanLayout(bytes);
    ASSERT_GE(layout.members, last.members) << bytes;
    ASSERT_GE(layout.requests, last.requests) << bytes;
    ASSERT_GE(layout.call_path_words, last.call_path_words) << bytes;
    last = layout;
  }
}

class RingFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/dev/shm/rollcall-layout-XXXXXX";
    if (mkdtemp(pattern) == nullptr) GTEST_SKIP() << "no /dev/shm to write to";
    directory_ = pattern;
  }
  void TearDown() override {
    for (const RingFile& file : files_) munmap(file.header, file.layout.file_bytes);
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  RingFile Create(uint64_t bytes, uint64_t ranks, const char* name) {
    RingFile file = CreateRingFile({directory_.c_str(), bytes, ranks, name});
    if (file.header != nullptr) files_.push_back(file);
    return file;
  }
  std::filesystem::path PathOf(const char* name) const {
    return std::filesystem::path(directory_) / kRingsDirectory / name;
  }
  static int OpenDescriptors() {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      count += entry.path().empty() ? 0 : 1;
    }
    return count;
  }

  std::string directory_;

 private:
  std::vector<RingFile> files_;
};

TEST_F(RingFileTest, SectionsAreConsecutiveInsideTheFile) {
  for (const uint64_t bytes : {kSmallestFileBytes, uint64_t{1234567}, ring::kDefaultFileBytes}) {
    const std::string name = std::to_string(bytes);
    const RingFile file = Create(bytes, 1, name.c_str());
    ASSERT_NE(file.header, nullptr) << file.refused;
    const ring::FileHeader& header = *file.header;
    EXPECT_EQ(header.file_bytes, file.layout.file_bytes);
    EXPECT_EQ(std::filesystem::file_size(PathOf(name.c_str())), header.file_bytes);
    ASSERT_LE(header.section_count, ring::kMaxSections);
    uint64_t end = sizeof(ring::FileHeader);
    for (uint32_t i = 0; i < header.section_count; ++i) {
      const ring::Section& section = header.sections[i];
      EXPECT_GE(section.offset, end) << section.kind;
      EXPECT_EQ(section.offset % 64, 0u) << section.kind;
      EXPECT_EQ(section.used, 0u);
      end = section.offset + section.element_bytes * section.capacity;
      EXPECT_LE(end, header.file_bytes) << section.kind;
    }
    // The file is not valid before it is published.
    EXPECT_NE(memcmp(header.magic, ring::kMagic, sizeof(header.magic)), 0);
    PublishRingFile(file.header);
    EXPECT_EQ(memcmp(header.magic, ring::kMagic, sizeof(header.magic)), 0);
  }
}

// A device writes to whole pages, so these must contain no data of the host.
TEST_F(RingFileTest, MarksHaveTheirOwnPages) {
  for (const uint64_t bytes : {kSmallestFileBytes, uint64_t{1234567}, ring::kDefaultFileBytes}) {
    const std::string name = std::to_string(bytes);
    const RingFile file = CreateRingFile(
        {directory_.c_str(), bytes, 1, name.c_str(), {.python = true, .marks = true}});
    ASSERT_NE(file.header, nullptr) << file.refused;
    const ring::FileHeader& header = *file.header;
    const ring::Section& last = header.sections[header.section_count - 1];
    ASSERT_EQ(last.kind, static_cast<uint32_t>(ring::SectionKind::kMarks));
    EXPECT_EQ(last.offset % 4096, 0u);
    EXPECT_EQ(last.capacity * last.element_bytes % 4096, 0u);
    EXPECT_LE(last.offset + last.capacity * last.element_bytes, header.file_bytes);
    EXPECT_EQ(last.used, last.capacity);  // in use from the start, because the device writes
    const ring::Section& before = header.sections[header.section_count - 2];
    EXPECT_GE(last.offset, before.offset + before.capacity * before.element_bytes);
    munmap(file.header, header.file_bytes);
  }
}

TEST_F(RingFileTest, IsPrivateAndReservedAndLeavesNoDescriptor) {
  const int before = OpenDescriptors();
  ASSERT_NE(Create(ring::kDefaultFileBytes, 1, "one").header, nullptr);
  EXPECT_EQ(OpenDescriptors(), before);
  struct stat info;
  ASSERT_EQ(stat(PathOf("one").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_GE(static_cast<uint64_t>(info.st_blocks) * 512, ring::kDefaultFileBytes);
  ASSERT_EQ(stat(PathOf("").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(RingFileTest, NeverUsesAnExistingFile) {
  std::filesystem::create_directory(PathOf(""));
  std::filesystem::permissions(PathOf(""), std::filesystem::perms::owner_all);
  std::filesystem::create_symlink("/dev/null", PathOf("one"));
  const int before = OpenDescriptors();
  const RingFile file = Create(ring::kDefaultFileBytes, 1, "one");
  EXPECT_EQ(file.header, nullptr);
  EXPECT_NE(file.refused, nullptr);
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_TRUE(std::filesystem::is_symlink(PathOf("one")));
}

TEST_F(RingFileTest, SharesTheNodesBudget) {
  const uint64_t shared = std::filesystem::space(directory_).available / kSharedMemoryShare;
  const uint64_t ranks = shared / (600u << 10);
  const RingFile file = Create(uint64_t{64} << 20, ranks, "one");
  ASSERT_NE(file.header, nullptr) << file.refused;
  EXPECT_LE(file.layout.file_bytes, shared / ranks + (1u << 20) / ranks);
  EXPECT_GE(file.layout.file_bytes, kSmallestFileBytes);
  // With so many ranks, the share of each is too small.
  const RingFile none = Create(uint64_t{64} << 20, shared / kSmallestFileBytes * 2, "two");
  EXPECT_EQ(none.header, nullptr);
  EXPECT_NE(none.refused, nullptr);
  EXPECT_FALSE(std::filesystem::exists(PathOf("two")));
}

// The ring of a rank without room has no name: /proc is how others find it if the agent is gone.
TEST_F(RingFileTest, IsFoundInProcIfItIsInMemory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory_.c_str(), kAgentSocket);
  const int agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(agent, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(agent, 1), 0);
  const int before = OpenDescriptors();
  const uint64_t too_many = std::filesystem::space(directory_).available / kSmallestFileBytes;
  ASSERT_NE(Create(ring::kDefaultFileBytes, too_many, "one.ring").header, nullptr);
  close(agent);
  EXPECT_FALSE(std::filesystem::exists(PathOf("one.ring")));
  EXPECT_EQ(OpenDescriptors(), before) << "one more, and without the agent's one less";
  const std::string link = "/memfd:" + PathOf("one.ring").string() + " (deleted)";
  int kept = -1;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry, ignored) != link) continue;
    kept = std::stoi(entry.path().filename());
  }
  ASSERT_GE(kept, 900) << "a number that the program may choose itself";
  EXPECT_EQ(fcntl(kept, F_GETFD), FD_CLOEXEC);
  close(kept);
}

TEST_F(RingFileTest, StaysBelowTheFileSizeLimit) {
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit limit = old;
  limit.rlim_cur = 1u << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const RingFile small = Create(ring::kDefaultFileBytes, 1, "small");
  limit.rlim_cur = 100 << 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const RingFile none = Create(ring::kDefaultFileBytes, 1, "none");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  ASSERT_NE(small.header, nullptr) << small.refused;
  EXPECT_LE(small.layout.file_bytes, 1u << 20);
  EXPECT_EQ(none.header, nullptr);
  EXPECT_NE(none.refused, nullptr);
}

}  // namespace
}  // namespace rollcall::shim
