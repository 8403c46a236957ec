// The journal of a run directory (collector/import/journal.md).
#include "collector/import/journal.h"

#include <memory>
#include <string>
#include <utility>

#include "collector/import/input_format.h"
#include "collector/import/trace_assembly.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

class JournalContent : public InputContent {
 public:
  explicit JournalContent(Journal journal) : journal_(std::move(journal)) {}
  void AddTo(TraceAssembly* assembly) override { assembly->AddJournal(std::move(journal_)); }

 private:
  Journal journal_;
};

bool IsJournal(const InputFile& file, ByteSource& bytes) {
  if (file.name == kJournalFile) return true;
  std::string text(4096, '\0');
  text.resize(bytes.Read(0, text.data(), text.size()));
  if (!text.starts_with('{')) return false;
  std::string error;
  return file.asked_for || text.starts_with("{\"v\":") ||
         ParseJournalLine(text.substr(0, text.find('\n')), &error).has_value();
}

std::unique_ptr<InputContent> ReadJournalFile(const InputFile& file, ByteSource& bytes) {
  return std::make_unique<JournalContent>(ReadJournal(bytes, file.path));
}

}  // namespace

const InputFormat kJournalFormat = {IsJournal, ReadJournalFile};

}  // namespace rollcall
