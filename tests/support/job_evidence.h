// SPDX-License-Identifier: Apache-2.0
// The evidence about a live job without progress, as the agents of its nodes report it.

#ifndef ROLLCALL_TESTS_SUPPORT_JOB_EVIDENCE_H_
#define ROLLCALL_TESTS_SUPPORT_JOB_EVIDENCE_H_

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/collect/evidence.h"
#include "collector/import/ring_image.h"
#include "collector/model/trace.h"

namespace rollcall::collect {

// Adds what two samples of live processes would have added to a trace of their ring files.
inline void StandStill(Trace* trace, int64_t now_ns) {
  for (Process& process : trace->processes) {
    process.end = {.how = ProcessEnd::How::kAlive};
    process.quiet = true;
    process.taken_at_ns = now_ns;
  }
}

// `trace` was loaded from ring files that still exist. Its processes are divided equally among
// `nodes` nodes.
inline Evidence EvidenceOf(const Trace& trace, size_t nodes) {
  Evidence evidence;
  evidence.trace = trace;
  for (size_t i = 0; i < nodes; ++i) {
    evidence.nodes.push_back({.host = fmt::format("host{}", i), .run_directory = "/run"});
  }
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const std::string& path = trace.processes[i].source;
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    MemorySource source({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    evidence.rings.push_back({.node = i * nodes / trace.processes.size(),
                              .name = std::filesystem::path(path).filename().string(),
                              .image = PackImage(TakeImage(source, path)),
                              .process = i});
  }
  return evidence;
}

}  // namespace rollcall::collect

#endif  // ROLLCALL_TESTS_SUPPORT_JOB_EVIDENCE_H_
