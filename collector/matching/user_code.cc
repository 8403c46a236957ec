// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/user_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/model/python_merge.h"
#include "collector/model/runtime_modules.h"

namespace rollcall {
namespace {

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Finds the last `directory`, such as "/lib/", in `path`; `rest` is all that follows it.
bool After(std::string_view path, std::string_view directory, std::string_view* rest) {
  const size_t at = path.rfind(directory);
  if (at == std::string_view::npos) return false;
  *rest = path.substr(at + directory.size());
  return true;
}

// "numpy" of "numpy/core/fromnumeric.py", "six" of "six.py", "_foo" of "_foo.cpython-311-….so".
std::string PackageName(std::string_view rest) {
  std::string_view name = rest.substr(0, rest.find('/'));
  if (name.size() == rest.size()) name = name.substr(0, name.find('.'));
  return std::string(name);
}

// The library, if the path is in a source tree of a library that is also used from there. The trees
// are recognized by names that only they contain.
std::string SourceTree(std::string_view path) {
  constexpr std::string_view kTorch[] = {"nn/",    "distributed/", "autograd/", "utils/",
                                         "optim/", "_dynamo/",     "_tensor.",  "lib/"};
  std::string_view rest;
  if (After(path, "/torch/", &rest) && std::ranges::any_of(kTorch, [&](std::string_view below) {
        return rest.starts_with(below);
      })) {
    return "torch";
  }
  if (path.ends_with("/python/rollcall/__init__.py")) return "rollcall";
  return After(path, "/mpi4py/", &rest) ? "mpi4py" : "";
}

// ".../lib/python3.11/threading.py", ".../lib64/python3.9/lib-dynload/_ctypes….so",
// ".../lib/python38.zip/os.py".
bool IsStandardLibrary(std::string_view path) {
  for (const std::string_view directory : {"/lib/python", "/lib64/python"}) {
    std::string_view rest;
    if (!After(path, directory, &rest)) continue;
    const size_t digits = rest.find_first_not_of("0123456789.t");
    if (digits != 0 && digits != std::string_view::npos &&
        (rest[digits] == '/' || rest.substr(digits - 1).starts_with(".zip/"))) {
      return true;
    }
  }
  return false;
}

std::string FrameworkOfPath(std::string_view path) {
  std::string_view rest;
  if (After(path, "/site-packages/", &rest) || After(path, "/dist-packages/", &rest)) {
    return PackageName(rest);
  }
  if (std::string tree = SourceTree(path); !tree.empty()) return tree;
  if (IsStandardLibrary(path)) return "Python";
  // For a library packed in one file: the file's name without the version.
  for (const std::string_view packed : {".egg/", ".whl/"}) {
    const size_t end = path.rfind(packed);
    if (end == std::string_view::npos) continue;
    const std::string_view file = FileName(path.substr(0, end));
    return std::string(file.substr(0, file.find('-')));
  }
  return "";
}

// For code without a file: detects code that libraries generate. Code that was typed or passed to
// exec() is the user's.
std::string FrameworkOfGenerated(std::string_view file) {
  if (file.starts_with("<frozen")) return "Python";
  for (const std::string_view made :
       {"<__array_function__", "<decorator-gen", "<attrs generated", "<eval_with_key>",
        "<torch_package", "<dataclass", "<makefun-gen", "<boltons."}) {
    if (file.starts_with(made)) return "generated code";
  }
  return "";
}

constexpr std::string_view kNcclFunctions[] = {
#define NCCL(id, name, ...) "nccl" #name,
#define NCCL_FORM(name, ...) "nccl" #name,
#include "proto/nccl_functions.def"
#undef NCCL
#undef NCCL_FORM
};

bool IsNcclFunction(std::string_view function) {
  if (function.starts_with("pnccl")) function.remove_prefix(1);
  return function.starts_with("nccl") &&
         std::ranges::find(kNcclFunctions, function) != std::end(kNcclFunctions);
}

// The index of the frame that called NCCL, or 0. Frames inside NCCL may be the profiler's, which
// NCCL calls for its events.
size_t CallerOfNccl(const std::vector<const SourceFrame*>& frames) {
  for (size_t i = frames.size(); i-- > 0;) {
    if (frames[i]->language != Language::kPython && IsNcclFunction(frames[i]->function)) {
      return i + 1 < frames.size() ? i + 1 : 0;
    }
  }
  return 0;
}

}  // namespace

bool IsRuntimeModule(std::string_view path) {
  return IsRuntime(FamilyOf(path)) || IsInterpreterModule(path);
}

std::string FrameworkOf(const SourceFrame& frame) {
  if (frame.language == Language::kPython) {
    return frame.file.starts_with("<") ? FrameworkOfGenerated(frame.file)
                                       : FrameworkOfPath(frame.file);
  }
  if (IsInterpreterModule(frame.module)) return "Python";
  if (IsRuntimeModule(frame.module)) {
    const std::string_view name = FileName(frame.module);
    return std::string(name.substr(0, name.find('.')));
  }
  if (FamilyOf(frame.module) == ModuleFamily::kTorch) return "torch";
  // Functions of proto/rollcall.h and proto/rollcall.f90, which programs compile.
  const std::string_view file = FileName(frame.file);
  if ((file == "rollcall.h" || file == "rollcall.f90") &&
      frame.function.find("rollcall") != std::string::npos) {
    return "rollcall";
  }
  const bool has_their_name = frame.function.starts_with("rollcall_value") ||
                              frame.function.starts_with("rollcall_replica");
  if (file.empty() && has_their_name) return "rollcall";
  return FrameworkOfPath(frame.module);
}

bool IsUserLine(const SourceFrame& frame) {
  return frame.line != 0 && !frame.file.empty() && !IsRuntimeModule(frame.module) &&
         !IsFrameworkFrame(frame) && frame.file.find("/include/c++/") == std::string::npos;
}

const SourceFrame* InnermostUserFrame(const std::vector<const SourceFrame*>& frames) {
  const SourceFrame* python = nullptr;
  const SourceFrame* with_line = nullptr;
  const SourceFrame* named = nullptr;
  for (size_t i = CallerOfNccl(frames); i < frames.size(); ++i) {
    const SourceFrame* frame = frames[i];
    if (IsRuntimeModule(frame->module)) continue;
    if (frame->line != 0) {
      if (!IsFrameworkFrame(*frame)) return frame;
      if (with_line == nullptr) with_line = frame;
      if (python == nullptr && frame->language == Language::kPython) python = frame;
    }
    if (named == nullptr) named = frame;
  }
  for (const SourceFrame* frame : {python, with_line, named}) {
    if (frame != nullptr) return frame;
  }
  return frames.empty() ? nullptr : frames.front();
}

const SourceFrame* InnermostUserFrame(const std::vector<SourceFrame>& frames) {
  std::vector<const SourceFrame*> pointers;
  for (const SourceFrame& frame : frames) pointers.push_back(&frame);
  return InnermostUserFrame(pointers);
}

std::string PlaceText(const SourceFrame& frame) {
  if (frame.line == 0) return frame.function;
  const size_t slash = frame.file.rfind('/');
  return fmt::format(
      "{}:{}", slash == std::string::npos ? frame.file : frame.file.substr(slash + 1), frame.line);
}

std::string FunctionText(const SourceFrame& frame) {
  if (frame.language == Language::kPython && frame.function == "<module>") {
    return "the top level of " + frame.file.substr(frame.file.rfind('/') + 1);
  }
  return frame.function + "()";
}

}  // namespace rollcall
