// SPDX-License-Identifier: Apache-2.0
// The arguments of a call as text in a report.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "collector/matching/match_rules.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

// The text of the only call of rank 0.
std::string TextOf(std::string_view call) {
  const TextTraceResult parsed =
      ParseTextTrace("ranks 3\n0: " + std::string(call) + " @ main:10\n");
  EXPECT_EQ(parsed.errors, std::vector<std::string>{});
  const Trace& trace = parsed.trace;
  const Member& world = trace.members[0];
  const Event& event = world.events.empty() ? trace.processes[0].p2p.front() : world.events.front();
  return ArgumentsText(trace, trace.arguments[event.arguments]);
}

TEST(ArgumentsText, StatesTheDirectionOfMessages) {
  EXPECT_EQ(TextOf("Send 4xMPI_INT peer=2 tag=7"), "4 × MPI_INT, to rank 2, tag 7");
  EXPECT_EQ(TextOf("Recv 4xMPI_INT peer=any tag=any"), "4 × MPI_INT, from any rank, any tag");
  EXPECT_EQ(TextOf("Sendrecv 4xMPI_INT peer=2 tag=7 from=1 fromtag=8"),
            "4 × MPI_INT, to rank 2, tag 7, from rank 1, tag 8");
}

TEST(ArgumentsText, PersistentCallsReadLikeOrdinaryOnes) {
  for (const std::string_view send :
       {"Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Psend_init"}) {
    EXPECT_EQ(TextOf(std::string(send) + " 4xMPI_INT peer=2 tag=7 request=r"),
              "4 × MPI_INT, to rank 2, tag 7");
  }
  for (const std::string_view receive : {"Recv_init", "Precv_init"}) {
    EXPECT_EQ(TextOf(std::string(receive) + " 4xMPI_INT peer=2 tag=7 request=r"),
              "4 × MPI_INT, from rank 2, tag 7");
  }
}

TEST(ArgumentsText, NamesRootAndReduction) {
  EXPECT_EQ(TextOf("Reduce root=1 sum 4xMPI_INT"), "4 × MPI_INT, MPI_SUM, root 1");
}

}  // namespace
}  // namespace rollcall
