// SPDX-License-Identifier: Apache-2.0
// Identifies a process as a rank of a job, by its environment. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_RANK_IDENTITY_H_
#define ROLLCALL_COLLECTOR_ATTACH_RANK_IDENTITY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::attach {

struct RankIdentity {
  std::string launcher;  // "Open MPI": a row of rank_variables.def
  int32_t rank = -1;
  int32_t size = -1;        // -1: unknown
  int32_t local_size = -1;  // ranks on its node; -1: unknown
  std::string job;          // equal in all ranks of a job; empty: identified by the parent process

  // Slurm's job and node, whichever launcher started the rank; empty: not in a Slurm job, or not
  // given.
  std::string slurm_job = {};
  std::string slurm_node = {};

  friend bool operator==(const RankIdentity&, const RankIdentity&) = default;
};

// `environment`: as in /proc/<pid>/environ, each NAME=VALUE ended by a NUL. Returns nothing if the
// process is no rank or its numbers are invalid.
std::optional<RankIdentity> IdentifyRank(std::string_view environment);

// The value of a variable in such an environment; empty if it is not set. Points into
// `environment`.
std::string_view EnvironmentValue(std::string_view environment, std::string_view name);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_RANK_IDENTITY_H_
