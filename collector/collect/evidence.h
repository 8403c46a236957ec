// SPDX-License-Identifier: Apache-2.0
// Packs a collector's data on a job, after a sample of all nodes, into one bundle.
#ifndef ROLLCALL_COLLECTOR_COLLECT_EVIDENCE_H_
#define ROLLCALL_COLLECTOR_COLLECT_EVIDENCE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/collect/collect.h"
#include "collector/model/trace.h"

namespace rollcall::collect {

// The data of one agent. It came over the network and is untrusted.
struct NodeEvidence {
  std::string host;
  std::string run_directory;
  std::string journal = {};      // all lines until the rings were read
  std::string environment = {};  // from DescribeEnvironment(); empty: none arrived
  std::string absent = {};       // why some of its rings are missing; empty: none is
};

struct RingEvidence {
  size_t node = 0;  // index of its NodeEvidence
  std::string name;
  std::vector<uint8_t> image;   // PackImage()
  uint32_t process = kNoIndex;  // in Evidence::trace; kNoIndex: not in it
};

struct Evidence {
  Trace trace;  // of these rings, symbolized
  std::vector<NodeEvidence> nodes;
  std::vector<RingEvidence> rings;
};

// The most that is kept of an environment; an agent sends a few KiB.
inline constexpr size_t kMaxEnvironmentBytes = 1 << 18;
// Whether `text` has the form of an agent's environment: a JSON object of bounded size.
bool IsEnvironment(const std::string& text);

// Writes the evidence to `path`, which appears complete, with the live processes and the symbols of
// its trace. A process that is alive in the trace is alive in the bundle, even if a journal has a
// later end, because its ring is older than that end. A node without rings is named in the bundle,
// and the data of the other nodes is written. `options.environment` is not used: each node has its
// own. Throws std::bad_alloc only.
Collected WriteEvidence(const Evidence& evidence, const std::string& path,
                        const CollectOptions& options);

}  // namespace rollcall::collect

#endif  // ROLLCALL_COLLECTOR_COLLECT_EVIDENCE_H_
