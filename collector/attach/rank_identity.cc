// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/rank_identity.h"

#include <unordered_map>
#include <vector>

#include "collector/base/find.h"
#include "collector/base/proc_stat.h"
#include "collector/base/text.h"

namespace rollcall::attach {
namespace {

// A larger number means that the variable has another meaning.
constexpr int32_t kMaxRanks = 1 << 22;
constexpr size_t kMaxJobBytes = 256;

using Variables = std::unordered_map<std::string_view, std::string_view>;

struct Row {
  std::string_view launcher;
  std::string_view rank;
  std::string_view size;
  std::string_view local_size;
  std::vector<std::string_view> jobs;
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
#define RANKS(launcher, rank, size, local_size, ...) \
  {launcher, rank, size, local_size, {__VA_ARGS__}},
#include "collector/attach/rank_variables.def"
#undef RANKS
  };
  return rows;
}

// The value of the variable as a number; empty if it is not set or not a number.
std::optional<int32_t> Number(const Variables& variables, std::string_view name) {
  const auto number = ParseNumber<int32_t>(FindOr(variables, name, std::string_view()));
  return number && *number >= 0 && *number <= kMaxRanks ? number : std::nullopt;
}

std::string Text(const Variables& variables, std::string_view name) {
  return CleanText(FindOr(variables, name, std::string_view()), kMaxJobBytes);
}

}  // namespace

std::string_view EnvironmentValue(std::string_view environment, std::string_view name) {
  return FindOr(ProcVariables(environment), name, std::string_view());
}

std::optional<RankIdentity> IdentifyRank(std::string_view environment) {
  const Variables variables = ProcVariables(environment);
  for (const Row& row : Rows()) {
    const std::optional<int32_t> rank = Number(variables, row.rank);
    const std::optional<int32_t> size = Number(variables, row.size);
    if (!rank || (!row.size.empty() && !size) || (size && *rank >= *size)) continue;
    RankIdentity identity;
    identity.launcher = row.launcher;
    identity.rank = *rank;
    identity.size = size.value_or(-1);
    identity.local_size = Number(variables, row.local_size).value_or(-1);
    identity.slurm_job = Text(variables, "SLURM_JOB_ID");
    identity.slurm_node = Text(variables, "SLURMD_NODENAME");
    for (const std::string_view job : row.jobs) {
      if (!variables.contains(job)) continue;
      if (!identity.job.empty()) identity.job += ':';
      identity.job += Text(variables, job);
    }
    return identity;
  }
  return std::nullopt;
}

}  // namespace rollcall::attach
