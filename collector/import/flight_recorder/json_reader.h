// SPDX-License-Identifier: Apache-2.0
// Reads a dump in JSON (RFC 8259), event by event like pickle_reader.h. Limits: nesting by
// kMaxJsonDepth, values and strings as in values.h. Of two equal keys in one object, the last one
// counts. Numbers beyond 64 bits become floating-point numbers. Reading ends at invalid numbers
// (NaN, 1e999), at invalid UTF-8, and at anything after the dump.
#ifndef ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_JSON_READER_H_
#define ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_JSON_READER_H_

#include <optional>

#include "collector/base/byte_source.h"
#include "collector/import/flight_recorder/values.h"
#include "collector/model/problem.h"

namespace rollcall::flight_recorder {

inline constexpr size_t kMaxJsonDepth = 64;

// As ReadPickle().
std::optional<Problem> ReadJson(ByteSource& source, Values* values, DumpSink* sink);

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_JSON_READER_H_
