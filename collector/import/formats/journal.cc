// SPDX-License-Identifier: Apache-2.0
// The journal of a run directory (collector/import/journal.md).
#include "collector/import/journal.h"

#include <string>
#include <utility>

#include "collector/import/input_format.h"
#include "collector/import/trace_assembly.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

bool IsJournal(const InputFile& file, ByteSource& bytes) {
  if (file.name == kJournalFile) return true;
  std::string text(4096, '\0');
  text.resize(bytes.Read(0, text.data(), text.size()));
  if (!text.starts_with('{')) return false;
  return text.starts_with("{\"v\":") || ParseJournalLine(text.substr(0, text.find('\n')));
}

AddContent ReadJournalFile(const InputFile& file, ByteSource& bytes) {
  if (!IsJournal(file, bytes)) return nullptr;
  return [file, journal = ReadJournal(bytes, file.path)](TraceAssembly* assembly) mutable {
    assembly->AddJournal(file, std::move(journal));
  };
}

}  // namespace

const InputFormat kJournalFormat = {ReadJournalFile};

}  // namespace rollcall
