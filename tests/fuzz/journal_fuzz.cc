// SPDX-License-Identifier: Apache-2.0
// Any bytes as a journal: nothing may crash, and what is read is written and read again alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "collector/base/byte_source.h"
#include "collector/import/journal.h"
#include "collector/import/trace_builder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rollcall;
  MemorySource source({data, size});
  const Journal journal = ReadJournal(source, "fuzz");
  for (const JournalEvent& event : journal.events) {
    const std::string line = FormatJournalLine(event);
    const auto again = ParseJournalLine(line);
    if (!again || again->index() != event.index() || FormatJournalLine(*again) != line) {
      std::abort();
    }
  }
  RingTraceBuilder builder;
  const Journal* const all[] = {&journal};
  ApplyJournals(all, &builder);
  builder.Finish();
  return 0;
}
