// SPDX-License-Identifier: Apache-2.0
// The name of a communicator, as far as one ring knows it. Shared by an agent's sampler and the
// reader of whole rings.
#ifndef ROLLCALL_COLLECTOR_IMPORT_COMMUNICATOR_NAME_H_
#define ROLLCALL_COLLECTOR_IMPORT_COMMUNICATOR_NAME_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall {

// PyTorch's names of groups are numbers or hashes.
inline std::string NameOfGroup(std::string_view name) {
  constexpr size_t kShown = 12;
  return "group " + std::string(name.substr(0, kShown));
}

// `flags`: ring::MemberFlag. `name`: the name that the program or PyTorch gave it. Empty if the
// communicator has no name.
inline std::string NameOfCommunicator(uint32_t flags, Operation created_by, std::string_view name) {
  if ((flags & ring::kIsWorld) != 0) return "MPI_COMM_WORLD";
  if ((flags & ring::kIsSelf) != 0) return "MPI_COMM_SELF";
  if (created_by == Operation::kC10dRendezvous) return "the store";
  if (name.empty() || name == "default_pg" || (flags & ring::kIsC10d) == 0) {
    return std::string(name);
  }
  return NameOfGroup(name);
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_COMMUNICATOR_NAME_H_
