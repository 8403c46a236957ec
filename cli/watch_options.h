// SPDX-License-Identifier: Apache-2.0
// The options with which `run` and `check` watch a job.
#ifndef ROLLCALL_CLI_WATCH_OPTIONS_H_
#define ROLLCALL_CLI_WATCH_OPTIONS_H_

#include "cli/argument_parser.h"
#include "cli/unrecorded_job.h"
#include "collector/watch/watched_job.h"

namespace rollcall {

// Adds --stall-after, --idle-after, --kill-after, --dir, --listen, --keep, --no-stacks, --data,
// --data-scope and the command after --. `settings` must outlive Parse().
void AddWatchOptions(ArgumentParser* parser, WatchSettings* settings);

// For a job that was started, which must outlive the options. The caller sets the callbacks for
// reports.
UnrecordedJob::Options UnrecordedOptions(const WatchSettings& settings, const WatchedJob& job);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_WATCH_OPTIONS_H_
