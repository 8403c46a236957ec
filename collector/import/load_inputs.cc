#include "collector/import/load_inputs.h"

#include <filesystem>
#include <optional>
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
  FileStamp stamp;
  std::string error;
  const UniqueFd fd = OpenRegularFile(file.path, kMaxInputBytes, &stamp, &error);
  if (!fd) {
    opened.problem = {ProblemCode::kUnreadable, error, file.path};
    return opened;
  }
  FileSource bytes(fd.get());
  opened.content = ReadContent(file, bytes);
  if (opened.content.format != nullptr || !file.asked_for) return opened;
  if (bytes.Size() == 0) {
    opened.problem = {ProblemCode::kTruncated, "the file is empty", file.path};
  } else {
    opened.problem = {ProblemCode::kForeign, "neither a rollcall ring, nor a journal, nor a bundle",
                      file.path};
  }
  return opened;
}

class Loader {
 public:
  Loader(const flight_recorder::RankPattern& pattern, Machine* machine)
      : assembly_(pattern, machine, &result_.sources) {}

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
    const auto add = [&](const std::string& path, const std::string& directory, bool asked_for) {
      files_.push_back({.path = path,
                        .directory = directory,
                        .name = fs::path(path).filename().string(),
                        .input = index,
                        .asked_for = asked_for});
    };
    std::error_code error;
    if (!fs::is_directory(fs::status(input, error))) {
      add(input, fs::path(input).parent_path().string(), /*asked_for=*/true);
      has_traces_[index] = true;  // or its own problem is reported
      return;
    }
    WalkDirectory(
        input,
        [&](const std::string& path, const std::string& directory) { add(path, directory, false); },
        [this](const std::string& directory, const std::string& why) {
          assembly_.AddProblem({ProblemCode::kUnreadable, why, directory});
        });
  }

  void Take(const InputFile& file, OpenedInput opened) {
    if (opened.content.format != &kDumpFormat && !(file.asked_for && opened.problem)) {
      assembly_.dumps()->AddOther(file.path, file.directory, file.name);
    }
    if (opened.content.format == nullptr && !opened.problem) return;
    has_traces_[file.input] = true;
    if (opened.problem) return assembly_.AddProblem(std::move(*opened.problem));
    result_.files.push_back({file, opened.content.format});
    opened.content.add(&assembly_);
  }

  Inputs result_;
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
