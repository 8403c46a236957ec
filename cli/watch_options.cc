#include "cli/watch_options.h"

namespace rollcall {

void AddWatchOptions(CLI::App* app, WatchSettings* settings) {
  app->add_option("--stall-after", settings->stall_after_s,
                  "seconds without progress before a rank is called stalled")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option(
         "--kill-after", settings->kill_after_s,
         "seconds without progress before a job that likely hangs is ended; what is proven "
         "is not waited for")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--dir", settings->directory, "the run directory; kept after the run");
  app->add_option("--listen", settings->listen,
                  "HOST:PORT for agents of other nodes; port 0 takes any free one")
      ->capture_default_str();
  app->add_flag("--keep", settings->keep, "keep the run directory after a clean end, too");
  app->add_flag("--no-stacks", settings->no_stacks, "record no call paths, take no live stacks");
  app->add_option("command", settings->command, "the launcher and its arguments, after --")
      ->required();
  app->positionals_at_end();
}

}  // namespace rollcall
