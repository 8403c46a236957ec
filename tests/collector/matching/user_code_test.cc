// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/user_code.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rollcall {
namespace {

SourceFrame Python(const std::string& file, int line = 1) {
  SourceFrame frame;
  frame.language = Language::kPython;
  frame.function = "f";
  frame.file = file;
  frame.line = line;
  return frame;
}
SourceFrame Native(const std::string& module, int line) {
  SourceFrame frame;
  frame.function = "g";
  frame.module = module;
  frame.line = line;
  return frame;
}

TEST(UserCode, NamesTheFrameworkOfLibraryFiles) {
  const std::string lib = "/home/u/env/lib/python3.9";
  EXPECT_EQ(FrameworkOf(Python(lib + "/site-packages/torch/nn/modules/module.py")), "torch");
  EXPECT_EQ(FrameworkOf(Python(lib + "/site-packages/six.py")), "six");
  EXPECT_EQ(FrameworkOf(Python("/usr/lib/python3/dist-packages/mpi4py/run.py")), "mpi4py");
  EXPECT_EQ(FrameworkOf(Python("/src/pytorch/torch/distributed/c10d.py")), "torch");
  EXPECT_EQ(FrameworkOf(Python(lib + "/threading.py")), "Python");
  EXPECT_EQ(FrameworkOf(Python("/usr/lib64/python3.13t/runpy.py")), "Python");
  EXPECT_EQ(FrameworkOf(Python("/usr/lib/python311.zip/os.py")), "Python");
  EXPECT_EQ(FrameworkOf(Python("<frozen importlib._bootstrap>")), "Python");
  EXPECT_EQ(FrameworkOf(Python("/opt/eggs/hooks-1.2-py3.8.egg/hooks/run.py")), "hooks");
  EXPECT_EQ(FrameworkOf(Python("<__array_function__ internals>")), "generated code");
  EXPECT_EQ(FrameworkOf(Native(lib + "/site-packages/mpi4py/MPI.cpython-39.so", 7)), "mpi4py");
  EXPECT_EQ(FrameworkOf(Native("/usr/lib/python3.11/lib-dynload/_ctypes.so", 7)), "Python");
  EXPECT_EQ(FrameworkOf(Native("/usr/bin/python3.11", 7)), "Python");
  EXPECT_EQ(FrameworkOf(Native("/usr/lib/libmpi.so.40", 7)), "libmpi");
}

TEST(UserCode, OtherFilesAreUserCode) {
  for (const char* file :
       {"/home/u/train.py", "train.py", "<ipython-input-3-abcdef>", "<string>", "<stdin>",
        "/tmp/ipykernel_12/34.py", "/home/u/job.zip/job/main.py", "/home/u/app.pyz/__main__.py",
        "/home/u/torch/train.py", "/home/u/lib/python/train.py", "<my kernel>", ""}) {
    EXPECT_EQ(FrameworkOf(Python(file)), "") << file;
  }
  EXPECT_EQ(FrameworkOf(Native("/home/u/build/solver.so", 7)), "");
}

const SourceFrame* Innermost(const std::vector<SourceFrame>& frames) {
  std::vector<const SourceFrame*> pointers;
  for (const SourceFrame& frame : frames) pointers.push_back(&frame);
  return InnermostUserFrame(pointers);
}

// NCCL reports profiler events from inside NCCL, which may be linked into the user's program.
TEST(UserCode, FramesBelowAnNcclFunctionAreNotUserCode) {
  const auto in = [](const char* function, int line) {
    SourceFrame frame = Native("/home/u/job", line);
    frame.function = function;
    return frame;
  };
  EXPECT_EQ(Innermost({in("taskAppend", 1), in("ncclAllReduce", 2), in("Step", 3)})->line, 3);
  EXPECT_EQ(Innermost({in("taskAppend", 1), in("pncclAllReduce", 2), in("Step", 3)})->line, 3);
  EXPECT_EQ(Innermost({in("ncclBroadcast", 1), in("ncclBcast", 2), in("Step", 3)})->line, 3);
  EXPECT_EQ(Innermost({in("ncclAllReduceAll", 1), in("Step", 3)})->line, 1);
  EXPECT_EQ(Innermost({in("taskAppend", 1), in("ncclAllReduce", 2)})->line, 1);
}

TEST(UserCode, FindsTheInnermostUserFrame) {
  // The extension and the package have line numbers as well.
  const std::vector<SourceFrame> frames = {
      Native("/lib/libmpi.so.40", 3), Native("/site-packages/mpi4py/MPI.so", 4),
      Python("/site-packages/torch/nn/parallel.py", 5), Python("/home/u/model.py", 6),
      Python("/home/u/train.py", 7)};
  EXPECT_EQ(Innermost(frames)->line, 6);
  // Without a user frame, a Python frame is more useful than a frame inside an extension.
  EXPECT_EQ(Innermost({frames[0], frames[1], frames[2]})->line, 5);
  EXPECT_EQ(Innermost({frames[0], frames[1]})->line, 4);
  // A user's own extension is the user's code.
  EXPECT_EQ(Innermost({frames[1], Native("/home/u/fast.so", 8), frames[3]})->line, 8);
  EXPECT_EQ(Innermost({frames[1], Native("/home/u/fast.so", 0), frames[3]})->line, 6);
}

}  // namespace
}  // namespace rollcall
