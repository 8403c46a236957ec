// SPDX-License-Identifier: Apache-2.0
// Any bytes as a log: nothing may crash, and what its lines state makes a trace.
#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/base/byte_source.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/import/logs/log_file.h"
#include "collector/import/logs/log_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rollcall;
  static logs::LogPatterns patterns;  // compiled once
  MemorySource source({data, size});
  logs::LogTraceBuilder builder;
  builder.BeginFile("fuzz.log", "", "fuzz.log");
  logs::ReadLog(source, &patterns, [&builder](const logs::LogFact& fact) { builder.Add(fact); });
  DiagnoseOptions options;
  options.job_ended = true;
  Diagnose(builder.Finish(), options);
  return 0;
}
