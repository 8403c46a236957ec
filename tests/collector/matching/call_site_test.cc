// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/call_site.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace rollcall {
namespace {

Code MakeCode(uint64_t vaddr, const std::string& function, int line) {
  Code code;
  code.module_path = "/bin/app";
  code.vaddr = vaddr;
  SourceFrame frame;
  frame.function = function;
  frame.file = line == 0 ? "" : "app.c";
  frame.line = line;
  frame.module = code.module_path;
  frame.vaddr = vaddr;
  code.frames.push_back(frame);
  return code;
}

CallPath MakePath(std::vector<uint32_t> codes, ring::StackEnd end = ring::StackEnd::kComplete) {
  CallPath path;
  path.codes = std::move(codes);
  path.end = end;
  return path;
}

Code MakePythonCode(const std::string& function, int line) {
  Code code;
  code.frames.emplace_back();
  code.frames[0].language = Language::kPython;
  code.frames[0].function = function;
  if (!function.empty()) code.frames[0].file = "train.py";
  code.frames[0].line = line;
  return code;
}

// The path of `native` frames called by `python` frames, as a ring stores it.
CallPath MakePythonPath(std::vector<uint32_t> native, std::vector<uint32_t> python,
                        ring::PythonEnd end = ring::PythonEnd::kComplete) {
  CallPath path = MakePath(native);
  for (const uint32_t code : python) path.codes.push_back(code);
  for (const uint32_t code : python) path.python.push_back({code, true});
  path.native = std::move(native);
  path.python_end = end;
  return path;
}

TEST(CallSites, CompilersCopiesOfALineAreOneSite) {
  Trace trace;
  trace.codes = {MakeCode(0x10, "f", 7), MakeCode(0x90, "f", 7), MakeCode(0x20, "f", 8)};
  for (uint32_t code = 0; code < 3; ++code) {
    trace.call_paths.push_back(MakePath({code}));
  }
  const CallSites sites(trace);
  EXPECT_EQ(sites.Id(0), sites.Id(1));
  EXPECT_NE(sites.Id(0), sites.Id(2));
  EXPECT_EQ(sites.Id(kNoIndex), 0u);
}

TEST(CallSites, AddressesAreComparedIfLinesAreUnknown) {
  Trace trace;
  trace.codes = {MakeCode(0x10, "f", 0), MakeCode(0x90, "f", 0), MakeCode(0x10, "f", 0)};
  for (uint32_t code = 0; code < 3; ++code) {
    trace.call_paths.push_back(MakePath({code}));
  }
  const CallSites sites(trace);
  EXPECT_NE(sites.Id(0), sites.Id(1));
  EXPECT_EQ(sites.Id(0), sites.Id(2));
}

TEST(CallSites, PathsDivergeInTheDeepestCommonFunction) {
  Trace trace;
  trace.codes = {MakeCode(0x10, "main", 7), MakeCode(0x20, "f", 20), MakeCode(0x30, "f", 30),
                 MakeCode(0x40, "g", 40)};
  // Innermost first.
  trace.call_paths = {MakePath({1, 0}), MakePath({2, 0}), MakePath({3, 0}),
                      MakePath({2, 0}, ring::StackEnd::kDepthLimit)};
  const CallSites sites(trace);
  const PathDivergence branch = sites.ComparePaths(0, 1);
  EXPECT_TRUE(branch.known && branch.branch);
  EXPECT_EQ(branch.a.line, 20);
  EXPECT_EQ(branch.b.line, 30);
  EXPECT_LT(branch.order, 0);
  const PathDivergence pointer =
      sites.ComparePaths(0, 2);  // one call in main() led to f() and to g()
  EXPECT_TRUE(pointer.known);
  EXPECT_FALSE(pointer.branch);
  EXPECT_EQ(pointer.a.function, "main");
  EXPECT_FALSE(sites.ComparePaths(0, 3).known);  // truncated: no common frame to compare from
  EXPECT_TRUE(sites.ComparePaths(0, 0).same);
}

TEST(CallSites, InlinedFramesAreCompared) {
  Trace trace;
  Code a = MakeCode(0x10, "outer", 12);
  a.frames.insert(a.frames.begin(), MakeCode(0x10, "inner", 3).frames[0]);
  Code b = MakeCode(0x50, "outer", 12);
  b.frames.insert(b.frames.begin(), MakeCode(0x50, "inner", 5).frames[0]);
  trace.codes = {a, b};
  trace.call_paths = {MakePath({0}), MakePath({1})};
  const CallSites sites(trace);
  const PathDivergence path_divergence = sites.ComparePaths(0, 1);
  EXPECT_TRUE(path_divergence.branch);
  EXPECT_EQ(path_divergence.a.function, "inner");
  EXPECT_EQ(sites.UserFrame(0).line, 3);
}

TEST(CallSites, PythonLinesDistinguishEqualNativePaths) {
  Trace trace;
  trace.codes = {MakeCode(0x10, "PyMPI_Barrier", 0), MakePythonCode("save", 8),
                 MakePythonCode("save", 12), MakePythonCode("<module>", 30), MakePythonCode("", 0)};
  trace.call_paths = {MakePythonPath({0}, {1, 3}), MakePythonPath({0}, {2, 3}),
                      MakePythonPath({0}, {1, 3}),
                      MakePythonPath({0}, {2}, ring::PythonEnd::kDepthLimit)};
  // A truncated native walk does not matter here, because all Python frames are recorded.
  trace.call_paths[1].end = ring::StackEnd::kDepthLimit;
  const CallSites sites(trace);
  EXPECT_EQ(sites.Id(0), sites.Id(2));
  EXPECT_NE(sites.Id(0), sites.Id(1));
  const PathDivergence path_divergence = sites.ComparePaths(0, 1);
  EXPECT_TRUE(path_divergence.known && path_divergence.branch);
  EXPECT_EQ(path_divergence.a.function, "save");
  EXPECT_EQ(path_divergence.a.line, 8);
  EXPECT_EQ(path_divergence.b.line, 12);
  EXPECT_LT(path_divergence.order, 0);
  EXPECT_FALSE(sites.ComparePaths(0, 3).known);
  EXPECT_EQ(sites.UserFrame(1).line, 12);
}

TEST(CallSites, CallsWithUnreadablePythonFramesHaveNoSite) {
  Trace trace;
  trace.codes = {MakeCode(0x10, "PyMPI_Barrier", 0), MakePythonCode("", 0),
                 MakePythonCode("<module>", 30)};
  trace.call_paths = {MakePythonPath({0}, {1, 2}), MakePythonPath({0}, {1, 2}), MakePath({0}),
                      MakePath({0})};
  trace.call_paths[2].python_end = ring::PythonEnd::kUnreadable;
  trace.call_paths[3].python_end = ring::PythonEnd::kUnchecked;
  const CallSites sites(trace);
  for (uint32_t path = 0; path < 4; ++path) EXPECT_EQ(sites.Id(path), 0u) << path;
  EXPECT_FALSE(sites.ComparePaths(0, 1).known);
}

TEST(CallSites, TwoLinesOfTheInterpreterAreNotABranch) {
  Trace trace;
  trace.codes = {MakeCode(0x10, "PyMPI_Barrier", 0),
                 MakeCode(0x20, "_PyEval_EvalFrameDefault", 100),
                 MakeCode(0x30, "_PyEval_EvalFrameDefault", 200), MakeCode(0x40, "main", 0)};
  for (const uint32_t code : {1, 2}) trace.codes[code].frames[0].module = "/usr/bin/python3.8";
  trace.call_paths = {MakePath({0, 1, 3}), MakePath({0, 2, 3})};
  EXPECT_FALSE(CallSites(trace).ComparePaths(0, 1).known)
      << "a file of version 1.0, or Python is off";
  for (const uint32_t code : {1, 2}) trace.codes[code].frames[0].module = "/bin/app";
  EXPECT_TRUE(CallSites(trace).ComparePaths(0, 1).known);
  trace.call_paths[0].python_end = ring::PythonEnd::kUnchecked;
  EXPECT_FALSE(CallSites(trace).ComparePaths(0, 1).known);
}

// One function of libc calls both main() and exit(), and exit() calls further functions.
TEST(CallSites, TwoLinesOfLibcAreNotABranch) {
  Trace trace;
  trace.codes = {MakeCode(0x10, "close_mpi", 9), MakeCode(0x20, "main", 25),
                 MakeCode(0x30, "__libc_start_call_main", 58),
                 MakeCode(0x40, "__libc_start_call_main", 74)};
  trace.call_paths = {MakePath({1, 2}), MakePath({0, 3})};
  EXPECT_TRUE(CallSites(trace).ComparePaths(0, 1).branch);
  for (const uint32_t code : {2, 3}) {
    trace.codes[code].frames[0].module = "/lib/x86_64-linux-gnu/libc.so.6";
  }
  EXPECT_FALSE(CallSites(trace).ComparePaths(0, 1).known);
}

TEST(CallSites, ContextIsNotPartOfACallSite) {
  Trace trace;
  trace.codes = {MakeCode(0x10, "thread_main", 40), MakePythonCode("step", 8),
                 MakePythonCode("step", 9)};
  trace.call_paths = {MakePath({0}), MakePath({0}), MakePath({1}), MakePath({2})};
  trace.call_paths[0].context = 2;
  trace.call_paths[1].context = 3;
  for (const uint32_t path : {0, 1}) {
    trace.call_paths[path].python_end = ring::PythonEnd::kNoFrames;
  }
  const CallSites sites(trace);
  EXPECT_EQ(sites.Id(0), sites.Id(1));
  EXPECT_TRUE(sites.ComparePaths(0, 1).same);
  EXPECT_EQ(sites.UserFrame(0).function, "thread_main");
}

}  // namespace
}  // namespace rollcall
