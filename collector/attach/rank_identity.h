// Which rank of which job a process is, by its environment. Pure.
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
  int32_t size = -1;        // -1: not told
  int32_t local_size = -1;  // ranks on its node; -1: not told
  std::string job;          // equal in all ranks of a job; empty: told by the parent process

  // Slurm's, whoever launched the rank in it; empty: it runs in none, or the node is not told.
  std::string slurm_job = {};
  std::string slurm_node = {};

  friend bool operator==(const RankIdentity&, const RankIdentity&) = default;
};

// `environment`: as in /proc/<pid>/environ, NAME=VALUE each ended by a NUL. Nothing if it is no
// rank, or if its numbers cannot be right.
std::optional<RankIdentity> IdentifyRank(std::string_view environment);

// The value of a variable of such an environment; empty if it has none. Part of `environment`.
std::string_view EnvironmentValue(std::string_view environment, std::string_view name);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_RANK_IDENTITY_H_
