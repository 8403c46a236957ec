// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/roles.h"

#include <gtest/gtest.h>

namespace rollcall::shim::nccl {
namespace {

// cuda_runtime_api.h: in functions whose names end in _ptsz, 0 means cudaStreamPerThread.
TEST(Roles, ZeroIsThePerThreadStreamInPtszFunctions) {
  Arguments a;
  roles::stream::Take(a, nullptr);
  EXPECT_EQ(a.stream, 0u);
  roles::stream_ptsz::Take(a, nullptr);
  EXPECT_EQ(a.stream, ring::kPerThreadStream);
  int other = 0;
  roles::stream_ptsz::Take(a, &other);
  EXPECT_EQ(a.stream, reinterpret_cast<uint64_t>(&other));
}

// The handle denotes a different stream in each thread, also in a thread that reuses an entry.
TEST(Streams, PerThreadStreamIsNotSharedBetweenThreads) {
  EXPECT_NE(ring::OwnStream(0, 0), ring::OwnStream(1, 0));
  EXPECT_NE(ring::OwnStream(0, 0), ring::OwnStream(0, 1));
  EXPECT_TRUE(ring::IsDefaultStream(ring::OwnStream(63, uint64_t{1} << 40)));
  EXPECT_FALSE(ring::IsDefaultStream(0x7f0012345678));
  EXPECT_FALSE(ring::IsDefaultStream(uint64_t{1} << 63 | 5));  // for events of a profiler
}

}  // namespace
}  // namespace rollcall::shim::nccl
