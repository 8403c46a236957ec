// SPDX-License-Identifier: Apache-2.0
#include "collector/base/memory_rings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;

constexpr char kRing[] = "/node/run/rings/a-1-b.ring";
constexpr char kRingInMaps[] = "/memfd:/node/run/rings/a-1-b.ring (deleted)";
constexpr size_t kBytes = 4096;

// A memory file that this process maps, like a rank.
class Mapped {
 public:
  explicit Mapped(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(fd_.get(), kBytes), 0);
    EXPECT_EQ(pwrite(fd_.get(), name, 1, 0), 1);
    at_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    EXPECT_NE(at_, MAP_FAILED);
  }
  ~Mapped() { munmap(at_, kBytes); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  // A line of maps; `skew` is added to the inode.
  std::string Line(uint64_t skew = 0) const {
    struct stat info;
    EXPECT_EQ(fstat(fd_.get(), &info), 0);
    return fmt::format("7f0000000000-7f0000001000 rw-s 00000000 {:02x}:{:02x} {}    {}\n",
                       major(info.st_dev), minor(info.st_dev), info.st_ino + skew, kRingInMaps);
  }

 private:
  const UniqueFd fd_;
  void* at_;
};

class MemoryRingsTest : public ::testing::Test {
 protected:
  // A process whose descriptors are this one's.
  void AddProcess(int pid, const std::string& maps) const {
    root_.Write(fmt::format("proc/{}/maps", pid), maps);
    fs::create_symlink("/proc/self/fd", root_.Path(fmt::format("proc/{}/fd", pid)));
  }
  void AddThisProcess(int pid) const {
    fs::create_directories(root_.Path("proc"));
    fs::create_symlink("/proc/self", root_.Path(fmt::format("proc/{}", pid)));
  }
  MemoryRings Find() const { return FindMemoryRings(geteuid(), ProcSource(root_.path())); }
  // "path pid", with "!" if the ring is not open.
  static std::vector<std::string> Texts(const MemoryRings& found) {
    std::vector<std::string> texts;
    for (const MemoryRing& ring : found.rings) {
      EXPECT_EQ(ring.error.empty(), static_cast<bool>(ring.fd)) << ring.error;
      texts.push_back(fmt::format("{} {}{}", ring.path, ring.pid, ring.fd ? "" : "!"));
    }
    return texts;
  }

  const TemporaryDirectory root_;
};

TEST_F(MemoryRingsTest, OpensWhatALiveProcessMaps) {
  const Mapped ring(kRing);
  const Mapped other("/node/run/other/a-1-b.ring");
  const Mapped foreign("rollcall");
  AddThisProcess(40);
  const MemoryRings found = Find();
  ASSERT_THAT(Texts(found), ElementsAre(std::string(kRing) + " 40"));
  char first = 0;
  EXPECT_EQ(pread(found.rings[0].fd.get(), &first, 1, 0), 1);
  EXPECT_EQ(first, '/');
  EXPECT_EQ(found.denied, 0u);
}

TEST_F(MemoryRingsTest, FindsThemInTheRealProc) {
  const Mapped ring(kRing);
  EXPECT_THAT(Texts(FindMemoryRings(geteuid())),
              ::testing::Contains(fmt::format("{} {}", kRing, getpid())));
}

TEST_F(MemoryRingsTest, ListsAFileOnceHoweverManyMapIt) {
  const Mapped ring(kRing);
  AddProcess(40, ring.Line() + ring.Line());
  AddProcess(41, ring.Line());
  EXPECT_THAT(Texts(Find()), ElementsAre(std::string(kRing) + " 40"));
}

// The pid, or the descriptor, is another file's by the time at which it is opened.
TEST_F(MemoryRingsTest, DoesNotTakeAnotherFileOfThatName) {
  const Mapped ring(kRing);
  AddProcess(40, ring.Line(/*skew=*/1));
  EXPECT_THAT(Texts(Find()), ElementsAre(std::string(kRing) + " 40!"));
}

TEST_F(MemoryRingsTest, PassesOverWhatIsNoRingOfARun) {
  AddProcess(40,
             "55d0-55d1 r-xp 00000000 08:01 12    /bin/app\n"
             "7f00-7f01 rw-s 00000000 00:01 13    /dev/shm/run/rings/a.ring\n"  // a file
             "7f00-7f01 rw-s 00000000 00:01 14    /memfd:rings.ring (deleted)\n"
             "7f00-7f01 rw-s 00000000 00:01 15    /memfd:/run/rings/a.txt (deleted)\n"
             "7f00-7f01 rw-p 00000000 00:00 0    [heap]\n"
             "garbage /memfd:/run/rings/a.ring (deleted)\n\n");
  EXPECT_TRUE(Find().rings.empty());
}

TEST_F(MemoryRingsTest, NamesARemovedFileThatCannotBeOpened) {
  AddProcess(40, "7f00-7f01 rw-s 00000000 00:01 13    /dev/shm/run/rings/a.ring (deleted)\n");
  EXPECT_THAT(Texts(Find()), ElementsAre("/dev/shm/run/rings/a.ring 40!"));
}

TEST_F(MemoryRingsTest, LooksAtProcessesOfThatUserOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const Mapped ring(kRing);
  AddProcess(40, ring.Line());
  ASSERT_EQ(chown(root_.Path("proc/40").c_str(), 65534, 65534), 0);
  EXPECT_TRUE(Find().rings.empty());
  EXPECT_THAT(Texts(FindMemoryRings(65534, ProcSource(root_.path()))),
              ElementsAre(std::string(kRing) + " 40"));
}

TEST_F(MemoryRingsTest, CountsProcessesThatMayNotBeRead) {
  class Denying : public ProcSource {
   public:
    using ProcSource::ProcSource;
    int Read(const std::string& path, std::string* content, size_t max_bytes) const override {
      content->clear();
      return path == "/proc/40/maps" ? EACCES : ProcSource::Read(path, content, max_bytes);
    }
  };
  const Mapped ring(kRing);
  AddProcess(40, ring.Line());
  AddProcess(41, "");
  const MemoryRings found = FindMemoryRings(geteuid(), Denying(root_.path()));
  EXPECT_TRUE(found.rings.empty());
  EXPECT_EQ(found.denied, 1u);
}

}  // namespace
}  // namespace rollcall
