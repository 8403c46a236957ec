// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "collector/attach/rank_identity.h"
#include "collector/base/file.h"
#include "collector/base/memory_rings.h"
#include "collector/base/text.h"
#include "collector/model/rank_set.h"
#include "proto/run_directory.h"

namespace rollcall::attach {
namespace {

constexpr char kPipe[] = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE";
// The names of the dumps, without the rank, in the order in which PyTorch reads the variables.
constexpr std::array<const char*, 2> kDumps = {"TORCH_FR_DUMP_TEMP_FILE",
                                               "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"};
constexpr uint64_t kMaxDumpBytes = uint64_t{1} << 30;
// A file that has not changed for this long is complete.
constexpr std::chrono::milliseconds kTick{200};
constexpr size_t kMaxRecordPathBytes = 4096;

// The path of a file that the process names.
std::string SeenFromHere(pid_t pid, const std::string& path) {
  return fmt::format("/proc/{}/{}{}", pid, path.starts_with('/') ? "root" : "cwd/", path);
}

std::optional<FileStamp> StampOfFile(const std::string& path) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  return StampOf(st);
}

// A rank that was asked for a dump.
struct Request {
  int32_t rank = -1;
  struct File {
    std::string path;
    std::optional<FileStamp> before;
    std::optional<FileStamp> last;  // at the last check
  };
  std::vector<File> files;  // one of them will be written
};

// The possible paths of a dump: from the environment, or the defaults of the different versions.
std::vector<std::string> DumpPaths(std::string_view environment, int32_t rank) {
  for (const char* name : kDumps) {
    const std::string stem(EnvironmentValue(environment, name));
    if (!stem.empty()) return {stem + std::to_string(rank)};
  }
  std::string cache(EnvironmentValue(environment, "XDG_CACHE_HOME"));
  const std::string home(EnvironmentValue(environment, "HOME"));
  if (cache.empty()) cache = (home.empty() ? "/tmp" : home) + "/.cache";
  return {fmt::format("{}/torch/comm_lib_trace_rank_{}", cache, rank),
          fmt::format("{}/.cache/torch/comm_lib_trace_rank_{}", home, rank),
          fmt::format("/tmp/nccl_trace_rank_{}", rank)};
}

// Writes a byte to the pipe. Returns the problem, or "".
std::string Ask(pid_t pid, const std::string& pipe) {
  // Does not wait for the pipe, and writes to pipes only, whatever path a rank's environment
  // contains.
  const UniqueFd fd(open(SeenFromHere(pid, pipe).c_str(),
                         O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  const std::string name = CleanText(pipe, kMaxRecordPathBytes);
  if (!fd && errno == ENOENT) {
    return fmt::format("pipe {} does not exist (TORCH_NCCL_TRACE_BUFFER_SIZE must also be set)",
                       name);
  }
  if (!fd && errno == ENXIO) return fmt::format("no process reads the pipe {}", name);
  struct stat st {};
  if (!fd || fstat(fd.get(), &st) != 0) return fmt::format("{}: {}", name, std::strerror(errno));
  if (!S_ISFIFO(st.st_mode)) return name + " is not a pipe";
  if (write(fd.get(), "1", 1) != 1) return fmt::format("{}: {}", name, std::strerror(errno));
  return "";
}

// False if it cannot be read.
bool Copy(const std::string& from, const std::string& to) {
  const auto in = OpenRegularFile(from, kMaxDumpBytes);
  if (!in) return false;
  // Copies by the descriptor: the name may refer to a FIFO by now.
  const std::string opened = fmt::format("/proc/self/fd/{}", in->fd.get());
  std::error_code failure;
  std::filesystem::copy_file(opened, to, failure);
  if (failure) return false;
  // Times in a dump are compared with the time when it was written.
  const auto written = std::filesystem::last_write_time(opened, failure);
  if (!failure) std::filesystem::last_write_time(to, written, failure);
  return !failure;
}

// The file that is new and complete; null if there is none yet.
const Request::File* Finished(Request* request) {
  for (Request::File& file : request->files) {
    const std::optional<FileStamp> now = StampOfFile(file.path);
    const bool whole = now && now->size != 0 && now != file.before && now == file.last;
    file.last = now;
    if (whole) return &file;
  }
  return nullptr;
}

// The run directory of the ring that the process maps, as a path on this side. Empty: the file is
// no ring, or the directory was removed.
std::string RunDirectoryOf(pid_t pid, const std::string& mapped) {
  const std::string_view in_memory = MemoryRingPath(mapped);
  const std::string_view ring = in_memory.empty() ? std::string_view(mapped) : in_memory;
  if (!ring.ends_with(kRingSuffix)) return "";
  std::filesystem::path directory = std::filesystem::path(ring).parent_path();
  if (directory.filename() == kRingsDirectory) directory = directory.parent_path();
  if (in_memory.empty())
    return StampOfFile(mapped) ? directory.string() : SeenFromHere(pid, directory);
  std::error_code error;
  return std::filesystem::is_directory(directory, error) ? directory.string() : "";
}

}  // namespace

std::vector<std::string> RunDirectories(const ProcSource& proc, const FoundJob& job) {
  std::set<std::string> directories;
  for (const JobRank& rank : job.ranks) {
    for (const std::string& mapped : MappedFiles(proc, rank.pid)) {
      const std::string directory = RunDirectoryOf(rank.pid, mapped);
      if (!directory.empty()) directories.insert(directory);
    }
  }
  return {directories.begin(), directories.end()};
}

void CopyFlightRecorderDumps(const ProcSource& proc, const FoundJob& job,
                             const std::string& directory, std::chrono::milliseconds timeout,
                             std::vector<std::string>* notes) {
  std::map<std::string, std::vector<int32_t>> problems;  // the ranks that have them
  std::vector<Request> requests;
  for (const JobRank& rank : job.ranks) {
    std::string environment;
    proc.Read(fmt::format("/proc/{}/environ", rank.pid), &environment);
    if (EnvironmentValue(environment, kPipe).empty()) environment = EnvironmentNow(proc, rank.pid);
    const std::string stem(EnvironmentValue(environment, kPipe));
    if (stem.empty()) {
      problems[fmt::format("{} is not set, and PyTorch takes no request for a dump", kPipe)]
          .push_back(rank.rank);
      continue;
    }
    Request request = {.rank = rank.rank, .files = {}};
    for (const std::string& path : DumpPaths(environment, rank.rank)) {
      const std::string file = SeenFromHere(rank.pid, path);
      request.files.push_back({.path = file, .before = StampOfFile(file), .last = {}});
    }
    const std::string problem = Ask(rank.pid, fmt::format("{}{}.pipe", stem, rank.rank));
    if (problem.empty()) {
      requests.push_back(std::move(request));
    } else {
      problems[problem].push_back(rank.rank);
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!requests.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kTick);
    std::erase_if(requests, [&](Request& request) {
      const Request::File* file = Finished(&request);
      if (file != nullptr &&
          !Copy(file->path, fmt::format("{}/dump_{}", directory, request.rank))) {
        problems["its dump cannot be copied"].push_back(request.rank);
      }
      return file != nullptr;
    });
  }
  for (const Request& request : requests) {
    problems[fmt::format("no dump was written within {} s", timeout.count() / 1000)].push_back(
        request.rank);
  }
  for (auto& [problem, ranks] : problems) {
    Normalize(&ranks);
    notes->push_back(fmt::format("Flight Recorder of {}: {}", RanksPhrase(ranks), problem));
  }
}

Recorded DiagnoseRecords(const std::vector<std::string>& inputs) {
  Recorded recorded = {.inputs = LoadInputs(inputs), .options = {}, .report = {}};
  SymbolizeTrace(&recorded.inputs.trace);
  recorded.options.job_ended = HasEnded(recorded.inputs.trace);
  recorded.report = Diagnose(recorded.inputs.trace, recorded.options);
  return recorded;
}

bool IsMoreInformative(const Report& recorded, const Report& stacks) {
  if (recorded.findings.empty()) return false;
  return stacks.findings.empty() ||
         recorded.findings.front().certainty <= stacks.findings.front().certainty;
}

}  // namespace rollcall::attach
