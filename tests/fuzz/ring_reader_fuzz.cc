// SPDX-License-Identifier: Apache-2.0
// Any bytes as a ring, to a trace: nothing may crash, loop, or give a trace with a wild index.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "collector/base/byte_source.h"
#include "collector/import/ring_image.h"
#include "collector/import/ring_reader.h"
#include "collector/import/trace_builder.h"
#include "tests/support/trace_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rollcall;
  MemorySource source({data, size});
  const RingImage image = TakeImage(source, "fuzz");
  RingTraceBuilder builder;
  builder.Add(ParseImage(image));
  // The same ring as another rank's, so that something is joined.
  RingImage other = image;
  other.header.process_id_random[0] ^= 1;
  other.header.world_rank ^= 1;
  builder.Add(ParseImage(other));
  const std::string problem = FindInconsistency(builder.Finish());
  if (!problem.empty()) {
    std::fprintf(stderr, "inconsistent trace: %s\n", problem.c_str());
    std::abort();
  }
  const std::vector<uint8_t> packed = PackImage(image);
  MemorySource again(packed);
  const RingSnapshot state = ReadRing(again, "packed", ImageDepth::kState);
  if (state.usable != image.usable) std::abort();
  return 0;
}
