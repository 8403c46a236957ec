// Flight Recorder dumps on disk: which files are some, of which rank, and all of them as one Trace.
#ifndef ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_DUMP_FILES_H_
#define ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_DUMP_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/import/flight_recorder/dump.h"
#include "collector/model/trace.h"

namespace rollcall::flight_recorder {

class FlightTraceBuilder;

struct DumpFile {
  std::string path;
  std::string directory;
  std::string prefix;  // of the name, up to the rank
  int32_t rank = -1;   // -1: the name has none
  Format format = Format::kNone;
};

struct NamedRank {
  int32_t rank = -1;
  std::string prefix;
};

// Takes ranks out of file names.
class RankPattern {
 public:
  // The last digits of the name, extensions aside: "_dump_12", "nccl_trace_rank_node7_12",
  // "_dump_12.json".
  RankPattern() = default;
  // A regular expression (ECMAScript) with one group, the rank, searched for in the file's name.
  // Nothing, and `error`, if it is not one.
  static std::optional<RankPattern> Parse(const std::string& pattern, std::string* error);

  NamedRank Find(std::string_view file_name) const;

 private:
  std::string pattern_;
};

struct DumpFiles {
  std::vector<DumpFile> files;  // by path
  // Directories and files of the inputs that hold dumps.
  std::vector<std::string> inputs;
  std::vector<Problem> problems;  // files that should be dumps by their name, and hold none
};

// Looks at every regular file of `inputs`, and of directories among them four levels deep, not
// through links. Content decides; a name only tells that a file which says nothing (empty,
// overwritten) was meant to be a dump: when its neighbours are, under the same name but for the
// rank.
DumpFiles FindDumpFiles(const std::vector<std::string>& inputs, const RankPattern& pattern);

// Reads them with `threads` threads, a few files ahead of what is joined, in the order given. What
// cannot be read is a problem of the trace. Throws nothing but std::bad_alloc.
Trace LoadDumps(const DumpFiles& files, unsigned threads = 2);
// The same, after what `builder` has already; it is empty afterwards.
Trace LoadDumps(const DumpFiles& files, FlightTraceBuilder* builder, unsigned threads = 2);

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_DUMP_FILES_H_
