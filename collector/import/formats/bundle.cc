// A bundle (collector/bundle/bundle.md), and what only bundles have in them.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collector/bundle/format.h"
#include "collector/bundle/kept_sources.h"
#include "collector/bundle/reader.h"
#include "collector/import/input_format.h"
#include "collector/import/trace_assembly.h"

namespace rollcall {
namespace {

// Read later, member by member: what lies there as it is comes before a picture of it that was
// taken earlier.
class BundleContent : public InputContent {
 public:
  explicit BundleContent(std::string path) : path_(std::move(path)) {}
  void AddTo(TraceAssembly* assembly) override { assembly->AddBundle(std::move(path_)); }

 private:
  std::string path_;
};

bool IsBundleFile(const InputFile& file, ByteSource& bytes) {
  return !file.in_bundle && bundle::IsBundle(bytes);
}

std::unique_ptr<InputContent> ReadBundleFile(const InputFile& file, ByteSource& /*bytes*/) {
  return std::make_unique<BundleContent>(file.path);
}

class KeptSourcesContent : public InputContent {
 public:
  KeptSourcesContent(std::string path, std::string text)
      : path_(std::move(path)), text_(std::move(text)) {}
  void AddTo(TraceAssembly* assembly) override {
    const bool whole =
        text_.size() <= 2 * KeptSources::kMaxBytes && assembly->sources()->Parse(text_);
    if (whole) return;
    assembly->AddProblem(
        {ProblemCode::kDamaged, "damaged: some lines of source are missing", path_});
  }

 private:
  const std::string path_;
  const std::string text_;
};

bool IsKeptSources(const InputFile& file, ByteSource& /*bytes*/) {
  return file.in_bundle && file.name == bundle::kSourcesName;
}

std::unique_ptr<InputContent> ReadKeptSources(const InputFile& file, ByteSource& bytes) {
  // One byte more than is parsed, so that what is too long is seen to be.
  std::string text(std::min<uint64_t>(bytes.Size(), 2 * KeptSources::kMaxBytes + 1), '\0');
  text.resize(bytes.Read(0, text.data(), text.size()));
  return std::make_unique<KeptSourcesContent>(file.path, std::move(text));
}

}  // namespace

const InputFormat kBundleFormat = {IsBundleFile, ReadBundleFile};
const InputFormat kKeptSourcesFormat = {IsKeptSources, ReadKeptSources};

}  // namespace rollcall
