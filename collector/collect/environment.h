// The part of an environment that explains a hang and is no secret.
#ifndef ROLLCALL_COLLECTOR_COLLECT_ENVIRONMENT_H_
#define ROLLCALL_COLLECTOR_COLLECT_ENVIRONMENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rollcall::collect {

using Variables = std::map<std::string, std::string>;

// By name, from a list of what MPI, NCCL, launchers and runtimes are set up with (docs/bundle.md
// has it); never one that is called like a secret, nor a value with a user's name and password in
// an address. Pure.
bool IsAllowlisted(std::string_view name, std::string_view value);

// The environment that the process was started with; empty where it cannot be read.
Variables EnvironmentOf(uint32_t pid);

// environment.json: the harmless ones of `variables`, how many were left out, the system.
// `whose` says where they come from.
std::string DescribeEnvironment(const Variables& variables, std::string_view whose);

}  // namespace rollcall::collect

#endif  // ROLLCALL_COLLECTOR_COLLECT_ENVIRONMENT_H_
