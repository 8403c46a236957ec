// Call paths compared: equal or not, and where two of them part.
#ifndef ROLLCALL_COLLECTOR_MATCHING_CALL_SITE_H_
#define ROLLCALL_COLLECTOR_MATCHING_CALL_SITE_H_

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// A loop around a call, by the lines of one frame of its path.
struct LoopAround {
  uint32_t path = kNoIndex;
  size_t depth = 0;  // of the frame, from the outermost
  int first = 0;     // lines
  int last = 0;
};

// Where two call paths part, seen from their outer ends.
struct PathDivergence {
  bool known = false;  // both paths are whole, and their functions have names
  bool same = false;   // the same path to the same call
  // They part at two call sites of one function: a branch, a loop, a return lies between them.
  // False: they part at one call site that called two functions (a function pointer, a plug-in).
  bool branch = false;
  SourceFrame a;  // the frames of the function in which they part; of its caller if !branch
  SourceFrame b;
  bool a_innermost = false;  // the function in which they part makes the MPI call of a itself
  bool b_innermost = false;
  // < 0: a's line stands before b's in that function; > 0: behind; 0: unknown, or both are arms of
  // one branch, of which none is behind the other.
  int order = 0;
  // By the sources, where they could be read. Loops, innermost first, that hold only one of the
  // two.
  bool arms = false;  // of one branch
  std::vector<LoopAround> loops_a;
  std::vector<LoopAround> loops_b;
  bool sources_a = false;  // all sources from there inwards could be read
  bool sources_b = false;
};

// Keeps a reference to the trace, which must outlive it. Const methods are safe from several
// threads.
class CallSites {
 public:
  explicit CallSites(const Trace& trace);

  // Equal for two call paths if and only if they are the same; 0 if there is none, or if it holds
  // Python frames that could not be read. Importers may intern per rank: what counts is the line,
  // or module and address where it is not known, not the index.
  uint32_t Id(uint32_t call_path) const { return call_path == kNoIndex ? 0 : ids_[call_path]; }

  // The line of the user's own code that a verdict shows (user_code.h); empty without a path.
  SourceFrame UserFrame(uint32_t call_path) const;

  PathDivergence Part(uint32_t path_a, uint32_t path_b) const;

  // Was the call made by the same way into the loop, and inside of it?
  bool Inside(uint32_t path, const LoopAround& loop) const;
  // The innermost arm of a branch around the place of one frame that does not hold that of another
  // one of the same function; null: none, or no sources. Belongs to the trace.
  const SourceBlock* ArmAround(const SourceFrame& frame, const SourceFrame& other) const;
  // Does the call of the loop stand under a condition in it?
  bool IsConditional(const LoopAround& loop) const;

 private:
  bool IsBlurred(const CallPath& path) const;
  std::vector<const SourceFrame*> OutermostFirst(uint32_t path) const;
  const std::vector<SourceBlock>* BlocksOf(const SourceFrame& frame) const;
  // Loops around the call of path `a` that do not hold `b`, from the frame on in which they part.
  // True if all sources are there.
  bool FindLoops(uint32_t path_a, size_t divergence, const SourceFrame& b,
                 std::vector<LoopAround>* loops) const;

  const Trace& trace_;
  std::vector<uint32_t> code_ids_;
  std::vector<uint32_t> ids_;
  std::unordered_map<std::string_view, const std::vector<SourceBlock>*> sources_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_CALL_SITE_H_
