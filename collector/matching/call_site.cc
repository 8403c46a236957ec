// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/call_site.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/matching/user_code.h"

namespace rollcall {
namespace {

std::string_view PathKey(const std::vector<uint32_t>& codes) {
  return {reinterpret_cast<const char*>(codes.data()), codes.size() * sizeof(uint32_t)};
}

bool SamePlace(const SourceFrame& a, const SourceFrame& b) {
  if (a.function != b.function || a.file != b.file || a.line != b.line) return false;
  if (a.language != b.language) return false;
  // Without lines, calls in one function are distinguished by address.
  return a.line != 0 || (a.module == b.module && a.vaddr == b.vaddr);
}

// Identifies a code location: by source line if lines are known, otherwise by address. Lines are
// better because compilers copy code (the first iteration of a loop, the code after an if), so one
// call may have several addresses.
std::string PlaceKey(const Code& code) {
  std::string key;
  for (const SourceFrame& frame : code.frames) {
    if (frame.line == 0) {
      key.clear();
      break;
    }
    key += frame.function;
    key += '\n';
    key += frame.file;
    key += '\n';
    key += std::to_string(frame.line);
    key += '\n';
  }
  if (!key.empty()) return key;
  // One build may be installed at two paths (containers), so the build id is preferred.
  key = code.build_id.empty() ? code.module_path : code.build_id;
  return key + '\n' + std::to_string(code.vaddr);
}

// Whether the lines are in two arms of one branch.
bool AreArms(const std::vector<SourceBlock>* blocks, int a, int b) {
  if (blocks == nullptr) return false;
  for (const SourceBlock& x : *blocks) {
    if (!x.Holds(a) || x.Holds(b)) continue;
    for (const SourceBlock& y : *blocks) {
      if (y.Holds(b) && !y.Holds(a) && AreExclusive(x, y)) return true;
    }
  }
  return false;
}

}  // namespace

CallSites::CallSites(const Trace& trace) : trace_(trace) {
  for (const SourceBlocks& source : trace.sources) sources_.emplace(source.file, &source);
  std::unordered_map<std::string, uint32_t> codes;
  code_ids_.reserve(trace.codes.size());
  for (const Code& code : trace.codes) {
    const uint32_t next = static_cast<uint32_t>(codes.size());
    code_ids_.push_back(codes.emplace(PlaceKey(code), next).first->second);
  }
  std::unordered_map<std::string, uint32_t> paths;
  ids_.reserve(trace.call_paths.size());
  std::vector<uint32_t> canonical;
  for (const CallPath& path : trace.call_paths) {
    canonical.clear();
    if (!IsBlurred(path)) {
      for (const uint32_t code : path.codes) canonical.push_back(code_ids_[code]);
    }
    if (canonical.empty()) {
      ids_.push_back(0);
      continue;
    }
    const uint32_t next = static_cast<uint32_t>(paths.size()) + 1;
    ids_.push_back(paths.emplace(std::string(PathKey(canonical)), next).first->second);
  }
}

// Whether the path does not identify a call site: Python frames were requested and could not be
// read. The interpreter's native frames are the same at every Python call site, so two equal paths
// may then be two call sites.
bool CallSites::IsBlurred(const CallPath& path) const {
  if (path.python_end == ring::PythonEnd::kUnchecked ||
      path.python_end == ring::PythonEnd::kUnreadable) {
    return true;
  }
  return std::ranges::any_of(path.python, [this](const PythonFrame& frame) {
    const std::vector<SourceFrame>& frames = trace_.codes[frame.code].frames;
    return frames.empty() || frames.front().function.empty();
  });
}

SourceFrame CallSites::UserFrame(uint32_t call_path) const {
  if (call_path == kNoIndex) return {};
  std::vector<const SourceFrame*> frames;
  for (const uint32_t code : trace_.call_paths[call_path].codes) {
    for (const SourceFrame& frame : trace_.codes[code].frames) frames.push_back(&frame);
  }
  const SourceFrame* frame = InnermostUserFrame(frames);
  return frame == nullptr ? SourceFrame{} : *frame;
}

std::vector<const SourceFrame*> CallSites::OutermostFirst(uint32_t path) const {
  std::vector<const SourceFrame*> steps;
  const std::vector<uint32_t>& codes = trace_.call_paths[path].codes;
  for (auto code = codes.rbegin(); code != codes.rend(); ++code) {
    const std::vector<SourceFrame>& frames = trace_.codes[*code].frames;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      steps.push_back(&*frame);
    }
  }
  return steps;
}

const SourceBlocks* CallSites::SourceOf(const SourceFrame& frame) const {
  const auto found = frame.line == 0 ? sources_.end() : sources_.find(frame.file);
  return found == sources_.end() ? nullptr : found->second;
}

bool CallSites::FindLoops(uint32_t path_a, size_t divergence, const SourceFrame& b,
                          std::vector<EnclosingLoop>* loops) const {
  const std::vector<const SourceFrame*> a = OutermostFirst(path_a);
  bool all = BlocksOf(*a[divergence]) != nullptr;
  for (size_t i = a.size(); i-- > divergence;) {
    const std::vector<SourceBlock>* blocks = BlocksOf(*a[i]);
    if (blocks == nullptr) {
      // Loops of libraries between the user's functions and the call do not count.
      all &= a[i]->line != 0 ? !IsUserLine(*a[i]) : IsFrameworkFrame(*a[i]);
      continue;
    }
    const size_t before = loops->size();
    for (const SourceBlock& block : *blocks) {
      if (block.kind != SourceBlock::Kind::kLoop || !block.Holds(a[i]->line)) continue;
      if (i == divergence && block.Holds(b.line)) continue;
      loops->push_back({path_a, i, block.first, block.last});
    }
    std::sort(loops->begin() + static_cast<ptrdiff_t>(before), loops->end(),
              [](const EnclosingLoop& x, const EnclosingLoop& y) {
                return x.last - x.first < y.last - y.first;
              });
  }
  return all;
}

