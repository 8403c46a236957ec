// Reads a pickled dump without executing anything.
//
// A pickle is a program for a stack machine, and Python's own machine can be told to import and
// call whatever is installed. Of its opcodes (https://docs.python.org/3/library/pickletools.html)
// this one knows those that build plain data: numbers, strings, lists, tuples, dicts, and the memo.
// torch::jit::Pickler writes no others (protocol 2), and Python's pickler writes no others for
// plain data (protocols 2 to 5). GLOBAL, REDUCE, BUILD, INST, OBJ, NEWOBJ, persistent ids,
// extension codes and text-mode numbers are refused by name.
//
// Bounds: values and strings by kMaxValues and kMaxStringBytes, the memo and the stack by the bytes
// read, every length by what the file still holds. No recursion. Time is linear in the file.
#ifndef ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_PICKLE_READER_H_
#define ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_PICKLE_READER_H_

#include <optional>

#include "collector/base/byte_source.h"
#include "collector/import/flight_recorder/values.h"
#include "collector/model/problem.h"

namespace rollcall::flight_recorder {

// Hands over what is there, also from a file that ends early or is damaged: entries and fields that
// came before the damage are whole. Returns why it stopped before the end, without a source.
// Thread-safe for different sources. Throws nothing but std::bad_alloc.
std::optional<Problem> ReadPickle(ByteSource& source, Values* values, DumpSink* sink);

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_PICKLE_READER_H_
