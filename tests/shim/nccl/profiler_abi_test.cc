// SPDX-License-Identifier: Apache-2.0
// Checks the offsets of NCCL's profiler interface on x86-64 and AArch64 against its headers:
// profiler_v1.h to _v7.h in src/include/plugin/profiler (NCCL 2.31), where the union of every
// descriptor begins at offset 24. The test is that this file compiles.
#include "shim/nccl/profiler_abi.h"

#include <gtest/gtest.h>

namespace rollcall::shim::nccl::profiler {
namespace {

#define AT(descriptor, member, offset) static_assert(offsetof(descriptor, member) == (offset))

// The type has 8 bits up to version 4 and 64 bits since version 5.
static_assert(sizeof(DescriptorV1::type) == 1 && sizeof(DescriptorV4::type) == 1);
static_assert(sizeof(DescriptorV5::type) == 8);
AT(DescriptorV1, parent, 8);
AT(DescriptorV1, rank, 16);
AT(DescriptorV5, parent, 8);
AT(DescriptorV5, rank, 16);

AT(DescriptorV1, coll.comm_name, 24);
AT(DescriptorV1, coll.comm_hash, 32);
AT(DescriptorV1, coll.number, 40);
AT(DescriptorV1, coll.function, 48);
AT(DescriptorV1, coll.sendbuf, 56);
AT(DescriptorV1, coll.recvbuf, 64);
AT(DescriptorV1, coll.count, 72);
AT(DescriptorV1, coll.root, 80);
AT(DescriptorV1, coll.datatype, 84);
AT(DescriptorV1, p2p.comm_hash, 32);
AT(DescriptorV1, p2p.function, 40);
AT(DescriptorV1, p2p.buffer, 48);
AT(DescriptorV1, p2p.datatype, 56);
AT(DescriptorV1, p2p.count, 64);
AT(DescriptorV1, p2p.peer, 72);

AT(DescriptorV2, coll.function, 48);
AT(DescriptorV2, coll.count, 72);
AT(DescriptorV2, coll.root, 80);
AT(DescriptorV2, coll.datatype, 88);
AT(DescriptorV2, p2p.function, 40);
AT(DescriptorV2, p2p.datatype, 56);
AT(DescriptorV2, p2p.count, 64);
AT(DescriptorV2, p2p.peer, 72);

AT(DescriptorV4, coll.number, 24);
AT(DescriptorV4, coll.function, 32);
AT(DescriptorV4, coll.count, 56);
AT(DescriptorV4, coll.root, 64);
AT(DescriptorV4, coll.datatype, 72);
AT(DescriptorV4, coll.channels, 80);
AT(DescriptorV4, p2p.function, 24);
AT(DescriptorV4, p2p.datatype, 40);
AT(DescriptorV4, p2p.count, 48);
AT(DescriptorV4, p2p.peer, 56);
AT(DescriptorV4, p2p.channels, 60);

AT(DescriptorV5, coll.function, 32);
AT(DescriptorV5, coll.channels, 80);
AT(DescriptorV5, p2p.peer, 56);
AT(DescriptorV5, group_api.captured, 24);
AT(DescriptorV5, group_api.depth, 28);
AT(DescriptorV5, coll_api.function, 24);
AT(DescriptorV5, coll_api.count, 32);
AT(DescriptorV5, coll_api.datatype, 40);
AT(DescriptorV5, coll_api.root, 48);
AT(DescriptorV5, coll_api.stream, 56);
AT(DescriptorV5, coll_api.captured, 64);
AT(DescriptorV5, p2p_api.function, 24);
AT(DescriptorV5, p2p_api.count, 32);
AT(DescriptorV5, p2p_api.datatype, 40);
AT(DescriptorV5, p2p_api.stream, 48);
AT(DescriptorV5, p2p_api.captured, 56);

AT(PluginV5, init, 8);
AT(PluginV5, start_event, 16);
AT(PluginV5, stop_event, 24);
AT(PluginV5, record_event_state, 32);
AT(PluginV5, finalize, 40);
static_assert(sizeof(PluginV1) == 48 && sizeof(PluginV2) == 48 && sizeof(PluginV4) == 48);

TEST(ProfilerAbi, EventTypesAreBitsOfTheMask) {
  EXPECT_EQ(kGroup | kColl | kP2p, 0x7u);
  EXPECT_EQ(kKernelChannel, 0x40u);
  EXPECT_EQ(kGroupApi | kCollApi | kP2pApi, 0x700u);
}

}  // namespace
}  // namespace rollcall::shim::nccl::profiler
