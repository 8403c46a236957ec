// SPDX-License-Identifier: Apache-2.0
// The ring of one process (proto/ring_format.md).
#include <cstring>
#include <string_view>
#include <utility>

#include "collector/import/input_format.h"
#include "collector/import/ring_reader.h"
#include "collector/import/trace_assembly.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

AddContent ReadRingFile(const InputFile& file, ByteSource& bytes) {
  if (!IsRing(file, bytes)) return nullptr;
  return [file, ring = ReadRing(bytes, file.path)](TraceAssembly* assembly) mutable {
    assembly->AddRing(file, std::move(ring));
  };
}

}  // namespace

const InputFormat kRingFormat = {ReadRingFile};

bool IsRingCopy(const std::string& name) {
  return name.ends_with(std::string(kRingSuffix) + kRingCopySuffix);
}

std::string WithoutCopySuffix(const std::string& name) {
  return IsRingCopy(name) ? name.substr(0, name.rfind(kRingCopySuffix)) : name;
}

bool IsRing(const InputFile& file, ByteSource& bytes) {
  char begin[sizeof(ring::kMagic)] = {};
  const size_t got = bytes.Read(0, begin, sizeof(begin));
  if (got == sizeof(begin) && std::memcmp(begin, ring::kMagic, got) == 0) return true;
  return std::string_view(file.name).ends_with(kRingSuffix) && (got == 0 || begin[0] != '{');
}

}  // namespace rollcall
