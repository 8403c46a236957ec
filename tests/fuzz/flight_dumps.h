// SPDX-License-Identifier: Apache-2.0
// What both Flight Recorder targets do with their bytes.
#ifndef ROLLCALL_TESTS_FUZZ_FLIGHT_DUMPS_H_
#define ROLLCALL_TESTS_FUZZ_FLIGHT_DUMPS_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "collector/diagnosis/diagnose.h"
#include "collector/import/flight_recorder/dump.h"
#include "collector/import/flight_recorder/trace_builder.h"

namespace rollcall::flight_recorder {

// The whole file is rank 0's dump, two thirds of it are rank 1's.
inline void DiagnoseTwice(const uint8_t* data, size_t size, Format format) {
  FlightTraceBuilder builder;
  for (int32_t rank = 0; rank < 2; ++rank) {
    MemorySource source({data, rank == 0 ? size : size * 2 / 3});
    Recognize(source);
    Dump dump = ReadDump(source, "fuzz", format);
    dump.rank = rank;
    for (const Problem& problem : dump.problems) {
      if (problem.message.empty() || problem.offset > static_cast<int64_t>(size)) std::abort();
    }
    builder.Add(dump);
  }
  const Trace trace = builder.Finish();
  DiagnoseOptions options;
  options.job_ended = true;
  Diagnose(trace, options);
}

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_TESTS_FUZZ_FLIGHT_DUMPS_H_
