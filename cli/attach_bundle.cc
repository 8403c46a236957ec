// SPDX-License-Identifier: Apache-2.0
#include "cli/attach_bundle.h"

#include <fmt/core.h>

#include <cstddef>

#include "collector/base/clock.h"
#include "collector/base/print_line.h"
#include "collector/bundle/format.h"
#include "collector/bundle/writer.h"
#include "collector/collect/observed.h"
#include "collector/import/stacks_text.h"
#include "collector/model/rank_set.h"

namespace rollcall {

bool WriteAttachBundle(const AttachBundle& bundle, std::vector<attach::HostStacks> hosts,
                       const attach::JudgedStacks& judged) {
  const Trace& trace = judged.trace;
  // Includes sources that only this host could read.
  if (!hosts.empty()) hosts.front().sources = trace.sources;
  bundle::Writer writer(bundle.path, ROLLCALL_VERSION, Now(CLOCK_REALTIME));
  if (bundle.sources) writer.Add(bundle::kSourcesName, collect::DescribeSources(trace));
  size_t nodes = 0;
  for (const attach::HostStacks& host : hosts) {
    writer.Add(fmt::format("{}/{}", nodes++, kStacksName),
               attach::WriteStacks(host, ROLLCALL_VERSION));
  }
  if (!writer.Finish()) {
    PrintLine(fmt::format("{}: {}", bundle.path, writer.error()));
    return false;
  }
  PrintLine(fmt::format("bundle: {}: the stacks of {} ranks of {} in {} KiB", bundle.path,
                        judged.trace.processes.size(), CountText(nodes, "node"),
                        (writer.packed_bytes() + 1023) / 1024));
  return true;
}

}  // namespace rollcall
