// SPDX-License-Identifier: Apache-2.0
#include "collector/model/python_merge.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace rollcall {
namespace {

// In a program that contains the interpreter, the interpreter's functions are recognized by name.
bool IsInterpreterFunction(std::string_view function) {
  constexpr std::string_view kStarts[] = {
      "Py",          "_Py",           "pymain_",     "cfunction_", "method_vectorcall",
      "vectorcall_", "function_code", "object_vac",  "slot_tp_",   "slot_mp_",
      "wrap_",       "type_call",     "run_mod",     "run_eval_",  "builtin_exec",
      "gen_send_",   "gen_iternext",  "_TAIL_CALL_", "bound_",     "method_call"};
  return std::ranges::any_of(kStarts,
                             [&](std::string_view start) { return function.starts_with(start); });
}

// The end of each run, as the index after its last frame. The last run may be cut.
std::vector<uint32_t> RunEnds(const std::vector<bool>& entries) {
  std::vector<uint32_t> ends;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i] || i + 1 == entries.size()) ends.push_back(i + 1);
  }
  return ends;
}

MergedStack Apart(const std::vector<NativeKind>& native, bool native_whole, uint32_t python) {
  MergedStack stack;
  stack.apart = true;
  const auto is_own = [](NativeKind kind) { return kind != NativeKind::kOther; };
  const auto inner_end =
      static_cast<uint32_t>(std::ranges::find_if(native, is_own) - native.begin());
  uint32_t outer_begin =
      static_cast<uint32_t>(native.rend() - std::find_if(native.rbegin(), native.rend(), is_own));
  // If the walk was cut, the outer native frames may be between Python frames.
  if (!native_whole || inner_end == native.size()) outer_begin = native.size();
  for (uint32_t i = 0; i < inner_end; ++i) stack.steps.push_back({false, i});
  for (uint32_t i = 0; i < python; ++i) stack.steps.push_back({true, i});
  for (uint32_t i = outer_begin; i < native.size(); ++i) stack.steps.push_back({false, i});
  return stack;
}

}  // namespace

bool IsInterpreterModule(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libpython")) return true;
  if (!name.starts_with("python")) return false;
  name.remove_prefix(std::string_view("python").size());
  return name.find_first_not_of("0123456789.dt") == std::string_view::npos;
}

bool IsInterpreterLoop(std::string_view function) {
  constexpr std::string_view kLoop = "_PyEval_EvalFrameDefault";
  return function.starts_with(kLoop) &&
         (function.size() == kLoop.size() || function[kLoop.size()] == '.' ||
          function[kLoop.size()] == ' ');  // "name [clone .cold]"
}

NativeKind NativeKindOf(std::string_view module, std::string_view function, bool embedding) {
  if (IsInterpreterLoop(function)) return NativeKind::kLoop;
  if (IsInterpreterModule(module) || (embedding && IsInterpreterFunction(function))) {
    return NativeKind::kInterpreter;
  }
  return NativeKind::kOther;
}

MergedStack MergeStacks(const std::vector<NativeKind>& native, bool native_whole,
                        const std::vector<bool>& entries, ring::PythonEnd python_end) {
  if (native.empty()) native_whole = false;  // only the Python frames were requested
  const std::vector<uint32_t> run_ends = RunEnds(entries);
  const auto loops = static_cast<size_t>(std::ranges::count(native, NativeKind::kLoop));
  const bool known =
      loops > 0 || std::ranges::find(native, NativeKind::kInterpreter) == native.end();
  const bool python_whole =
      python_end == ring::PythonEnd::kComplete && !entries.empty() && entries.back();
  const bool enough_loops = !native_whole || loops >= run_ends.size();
  const bool enough_runs = !python_whole || loops <= run_ends.size();
  if (!known || !enough_loops || !enough_runs) {
    return Apart(native, native_whole, static_cast<uint32_t>(entries.size()));
  }
  MergedStack stack;
  uint32_t next_python = 0;
  size_t run = 0;
  for (uint32_t i = 0; i < native.size(); ++i) {
    if (native[i] == NativeKind::kInterpreter) continue;
    if (native[i] == NativeKind::kOther || run == run_ends.size()) {
      stack.steps.push_back({false, i});
      continue;
    }
    for (; next_python < run_ends[run]; ++next_python) stack.steps.push_back({true, next_python});
    ++run;
  }
  for (; next_python < entries.size(); ++next_python) stack.steps.push_back({true, next_python});
  return stack;
}

void MergePythonFrames(Trace* trace) {
  // A frame may have several inlined functions; the last one is the function in the binary.
  const auto function_of = [&](uint32_t code) -> std::string_view {
    const Code& place = trace->codes[code];
    return place.frames.empty() ? std::string_view() : place.frames.back().function;
  };
  std::unordered_set<std::string_view> embedding;  // modules that hold the interpreter's loop
  for (uint32_t i = 0; i < trace->codes.size(); ++i) {
    if (IsInterpreterLoop(function_of(i))) embedding.insert(trace->codes[i].module_path);
  }
  const auto kind_of = [&](uint32_t code) {
    const std::string& module = trace->codes[code].module_path;
    const std::string_view function = function_of(code);
    return NativeKindOf(module, function, embedding.contains(module));
  };
  for (CallPath& path : trace->call_paths) {
    if (path.python.empty()) continue;
    std::vector<NativeKind> native;
    native.reserve(path.native.size());
    for (const uint32_t code : path.native) native.push_back(kind_of(code));
    std::vector<bool> entries;
    entries.reserve(path.python.size());
    for (const PythonFrame& frame : path.python) entries.push_back(frame.entry);
    const MergedStack merged =
        MergeStacks(native, path.end == ring::StackEnd::kComplete, entries, path.python_end);
    path.python_apart = merged.apart;
    path.codes.clear();
    for (const MergedStep& step : merged.steps) {
      path.codes.push_back(step.python ? path.python[step.index].code : path.native[step.index]);
    }
  }
}

}  // namespace rollcall
