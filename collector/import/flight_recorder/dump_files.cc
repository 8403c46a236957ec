#include "collector/import/flight_recorder/dump_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <regex>
#include <set>
#include <system_error>
#include <utility>

#include "collector/import/flight_recorder/trace_builder.h"
#include "collector/import/read_ahead.h"
#include "collector/import/walk_directory.h"
#include "collector/symbolize/elf_file.h"

namespace rollcall::flight_recorder {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxDumpBytes = uint64_t{1} << 34;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int32_t ToRank(std::string_view digits) {
  int32_t rank = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  return error == std::errc() && end == digits.data() + digits.size() ? rank : -1;
}

class Search {
 public:
  explicit Search(const RankPattern& pattern) : pattern_(pattern) {}

  void Look(const std::string& input) {
    const size_t before = found_.files.size();
    std::error_code error;
    const fs::file_status status = fs::status(input, error);
    if (fs::is_directory(status)) {
      LookInto(input);
    } else if (fs::is_regular_file(status)) {
      std::string parent = fs::path(input).parent_path().string();
      LookAt(input, parent);
    }
    if (found_.files.size() != before) found_.inputs.push_back(input);
  }

  DumpFiles Take() {
    // A file beside the dumps that has their name and nothing of a dump in it.
    for (const DumpFile& other : others_) {
      if (names_.contains({other.directory, other.prefix})) {
        std::error_code error;
        const bool empty = fs::file_size(other.path, error) == 0 && !error;
        found_.problems.push_back(
            {other.path, empty ? -1 : 0,
             fmt::format("{}: nothing is known of rank {} from it",
                         empty ? "the file is empty" : "neither a pickle nor JSON of a dump",
                         other.rank)});
      }
    }
    std::sort(found_.files.begin(), found_.files.end(), [](const DumpFile& a, const DumpFile& b) {
      return std::tie(a.directory, a.prefix, a.rank, a.path) <
             std::tie(b.directory, b.prefix, b.rank, b.path);
    });
    const auto same = [](const DumpFile& a, const DumpFile& b) { return a.path == b.path; };
    found_.files.erase(std::unique(found_.files.begin(), found_.files.end(), same),
                       found_.files.end());
    return std::move(found_);
  }

 private:
  // What cannot be listed is told by whoever looks for rings there.
  void LookInto(const std::string& path) {
    WalkDirectory(
        path,
        [this](const std::string& file, const std::string& directory) { LookAt(file, directory); },
        [](const auto&, const auto&) {});
  }

  void LookAt(const std::string& path, const std::string& directory) {
    DumpFile file;
    file.path = path;
    file.directory = directory;
    NamedRank name = pattern_.Find(fs::path(path).filename().string());
    file.rank = name.rank;
    file.prefix = std::move(name.prefix);
    FileStamp stamp;
    std::string error;
    const UniqueFd fd = OpenRegularFile(path, kMaxDumpBytes, &stamp, &error);
    if (fd) {
      FileSource source(fd.get());
      file.format = Recognize(source);
    }
    if (file.format != Format::kNone) {
      names_.emplace(file.directory, file.prefix);
      found_.files.push_back(std::move(file));
    } else if (file.rank >= 0) {
      others_.push_back(std::move(file));
    }
  }

  const RankPattern& pattern_;
  DumpFiles found_;
  std::vector<DumpFile> others_;
  std::set<std::pair<std::string, std::string>> names_;  // directory, prefix
};

// When a file was last written: when the dump was taken, if nobody copied it without its time.
int64_t WrittenNs(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return kNoTime;
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

Dump Read(const DumpFile& file) {
  Dump dump;
  FileStamp stamp;
  std::string error;
  const UniqueFd fd = OpenRegularFile(file.path, kMaxDumpBytes, &stamp, &error);
  if (fd) {
    FileSource source(fd.get());
    dump = ReadDump(source, file.path, file.format);
    dump.taken_at_ns = WrittenNs(fd.get());
  } else {
    dump.problems.push_back({file.path, -1, error});
  }
  dump.rank = file.rank;
  dump.directory = file.directory;
  dump.prefix = file.prefix;
  return dump;
}

}  // namespace

std::optional<RankPattern> RankPattern::Parse(const std::string& pattern, std::string* error) {
  try {
    const std::regex compiled(pattern);
    if (compiled.mark_count() != 1) {
      *error = "the pattern needs one group, in parentheses, around the rank";
      return std::nullopt;
    }
  } catch (const std::regex_error& problem) {
    *error = problem.what();
    return std::nullopt;
  }
  RankPattern result;
  result.pattern_ = pattern;
  return result;
}

NamedRank RankPattern::Find(std::string_view name) const {
  NamedRank result;
  if (!pattern_.empty()) {
    static constexpr size_t kMaxName = 255;  // NAME_MAX; std::regex recurses over the text
    std::cmatch match;
    const std::regex compiled(pattern_);
    if (name.size() <= kMaxName &&
        std::regex_search(name.data(), name.data() + name.size(), match, compiled)) {
      result.rank = ToRank({match[1].first, static_cast<size_t>(match[1].length())});
      result.prefix = std::string(name.data(), match[1].first);
    }
    return result;
  }
  // Off come extensions that are no number: ".json", ".pickle"; "rank.12" keeps its rank.
  for (size_t dot = name.rfind('.'); dot != std::string_view::npos && dot != 0;
       dot = name.rfind('.')) {
    if (dot + 1 < name.size() &&
        std::all_of(name.begin() + static_cast<ptrdiff_t>(dot) + 1, name.end(), IsDigit)) {
      break;
    }
    name = name.substr(0, dot);
  }
  size_t begin = name.size();
  while (begin > 0 && IsDigit(name[begin - 1])) --begin;
  if (begin == name.size()) return result;
  result.rank = ToRank(name.substr(begin));
  result.prefix = std::string(name.substr(0, begin));
  return result;
}

DumpFiles FindDumpFiles(const std::vector<std::string>& inputs, const RankPattern& pattern) {
  Search search(pattern);
  for (const std::string& input : inputs) search.Look(input);
  return search.Take();
}

Trace LoadDumps(const DumpFiles& files, unsigned threads) {
  FlightTraceBuilder builder;
  return LoadDumps(files, &builder, threads);
}

Trace LoadDumps(const DumpFiles& files, FlightTraceBuilder* builder, unsigned threads) {
  ReadAhead<Dump> dumps(files.files.size(), threads,
                        [&files](size_t index) { return Read(files.files[index]); });
  for (size_t i = 0; i < files.files.size(); ++i) builder->Add(dumps.Next());
  Trace trace = builder->Finish();
  trace.problems.insert(trace.problems.end(), files.problems.begin(), files.problems.end());
  return trace;
}

}  // namespace rollcall::flight_recorder
