// SPDX-License-Identifier: Apache-2.0
// The file in a run directory by which `rollcall top` finds the collector of a `rollcall run`. It
// has the address in its first line and the token in its second.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_COLLECTOR_FILE_H_
#define ROLLCALL_COLLECTOR_LAUNCH_COLLECTOR_FILE_H_

#include <optional>
#include <string>

namespace rollcall {

struct CollectorAccess {
  std::string address;  // HOST:PORT
  std::string token;
};

// Readable by the user alone. False if it cannot be written.
bool WriteCollectorFile(const std::string& run_directory, const CollectorAccess& access);
// Empty if the file does not exist, belongs to another user, or is accessible to others.
std::optional<CollectorAccess> ReadCollectorFile(const std::string& run_directory);
void RemoveCollectorFile(const std::string& run_directory);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_COLLECTOR_FILE_H_
