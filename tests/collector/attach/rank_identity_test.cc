// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/rank_identity.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rollcall::attach {
namespace {

std::string Block(const std::vector<std::string>& variables) {
  std::string block;
  for (const std::string& variable : variables) block += variable + '\0';
  return block;
}

TEST(RankIdentity, ReadsOpenMpiVariables) {
  const auto identity =
      IdentifyRank(Block({"HOME=/root", "OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4",
                          "OMPI_COMM_WORLD_LOCAL_SIZE=4", "PMIX_NAMESPACE=4242", "PMIX_RANK=2"}));
  EXPECT_EQ(
      identity,
      (RankIdentity{.launcher = "Open MPI", .rank = 2, .size = 4, .local_size = 4, .job = "4242"}));
}

TEST(RankIdentity, PyTorchTakesPrecedenceOverItsLauncher) {
  const auto identity =
      IdentifyRank(Block({"SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_JOB_ID=7", "RANK=9",
                          "WORLD_SIZE=16", "MASTER_ADDR=node1", "MASTER_PORT=29500"}));
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(identity->launcher, "PyTorch");
  EXPECT_EQ(identity->rank, 9);
  EXPECT_EQ(identity->job, "node1:29500");
}

TEST(RankIdentity, RejectsInvalidNumbers) {
  EXPECT_FALSE(IdentifyRank(Block({"RANK=2"})).has_value()) << "without a size";
  EXPECT_FALSE(IdentifyRank(Block({"RANK=4", "WORLD_SIZE=4"})).has_value());
  EXPECT_FALSE(IdentifyRank(Block({"RANK=-1", "WORLD_SIZE=4"})).has_value());
  EXPECT_FALSE(IdentifyRank(Block({"RANK=1x", "WORLD_SIZE=4"})).has_value());
  EXPECT_FALSE(IdentifyRank(Block({"PMI_RANK=0", "PMI_SIZE=99999999999"})).has_value());
  EXPECT_FALSE(IdentifyRank("").has_value());
  EXPECT_FALSE(IdentifyRank("RANK=1").has_value()) << "not even ended";
}

TEST(RankIdentity, SanitizesTheJobName) {
  const auto identity = IdentifyRank(Block({"PMIX_RANK=0", "PMIX_NAMESPACE=a\x1b[31mb"}));
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(identity->job.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace rollcall::attach
