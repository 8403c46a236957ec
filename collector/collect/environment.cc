// SPDX-License-Identifier: Apache-2.0
#include "collector/collect/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>

#include "collector/base/proc_source.h"
#include "collector/base/proc_stat.h"
#include "collector/base/text.h"

namespace rollcall::collect {
namespace {

constexpr size_t kMaxValueBytes = 1024;

// A name that ends in '*' is a prefix. Variables that are not listed are not kept.
constexpr std::string_view kAllowed[] = {
    // MPI
    "OMPI_MCA_*", "OMPI_COMM_WORLD_*", "OMPI_UNIVERSE_SIZE", "PMIX_RANK", "PMIX_MCA_*", "PMI_RANK",
    "PMI_SIZE", "MPICH_*", "MPIR_CVAR_*", "HYDRA_*", "I_MPI_*", "MV2_*",
    // Transports
    "UCX_*", "FI_*", "PSM2_*", "HCOLL_*",
    // NCCL, PyTorch, devices
    "NCCL_*", "RCCL_*", "TORCH_NCCL_*", "TORCH_DISTRIBUTED_DEBUG", "TORCH_FR_*",
    "CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS",
    "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "RANK", "LOCAL_RANK", "WORLD_SIZE",
    "LOCAL_WORLD_SIZE", "MASTER_PORT",
    // Launchers
    "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NTASKS", "SLURM_PROCID",
    "SLURM_LOCALID", "SLURM_NODEID", "SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND", "SLURM_MPI_TYPE",
    "PBS_JOBID", "PBS_NUM_NODES", "LSB_JOBID",
    // Runtimes
    "OMP_*", "KMP_*", "GOMP_*", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX",
    "PYTHONFAULTHANDLER", "PYTHONUNBUFFERED", "PYTHONMALLOC", "LANG", "LC_ALL", "TZ",
    // rollcall
    "ROLLCALL_*"};

// Matched anywhere in the name, in upper or lower case; overrides the list above.
constexpr std::string_view kSecretWords[] = {
    "TOKEN", "SECRET",  "PASSW", "PASSPHRASE", "CREDENTIAL", "COOKIE", "APIKEY",
    "_KEY",  "KEYFILE", "AUTH",  "URI",        "URL",        "PROXY"};

bool IsAllowed(std::string_view name) {
  return std::ranges::any_of(kAllowed, [name](std::string_view allowed) {
    if (!allowed.ends_with('*')) return name == allowed;
    return name.starts_with(allowed.substr(0, allowed.size() - 1));
  });
}

}  // namespace

bool IsAllowlisted(std::string_view name, std::string_view value) {
  if (!IsAllowed(name)) return false;
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (const std::string_view word : kSecretWords) {
    if (upper.find(word) != std::string::npos) return false;
  }
  const size_t address = value.find("://");
  return address == std::string_view::npos || value.find('@', address) == std::string_view::npos;
}

Variables EnvironmentOf(uint32_t pid) {
  std::string environment;
  ProcSource().Read(fmt::format("/proc/{}/environ", pid), &environment);
  const auto variables = ProcVariables(environment);
  return {variables.begin(), variables.end()};
}

std::string DescribeEnvironment(const Variables& variables, std::string_view whose) {
  using Json = nlohmann::ordered_json;
  utsname system{};
  uname(&system);
  Json json;
  json["of"] = whose;
  json["host"] = system.nodename;
  json["system"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  json["variables"] = Json::object();
  size_t left_out = 0;
  for (const auto& [name, value] : variables) {
    if (IsAllowlisted(name, value)) {
      json["variables"][CleanText(name, kMaxValueBytes)] = CleanText(value, kMaxValueBytes);
    } else {
      ++left_out;
    }
  }
  json["left_out"] = left_out;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rollcall::collect
