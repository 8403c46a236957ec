#include "collector/import/input_format.h"

namespace rollcall {
namespace {

// In the order in which they are asked: a journal that was asked for is any other JSON.
constexpr const InputFormat* kFormats[] = {
    &kRingFormat, &kKeptSourcesFormat, &kDumpFormat, &kJournalFormat, &kBundleFormat,
};

}  // namespace

const InputFormat* FindFormat(const InputFile& file, ByteSource& bytes) {
  for (const InputFormat* format : kFormats) {
    if (format->recognize(file, bytes)) return format;
  }
  return nullptr;
}

}  // namespace rollcall
