// `rollcall attach --bundle FILE`: what was seen, in one file that `rollcall analyze` reads
// anywhere.
#ifndef ROLLCALL_CLI_ATTACH_BUNDLE_H_
#define ROLLCALL_CLI_ATTACH_BUNDLE_H_

#include <string>
#include <vector>

#include "collector/attach/job_stacks.h"
#include "collector/attach/stacks.h"

namespace rollcall {

struct AttachBundle {
  std::string path;  // empty: none is wanted
  bool sources = false;
};

// Says on stderr what was written. False, after a line on stderr, if it could not be.
bool WriteAttachBundle(const AttachBundle& bundle, std::vector<attach::HostStacks> hosts,
                       const attach::JudgedStacks& judged);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_ATTACH_BUNDLE_H_
