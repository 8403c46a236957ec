// SPDX-License-Identifier: Apache-2.0
// The part of an environment that helps to explain a hang and is not secret.
#ifndef ROLLCALL_COLLECTOR_COLLECT_ENVIRONMENT_H_
#define ROLLCALL_COLLECTOR_COLLECT_ENVIRONMENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rollcall::collect {

using Variables = std::map<std::string, std::string>;

// Decides by name, from a list of variables that configure MPI, NCCL, launchers and runtimes (see
// docs/bundle.md). Excludes names that look like secrets, and values with a user name and password
// in a URL. Pure.
bool IsAllowlisted(std::string_view name, std::string_view value);

// The environment with which the process was started; empty if it cannot be read.
Variables EnvironmentOf(uint32_t pid);

// environment.json: the variables among `variables` that are allowed, the number of the others, and
// the system. `whose` names the source of the variables.
std::string DescribeEnvironment(const Variables& variables, std::string_view whose);

}  // namespace rollcall::collect

#endif  // ROLLCALL_COLLECTOR_COLLECT_ENVIRONMENT_H_
