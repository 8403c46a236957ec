// SPDX-License-Identifier: Apache-2.0
#include "collector/import/flight_recorder/dump_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "collector/base/byte_source.h"
#include "collector/base/file.h"
#include "collector/import/read_ahead.h"

namespace rollcall::flight_recorder {
namespace {

constexpr uint64_t kMaxDumpBytes = uint64_t{1} << 34;

}  // namespace

void DumpFiles::Add(const std::string& path, const std::string& directory, const std::string& name,
                    Format format) {
  files_.push_back({path, directory, pattern_.Find(name), format});
}

void DumpFiles::AddOther(const std::string& path, const std::string& directory,
                         const std::string& name) {
  NamedRank rank = pattern_.Find(name);
  if (rank.rank >= 0) others_.push_back({path, directory, std::move(rank)});
}

void DumpFiles::AddRead(const std::string& name, Dump dump) {
  NamedRank rank = pattern_.Find(name);
  dump.rank = rank.rank;
  dump.prefix = std::move(rank.prefix);
  builder_.Add(dump);
}

Dump DumpFiles::Read(const File& file) {
  Dump dump;
  if (const auto opened = OpenRegularFile(file.path, kMaxDumpBytes)) {
    FileSource source(opened->fd.get());
    dump = ReadDump(source, file.path, file.format);
    // The time of the dump, unless the file was copied without its time.
    dump.taken_at_ns = opened->stamp.modified_ns;
  } else {
    dump.problems.push_back({ProblemCode::kUnreadable, opened.error(), file.path});
  }
  dump.rank = file.name.rank;
  dump.directory = file.directory;
  dump.prefix = file.name.prefix;
  return dump;
}

void DumpFiles::ReportOthers(Trace* trace) const {
  std::set<std::pair<std::string, std::string>> names;
  for (const File& file : files_) names.emplace(file.directory, file.name.prefix);
  for (const File& other : others_) {
    if (!names.contains({other.directory, other.name.prefix})) continue;
    std::error_code error;
    const bool empty = std::filesystem::file_size(other.path, error) == 0 && !error;
    trace->problems.push_back(
        {empty ? ProblemCode::kTruncated : ProblemCode::kForeign,
         fmt::format("{}: the file has no data of rank {}",
                     empty ? "the file is empty" : "neither a pickle nor JSON of a dump",
                     other.name.rank),
         other.path, empty ? -1 : 0});
  }
}

Trace DumpFiles::Load(unsigned threads) {
  std::ranges::sort(files_, [](const File& a, const File& b) {
    return std::tie(a.directory, a.name.prefix, a.name.rank, a.path) <
           std::tie(b.directory, b.name.prefix, b.name.rank, b.path);
  });
  const auto same = [](const File& a, const File& b) { return a.path == b.path; };
  files_.erase(std::unique(files_.begin(), files_.end(), same), files_.end());
  ReadAhead<Dump> dumps(files_.size(), threads,
                        [this](size_t index) { return Read(files_[index]); });
  for (size_t i = 0; i < files_.size(); ++i) builder_.Add(dumps.Next());
  Trace trace = builder_.Finish();
  ReportOthers(&trace);
  return trace;
}

}  // namespace rollcall::flight_recorder
