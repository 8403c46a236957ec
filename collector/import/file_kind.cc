#include "collector/import/file_kind.h"

#include <cstring>
#include <string_view>

#include "collector/import/bundle/format.h"
#include "collector/import/bundle/reader.h"
#include "collector/import/journal.h"
#include "proto/ring_format.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

bool LooksLikeJournal(ByteSource& source) {
  std::string text(4096, '\0');
  text.resize(source.Read(0, text.data(), text.size()));
  std::string error;
  return text.rfind("{\"v\":", 0) == 0 ||
         ParseJournalLine(text.substr(0, text.find('\n')), &error).has_value();
}

}  // namespace

FileKind KindOfFile(ByteSource& source, const std::string& path, bool asked_for) {
  char begin[sizeof(ring::kMagic)] = {};
  const size_t got = source.Read(0, begin, sizeof(begin));
  const bool is_ring = got == sizeof(begin) && std::memcmp(begin, ring::kMagic, got) == 0;
  const bool is_object = got > 0 && begin[0] == '{';
  const bool named_ring = std::string_view(path).ends_with(kRingSuffix);
  const bool named_journal = bundle::LastName(path) == kJournalFile;
  if (is_ring || (named_ring && !is_object)) return FileKind::kRing;
  if (is_object || named_journal) {
    const bool is_journal = asked_for || named_journal || LooksLikeJournal(source);
    return is_journal ? FileKind::kJournal : FileKind::kOther;
  }
  return bundle::IsBundle(source) ? FileKind::kBundle : FileKind::kOther;
}

}  // namespace rollcall
