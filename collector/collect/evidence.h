// What a collector holds of a job after a look at all of its nodes, into one bundle.
#ifndef ROLLCALL_COLLECTOR_COLLECT_EVIDENCE_H_
#define ROLLCALL_COLLECTOR_COLLECT_EVIDENCE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/collect/collect.h"
#include "collector/model/trace.h"

namespace rollcall::collect {

// One agent's part. Everything in it came over the network.
struct NodeEvidence {
  std::string host;
  std::string run_directory;
  std::string journal = {};      // all lines until the look
  std::string environment = {};  // as DescribeEnvironment(); empty: none came
  std::string absent = {};       // why rings of it are missing; empty: none is
};

struct RingEvidence {
  size_t node = 0;  // index of its NodeEvidence
  std::string name;
  std::vector<uint8_t> image;   // PackImage()
  uint32_t process = kNoIndex;  // in the trace of the look; kNoIndex: not in it
};

struct Evidence {
  std::vector<NodeEvidence> nodes;
  std::vector<RingEvidence> rings;
};

// The most that is kept of an environment; an agent sends a few KiB.
inline constexpr size_t kMaxEnvironmentBytes = 1 << 18;
// Whether `text` is what an agent says of its environment: a JSON object of bounded size.
bool IsEnvironment(const std::string& text);

// Writes the evidence to `path`, which appears whole. `trace` is that of the look, symbolized: what
// it knows of living processes and code addresses goes in, too. Whoever lived at the look lives in
// the bundle, though a journal tells of an end that came between: its ring is older than that. A
// node whose rings are missing is named in the bundle, and what is there of the others is written.
// `options.environment` is not used: each node has its own. Throws std::bad_alloc only.
Collected WriteEvidence(const Trace& trace, const Evidence& evidence, const std::string& path,
                        const CollectOptions& options);

}  // namespace rollcall::collect

#endif  // ROLLCALL_COLLECTOR_COLLECT_EVIDENCE_H_
