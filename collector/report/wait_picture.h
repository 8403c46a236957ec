// SPDX-License-Identifier: Apache-2.0
// The wait-for graph for display. Processes that wait for the same thing at the same place are one
// node. Pure.
#ifndef ROLLCALL_COLLECTOR_REPORT_WAIT_PICTURE_H_
#define ROLLCALL_COLLECTOR_REPORT_WAIT_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// The world and rank of each culprit of the report.
using Culprits = std::set<std::pair<uint32_t, int32_t>>;
Culprits CulpritsOf(const Report& report);

struct WaitPicture {
  struct Node {
    // kCollective and kDevice (an operation on devices) are between the ranks that are inside and
    // the ranks that are missing. kAbsent: members without a trace.
    enum class Kind : uint8_t { kRanks, kCollective, kDevice, kAbsent };
    Kind kind = Kind::kRanks;
    std::string name = {};                 // unique: "r0", "c5"
    std::vector<std::string> lines = {};   // description; may be empty
    std::vector<int32_t> ranks = {};       // kRanks, kAbsent; increasing
    std::vector<uint32_t> processes = {};  // kRanks
    bool culprit = false;                  // a finding names these ranks
    bool stuck = false;                    // nothing can release them
  };
  // `from` waits for `to`.
  struct Edge {
    size_t from = 0;  // into nodes
    size_t to = 0;
    std::string label;  // empty: `from` is inside the collective `to`
  };
  std::vector<Node> nodes;  // ranks first
  std::vector<Edge> edges;
};

WaitPicture WaitPictureOf(const Analysis& analysis, const Report& report);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_WAIT_PICTURE_H_
