// SPDX-License-Identifier: Apache-2.0
// rollcall clean: removes the traces of old runs.
#include <fmt/core.h>

#include <string>

#include "cli/argument_parser.h"
#include "cli/command.h"
#include "collector/launch/run_root.h"
#include "proto/run_directory.h"

namespace rollcall {

int RunClean(int argc, char** argv) {
  ArgumentParser parser(
      "Removes run directories of earlier runs; never that of a run that still has processes.",
      "rollcall clean");
  std::string root;
  size_t keep = 0;
  double days = 7;
  bool list = false;
  parser.Add("--keep", &keep, "keep at most this many of the newest directories",
             {.show_default = true});
  parser.Add("--days", &days, "with --keep: remove directories older than this number of days",
             {.must = Must::kBeNonNegative, .show_default = true});
  parser.Add("--root", &root, "the directory of the run directories, if not the default",
             {.type = "DIR"});
  parser.Add("--list", &list, "remove nothing; list the directories");
  if (const auto code = parser.Parse(argc, argv)) return *code;
  if (root.empty()) root = RunRoot::DefaultPath(kSharedMemory);

  if (list) {
    for (const auto& run : RunRoot::List(root)) {
      fmt::print("{}  {} KiB{}\n", run.path, run.bytes / 1024, run.in_use ? "  in use" : "");
    }
    return kNothingFound;
  }
  constexpr double kNsPerDay = 24.0 * 3600 * 1e9;
  uint64_t bytes = 0;
  const auto removed = RunRoot::Clean(root, keep, static_cast<int64_t>(days * kNsPerDay));
  for (const auto& run : removed) bytes += run.bytes;
  fmt::print("removed {} run directories, {} KiB, below {}\n", removed.size(), bytes / 1024, root);
  return kNothingFound;
}

}  // namespace rollcall
