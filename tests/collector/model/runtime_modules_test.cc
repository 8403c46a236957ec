// SPDX-License-Identifier: Apache-2.0
#include "collector/model/runtime_modules.h"

#include <gtest/gtest.h>

namespace rollcall {
namespace {

TEST(RuntimeModules, AreRecognisedByTheirFileNames) {
  EXPECT_EQ(FamilyOf("/usr/lib/x86_64-linux-gnu/libpmix.so.2"), ModuleFamily::kMpiRuntime);
  EXPECT_EQ(FamilyOf("/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/mca_btl_tcp.so"),
            ModuleFamily::kMpiRuntime);
  EXPECT_EQ(FamilyOf("libmpich.so.12"), ModuleFamily::kMpi);
  EXPECT_EQ(FamilyOf("libc.so.6"), ModuleFamily::kC);
  EXPECT_EQ(FamilyOf("/usr/lib/x86_64-linux-gnu/libc10.so"), ModuleFamily::kTorch);
  EXPECT_EQ(FamilyOf("/usr/lib/x86_64-linux-gnu/libopenblas.so.0"), ModuleFamily::kUser);
  EXPECT_EQ(FamilyOf("/opt/libmpi/app"), ModuleFamily::kUser);
  EXPECT_EQ(FamilyOf(""), ModuleFamily::kUser);
}

TEST(RuntimeModules, NcclIsCommunicationAndNotRuntime) {
  EXPECT_FALSE(IsRuntime(FamilyOf("libnccl.so.2")));
  EXPECT_TRUE(IsCommunication(FamilyOf("libnccl.so.2")));
  EXPECT_FALSE(IsCommunication(FamilyOf("libc.so.6")));
}

TEST(RuntimeModules, ThreadsOfPyTorchMayRunUserCode) {
  EXPECT_TRUE(StartsOwnThreads(FamilyOf("libmpi.so.40")));
  EXPECT_TRUE(StartsOwnThreads(FamilyOf("libpmix.so.2")));
  EXPECT_FALSE(StartsOwnThreads(FamilyOf("libtorch_cpu.so")));
  EXPECT_FALSE(StartsOwnThreads(FamilyOf("libc.so.6")));
  EXPECT_FALSE(StartsOwnThreads(FamilyOf("")));
}

}  // namespace
}  // namespace rollcall
