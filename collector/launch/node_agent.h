// The agent of a node: in a thread of `rollcall run`, or a process of its own.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_NODE_AGENT_H_
#define ROLLCALL_COLLECTOR_LAUNCH_NODE_AGENT_H_

#include <string>

namespace rollcall {

// In `rollcall exec`: starts an agent for `run_directory` on this node if a collector is known and
// no agent is there, and makes the directory if this node has none yet. The agent is a daemon: no
// descriptor, session or child of the rank's. Returns at once; problems are not the rank's and stay
// unsaid.
void EnsureNodeAgent(const std::string& run_directory);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_NODE_AGENT_H_
