// SPDX-License-Identifier: Apache-2.0
#include "collector/import/input_format.h"

#include <utility>

namespace rollcall {
namespace {

// The formats in the order in which they are tried. A file that is itself an input and has text of
// no other format counts as a log. Logs and bundles may have the same compression.
constexpr const InputFormat* kFormats[] = {
    &kRingFormat,    &kKeptSourcesFormat, &kStacksFileFormat, &kDumpFormat,
    &kJournalFormat, &kLogFormat,         &kBundleFormat,
};

}  // namespace

InputContent ReadContent(const InputFile& file, ByteSource& bytes) {
  for (const InputFormat* format : kFormats) {
    if (AddContent add = format->read(file, bytes)) return {format, std::move(add)};
  }
  return {};
}

}  // namespace rollcall
