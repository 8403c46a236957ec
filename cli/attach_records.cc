// SPDX-License-Identifier: Apache-2.0
#include "cli/attach_records.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/inputs.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/collect/collect.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;

using attach::FoundJob;
using attach::Recorded;

// A directory that is created on first use and removed with its contents.
class ScratchDirectory {
 public:
  ScratchDirectory() = default;
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  // The directory has mode 0700. Empty, after a line on stderr, if it cannot be created.
  const std::string& path() {
    if (!path_.empty()) return path_;
    path_ = (fs::temp_directory_path() / "rollcall-records-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) {
      PrintLine(fmt::format("cannot make a directory for records: {}", std::strerror(errno)));
      path_.clear();
    }
    return path_;
  }

 private:
  std::string path_;
};

// The paths of the records of the ranks on this machine. Dumps are written to `scratch`.
std::vector<std::string> RecordsHere(const ProcSource& proc, const FoundJob& job,
                                     bool ask_flight_recorder, ScratchDirectory* scratch) {
  constexpr std::chrono::seconds kDumpTimeout{20};
  std::vector<std::string> inputs = attach::RunDirectories(proc, job);
  if (!ask_flight_recorder || scratch->path().empty()) return inputs;
  const std::string dumps = scratch->path() + "/dumps";
  std::error_code failed;
  fs::create_directory(dumps, failed);
  std::vector<std::string> notes;
  attach::CopyFlightRecorderDumps(proc, job, dumps, kDumpTimeout, &notes);
  for (const std::string& note : notes) PrintLine(note);
  if (!fs::is_empty(dumps, failed) && !failed) inputs.push_back(dumps);
  return inputs;
}

std::optional<Recorded> Diagnosed(const std::vector<std::string>& inputs) {
  if (inputs.empty()) return std::nullopt;
  Recorded recorded = attach::DiagnoseRecords(inputs);
  if (recorded.inputs.trace.processes.empty()) return std::nullopt;
  PrintProblems(recorded.inputs.trace.problems);
  return recorded;
}

}  // namespace

std::optional<Recorded> ReadRecords(const ProcSource& proc, const FoundJob& job,
                                    bool ask_flight_recorder) {
  ScratchDirectory scratch;
  return Diagnosed(RecordsHere(proc, job, ask_flight_recorder, &scratch));
}

std::string PackRecords(const ProcSource& proc, const FoundJob& job, bool ask_flight_recorder) {
  ScratchDirectory scratch;
  const std::vector<std::string> inputs = RecordsHere(proc, job, ask_flight_recorder, &scratch);
  if (inputs.empty() || scratch.path().empty()) return "";
  const std::string path = scratch.path() + "/records";
  const collect::Collected collected =
      collect::Collect(inputs, path, {.rollcall_version = ROLLCALL_VERSION});
  if (!collected.written) {
    PrintLine(fmt::format("the ranks' records cannot be packed: {}", collected.error));
    return "";
  }
  if (collected.packed_bytes > attach::kMaxRecordsBytes) {
    PrintLine(fmt::format(
        "the ranks' records take {} MiB, and at most {} MiB are sent: run rollcall bundle there on "
        "{}",
        collected.packed_bytes >> 20, attach::kMaxRecordsBytes >> 20, fmt::join(inputs, " ")));
    return "";
  }
  return ReadWholeFile(path).value_or("");
}

std::optional<Recorded> ReadPackedRecords(const std::vector<attach::HostStacks>& hosts) {
  ScratchDirectory scratch;
  std::vector<std::string> inputs;
  for (const attach::HostStacks& host : hosts) {
    if (host.records.empty() || scratch.path().empty()) continue;
    const std::string path = fmt::format("{}/{}.tar.zst", scratch.path(), inputs.size());
    if (WriteWholeFile(path, host.records)) {
      inputs.push_back(path);
    } else {
      PrintLine(fmt::format("{}: {} cannot be written", host.host, path));
    }
  }
  return Diagnosed(inputs);
}

}  // namespace rollcall
