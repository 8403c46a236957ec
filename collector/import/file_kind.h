// Which of the files that a job leaves a file is. Dumps of PyTorch's Flight Recorder are told by
// flight_recorder::Recognize().
#ifndef ROLLCALL_COLLECTOR_IMPORT_FILE_KIND_H_
#define ROLLCALL_COLLECTOR_IMPORT_FILE_KIND_H_

#include <cstdint>
#include <string>

#include "collector/import/byte_source.h"

namespace rollcall {

enum class FileKind : uint8_t { kOther, kRing, kJournal, kBundle };

// By content. The name decides only where the content says nothing: an empty or overwritten ring
// is worth a word, some other file in the directory is not. `asked_for`: the person named it, so
// that JSON is taken for a journal.
FileKind KindOfFile(ByteSource& source, const std::string& path, bool asked_for);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_FILE_KIND_H_
