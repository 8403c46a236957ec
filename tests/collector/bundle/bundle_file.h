// SPDX-License-Identifier: Apache-2.0
// Bundles for tests, including invalid ones: a compressed tar archive of arbitrary entries.
#ifndef ROLLCALL_TESTS_COLLECTOR_BUNDLE_BUNDLE_FILE_H_
#define ROLLCALL_TESTS_COLLECTOR_BUNDLE_BUNDLE_FILE_H_

#include <archive.h>
#include <archive_entry.h>
#include <zstd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace rollcall::bundle {

using Bytes = std::vector<uint8_t>;

inline Bytes Compressed(const Bytes& bytes) {
  Bytes out(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1);
  if (ZSTD_isError(size) != 0) abort();
  out.resize(size);
  return out;
}

// A tar archive, entry by entry.
class TarFile {
 public:
  TarFile() : tar_(archive_write_new()) {
    archive_write_set_format_pax(tar_);
    archive_write_open(
        tar_, &bytes_, nullptr,
        [](archive*, void* to, const void* from, size_t size) {
          const auto* begin = static_cast<const uint8_t*>(from);
          static_cast<Bytes*>(to)->insert(static_cast<Bytes*>(to)->end(), begin, begin + size);
          return static_cast<la_ssize_t>(size);
        },
        nullptr);
  }
  ~TarFile() { archive_write_free(tar_); }
  TarFile(const TarFile&) = delete;
  TarFile& operator=(const TarFile&) = delete;

  // `change` may change the entry before it is written.
  TarFile& Add(const std::string& name, const std::string& text,
               const std::function<void(archive_entry*)>& change = nullptr) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0600);
    archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
    if (change) change(entry);
    if (archive_write_header(tar_, entry) != ARCHIVE_OK) abort();
    archive_write_data(tar_, text.data(), text.size());
    archive_entry_free(entry);
    return *this;
  }
  TarFile& AddManifest(const std::string& text = R"({"format":"rollcall-bundle","version":1})") {
    return Add("rollcall-bundle.json", text);
  }

  // May be called once.
  Bytes Tar() {
    archive_write_close(tar_);
    return std::move(bytes_);
  }
  Bytes Bundle() { return Compressed(Tar()); }

 private:
  Bytes bytes_;
  archive* tar_;
};

}  // namespace rollcall::bundle

#endif  // ROLLCALL_TESTS_COLLECTOR_BUNDLE_BUNDLE_FILE_H_
