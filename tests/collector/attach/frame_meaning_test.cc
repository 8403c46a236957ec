// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/frame_meaning.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/collector/attach/observed_job.h"

namespace rollcall::attach {
namespace {

StackMeaning Of(const std::string& stack) {
  const std::vector<LiveFrame> frames = testing::StackOf(stack);
  std::vector<const SourceFrame*> pointers;
  pointers.reserve(frames.size());
  for (const LiveFrame& frame : frames) pointers.push_back(&frame.frame);
  return MeaningOf(pointers);
}

TEST(FrameMeaning, MpiCallTakesPrecedenceOverInnerFrames) {
  const StackMeaning meaning = Of("poll < opal_progress < MPI_Barrier < exchange halo.c:88");
  EXPECT_EQ(meaning.meaning, FrameMeaning::kMpi);
  EXPECT_EQ(meaning.operation, Operation::kBarrier);
  EXPECT_EQ(meaning.call, "MPI_Barrier");
  EXPECT_EQ(meaning.frame, 2);
}

TEST(FrameMeaning, RecognizesFortranAndProfilingInterfaceNames) {
  for (const char* name :
       {"PMPI_Allreduce", "mpi_allreduce", "mpi_allreduce_", "mpi_allreduce__", "pmpi_allreduce_",
        "mpi_allreduce_f08", "mpi_allreduce_f08_", "MPI_Allreduce_c"}) {
    EXPECT_EQ(Of(std::string(name) + " < main a.c:1").call, "MPI_Allreduce") << name;
  }
}

TEST(FrameMeaning, RecognizesFinalizeByOpenMpisInternalFunction) {
  const StackMeaning meaning = Of("usleep < ompi_mpi_finalize < main a.c:50");
  EXPECT_EQ(meaning.meaning, FrameMeaning::kMpi);
  EXPECT_EQ(meaning.operation, Operation::kFinalize);
}

TEST(FrameMeaning, UserFunctionNamedLikeAnMpiFunctionIsCode) {
  EXPECT_EQ(Of("mpi_exchange halo.c:3 < main halo.c:9").meaning, FrameMeaning::kCode);
  EXPECT_EQ(Of("nccl_setup < main halo.c:9").meaning, FrameMeaning::kCode);
}

TEST(FrameMeaning, UsesTheOutermostMpiCall) {
  const StackMeaning meaning = Of("MPI_Wait < PMPI_Barrier < MPI_Comm_split < main a.c:1");
  EXPECT_EQ(meaning.call, "MPI_Comm_split");
  EXPECT_EQ(meaning.frame, 2);
}

TEST(FrameMeaning, ExitingProcessThatFinalizesHasOperationFinalize) {
  const StackMeaning meaning = Of("poll < MPI_Finalize < __run_exit_handlers < exit < main a.c:1");
  EXPECT_EQ(meaning.meaning, FrameMeaning::kExit);
  EXPECT_EQ(meaning.operation, Operation::kFinalize);
}

TEST(FrameMeaning, InterpreterShutdownIsExit) {
  EXPECT_EQ(Of("sem_wait < _shutdown /usr/lib/python3.11/threading.py:1583").meaning,
            FrameMeaning::kExit);
  EXPECT_EQ(Of("sem_wait < _shutdown /home/u/mythreading.py:15").meaning, FrameMeaning::kLock);
}

TEST(FrameMeaning, IdentifiesPythonFramesByFileAndFunction) {
  EXPECT_EQ(Of("poll < all_reduce torch/distributed/distributed_c10d.py:5 < step train.py:9").call,
            "torch.distributed.all_reduce");
  EXPECT_EQ(Of("all_reduce mine.py:5 < step train.py:9").meaning, FrameMeaning::kCode);
  EXPECT_EQ(Of("poll < _try_get_data torch/utils/data/dataloader.py:5").meaning,
            FrameMeaning::kLoader);
}

TEST(FrameMeaning, EmptyStackHasNoMeaningfulFrame) { EXPECT_EQ(Of("").frame, -1); }

}  // namespace
}  // namespace rollcall::attach
