// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/job_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "collector/base/byte_source.h"
#include "collector/import/input_format.h"
#include "collector/import/logs/log_file.h"
#include "collector/import/logs/log_patterns.h"
#include "collector/import/walk_directory.h"

namespace rollcall::logs {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// The last bytes that a file had at the start show whether it was truncated and written again.
constexpr uint64_t kEndBytes = 1 << 12;
constexpr std::chrono::seconds kListingLimit{2};
constexpr int kReadingShare = 20;  // while the job runs, one part in so many is spent on reading
constexpr const char* kTooMany = "too many files; not all of them were read";

// Calls visit(file, stamp, descriptor) for each file of `path`. Returns why a file or files of a
// directory are left out. Empty: none are.
template <typename Visit>
std::string ForEachFile(const std::string& path, const Visit& visit) {
  const auto open = [&visit](const std::string& file) {
    const auto opened = OpenRegularFile(file, kMaxInputBytes);
    if (opened) visit(file, opened->stamp, opened->fd.get());
    return opened.error();
  };
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return open(path);
  const auto deadline = Clock::now() + kListingLimit;
  std::string problem;
  WalkDirectory(
      path,
      [&](const std::string& file, const std::string&) {
        open(file);
        if (Clock::now() < deadline) return true;
        problem = kTooMany;
        return false;
      },
      [&problem](const std::string&, const std::string& why) { problem = why; });
  return problem;
}

uint64_t HashOfEnd(int fd, uint64_t size) {
  FileSource source(fd, size - std::min(size, kEndBytes), size);
  std::string end(kEndBytes, '\0');
  end.resize(source.Read(0, end.data(), end.size()));
  return std::hash<std::string>()(end);
}

uint64_t LinesBefore(int fd, uint64_t end) {
  FileSource source(fd, 0, end);
  std::string block(1 << 20, '\0');
  uint64_t lines = 0;
  for (uint64_t at = 0; at < end; at += block.size()) {
    block.resize(source.Read(at, block.data(), block.size()));
    if (block.empty()) break;
    lines += static_cast<uint64_t>(std::ranges::count(block, '\n'));
  }
  return lines;
}

}  // namespace

JobLogs::JobLogs(std::vector<std::string> paths, uint64_t max_bytes)
    : paths_(std::move(paths)), max_bytes_(max_bytes) {
  for (const std::string& path : paths_) {
    const auto note = [this](const std::string& file, const FileStamp& stamp, int fd) {
      at_start_[file] = {stamp, HashOfEnd(fd, stamp.size)};
    };
    if (ForEachFile(path, note) == kTooMany) unlisted_.insert(path);
  }
}

JobLogs::Parts JobLogs::FindParts() {
  Parts parts;
  problems_.emplace();
  for (const std::string& path : paths_) {
    std::string problem =
        ForEachFile(path, [&](const std::string& file, const FileStamp& stamp, int fd) {
          const auto known = at_start_.find(file);
          if (known == at_start_.end()) {
            // An empty file counts, too: names of files that differ in one number have the rank.
            if (!unlisted_.contains(path)) parts[file] = {stamp, 0};
            return;
          }
          const auto& [start, end_hash] = known->second;
          if (stamp == start) return;
          const bool appended = stamp.device == start.device && stamp.inode == start.inode &&
                                stamp.size > start.size && HashOfEnd(fd, start.size) == end_hash;
          parts[file] = {stamp, appended ? start.size : 0};
        });
    if (unlisted_.contains(path)) problem = kTooMany;
    if (!problem.empty()) problems_->push_back(fmt::format("--log {}: {}", path, problem));
  }
  uint64_t bytes = 0;
  for (const auto& [path, part] : parts) bytes += part.stamp.size - part.begin;
  cut_ = bytes > max_bytes_;
  for (auto& [path, part] : parts) {
    const uint64_t share = std::min(part.stamp.size, max_bytes_ / parts.size());
    if (cut_) part.begin = std::max(part.begin, part.stamp.size - share);
  }
  return parts;
}

void JobLogs::Refresh() {
  Parts parts = FindParts();
  if (facts_ && parts == parts_) return;
  parts_ = std::move(parts);
  facts_.emplace();
  LogPatterns patterns;
  for (const auto& [file, part] : parts_) {
    const auto opened = OpenRegularFile(file, kMaxInputBytes);
    if (!opened) continue;
    const int fd = opened->fd.get();
    const fs::path path(file);
    std::optional<uint64_t> lines_before;  // counting is as expensive as reading
    if (part.begin <= max_bytes_) lines_before = LinesBefore(fd, part.begin);
    facts_->BeginFile(file, path.parent_path().string(), path.filename().string(), lines_before);
    FileSource source(fd, part.begin, part.stamp.size);
    if (!IsLog(source, /*any_text=*/true)) continue;
    ReadLog(source, &patterns, [this](const LogFact& fact) { facts_->Add(fact); });
  }
}

void JobLogs::AddEnds(Trace* trace, bool job_ended) {
  if (paths_.empty()) return;
  const Clock::time_point begin = Clock::now();
  if (job_ended || begin >= next_read_) {
    Refresh();
    const Clock::time_point end = Clock::now();
    next_read_ = end + kReadingShare * (end - begin);
  }
  facts_->AddEnds(trace);
}

std::optional<Trace> JobLogs::TraceOfLogs() {
  if (paths_.empty()) return std::nullopt;
  if (facts_ && facts_->has_added_ends()) facts_.reset();  // the facts are used up
  Refresh();
  Trace trace = facts_->Finish();
  facts_.reset();
  return trace;
}

std::vector<std::string> JobLogs::Problems() {
  if (!problems_) FindParts();
  std::vector<std::string> problems = *problems_;
  if (cut_) {
    problems.push_back(fmt::format("--log: only the newest {} MiB were read", max_bytes_ >> 20));
  }
  return problems;
}

}  // namespace rollcall::logs
