// SPDX-License-Identifier: Apache-2.0
#include "collector/import/walk_directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace rollcall {
namespace {

namespace fs = std::filesystem;
using Visit = std::function<bool(const std::string&, const std::string&)>;
using AddProblem = std::function<void(const std::string&, const std::string&)>;

constexpr size_t kMaxFiles = 1 << 20;
constexpr int kMaxDirectoryDepth = 4;

bool Walk(const std::string& path, int depth, const Visit& visit, const AddProblem& add_problem) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator it(path, error);
  for (; !error && it != fs::directory_iterator() && entries.size() < kMaxFiles;
       it.increment(error)) {
    entries.push_back(*it);
  }
  if (error) add_problem(path, error.message());
  std::ranges::sort(entries);
  for (const fs::directory_entry& entry : entries) {
    std::error_code ignored;
    const fs::file_status status = entry.symlink_status(ignored);
    if (fs::is_directory(status) && depth + 1 < kMaxDirectoryDepth) {
      if (!Walk(entry.path().string(), depth + 1, visit, add_problem)) return false;
    } else if (fs::is_regular_file(status) && !visit(entry.path().string(), path)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void WalkDirectory(const std::string& path, const Visit& visit, const AddProblem& add_problem) {
  Walk(path, 0, visit, add_problem);
}

}  // namespace rollcall
