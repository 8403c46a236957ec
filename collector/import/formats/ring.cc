// The ring of one process (proto/ring_format.md).
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "collector/import/input_format.h"
#include "collector/import/ring_reader.h"
#include "collector/import/trace_assembly.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

class RingContent : public InputContent {
 public:
  RingContent(const InputFile& file, RingSnapshot ring) : file_(file), ring_(std::move(ring)) {}
  void AddTo(TraceAssembly* assembly) override { assembly->AddRing(file_, std::move(ring_)); }

 private:
  const InputFile file_;
  RingSnapshot ring_;
};

bool IsRing(const InputFile& file, ByteSource& bytes) {
  char begin[sizeof(ring::kMagic)] = {};
  const size_t got = bytes.Read(0, begin, sizeof(begin));
  if (got == sizeof(begin) && std::memcmp(begin, ring::kMagic, got) == 0) return true;
  return std::string_view(file.name).ends_with(kRingSuffix) && (got == 0 || begin[0] != '{');
}

std::unique_ptr<InputContent> ReadRingFile(const InputFile& file, ByteSource& bytes) {
  return std::make_unique<RingContent>(file, ReadRing(bytes, file.path));
}

}  // namespace

const InputFormat kRingFormat = {IsRing, ReadRingFile};

}  // namespace rollcall
