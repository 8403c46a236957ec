// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/kernels.h"

#include <gtest/gtest.h>

#include "shim/nccl/progress.h"

namespace rollcall::shim::nccl::kernels {
namespace {

// Adds a kernel without a slot: tests/nccl_sim/plugin tests the effect on GpuProgress.
uint64_t AddOne(uint32_t channels) { return Add({kNoSlot, 1, true, channels}); }

TEST(Kernels, EachKernelHasItsOwnNumber) { EXPECT_NE(AddOne(1), AddOne(1)); }

TEST(Kernels, ChannelsAreReportedOnce) {
  const uint64_t number = AddOne(0);
  EXPECT_TRUE(SetChannels(number, 2));
  EXPECT_FALSE(SetChannels(number, 3));
}

TEST(Kernels, KernelWithoutAFreeCellIsNotTracked) {
  const uint64_t old = AddOne(1);
  EXPECT_TRUE(ChannelStarted(old));
  for (int i = 0; i < 1024; ++i) AddOne(1);
  EXPECT_FALSE(ChannelStarted(old));
  EXPECT_FALSE(SetChannels(old, 1));
  ChannelStopped(old);
}

}  // namespace
}  // namespace rollcall::shim::nccl::kernels
