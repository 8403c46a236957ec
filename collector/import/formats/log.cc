// SPDX-License-Identifier: Apache-2.0
// A job's output: any text, plain or compressed.
#include <utility>

#include "collector/import/input_format.h"
#include "collector/import/logs/log_file.h"
#include "collector/import/trace_assembly.h"

namespace rollcall {
namespace {

AddContent ReadLogFile(const InputFile& file, ByteSource& bytes) {
  if (file.in_bundle || !logs::IsLog(bytes, file.asked_for)) return nullptr;
  // Read later: one builder joins all logs, and their facts would not fit in memory.
  return [file](TraceAssembly* assembly) { assembly->AddLog(file); };
}

}  // namespace

const InputFormat kLogFormat = {ReadLogFile};

}  // namespace rollcall
