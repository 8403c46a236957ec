// SPDX-License-Identifier: Apache-2.0
// Tests the check for readable memory: it asks the kernel once per page and never causes a fault.
#include "shim/python/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace rollcall::shim::python {
namespace {

constexpr uint64_t kPage = 4096;

class Pages : public testing::Test {
 protected:
  Pages() {
    map_ = static_cast<char*>(
        mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(map_ + kPage, kPage, PROT_NONE);
  }
  ~Pages() override {
    munmap(map_, 3 * kPage);
    ClearKnownPages();
  }
  uint64_t at(uint64_t offset) const { return reinterpret_cast<uint64_t>(map_) + offset; }

  char* map_;
};

TEST_F(Pages, KernelReportsReadability) {
  ASSERT_TRUE(CanProbePages());
  EXPECT_TRUE(IsReadable(at(0), kPage));
  EXPECT_TRUE(IsReadable(at(kPage - 8), 8));
  EXPECT_FALSE(IsReadable(at(kPage - 8), 9));
  EXPECT_FALSE(IsReadable(at(kPage), 1));
  EXPECT_TRUE(IsReadable(at(2 * kPage), 8));
  EXPECT_FALSE(IsReadable(at(0), 3 * kPage));
}

TEST_F(Pages, InvalidAddressIsNotReadable) {
  errno = 77;
  for (const uint64_t address : {uint64_t{0}, uint64_t{8}, uint64_t{4095}, uint64_t{1} << 47,
                                 ~uint64_t{0}, ~uint64_t{7}, (uint64_t{1} << 47) - 8}) {
    EXPECT_FALSE(IsReadable(address, 8)) << address;
  }
  EXPECT_FALSE(IsReadable(at(0), ~uint64_t{0}));
  EXPECT_FALSE(IsReadable(at(0), uint64_t{1} << 46));
  EXPECT_EQ(errno, 77);
}

TEST_F(Pages, ForgottenPagesAreCheckedAgain) {
  EXPECT_TRUE(IsReadable(at(2 * kPage), 8));
  mprotect(map_ + 2 * kPage, kPage, PROT_NONE);
  ClearKnownPages();
  EXPECT_FALSE(IsReadable(at(2 * kPage), 8));
}

// There are more pages than entries: new pages replace old ones, and every result stays correct.
TEST_F(Pages, FullTableForgetsPages) {
  constexpr uint64_t kPages = 4 * pages::kSets * pages::kWays;
  void* large =
      mmap(nullptr, kPages * kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(large, MAP_FAILED);
  const auto first = reinterpret_cast<uint64_t>(large);
  for (uint64_t page = 0; page < kPages; ++page) {
    ASSERT_TRUE(IsReadable(first + page * kPage, 8));
  }
  EXPECT_TRUE(IsReadable(first, 8));
  munmap(large, kPages * kPage);
}

TEST_F(Pages, CopyFailsIfMemoryIsNotReadable) {
  auto buffers = std::make_unique<CopiedMemory::Buffers>();
  CopiedMemory memory(buffers.get());
  memcpy(map_, "content", 8);
  const unsigned char* copy = memory.At(at(0), 8, Slot::kFrame);
  if (copy == nullptr) GTEST_SKIP() << "process_vm_readv is forbidden here";
  EXPECT_STREQ(reinterpret_cast<const char*>(copy), "content");
  EXPECT_EQ(memory.At(at(kPage - 4), 8, Slot::kFrame), nullptr);
  EXPECT_EQ(memory.At(at(kPage), 8, Slot::kFrame), nullptr);
  EXPECT_EQ(memory.At(at(0), sizeof(buffers->frame) + 1, Slot::kFrame), nullptr);
  EXPECT_EQ(memory.At(0, 8, Slot::kFrame), nullptr);
}

}  // namespace
}  // namespace rollcall::shim::python
