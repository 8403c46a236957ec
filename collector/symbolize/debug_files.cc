// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/debug_files.h"

#include <elfutils/libdwelf.h>

#include <filesystem>

namespace rollcall {
namespace {

std::string DirectoryOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

std::unique_ptr<ElfFile> FindDebugFileByBuildId(std::string_view build_id,
                                                const std::vector<std::string>& debug_dirs,
                                                const ElfFile::Limits& limits) {
  if (build_id.size() < 4) return nullptr;
  for (const std::string& dir : debug_dirs) {
    std::string path = dir;
    path.append("/.build-id/").append(build_id.substr(0, 2)).append("/");
    path.append(build_id.substr(2)).append(".debug");
    auto file = ElfFile::Open(path, limits).value_or(nullptr);
    if (file != nullptr && file->build_id() == build_id) return file;
  }
  return nullptr;
}

std::unique_ptr<ElfFile> FindDebugFile(const ElfFile& module,
                                       const std::vector<std::string>& debug_dirs,
                                       const ElfFile::Limits& limits) {
  if (auto file = FindDebugFileByBuildId(module.build_id(), debug_dirs, limits)) return file;

  GElf_Word crc = 0;
  const char* link = dwelf_elf_gnu_debuglink(module.elf(), &crc);
  // The section contains a file name. A name with a directory would lead out of the directories
  // below.
  if (link == nullptr || link[0] == '\0' || std::string_view(link).find('/') != std::string::npos) {
    return nullptr;
  }
  std::error_code ignored;
  const std::string real = std::filesystem::canonical(module.path(), ignored).string();
  const std::string dir = DirectoryOf(real.empty() ? module.path() : real);
  std::vector<std::string> candidates = {dir + "/" + link, dir + "/.debug/" + link};
  for (const std::string& debug_dir : debug_dirs) {
    candidates.push_back(debug_dir + dir + "/" + link);
    candidates.push_back(debug_dir + "/" + link);
  }
  for (const std::string& path : candidates) {
    auto file = ElfFile::Open(path, limits).value_or(nullptr);
    if (file == nullptr) continue;
    const bool both_have_ids = !module.build_id().empty() && !file->build_id().empty();
    if (both_have_ids ? file->build_id() == module.build_id() : file->Crc32() == crc) return file;
  }
  return nullptr;
}

std::unique_ptr<ElfFile> FindAltFile(const ElfFile& debug, const std::string& name,
                                     std::string_view build_id,
                                     const std::vector<std::string>& debug_dirs,
                                     const ElfFile::Limits& limits) {
  if (auto file = FindDebugFileByBuildId(build_id, debug_dirs, limits)) return file;
  const std::string path = name.starts_with('/') ? name : DirectoryOf(debug.path()) + "/" + name;
  auto file = ElfFile::Open(path, limits).value_or(nullptr);
  return file != nullptr && file->build_id() == build_id ? std::move(file) : nullptr;
}

}  // namespace rollcall
