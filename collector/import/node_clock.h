// From the clocks of several nodes to the collector's: what a node's journal and rings say is
// shifted by the offset that its agent measured (the journal's `clock` events).
#ifndef ROLLCALL_COLLECTOR_IMPORT_NODE_CLOCK_H_
#define ROLLCALL_COLLECTOR_IMPORT_NODE_CLOCK_H_

#include <optional>

#include "collector/import/journal.h"
#include "collector/import/ring_reader.h"
#include "collector/model/trace.h"

namespace rollcall {

// Shifts the times of a journal by the last `clock` event in it, and returns that clock. Nothing,
// and nothing is shifted, if there is none or it has clocks of several hosts: several nodes wrote
// it, and most events do not say which.
std::optional<NodeClock> CorrectTimes(Journal* journal);

// The same for a ring of that node, before it is imported.
void CorrectTimes(const NodeClock& clock, RingSnapshot* ring);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_NODE_CLOCK_H_
