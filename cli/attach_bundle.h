// SPDX-License-Identifier: Apache-2.0
// `rollcall attach --bundle FILE`: packs the stacks into one file, which `rollcall analyze` reads
// on any machine.
#ifndef ROLLCALL_CLI_ATTACH_BUNDLE_H_
#define ROLLCALL_CLI_ATTACH_BUNDLE_H_

#include <string>
#include <vector>

#include "collector/attach/job_stacks.h"
#include "collector/attach/stacks.h"

namespace rollcall {

struct AttachBundle {
  std::string path;  // empty: no bundle is requested
  bool sources = false;
};

// Reports the written file on stderr. Returns false, after a line on stderr, on failure.
bool WriteAttachBundle(const AttachBundle& bundle, std::vector<attach::HostStacks> hosts,
                       const attach::JudgedStacks& judged);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_ATTACH_BUNDLE_H_
