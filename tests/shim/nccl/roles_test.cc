#include "shim/nccl/roles.h"

#include <gtest/gtest.h>

namespace rollcall::shim::nccl {
namespace {

// cuda_runtime_api.h: in the names that end in _ptsz, 0 is cudaStreamPerThread.
TEST(Roles, ZeroIsThePerThreadStreamIfTheProgramIsCompiledSo) {
  Arguments a;
  roles::stream::Take(a, nullptr);
  EXPECT_EQ(a.stream, 0u);
  roles::stream_ptsz::Take(a, nullptr);
  EXPECT_EQ(a.stream, ring::kPerThreadStream);
  int other = 0;
  roles::stream_ptsz::Take(a, &other);
  EXPECT_EQ(a.stream, reinterpret_cast<uint64_t>(&other));
}

// What has that handle is another stream in each thread, and in one that has its entry later.
TEST(Streams, PerThreadStreamIsNotSharedBetweenThreads) {
  EXPECT_NE(ring::OwnStream(0, 0), ring::OwnStream(1, 0));
  EXPECT_NE(ring::OwnStream(0, 0), ring::OwnStream(0, 1));
  EXPECT_TRUE(ring::IsDefaultStream(ring::OwnStream(63, uint64_t{1} << 40)));
  EXPECT_FALSE(ring::IsDefaultStream(0x7f0012345678));
  EXPECT_FALSE(ring::IsDefaultStream(uint64_t{1} << 63 | 5));  // of a profiler's events
}

}  // namespace
}  // namespace rollcall::shim::nccl
