// The options with which `run` and `check` watch a job.
#ifndef ROLLCALL_CLI_WATCH_OPTIONS_H_
#define ROLLCALL_CLI_WATCH_OPTIONS_H_

#include "cli/argument_parser.h"
#include "collector/watch/watched_job.h"

namespace rollcall {

// Adds --stall-after, --idle-after, --kill-after, --dir, --listen, --keep, --no-stacks, --data,
// --data-scope and the command after --.
// `settings` must outlive Parse().
void AddWatchOptions(ArgumentParser* parser, WatchSettings* settings);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_WATCH_OPTIONS_H_
