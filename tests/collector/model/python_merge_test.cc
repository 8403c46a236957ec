// SPDX-License-Identifier: Apache-2.0
#include "collector/model/python_merge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace rollcall {
namespace {

// Both texts are words, innermost frame first. Native: "L" is a frame of the interpreter loop, "i"
// another frame of the interpreter, any other word a frame that stays; a final "..." truncates the
// walk. Python: names; a "!" after a name ends a run; a final "..." means that there are further
// frames.
std::string Merge(const std::string& native_text, const std::string& python_text) {
  std::vector<NativeKind> kinds;
  std::vector<std::string> native;
  std::vector<std::string> python;
  std::vector<bool> entries;
  bool native_whole = true;
  ring::PythonEnd end = ring::PythonEnd::kComplete;
  std::istringstream native_words(native_text);
  for (std::string word; native_words >> word;) {
    if (word == "...") {
      native_whole = false;
      continue;
    }
    native.push_back(word);
    kinds.push_back(word == "L"   ? NativeKind::kLoop
                    : word == "i" ? NativeKind::kInterpreter
                                  : NativeKind::kOther);
  }
  std::istringstream python_words(python_text);
  for (std::string word; python_words >> word;) {
    if (word == "...") {
      end = ring::PythonEnd::kDepthLimit;
      continue;
    }
    entries.push_back(word.back() == '!');
    if (entries.back()) word.pop_back();
    python.push_back(word);
  }
  const MergedStack merged = MergeStacks(kinds, native_whole, entries, end);
  std::string text;
  for (const MergedStep& step : merged.steps) {
    text += (step.python ? python[step.index] : native[step.index]) + ' ';
  }
  return text + (merged.apart ? "(apart)" : "");
}

TEST(PythonMerge, PythonFramesReplaceTheirInterpreterLoop) {
  EXPECT_EQ(Merge("MPI.so i L i i main", "save step top!"), "MPI.so save step top main ");
  // Up to Python 3.10 every Python call is a run of its own.
  EXPECT_EQ(Merge("MPI.so i L i L i i L i main", "save! step! top!"), "MPI.so save step top main ");
}

TEST(PythonMerge, ExtensionFramesStayBetweenPythonFrames) {
  EXPECT_EQ(Merge("MPI.so L i callback.so i L i main", "on_batch! train top!"),
            "MPI.so on_batch callback.so train top main ");
  EXPECT_EQ(Merge("MPI.so L callback.so main embeds", "on_batch!"),
            "MPI.so on_batch callback.so main embeds ");
  EXPECT_EQ(Merge("MPI.so", ""), "MPI.so ");
  EXPECT_EQ(Merge("", "a b!"), "a b ");
}

TEST(PythonMerge, PythonFramesContinueAfterATruncatedNativeWalk) {
  EXPECT_EQ(Merge("MPI.so L i L ...", "a! b! c d! e!"), "MPI.so a b c d e ");
  EXPECT_EQ(Merge("x y z ...", "a! b!"), "x y z a b ");
}

TEST(PythonMerge, LoopFramesRemainAfterATruncatedPythonWalk) {
  EXPECT_EQ(Merge("MPI.so L i L i L main", "a! b ..."), "MPI.so a b L main ");
}

TEST(PythonMerge, StacksThatDoNotFitAreKeptApart) {
  // One frame of the loop was not recognised.
  EXPECT_EQ(Merge("MPI.so i L i ext.so i i i main", "a! b!"), "MPI.so a b main (apart)");
  // Before symbolization no frame of the loop is recognised.
  EXPECT_EQ(Merge("MPI.so i i i i main", "a! b!"), "MPI.so a b main (apart)");
  // More loops than runs.
  EXPECT_EQ(Merge("MPI.so L ext.so L L main", "a! b!"), "MPI.so a b main (apart)");
  // The Python frames may belong between native frames that the walk did not reach.
  EXPECT_EQ(Merge("MPI.so i i ext.so ...", "a! b!"), "MPI.so a b (apart)");
  EXPECT_EQ(Merge("MPI.so main", "a! b!"), "MPI.so main a b (apart)");
}

TEST(PythonMerge, RecognisesTheInterpreter) {
  for (const char* path : {"/usr/bin/python3.11", "/opt/bin/python3", "python", "/x/python3.13t",
                           "/usr/lib/libpython3.8.so.1.0"}) {
    EXPECT_TRUE(IsInterpreterModule(path)) << path;
  }
  for (const char* path : {"/opt/python-tools/bin/app", "/home/u/pythonic", "", "/bin/app",
                           "/usr/lib/python3.11/lib-dynload/_ctypes.so"}) {
    EXPECT_FALSE(IsInterpreterModule(path)) << path;
  }
  for (const char* name :
       {"_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault.cold",
        "_PyEval_EvalFrameDefault.constprop.0", "_PyEval_EvalFrameDefault [clone .cold]"}) {
    EXPECT_TRUE(IsInterpreterLoop(name)) << name;
  }
  EXPECT_FALSE(IsInterpreterLoop("_PyEval_EvalFrameDefaultly"));
  EXPECT_FALSE(IsInterpreterLoop("_PyEval_EvalFrame"));
}

class MergeInTrace : public ::testing::Test {
 protected:
  uint32_t Native(const std::string& module, const std::string& function) {
    Code code;
    code.module_path = module;
    code.vaddr = 16 * trace_.codes.size();
    if (!function.empty()) {
      code.frames.emplace_back();
      code.frames.back().function = function;
    }
    trace_.codes.push_back(code);
    return static_cast<uint32_t>(trace_.codes.size() - 1);
  }
  uint32_t Python(const std::string& function) {
    const uint32_t code = Native("", function);
    trace_.codes[code].frames[0].language = Language::kPython;
    return code;
  }
  std::string Merged() {
    MergePythonFrames(&trace_);
    std::string text;
    for (const uint32_t code : trace_.call_paths[0].codes) {
      const std::vector<SourceFrame>& frames = trace_.codes[code].frames;
      text += (frames.empty() ? trace_.codes[code].module_path : frames[0].function) + ' ';
    }
    return text + (trace_.call_paths[0].python_apart ? "(apart)" : "");
  }
  Trace trace_;
};

TEST_F(MergeInTrace, SymbolsImproveTheMerge) {
  CallPath path;
  path.end = ring::StackEnd::kComplete;
  path.python_end = ring::PythonEnd::kComplete;
  path.native = {Native("/MPI.so", "Barrier"), Native("/bin/python3.11", ""),
                 Native("/callback.so", "call"), Native("/bin/python3.11", ""),
                 Native("/libc.so.6", "__libc_start_main")};
  path.python = {{Python("on_batch"), true}, {Python("train"), false}, {Python("<module>"), true}};
  trace_.call_paths = {path};
  EXPECT_EQ(Merged(), "Barrier on_batch train <module> __libc_start_main (apart)");
  for (const uint32_t loop : {1u, 3u}) {
    trace_.codes[path.native[loop]].frames.emplace_back();
    trace_.codes[path.native[loop]].frames.back().function = "_PyEval_EvalFrameDefault";
  }
  EXPECT_EQ(Merged(), "Barrier on_batch call train <module> __libc_start_main ");
  EXPECT_EQ(Merged(), "Barrier on_batch call train <module> __libc_start_main ");
}

TEST_F(MergeInTrace, ProgramThatEmbedsPythonKeepsItsFrames) {
  CallPath path;
  path.end = ring::StackEnd::kComplete;
  path.python_end = ring::PythonEnd::kComplete;
  path.native = {Native("/bin/solver", "exchange"), Native("/bin/solver", "cfunction_call"),
                 Native("/bin/solver", "_PyEval_EvalFrameDefault"),
                 Native("/bin/solver", "PyObject_CallObject"), Native("/bin/solver", "main")};
  path.python = {{Python("hook"), true}};
  trace_.call_paths = {path};
  EXPECT_EQ(Merged(), "exchange hook main ");
}

}  // namespace
}  // namespace rollcall
