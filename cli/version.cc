// SPDX-License-Identifier: Apache-2.0
#include "cli/version.h"

#include <fmt/core.h>

#include "collector/attach/stacks.h"
#include "collector/bundle/format.h"
#include "collector/import/journal.h"
#include "collector/report/json_report.h"
#include "collector/rpc/protocol.h"
#include "proto/ring_format.h"

namespace rollcall {

std::string VersionText() {
  return fmt::format(
      "rollcall {}\n"
      "commit   {}\n"
      "formats  ring {}.{}, journal {}, bundle {}, stacks {}, JSON {}, protocol {}\n",
      ROLLCALL_VERSION, kCommit, ring::kVersionMajor, ring::kVersionMinor, journal::kVersion,
      bundle::kVersion, attach::kStacksVersion, kJsonVersion, rpc::kProtocol);
}

}  // namespace rollcall
