// SPDX-License-Identifier: Apache-2.0
// Any bytes as a bundle, and as the archive inside one: nothing may crash, and what a bundle gives
// out has a harmless name and a bounded size.
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "collector/bundle/format.h"
#include "collector/bundle/kept_sources.h"
#include "collector/bundle/reader.h"

namespace {

using namespace rollcall;

void Read(const uint8_t* data, size_t size) {
  std::set<std::string> names;
  uint64_t bytes = 0;
  MemorySource source({data, size});
  bundle::ReadBundle(
      source, "fuzz",
      [&](bundle::Member member) {
        if (!bundle::IsMemberName(member.name) || !names.insert(member.name).second) std::abort();
        bytes += member.bytes.size();
        KeptSources sources;
        sources.Parse({reinterpret_cast<const char*>(member.bytes.data()), member.bytes.size()});
        KeptSources again;
        if (!again.Parse(sources.Format())) std::abort();
      },
      [](const Problem&) {});
  // Unpacking goes by pieces.
  if (bytes > bundle::kFreeBytes + (size + 1) * bundle::kMaxRatio + (1 << 20)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Read(data, size);
  std::vector<uint8_t> packed(ZSTD_compressBound(size));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), data, size, 1));
  Read(packed.data(), packed.size());
  return 0;
}
