// SPDX-License-Identifier: Apache-2.0
// A dump of PyTorch's Flight Recorder, as pickle or JSON.
#include "collector/import/flight_recorder/dump.h"

#include <utility>

#include "collector/import/input_format.h"
#include "collector/import/trace_assembly.h"

namespace rollcall {
namespace {

using flight_recorder::Dump;
using flight_recorder::Format;

AddContent ReadDumpFile(const InputFile& file, ByteSource& bytes) {
  const Format format = flight_recorder::Recognize(bytes);
  if (format == Format::kNone) return nullptr;
  if (!file.in_bundle) {
    // Read later: dumps are joined by rank, and all of them would not fit in memory.
    return [file, format](TraceAssembly* assembly) {
      assembly->dumps()->Add(file.path, file.directory, file.name, format);
    };
  }
  Dump dump = flight_recorder::ReadDump(bytes, file.path, format);
  dump.directory = file.directory;
  dump.taken_at_ns = file.modified_ns;
  return [name = file.name, dump = std::move(dump)](TraceAssembly* assembly) mutable {
    assembly->dumps()->AddRead(name, std::move(dump));
  };
}

}  // namespace

const InputFormat kDumpFormat = {ReadDumpFile};

}  // namespace rollcall
