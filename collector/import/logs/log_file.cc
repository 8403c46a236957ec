// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/base/text.h"
#include "collector/import/logs/log_scanner.h"

namespace rollcall::logs {
namespace {

constexpr size_t kBlock = 1 << 20;
constexpr size_t kTextBytes = 1 << 12;

// Reads the next bytes into `to`; 0 at the end.
using NextBytes = std::function<size_t(char* to, size_t size)>;

NextBytes FromSource(ByteSource* bytes) {
  return [bytes, offset = uint64_t{0}](char* to, size_t size) mutable {
    const size_t read = bytes->Read(offset, to, size);
    offset += read;
    return read;
  };
}

NextBytes FromDescriptor(int fd) {
  return [fd](char* to, size_t size) {
    while (true) {
      const ssize_t got = read(fd, to, size);
      if (got >= 0 || errno != EINTR) return static_cast<size_t>(std::max<ssize_t>(got, 0));
    }
  };
}

bool IsCompressed(std::string_view begin) {
  using std::string_view_literals::operator""sv;
  return begin.starts_with("\x1f\x8b"sv) ||
         begin.starts_with(
             "\xfd"
             "7zXZ\0"sv) ||
         begin.starts_with("\x28\xb5\x2f\xfd"sv) || begin.starts_with("BZh"sv);
}

// Unpacks one compressed file, whatever it has.
class Unpacked {
 public:
  Unpacked(NextBytes next, std::string begin) : next_(std::move(next)), begin_(std::move(begin)) {
    file_.reset(archive_read_new());
    if (file_ == nullptr) throw std::bad_alloc();
    archive_read_support_filter_gzip(file_.get());
    archive_read_support_filter_xz(file_.get());
    archive_read_support_filter_zstd(file_.get());
    archive_read_support_filter_bzip2(file_.get());
    archive_read_support_format_raw(file_.get());
    archive_entry* entry = nullptr;
    good_ = archive_read_open(file_.get(), this, nullptr, &Unpacked::Feed, nullptr) == ARCHIVE_OK &&
            archive_read_next_header(file_.get(), &entry) == ARCHIVE_OK;
    NoteError();
  }

  size_t Next(char* to, size_t size) {
    if (!good_) return 0;
    const la_ssize_t got = archive_read_data(file_.get(), to, size);
    good_ = got >= 0;
    NoteError();
    return static_cast<size_t>(std::max<la_ssize_t>(got, 0));
  }

  const std::optional<Problem>& problem() const { return problem_; }

 private:
  struct Free {
    void operator()(archive* file) const { archive_read_free(file); }
  };

  static la_ssize_t Feed(archive* /*file*/, void* self, const void** bytes) {
    auto* own = static_cast<Unpacked*>(self);
    own->block_.resize(kBlock);
    size_t size = std::min(own->begin_.size(), kBlock);
    std::memcpy(own->block_.data(), own->begin_.data(), size);
    own->begin_.erase(0, size);
    if (size == 0) size = own->next_(own->block_.data(), kBlock);
    own->consumed_ += size;
    *bytes = own->block_.data();
    return static_cast<la_ssize_t>(size);
  }

  void NoteError() {
    if (good_ || problem_) return;
    const char* why = archive_error_string(file_.get());
    problem_ = {ProblemCode::kDamaged,
                CleanText(why == nullptr ? "not what a compressed file has" : why, 200)};
    problem_->offset = static_cast<int64_t>(consumed_);
  }

  NextBytes next_;
  std::string begin_;
  std::vector<char> block_;
  std::unique_ptr<archive, Free> file_;
  bool good_ = false;
  uint64_t consumed_ = 0;
  std::optional<Problem> problem_;
};

// The first bytes of `next`, and then all of them, unpacked.
class Stream {
 public:
  explicit Stream(NextBytes next) {
    std::string begin(kTextBytes, '\0');
    size_t size = 0;
    while (size < begin.size()) {
      const size_t got = next(begin.data() + size, begin.size() - size);
      if (got == 0) break;
      size += got;
    }
    begin.resize(size);
    if (IsCompressed(begin)) {
      unpacked_ = std::make_unique<Unpacked>(std::move(next), std::move(begin));
    } else {
      begin_ = std::move(begin);
      next_ = std::move(next);
    }
  }

  size_t Next(char* to, size_t size) {
    if (unpacked_ != nullptr) return unpacked_->Next(to, size);
    if (begin_.empty()) return next_(to, size);
    const size_t got = std::min(size, begin_.size());
    std::memcpy(to, begin_.data(), got);
    begin_.erase(0, got);
    return got;
  }

  bool compressed() const { return unpacked_ != nullptr; }
  std::optional<Problem> problem() const {
    return unpacked_ == nullptr ? std::nullopt : unpacked_->problem();
  }

 private:
  std::unique_ptr<Unpacked> unpacked_;
  std::string begin_;
  NextBytes next_;
};

std::optional<Problem> Read(Stream* stream, LogPatterns* patterns,
                            const std::function<void(const LogFact&)>& visit) {
  LogScanner scanner(patterns, visit);
  std::vector<char> block(kBlock);
  while (const size_t got = stream->Next(block.data(), block.size())) {
    scanner.Feed({block.data(), got});
  }
  scanner.Finish();
  return stream->problem();
}

bool StatesAnything(std::string_view text) {
  LogPatterns patterns;
  bool any = false;
  LogScanner scanner(&patterns,
                     [&any](const LogFact& fact) { any |= fact.says != Says::kPresent; });
  scanner.Feed(text);
  scanner.Finish();
  return any;
}

}  // namespace

bool IsLog(ByteSource& bytes, bool any_text) {
  Stream stream(FromSource(&bytes));
  std::string text(kBlock, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const size_t got = stream.Next(text.data() + size, text.size() - size);
    if (got == 0) break;
    size += got;
    if (size >= kTextBytes && text.find('\0') < std::min(size, kTextBytes)) return false;
  }
  text.resize(size);
  if (text.empty() ||
      std::string_view(text).substr(0, kTextBytes).find('\0') != std::string::npos) {
    return false;
  }
  if (any_text || StatesAnything(text)) return true;
  if (stream.compressed() || bytes.Size() <= kBlock) return false;
  text.resize(kBlock);
  text.resize(bytes.Read(bytes.Size() - kBlock, text.data(), kBlock));
  return StatesAnything(text);
}

std::optional<Problem> ReadLog(ByteSource& bytes, LogPatterns* patterns,
                               const std::function<void(const LogFact&)>& visit) {
  Stream stream(FromSource(&bytes));
  return Read(&stream, patterns, visit);
}

std::optional<Problem> ReadLog(int fd, LogPatterns* patterns,
                               const std::function<void(const LogFact&)>& visit) {
  Stream stream(FromDescriptor(fd));
  return Read(&stream, patterns, visit);
}

}  // namespace rollcall::logs
