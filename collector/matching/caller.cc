// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/caller.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "collector/matching/user_code.h"

namespace rollcall {
namespace {

using CallerKind = Caller::Kind;

struct CallerName {
  CallerKind kind;
  std::string_view function;  // empty: any
  std::string_view file;      // a part of the path; empty: any
};

constexpr CallerName kCallerNames[] = {
    {CallerKind::kFinalizer, "__del__", ""},
    {CallerKind::kFinalizer, "", "/weakref.py"},
    {CallerKind::kSignalHandler, "__restore_rt", ""},
    {CallerKind::kExitHandler, "exit", ""},
    {CallerKind::kExitHandler, "__run_exit_handlers", ""},
    {CallerKind::kExitHandler, "Py_FinalizeEx", ""},
    {CallerKind::kExitHandler, "Py_Exit", ""},
    {CallerKind::kTask, "", "/concurrent/futures/"},
    {CallerKind::kTask, "", "/mpi4py/futures/"},
    {CallerKind::kTask, "", "/multiprocessing/pool.py"},
};

std::optional<CallerKind> KindByName(const SourceFrame& frame) {
  // Python's names may be qualified: "Field.__del__".
  std::string_view function = frame.function;
  if (frame.language == Language::kPython) function.remove_prefix(function.rfind('.') + 1);
  for (const CallerName& name : kCallerNames) {
    if (!name.function.empty() && name.function != function) continue;
    if (name.function == "exit" && !IsRuntimeModule(frame.module)) continue;  // a user's function
    if (frame.file.find(name.file) != std::string::npos) return name.kind;
  }
  return std::nullopt;
}

// The first line after `line` at which the function of `line` ends the program or throws. With
// `arm`: a line in that arm. nullptr if there is none.
const SourceFlow* EndAfter(const SourceBlocks& source, int line, const SourceBlock* arm) {
  const SourceFlow* function = FunctionAround(source.flow, line);
  if (function == nullptr) return nullptr;
  for (const SourceFlow& flow : source.flow) {
    const bool ends = flow.kind == SourceFlow::Kind::kEnd || flow.kind == SourceFlow::Kind::kThrow;
    if (!ends || flow.first < line || !function->Holds(flow.first)) continue;
    if (arm != nullptr && !arm->Holds(flow.first)) continue;
    if (InnermostBlock(source.blocks, SourceBlock::Kind::kArm, flow.first, line) == nullptr) {
      return &flow;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<Caller> FindCaller(const CallSites& sites, uint32_t path, uint32_t other) {
  if (path == kNoIndex) return std::nullopt;
  const PathDivergence parting = sites.ComparePaths(other, path);
  if (parting.same) return std::nullopt;
  const std::vector<const SourceFrame*> frames = sites.OutermostFirst(path);
  const size_t first = parting.known ? parting.depth + (parting.branch ? 1 : 0) : 0;
  // The outermost match decides: if the garbage collector runs a destructor, the garbage collector
  // is the caller.
  for (size_t i = first; i < frames.size(); ++i) {
    if (const std::optional<CallerKind> kind = KindByName(*frames[i])) {
      const bool library = IsRuntimeModule(frames[i]->module) || IsFrameworkFrame(*frames[i]);
      const auto user = std::find_if(frames.begin() + static_cast<ptrdiff_t>(i), frames.end(),
                                     [](const auto* frame) { return IsUserLine(*frame); });
      return Caller{*kind, library && user != frames.end() ? **user : *frames[i]};
    }
  }
  if (!parting.known || !parting.branch) return std::nullopt;
  if (first < frames.size() && IsDestructor(frames[first]->function)) {
    return Caller{CallerKind::kDestructor, *frames[first]};
  }
  // An error path is under a condition.
  bool conditional = false;
  for (size_t i = parting.depth; i < frames.size(); ++i) {
    const SourceBlocks* source = sites.SourceOf(*frames[i]);
    if (source == nullptr) continue;
    const int line = frames[i]->line;
    const bool here = i == parting.depth;
    const SourceBlock* arm =
        InnermostBlock(source->blocks, SourceBlock::Kind::kArm, line, here ? parting.a.line : 0);
    conditional |= arm != nullptr;
    const SourceFlow* end = conditional ? EndAfter(*source, line, here ? arm : nullptr) : nullptr;
    if (end == nullptr) continue;
    return Caller{CallerKind::kErrorPath, *frames[i], end->first,
                  end->kind == SourceFlow::Kind::kEnd};
  }
  return std::nullopt;
}

}  // namespace rollcall
