// SPDX-License-Identifier: Apache-2.0
// Reads the Python frames of one ring's call paths.
#ifndef ROLLCALL_COLLECTOR_IMPORT_PYTHON_IMPORT_H_
#define ROLLCALL_COLLECTOR_IMPORT_PYTHON_IMPORT_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/import/interner.h"
#include "collector/import/ring_reader.h"
#include "collector/model/trace.h"

namespace rollcall {

// All pointers must outlive this object. The ring is not trusted: an invalid frame becomes a frame
// that reports the damage, and the damage becomes a problem.
class PythonImport {
 public:
  PythonImport(const RingSnapshot* ring, Interner* interner, std::vector<Problem>* problems)
      : ring_(*ring), interner_(*interner), problems_(*problems) {}

  // Fills in the Python part of `path` from the call path at word `index` of the ring.
  void Read(uint64_t index, const RingSnapshot::PathView& view, CallPath* path);

 private:
  uint32_t Code(uint64_t word, uint64_t word_at);
  SourceFrame Frame(uint64_t word, uint64_t word_at);
  void AddProblem(uint64_t offset, std::string message);

  const RingSnapshot& ring_;
  Interner& interner_;
  std::vector<Problem>& problems_;
  std::unordered_map<uint64_t, uint32_t> codes_;  // by the frame's word, without its entry bit
  int problem_count_ = 0;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_PYTHON_IMPORT_H_
