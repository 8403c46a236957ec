// rollcall clean: removes the traces of old runs.
#include <fmt/core.h>

#include <string>

#include "cli/argument_parser.h"
#include "cli/command.h"
#include "collector/live/run_root.h"
#include "proto/run_directory.h"

namespace rollcall {

int RunClean(int argc, char** argv) {
  ArgumentParser parser(
      "Removes run directories of earlier runs; never one whose run or ranks still live.",
      "rollcall clean");
  std::string root;
  size_t keep = 0;
  double days = 7;
  bool list = false;
  parser.Add("--keep", &keep, "keep this many of the newest that are young enough",
             {.show_default = true});
  parser.Add("--days", &days, "with --keep: the age in days beyond which none is kept",
             {.must = Must::kBeNonNegative, .show_default = true});
  parser.Add("--root", &root, "where the run directories are, if not at the usual place");
  parser.Add("--list", &list, "remove nothing, list what is there");
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