bool CallSites::Inside(uint32_t path, const EnclosingLoop& loop) const {
  if (path == kNoIndex) return false;
  if (path == loop.path) return true;
  const std::vector<const SourceFrame*> a = OutermostFirst(path);
  const std::vector<const SourceFrame*> b = OutermostFirst(loop.path);
  if (a.size() <= loop.depth) return false;
  for (size_t i = 0; i < loop.depth; ++i) {
    if (!SamePlace(*a[i], *b[i])) return false;
  }
  const SourceFrame& frame = *a[loop.depth];
  return frame.function == b[loop.depth]->function && frame.file == b[loop.depth]->file &&
         loop.first <= frame.line && frame.line <= loop.last;
}

const SourceBlock* CallSites::EnclosingArm(const SourceFrame& frame,
                                           const SourceFrame& other) const {
  const std::vector<SourceBlock>* blocks = BlocksOf(frame);
  if (blocks == nullptr || frame.file != other.file) return nullptr;
  return InnermostBlock(*blocks, SourceBlock::Kind::kArm, frame.line, other.line);
}

bool CallSites::IsInLoop(uint32_t path) const {
  const std::vector<const SourceFrame*> frames = OutermostFirst(path);
  return std::ranges::any_of(frames, [this](const SourceFrame* frame) {
    const std::vector<SourceBlock>* blocks = BlocksOf(*frame);
    return blocks != nullptr &&
           InnermostBlock(*blocks, SourceBlock::Kind::kLoop, frame->line) != nullptr;
  });
}

bool CallSites::IsConditional(const EnclosingLoop& loop) const {
  const std::vector<const SourceFrame*> frames = OutermostFirst(loop.path);
  for (size_t i = loop.depth; i < frames.size(); ++i) {
    const std::vector<SourceBlock>* blocks = BlocksOf(*frames[i]);
    if (blocks == nullptr) continue;
    for (const SourceBlock& block : *blocks) {
      const bool within = i > loop.depth || (loop.first <= block.first && block.last <= loop.last);
      if (block.kind == SourceBlock::Kind::kArm && within && block.Holds(frames[i]->line)) {
        return true;
      }
    }
  }
  return false;
}

PathDivergence CallSites::ComparePaths(uint32_t path_a, uint32_t path_b) const {
  PathDivergence path_divergence;
  if (path_a == kNoIndex || path_b == kNoIndex) return path_divergence;
  if (Id(path_a) == Id(path_b) && Id(path_a) != 0) {
    path_divergence.known = path_divergence.same = true;
    return path_divergence;
  }
  // Paths are compared from the outermost frame, which is unknown if a path is cut there.
  for (const uint32_t path : {path_a, path_b}) {
    if (!IsWhole(trace_.call_paths[path]) || IsBlurred(trace_.call_paths[path]))
      return path_divergence;
  }
  const std::vector<const SourceFrame*> a = OutermostFirst(path_a);
  const std::vector<const SourceFrame*> b = OutermostFirst(path_b);
  size_t i = 0;
  while (i < a.size() && i < b.size() && SamePlace(*a[i], *b[i])) ++i;
  if (i >= a.size() || i >= b.size()) return path_divergence;
  const SourceFrame& fa = *a[i];
  const SourceFrame& fb = *b[i];
  if (fa.function.empty() || fb.function.empty()) return path_divergence;
  // Two lines inside a runtime are not a branch of the program: they may be instructions of the
  // interpreter, or main() and the functions that exit() calls in libc.
  if (IsRuntimeModule(fa.module) || IsRuntimeModule(fb.module)) return path_divergence;
  path_divergence.known = true;
  path_divergence.depth = i;
  path_divergence.branch = fa.function == fb.function && fa.file == fb.file;
  if (path_divergence.branch) {
    path_divergence.a = fa;
    path_divergence.b = fb;
    path_divergence.a_innermost = i + 1 == a.size();
    path_divergence.b_innermost = i + 1 == b.size();
    path_divergence.order = fa.line != fb.line     ? (fa.line < fb.line ? -1 : 1)
                            : fa.vaddr != fb.vaddr ? (fa.vaddr < fb.vaddr ? -1 : 1)
                                                   : 0;
    path_divergence.sources_a = FindLoops(path_a, i, fb, &path_divergence.loops_a);
    path_divergence.sources_b = FindLoops(path_b, i, fa, &path_divergence.loops_b);
    path_divergence.arms = AreArms(BlocksOf(fa), fa.line, fb.line);
    if (path_divergence.arms) path_divergence.order = 0;
  } else if (i > 0) {
    path_divergence.a = *a[i - 1];
    path_divergence.b = *b[i - 1];
    path_divergence.sources_a = FindLoops(path_a, i, {}, &path_divergence.loops_a);
    path_divergence.sources_b = FindLoops(path_b, i, {}, &path_divergence.loops_b);
  }
  return path_divergence;
}

}  // namespace rollcall
