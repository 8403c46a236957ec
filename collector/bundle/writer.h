// SPDX-License-Identifier: Apache-2.0
// Writes the container of a bundle (bundle.md); the caller provides the contents.
#ifndef ROLLCALL_COLLECTOR_BUNDLE_WRITER_H_
#define ROLLCALL_COLLECTOR_BUNDLE_WRITER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "collector/bundle/packer.h"
#include "collector/model/trace.h"

struct archive;

namespace rollcall::bundle {

// Not thread-safe. Throws std::bad_alloc only.
class Writer {
 public:
  // `path` appears with Finish() and replaces an existing file. `rollcall` is the version for the
  // manifest.
  Writer(const std::string& path, std::string_view rollcall, int64_t now_ns);
  ~Writer();

  // Adds a member. The name is changed to a valid one (IsMemberName()) that is not used yet. False
  // after a failure.
  bool Add(std::string_view name, std::span<const uint8_t> bytes, int64_t modified_ns = kNoTime);
  bool Add(std::string_view name, std::string_view text);
  bool Finish();

  // Why nothing was written: the file system's error, without the path.
  const std::string& error() const { return packer_.error(); }
  uint64_t packed_bytes() const { return packer_.packed_bytes(); }

 private:
  struct Free {
    void operator()(archive* tar) const;
  };
  std::string FreeName(std::string_view wanted);

  Packer packer_;
  const int64_t now_ns_;
  std::unique_ptr<archive, Free> tar_;
  std::unordered_set<std::string> names_;
};

}  // namespace rollcall::bundle

#endif  // ROLLCALL_COLLECTOR_BUNDLE_WRITER_H_
