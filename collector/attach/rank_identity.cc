// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/rank_identity.h"

#include <charconv>
#include <unordered_map>
#include <vector>

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
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  const std::string_view text = found->second;
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number > kMaxRanks) return std::nullopt;
  return number;
}

std::string Text(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : CleanText(found->second, kMaxJobBytes);
}

}  // namespace

std::string_view EnvironmentValue(std::string_view environment, std::string_view name) {
  const Variables variables = ProcVariables(environment);
  const auto found = variables.find(name);
  return found == variables.end() ? std::string_view() : found->second;
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
