// A dump of PyTorch's Flight Recorder, as pickle or JSON.
#include "collector/import/flight_recorder/dump.h"

#include <memory>
#include <optional>
#include <utility>

#include "collector/import/input_format.h"
#include "collector/import/trace_assembly.h"

namespace rollcall {
namespace {

using flight_recorder::Dump;
using flight_recorder::Format;

// One on disk is read later: dumps are joined by rank, and all of them would not fit in memory.
class DumpContent : public InputContent {
 public:
  DumpContent(const InputFile& file, Format format, std::optional<Dump> dump)
      : file_(file), format_(format), dump_(std::move(dump)) {}
  void AddTo(TraceAssembly* assembly) override {
    if (dump_) {
      assembly->dumps()->AddRead(file_.name, std::move(*dump_));
    } else {
      assembly->dumps()->Add(file_.path, file_.directory, file_.name, format_);
    }
  }

 private:
  const InputFile file_;
  const Format format_;
  std::optional<Dump> dump_;
};

bool IsDump(const InputFile& /*file*/, ByteSource& bytes) {
  return flight_recorder::Recognize(bytes) != Format::kNone;
}

std::unique_ptr<InputContent> ReadDumpFile(const InputFile& file, ByteSource& bytes) {
  const Format format = flight_recorder::Recognize(bytes);
  std::optional<Dump> dump;
  if (file.in_bundle) {
    dump = flight_recorder::ReadDump(bytes, file.path, format);
    dump->directory = file.directory;
    dump->taken_at_ns = file.modified_ns;
  }
  return std::make_unique<DumpContent>(file, format, std::move(dump));
}

}  // namespace

const InputFormat kDumpFormat = {IsDump, ReadDumpFile};

}  // namespace rollcall
