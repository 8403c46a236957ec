// SPDX-License-Identifier: Apache-2.0
// Any bytes as pickled Flight Recorder dumps of two ranks: nothing may crash, run away or grow
// beyond bounds, from the reader to the verdict.
#include "tests/fuzz/flight_dumps.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rollcall::flight_recorder::DiagnoseTwice(data, size, rollcall::flight_recorder::Format::kPickle);
  return 0;
}
