// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/torch_text.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/diagnosis/wording/call_text.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// A function of PyTorch that makes collective calls for its caller. The outermost frame that
// matches a row counts.
struct Framework {
  std::string_view file;      // the end of the path, or a folder in it
  std::string_view function;  // empty: any
  std::string_view what;
  std::string_view fix;  // empty: the kind's own
};

constexpr Framework kFrameworks[] = {
    {"torch/distributed/fsdp/", "summon_full_params",
     "FSDP gathers the full parameters from all ranks",
     "enter summon_full_params on every rank; use the parameters where they are needed"},
    {"torch/distributed/fsdp/", "state_dict", "FSDP gathers the state from all ranks",
     "call state_dict() on every rank; save it on one"},
    {"torch/distributed/fsdp/", "", "FSDP gathers or reduces its shards on all ranks",
     "run the wrapped module on every rank, equally often"},
    {"torch/distributed/checkpoint/", "", "a distributed checkpoint is written by all ranks",
     "call save() and load() on every rank"},
    {"torch/distributed/optim/zero_redundancy_optimizer.py", "",
     "ZeroRedundancyOptimizer exchanges its shards with all ranks",
     "step the optimizer on every rank, equally often"},
    {"torch/distributed/algorithms/join.py", "", "Join asks all ranks whether they have data", ""},
    {"torch/nn/modules/batchnorm.py", "", "SyncBatchNorm averages over all ranks",
     "run the module on every rank, equally often; call eval() on all or none"},
    {"torch/nn/parallel/distributed.py", "__init__",
     "DistributedDataParallel compares and broadcasts the parameters when it is made",
     "wrap the model on every rank, at one place in the order of the calls"},
    {"torch/nn/parallel/distributed.py", "forward",
     "DistributedDataParallel broadcasts the buffers in the forward pass",
     "run the wrapped module on every rank, equally often; for one rank alone use its .module"},
};

// The advice of a kind in PyTorch's words, if the kind's own has MPI's.
constexpr std::pair<VerdictKind, std::string_view> kAdvice[] = {
    {VerdictKind::kOrderInversion,
     "call the two groups in one order on every rank, or wait for one call before the other"},
    {VerdictKind::kP2pDeadlock,
     "reorder the calls, use batch_isend_irecv(), or make one side asynchronous with isend()"},
    {VerdictKind::kP2pUnmatched, "post the missing call, or correct its peer, tag or group"},
    {VerdictKind::kUnbalancedCollectives, "make the call on every rank of the group"},
};

const Framework* FrameworkOf(const Analysis& analysis, const Event& event) {
  if (event.call_path == kNoIndex) return nullptr;
  for (const SourceFrame* frame : analysis.sites.OutermostFirst(event.call_path)) {
    if (frame->language != Language::kPython) continue;
    for (const Framework& row : kFrameworks) {
      if (frame->file.find(row.file) == std::string::npos) continue;
      if (row.function.empty() || frame->function.ends_with(row.function)) return &row;
    }
  }
  return nullptr;
}

}  // namespace

void AddTorchNotes(const Analysis& analysis, const Incident& incident, Finding* finding) {
  const Event* here = incident.deviating_event;
  const Event* there = incident.agreeing_event;
  const Event* any = here != nullptr ? here : there;
  if (any != nullptr && IsC10d(analysis.Op(*any)) && finding->fix.empty()) {
    for (const auto& [kind, advice] : kAdvice) {
      if (finding->kind == kind) finding->fix = advice;
    }
  }
  if (here == nullptr || there == nullptr || incident.deviating.empty() ||
      !IsC10d(analysis.Op(*here)) || !IsC10d(analysis.Op(*there))) {
    return;
  }
  const bool unreduced = here->sequence != 0 && here->detail == ring::kDuringUnreducedBackward;
  if (unreduced && BucketOf(analysis, *there) != 0) {
    const std::vector<int32_t> ranks = analysis.RanksOf(incident.deviating);
    finding->notes.push_back(fmt::format(
        "a backward pass of DistributedDataParallel on {} has not reduced all its buckets: some "
        "parameters got no gradient there",
        RanksPhrase(ranks)));
    finding->fix =
        "use every parameter in the loss on every rank, or pass find_unused_parameters=True to "
        "DistributedDataParallel";
    return;
  }
  for (const auto& [event, ranks] :
       {std::pair(here, &incident.deviating), std::pair(there, &incident.agreeing)}) {
    const Framework* framework = FrameworkOf(analysis, *event);
    if (framework == nullptr) continue;
    finding->notes.push_back(fmt::format("{} of {}: {}", CallText(analysis, *event, false),
                                         RanksPhrase(analysis.RanksOf(*ranks)), framework->what));
    if (!framework->fix.empty() && finding->kind == VerdictKind::kRankConditionalCollective) {
      finding->fix = framework->fix;
    }
  }
}

}  // namespace rollcall
