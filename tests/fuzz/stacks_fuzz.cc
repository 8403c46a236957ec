// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of stacks: nothing may crash, what is read is written and read again alike,
// and it can be judged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "collector/attach/job_stacks.h"
#include "collector/attach/polls.h"
#include "collector/attach/rank_stacks.h"
#include "collector/attach/stacks.h"
#include "collector/attach/trace_of_stacks.h"
#include "collector/diagnosis/diagnose.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rollcall;
  std::vector<Problem> problems;
  const attach::HostStacks stacks =
      attach::ReadStacks({reinterpret_cast<const char*>(data), size}, "fuzz", &problems);
  const std::string text = attach::WriteStacks(stacks, "fuzz");
  std::vector<Problem> none;
  const attach::HostStacks again = attach::ReadStacks(text, "fuzz", &none);
  if (!none.empty() || attach::WriteStacks(again, "fuzz") != text) std::abort();
  attach::HostStacks other = stacks;
  other.host = "other";
  for (const attach::JobStacks& job : attach::JoinHosts({stacks, other})) {
    Trace trace = attach::TraceOfStacks(job.job, "", job.ranks);
    trace.sources = job.sources;
    attach::FindPolls(&trace);
    Diagnose(trace, DiagnoseOptions());
    StackTreeLines(StackTree(attach::RankStacks(trace), true));
  }
  return 0;
}
