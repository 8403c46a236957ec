// What `rollcall attach` saw (collector/attach/stacks.md): kept as it is for who can read it.
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
  // One byte more than all may have, so that what is too long is seen to be.
  text.resize(std::min<uint64_t>(bytes.Size(), kMaxStacksTextBytes + 1));
  text.resize(bytes.Read(0, text.data(), text.size()));
  return [path = file.path, text = std::move(text)](TraceAssembly* assembly) mutable {
    assembly->AddStacks({path, std::move(text)});
  };
}

}  // namespace

const InputFormat kStacksFileFormat = {ReadStacksText};

}  // namespace rollcall
