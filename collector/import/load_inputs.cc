// SPDX-License-Identifier: Apache-2.0
#include "collector/import/load_inputs.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "collector/base/byte_source.h"
#include "collector/base/file.h"
#include "collector/import/add_sources.h"
#include "collector/import/read_ahead.h"
#include "collector/import/trace_assembly.h"
#include "collector/import/walk_directory.h"
#include "collector/model/python_merge.h"
#include "collector/symbolize/symbolizer.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;

// The result of opening a file.
struct OpenedInput {
  std::optional<Problem> problem;  // why it could not be read
  InputContent content;
};

// Thread-safe.
OpenedInput OpenInput(const InputFile& file) {
  OpenedInput opened;
  const auto regular = OpenRegularFile(file.PathToOpen(), kMaxInputBytes);
  if (!regular) {
    opened.problem = {ProblemCode::kUnreadable, regular.error(), file.path};
    return opened;
  }
  FileSource bytes(regular->fd.get());
  opened.content = ReadContent(file, bytes);
  if (opened.content.format != nullptr || !file.asked_for) return opened;
  if (bytes.Size() == 0) {
    opened.problem = {ProblemCode::kTruncated, "the file is empty", file.path};
  } else {
    opened.problem = {ProblemCode::kForeign,
                      "neither a rollcall ring, nor a journal, nor a bundle, nor text", file.path};
  }
  return opened;
}

class Loader {
 public:
  Loader(const flight_recorder::RankPattern& pattern, Machine* machine)
      : machine_(*machine), assembly_(pattern, machine, &result_.sources) {}

  Inputs Load(const std::vector<std::string>& inputs) {
    has_traces_.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) List(inputs[i], i);
    ReadAhead<OpenedInput> opened(files_.size(), ReadingThreads(),
                                  [this](size_t index) { return OpenInput(files_[index]); });
    for (const InputFile& file : files_) Take(file, opened.Next());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (has_traces_[i]) continue;
      assembly_.AddProblem({ProblemCode::kMissing, "no traces in this directory", inputs[i]});
    }
    result_.trace = assembly_.Finish();
    result_.stacks = assembly_.TakeStacks();
    return std::move(result_);
  }

 private:
  void List(const std::string& input, size_t index) {
    bool is_run = false;
    const auto add = [&](const std::string& path, const std::string& directory, bool asked_for) {
      files_.push_back({.path = path,
                        .directory = directory,
                        .name = fs::path(path).filename().string(),
                        .input = index,
                        .asked_for = asked_for});
      is_run |= files_.back().name == kJournalFile;
    };
    if (input == kStandardInput) {
      has_traces_[index] = true;
      return assembly_.AddLog(STDIN_FILENO, "standard input");
    }
    std::error_code error;
    if (!fs::is_directory(fs::status(input, error))) {
      add(input, fs::path(input).parent_path().string(), /*asked_for=*/true);
      has_traces_[index] = true;  // or its own problem is reported
      return;
    }
    WalkDirectory(
        input,
        [&](const std::string& path, const std::string& directory) {
          if (!path.ends_with(kPartialSuffix)) add(path, directory, false);
          return true;
        },
        [this](const std::string& directory, const std::string& why) {
          assembly_.AddProblem({ProblemCode::kUnreadable, why, directory});
        });
    if (!is_run) return;
    ListMemoryRings(input, index);
    std::set<std::string> paths;
    for (const InputFile& file : files_) paths.insert(file.path);
    std::erase_if(files_, [&](const InputFile& file) {
      return IsRingCopy(file.name) && paths.contains(WithoutCopySuffix(file.path));
    });
  }

  // Lists them after the journal, because they need its clock.
  void ListMemoryRings(const std::string& input, size_t index) {
    std::error_code error;
    const std::string root = fs::canonical(input, error).string() + "/";
    struct stat status {};
    if (error || stat(root.c_str(), &status) != 0) return;
    // Only the owner's processes may add to a directory, whoever reads it.
    if (geteuid() != 0 && status.st_uid != geteuid()) return;
    const auto [found, is_new] = memory_rings_.try_emplace(status.st_uid);
    if (is_new) {
      found->second = machine_.FindMemoryRings(status.st_uid);
      assembly_.NoteDenied(found->second.denied);
    }
    for (MemoryRing& ring : found->second.rings) {
      if (!ring.path.starts_with(root)) continue;
      const fs::path path = fs::path(input) / ring.path.substr(root.size());
      if (!ring.fd) {
        assembly_.AddProblem({ProblemCode::kUnreadable,
                              fmt::format("its bytes are in the memory of process {}, and cannot "
                                          "be opened there: {}",
                                          ring.pid, ring.error),
                              path.string()});
        continue;
      }
      files_.push_back({.path = path.string(),
                        .directory = path.parent_path().string(),
                        .name = path.filename().string(),
                        .input = index,
                        .opened_by = fmt::format("/proc/self/fd/{}", ring.fd.get())});
      result_.held.push_back(std::move(ring.fd));
    }
  }

  void Take(const InputFile& file, OpenedInput opened) {
    const InputFormat* format = opened.content.format;
    if (format != &kDumpFormat && format != &kLogFormat && !(file.asked_for && opened.problem)) {
      assembly_.dumps()->AddOther(file.path, file.directory, file.name);
    }
    if (opened.content.format == nullptr && !opened.problem) return;
    has_traces_[file.input] = true;
    if (opened.problem) return assembly_.AddProblem(std::move(*opened.problem));
    result_.files.push_back({file, opened.content.format});
    opened.content.add(&assembly_);
  }

  Inputs result_;
  Machine& machine_;
  std::map<uid_t, MemoryRings> memory_rings_;  // by their processes' user
  TraceAssembly assembly_;
  std::vector<InputFile> files_;
  std::vector<bool> has_traces_;  // by input
};

}  // namespace

Inputs LoadInputs(const std::vector<std::string>& inputs,
                  const flight_recorder::RankPattern& pattern, Machine& machine) {
  return Loader(pattern, &machine).Load(inputs);
}

void SymbolizeTrace(Trace* trace) {
  Symbolizer symbolizer;
  for (Code& code : trace->codes) {
    if (!code.frames.empty()) continue;
    CodeAddress address;
    address.module_path = code.module_path;
    address.build_id = code.build_id;
    address.vaddr = code.vaddr;
    address.is_return_address = true;
    code.frames = symbolizer.Symbolize(address);
  }
  MergePythonFrames(trace);
  AddSources(trace);
}

}  // namespace rollcall
