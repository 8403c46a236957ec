// SPDX-License-Identifier: Apache-2.0
#include "collector/bundle/reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "collector/base/text.h"
#include "collector/bundle/format.h"
#include "collector/bundle/unpacker.h"

namespace rollcall::bundle {
namespace {

// At most this many members are reported by name. The others are only counted.
constexpr int kMaxProblems = 16;
constexpr size_t kMaxManifestBytes = 1 << 20;

struct FreeArchive {
  void operator()(archive* tar) const { archive_read_free(tar); }
};

Problem NoBundle() { return {ProblemCode::kForeign, "not a rollcall bundle"}; }

// Empty if this reader supports the manifest.
std::optional<Problem> WhyNotReadable(const std::vector<uint8_t>& manifest) {
  if (manifest.size() > kMaxManifestBytes) return NoBundle();
  const auto json = nlohmann::json::parse(manifest.begin(), manifest.end(), nullptr,
                                          /*allow_exceptions=*/false);
  const auto format = json.is_object() ? json.find("format") : json.end();
  if (!json.is_object() || format == json.end() || *format != kFormat) {
    return NoBundle();
  }
  const auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer()) {
    return Problem{ProblemCode::kUnknownVersion, "a bundle without a version"};
  }
  if (*version != kVersion) {
    return Problem{
        ProblemCode::kUnknownVersion,
        fmt::format("bundle version {}: this rollcall reads {}", version->dump(), kVersion)};
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(ByteSource* bytes, const std::string& source, const std::function<void(Member)>& visit,
         const std::function<void(Problem)>& add_problem)
      : unpacker_(bytes), source_(source), visit_(visit), add_problem_(add_problem) {}

  void Read() {
    tar_.reset(archive_read_new());
    if (tar_ == nullptr) throw std::bad_alloc();
    archive_read_support_format_tar(tar_.get());
    bool going = archive_read_open(tar_.get(), this, nullptr, &Reader::Feed, nullptr) == ARCHIVE_OK;
    for (size_t count = 0; going; ++count) {
      archive_entry* entry = nullptr;
      const int result = archive_read_next_header(tar_.get(), &entry);
      if (result == ARCHIVE_EOF) break;
      going = result == ARCHIVE_OK || result == ARCHIVE_WARN;
      if (!going) break;
      if (count >= kMaxMembers) {
        AddProblem({ProblemCode::kOverLimit,
                    fmt::format("more than {} members: the rest is left out", kMaxMembers)});
        return;
      }
      if (!Take(entry, /*first=*/count == 0)) return;
    }
    // Read to the end, where the checksum is.
    while (going && !unpacker_.Next().empty()) {
    }
    if (unpacker_.problem()) {
      AddProblem(*unpacker_.problem());
    } else if (!going) {
      const char* why = archive_error_string(tar_.get());
      AddProblem(
          {ProblemCode::kDamaged, CleanText(why == nullptr ? "not a tar archive" : why, 200)});
    } else if (!has_manifest_) {
      AddProblem(NoBundle());
    }
    if (problems_ > kMaxProblems) {
      add_problem_({ProblemCode::kRefused,
                    fmt::format("{} more members are left out", problems_ - kMaxProblems),
                    source_});
    }
  }

 private:
  static la_ssize_t Feed(archive* /*tar*/, void* self, const void** bytes) {
    const std::span<const uint8_t> piece = static_cast<Reader*>(self)->unpacker_.Next();
    *bytes = piece.data();
    return static_cast<la_ssize_t>(piece.size());
  }

  // Returns false if the rest of the file must not be used.
  bool Take(archive_entry* entry, bool first) {
    const char* raw = archive_entry_pathname(entry);
    const std::string name = raw == nullptr ? "" : raw;
    std::optional<Problem> refusal = WhyNotTaken(entry, name);
    Member member;
    if (!refusal && Fill(&member)) {
      member.name = name;
      member.modified_ns = ModifiedNs(entry);
      if (first && name == kManifestName) {
        const std::optional<Problem> why = WhyNotReadable(member.bytes);
        if (why) AddProblem(*why);
        return has_manifest_ = !why;
      }
    }
    if (!has_manifest_) {
      AddProblem(NoBundle());
      return false;
    }
    if (refusal) {
      refusal->source = fmt::format("{}: {}", source_, CleanText(name, kMaxNameBytes));
      if (++problems_ <= kMaxProblems) AddProblem(std::move(*refusal));
    } else if (!member.name.empty()) {
      visit_(std::move(member));
    }
    return true;
  }

  std::optional<Problem> WhyNotTaken(archive_entry* entry, const std::string& name) {
    const auto refused = [](const char* why) { return Problem{ProblemCode::kRefused, why}; };
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr) {
      return refused("a link: left out");
    }
    if (archive_entry_filetype(entry) != AE_IFREG) return refused("not a file: left out");
    if (!IsMemberName(name)) return refused("not a name that a bundle has: left out");
    // Holes take no space in the bundle but memory in the reader.
    if (archive_entry_sparse_count(entry) != 0) return refused("a sparse file: left out");
    if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0 ||
        static_cast<uint64_t>(archive_entry_size(entry)) > kMaxMemberBytes) {
      return Problem{ProblemCode::kOverLimit,
                     fmt::format("{} bytes: left out", archive_entry_size(entry))};
    }
    if (!names_.insert(name).second) {
      return Problem{ProblemCode::kDuplicate, "occurs twice: the second one is left out"};
    }
    return std::nullopt;
  }

