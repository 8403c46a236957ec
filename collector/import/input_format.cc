#include "collector/import/input_format.h"

#include <utility>

namespace rollcall {
namespace {

// In the order in which they are tried: a file that is itself an input and has text of no other
// format counts as a log. Logs and bundles may be compressed alike.
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
