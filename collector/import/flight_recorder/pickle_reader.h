// SPDX-License-Identifier: Apache-2.0
// Reads a pickled dump without executing anything.
//
// A pickle is a program for a stack machine, which in Python can import and call any installed
// code. This reader accepts only the opcodes (https://docs.python.org/3/library/pickletools.html)
// that build plain data: numbers, strings, lists, tuples, dicts, and the memo. torch::jit::Pickler
// writes no other opcodes (protocol 2), and Python's pickler writes no others for plain data
// (protocols 2 to 5). GLOBAL, REDUCE, BUILD, INST, OBJ, NEWOBJ, persistent ids, extension codes and
// text-mode numbers are refused by name.
//
// Limits: kMaxValues and kMaxStringBytes for values and strings, the bytes read for the memo and
// the stack, the rest of the file for every length. No recursion. Time is linear in the file.
#ifndef ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_PICKLE_READER_H_
#define ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_PICKLE_READER_H_

#include <optional>

#include "collector/base/byte_source.h"
#include "collector/import/flight_recorder/values.h"
#include "collector/model/problem.h"

namespace rollcall::flight_recorder {

// Hands over entries and fields, also of a truncated or damaged file. Entries and fields before the
// damage are complete. If it stopped before the end, returns the reason, without a source.
// Thread-safe for different sources. Throws std::bad_alloc only.
std::optional<Problem> ReadPickle(ByteSource& source, Values* values, DumpSink* sink);

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_PICKLE_READER_H_
