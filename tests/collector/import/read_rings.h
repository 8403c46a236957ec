// SPDX-License-Identifier: Apache-2.0
// Reads the rings that a test has made, as snapshots or as a trace.
#ifndef ROLLCALL_TESTS_COLLECTOR_IMPORT_READ_RINGS_H_
#define ROLLCALL_TESTS_COLLECTOR_IMPORT_READ_RINGS_H_

#include <gtest/gtest.h>

#include <vector>

#include "collector/import/ring_reader.h"
#include "collector/import/trace_builder.h"
#include "tests/support/ring_file_builder.h"
#include "tests/support/trace_checks.h"

namespace rollcall {

inline RingSnapshot Read(const RingFileBuilder::Bytes& bytes) {
  MemorySource source(bytes);
  return ReadRing(source, "x.ring");
}

// The trace of one file per process.
inline Trace TraceOf(const std::vector<RingFileBuilder::Bytes>& files) {
  RingTraceBuilder builder;
  for (const RingFileBuilder::Bytes& bytes : files) builder.Add(Read(bytes));
  Trace trace = builder.Finish();
  EXPECT_EQ(FindInconsistency(trace), "");
  return trace;
}

inline Trace TraceOf(const std::vector<RingFileBuilder>& rings) {
  std::vector<RingFileBuilder::Bytes> files;
  files.reserve(rings.size());
  for (const RingFileBuilder& ring : rings) files.push_back(ring.Build());
  return TraceOf(files);
}

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_COLLECTOR_IMPORT_READ_RINGS_H_
