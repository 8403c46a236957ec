// SPDX-License-Identifier: Apache-2.0
// Any bytes as Flight Recorder dumps in JSON of two ranks: see flight_pickle_fuzz.cc.
#include "tests/fuzz/flight_dumps.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rollcall::flight_recorder::DiagnoseTwice(data, size, rollcall::flight_recorder::Format::kJson);
  return 0;
}
