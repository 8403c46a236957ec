// SPDX-License-Identifier: Apache-2.0
// Compares call paths: whether they are equal, and where they diverge.
#ifndef ROLLCALL_COLLECTOR_MATCHING_CALL_SITE_H_
#define ROLLCALL_COLLECTOR_MATCHING_CALL_SITE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// A loop around a call, given as lines in one frame of the call's path.
struct EnclosingLoop {
  uint32_t path = kNoIndex;
  size_t depth = 0;  // of the frame, from the outermost
  int first = 0;     // line numbers
  int last = 0;
};

// How a rank left the code in which another rank waits, as the source shows it.
struct PathExit {
  enum class How : uint8_t { kException, kReturn, kBreak };
  How how = How::kException;
  SourceFrame function = {};   // the function that contains the statement
  int line = 0;                // of the statement; 0: unknown, as the exception came from a callee
  std::string condition = {};  // around it, as in the source; may be empty
  int caught = 0;              // kException: line of the handler; 0 if there is none
  // The source also has other ways past the call: `loop`: the end of a loop; `arms`: a branch
  // around the call; not `certain`: unknown ones, as a source could not be read.
  bool loop = false;
  bool arms = false;
  bool certain = false;
};

// Where two call paths diverge, compared from the outermost frame.
struct PathDivergence {
  bool known = false;  // both paths are whole, and their functions have names
  bool same = false;   // the same path to the same call
  // True: the paths diverge at two call sites of one function, with a branch, a loop or a return
  // between them. False: the paths diverge at one call site that called two functions (a function
  // pointer, a plug-in).
  bool branch = false;
  size_t depth = 0;  // of the frames where they diverge, from the outermost
  SourceFrame a;     // the frames in the function where the paths diverge; in its caller if !branch
  SourceFrame b;
  bool a_innermost = false;  // the function where the paths diverge makes a's MPI call itself
  bool b_innermost = false;
  // < 0: a's line is before b's in that function; > 0: after; 0: unknown, or both are arms of one
  // branch, which have no order.
  int order = 0;
  // From the sources, if they could be read. `loops_a` are the loops that contain a's call but not
  // b's, innermost first; `loops_b` the reverse.
  bool arms = false;  // the call sites are in different arms of one branch
  std::vector<EnclosingLoop> loops_a;
  std::vector<EnclosingLoop> loops_b;
  bool sources_a = false;  // all sources from the divergence to the call could be read
  bool sources_b = false;
};

// Whether this is the name of a C++ destructor.
bool IsDestructor(std::string_view function);

// Keeps a reference to the trace, which must outlive it. Const methods are safe from several
// threads.
class CallSites {
 public:
  explicit CallSites(const Trace& trace);

  // Equal for two call paths if and only if the paths are the same. 0 if there is no path, or if
  // the path has Python frames that could not be read. Paths are compared by line, or by module and
  // address where the line is unknown. They are not compared by index, because importers may intern
  // paths per rank.
  uint32_t Id(uint32_t call_path) const { return call_path == kNoIndex ? 0 : ids_[call_path]; }

  // The frame in the user's code that a verdict shows (user_code.h); empty without a path.
  SourceFrame UserFrame(uint32_t call_path) const;

  PathDivergence ComparePaths(uint32_t path_a, uint32_t path_b) const;

  // How a rank that is at `left` got past the call `waiting` of another rank. Empty if the source
  // shows no exit between the two, if `left` may be before the call, or without sources. See
  // call_exits.cc.
  std::optional<PathExit> FindExit(uint32_t waiting, uint32_t left) const;

  // Whether the call was made inside the loop, with the same call path to the loop.
  bool Inside(uint32_t path, const EnclosingLoop& loop) const;
  // The innermost arm of a branch that contains the line of `frame` but not the line of `other`, in
  // the same function. nullptr if there is no such arm, or no source. Owned by the trace.
  const SourceBlock* EnclosingArm(const SourceFrame& frame, const SourceFrame& other) const;
  // Whether the source shows a loop around a frame of the path.
  bool IsInLoop(uint32_t path) const;
  // Whether the call is in a conditional branch inside the loop.
  bool IsConditional(const EnclosingLoop& loop) const;

  // The frames of a path; owned by the trace.
  std::vector<const SourceFrame*> OutermostFirst(uint32_t path) const;
  // Loops, branches and exits of the frame's file; nullptr if it could not be read.
  const SourceBlocks* SourceOf(const SourceFrame& frame) const;

 private:
  bool IsBlurred(const CallPath& path) const;
  const std::vector<SourceBlock>* BlocksOf(const SourceFrame& frame) const {
    const SourceBlocks* source = SourceOf(frame);
    return source == nullptr ? nullptr : &source->blocks;
  }
  // Finds the loops around the call of path `a` that do not contain `b`, from the frame where the
  // paths diverge. True if all sources are available.
  bool FindLoops(uint32_t path_a, size_t divergence, const SourceFrame& b,
                 std::vector<EnclosingLoop>* loops) const;

  const Trace& trace_;
  std::vector<uint32_t> code_ids_;
  std::vector<uint32_t> ids_;
  std::unordered_map<std::string_view, const SourceBlocks*> sources_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_CALL_SITE_H_
