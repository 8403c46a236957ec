// SPDX-License-Identifier: Apache-2.0
// All environment variables that rollcall reads or sets. `rollcall run` sets them for the job; the
// shim and the agent read them. docs/environment.md is the user's documentation; a test compares it
// with this list.
#ifndef ROLLCALL_PROTO_ENVIRONMENT_H_
#define ROLLCALL_PROTO_ENVIRONMENT_H_

namespace rollcall::env {

// X(identifier, variable, default, meaning)
#define ROLLCALL_ENVIRONMENT(X)                                                                  \
  X(kRunDirectory, "ROLLCALL_DIR", "", "the run directory on this node: rings, journal, socket") \
  X(kDisable, "ROLLCALL_DISABLE", "0", "1: the shim does nothing")                               \
  X(kStacks, "ROLLCALL_STACKS", "1", "0: no call paths are recorded")                            \
  X(kStackDepth, "ROLLCALL_STACK_DEPTH", "32", "frames kept per call path, at most 64")          \
  X(kPython, "ROLLCALL_PYTHON", "1", "0: call paths hold no Python frames")                      \
  X(kGpu, "ROLLCALL_GPU", "1", "0: do not observe devices; marks: also use completion marks")    \
  X(kData, "ROLLCALL_DATA", "off", "off, sampled or full: read the data of collectives")         \
  X(kDataScope, "ROLLCALL_DATA_SCOPE", "",                                                       \
    "functions and communicators whose data is read, separated by commas; empty: all")           \
  X(kNcclPlugin, "ROLLCALL_NCCL_PLUGIN", "1", "0: NCCL does not load the shim as its profiler")  \
  X(kForkAgent, "ROLLCALL_FORK_AGENT", "auto",                                                   \
    "auto: Open MPI runs ranks under `rollcall exec` where other nodes or an older kernel need " \
    "it; 1: always; 0: never")                                                                   \
  X(kSteer, "ROLLCALL_STEER", "", "a steered run of `rollcall check`: the file of its plan")     \
  X(kRingKiB, "ROLLCALL_RING_KIB", "4096", "KiB of shared memory a rank may use")                \
  X(kCollector, "ROLLCALL_COLLECTOR", "", "HOST:PORT of the collector, for agents")              \
  X(kToken, "ROLLCALL_TOKEN", "", "secret of this run, for every connection")                    \
  X(kTestClockShift, "ROLLCALL_TEST_CLOCK_SHIFT_NS", "0",                                        \
    "for tests only: nanoseconds by which this node's CLOCK_REALTIME is taken to be ahead")

#define X(identifier, variable, default_value, meaning) \
  inline constexpr char identifier[] = variable;
ROLLCALL_ENVIRONMENT(X)
#undef X

}  // namespace rollcall::env

#endif  // ROLLCALL_PROTO_ENVIRONMENT_H_
