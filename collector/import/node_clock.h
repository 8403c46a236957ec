// SPDX-License-Identifier: Apache-2.0
// Converts the clocks of several nodes to the collector's: the times in a node's journal and rings
// are shifted by the offset that its agent measured (the journal's `clock` events).
#ifndef ROLLCALL_COLLECTOR_IMPORT_NODE_CLOCK_H_
#define ROLLCALL_COLLECTOR_IMPORT_NODE_CLOCK_H_

#include <optional>

#include "collector/import/journal.h"
#include "collector/import/ring_reader.h"
#include "collector/model/trace.h"

namespace rollcall {

// Shifts the times of a journal by its last `clock` event and returns that clock. Empty, without a
// shift, if there is no such event, or if there are clocks of several hosts: several nodes then
// wrote the journal, and most events do not name their node.
std::optional<NodeClock> CorrectTimes(Journal* journal);

// As above, for a ring of that node, before it is imported.
void CorrectTimes(const NodeClock& clock, RingSnapshot* ring);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_NODE_CLOCK_H_
