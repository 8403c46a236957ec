// SPDX-License-Identifier: Apache-2.0
// Bundles (collector/bundle/bundle.md), and the members that only bundles contain.
#include <algorithm>
#include <string>
#include <utility>

#include "collector/bundle/format.h"
#include "collector/bundle/kept_sources.h"
#include "collector/bundle/reader.h"
#include "collector/import/input_format.h"
#include "collector/import/trace_assembly.h"

namespace rollcall {
namespace {

// Bundles are read later, member by member: a file itself takes precedence over its earlier copy in
// a bundle.
AddContent ReadBundleFile(const InputFile& file, ByteSource& bytes) {
  if (file.in_bundle || !bundle::IsBundle(bytes)) return nullptr;
  return [path = file.path](TraceAssembly* assembly) { assembly->AddBundle(path); };
}

AddContent ReadKeptSources(const InputFile& file, ByteSource& bytes) {
  if (!file.in_bundle || file.name != bundle::kSourcesName) return nullptr;
  // Reads one byte more than is parsed, to detect text that is too long.
  std::string text(std::min<uint64_t>(bytes.Size(), 2 * KeptSources::kMaxBytes + 1), '\0');
  text.resize(bytes.Read(0, text.data(), text.size()));
  return [path = file.path, text = std::move(text)](TraceAssembly* assembly) {
    if (text.size() <= 2 * KeptSources::kMaxBytes && assembly->sources()->Parse(text)) return;
    assembly->AddProblem(
        {ProblemCode::kDamaged, "damaged: some lines of source are missing", path});
  };
}

}  // namespace

const InputFormat kBundleFormat = {ReadBundleFile};
const InputFormat kKeptSourcesFormat = {ReadKeptSources};

}  // namespace rollcall
