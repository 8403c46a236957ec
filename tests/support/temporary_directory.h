// SPDX-License-Identifier: Apache-2.0
// A directory for the files of a test.
#ifndef ROLLCALL_TESTS_SUPPORT_TEMPORARY_DIRECTORY_H_
#define ROLLCALL_TESTS_SUPPORT_TEMPORARY_DIRECTORY_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace rollcall {

// A directory that only one test uses, removed with its contents. Its name is absolute and has no
// symbolic links, so that it can be compared with paths from /proc.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string pattern = (parent / "rollcall-test-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr) << parent;
    path_ = std::filesystem::canonical(pattern);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Creates parent directories as well. Returns Path(name).
  std::string Write(const std::string& name, const std::string& content) const {
    const std::filesystem::path path = Path(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }

 private:
  std::string path_;
};

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_TEMPORARY_DIRECTORY_H_
