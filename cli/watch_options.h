// The options with which `run` and `check` watch a job.
#ifndef ROLLCALL_CLI_WATCH_OPTIONS_H_
#define ROLLCALL_CLI_WATCH_OPTIONS_H_

#include <CLI/CLI.hpp>

#include "collector/watch/watched_job.h"

namespace rollcall {

// Adds --stall-after, --kill-after, --dir, --listen, --keep, --no-stacks and the command behind --.
// `settings` must stay where it is until `app` has parsed.
void AddWatchOptions(CLI::App* app, WatchSettings* settings);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_WATCH_OPTIONS_H_
