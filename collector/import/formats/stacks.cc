// SPDX-License-Identifier: Apache-2.0
// The output of `rollcall attach` (collector/attach/stacks.md), kept as text for its own reader.
#include <algorithm>
#include <string>
#include <utility>

#include "collector/import/input_format.h"
#include "collector/import/stacks_text.h"
#include "collector/import/trace_assembly.h"

namespace rollcall {
namespace {

AddContent ReadStacksText(const InputFile& file, ByteSource& bytes) {
  std::string text(kStacksBegin.size(), '\0');
  text.resize(bytes.Read(0, text.data(), text.size()));
  if (text != kStacksBegin) return nullptr;
  // Reads one byte more than is allowed, to detect text that is too long.
  text.resize(std::min<uint64_t>(bytes.Size(), kMaxStacksTextBytes + 1));
  text.resize(bytes.Read(0, text.data(), text.size()));
  return [path = file.path, text = std::move(text)](TraceAssembly* assembly) mutable {
    assembly->AddStacks({path, std::move(text)});
  };
}

}  // namespace

const InputFormat kStacksFileFormat = {ReadStacksText};

}  // namespace rollcall