  // Allocates memory as data arrives, not by the claimed size. False: the member is cut off or
  // damaged; reading the next header reports that.
  bool Fill(Member* member) {
    while (true) {
      const void* piece = nullptr;
      size_t size = 0;
      la_int64_t offset = 0;
      const int result = archive_read_data_block(tar_.get(), &piece, &size, &offset);
      if (result == ARCHIVE_EOF) return true;
      if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return false;
      if (static_cast<uint64_t>(offset) != member->bytes.size() ||
          size > kMaxMemberBytes - member->bytes.size()) {
        return false;
      }
      const auto* begin = static_cast<const uint8_t*>(piece);
      member->bytes.insert(member->bytes.end(), begin, begin + size);
    }
  }

  static int64_t ModifiedNs(archive_entry* entry) {
    constexpr int64_t kNsPerS = 1'000'000'000;
    const auto seconds = static_cast<int64_t>(archive_entry_mtime(entry));
    if (archive_entry_mtime_is_set(entry) == 0 || seconds < 0 ||
        seconds > INT64_MAX / kNsPerS - 1) {
      return kNoTime;
    }
    return seconds * kNsPerS + archive_entry_mtime_nsec(entry) % kNsPerS;
  }

  // A problem of the file, unless it names a member.
  void AddProblem(Problem problem) {
    if (problem.source.empty()) problem.source = source_;
    problem.offset = static_cast<int64_t>(unpacker_.consumed());
    add_problem_(std::move(problem));
  }

  Unpacker unpacker_;
  const std::string& source_;
  const std::function<void(Member)>& visit_;
  const std::function<void(Problem)>& add_problem_;
  std::unique_ptr<archive, FreeArchive> tar_;
  bool has_manifest_ = false;
  std::unordered_set<std::string> names_;
  int problems_ = 0;
};

}  // namespace

bool IsBundle(ByteSource& bytes) {
  unsigned char begin[sizeof(kMagic)] = {};
  return bytes.Read(0, begin, sizeof(begin)) == sizeof(begin) &&
         std::memcmp(begin, kMagic, sizeof(kMagic)) == 0;
}

void ReadBundle(ByteSource& bytes, const std::string& source,
                const std::function<void(Member)>& visit,
                const std::function<void(Problem)>& add_problem) {
  Reader(&bytes, source, visit, add_problem).Read();
}

}  // namespace rollcall::bundle
