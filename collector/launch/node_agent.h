// SPDX-License-Identifier: Apache-2.0
// The agent of a node: in a thread of `rollcall run`, or a process of its own.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_NODE_AGENT_H_
#define ROLLCALL_COLLECTOR_LAUNCH_NODE_AGENT_H_

#include <string>

namespace rollcall {

// For `rollcall exec`: starts an agent for `run_directory` on this node if a collector is known and
// no agent runs yet. Makes the directory if it does not exist on this node. The agent is a daemon:
// it shares no descriptor or session with the rank, and is not its child. Returns at once. Problems
// do not concern the rank and are not reported.
void EnsureNodeAgent(const std::string& run_directory);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_NODE_AGENT_H_
