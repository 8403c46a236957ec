// Flight Recorder dumps on disk: of which rank each is, and all of them as one Trace.
#ifndef ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_DUMP_FILES_H_
#define ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_DUMP_FILES_H_

#include <string>
#include <vector>

#include "collector/import/flight_recorder/dump.h"
#include "collector/import/flight_recorder/rank_pattern.h"
#include "collector/import/flight_recorder/trace_builder.h"
#include "collector/model/trace.h"

namespace rollcall::flight_recorder {

// Not thread-safe. Throws std::bad_alloc only.
class DumpFiles {
 public:
  // `pattern` must outlive this.
  explicit DumpFiles(const RankPattern& pattern) : pattern_(pattern) {}

  // A file that is a dump by its content; it is read by Load().
  void Add(const std::string& path, const std::string& directory, const std::string& name,
           Format format);
  // A file that is none. Its name only tells that one which says nothing (empty, overwritten) was
  // meant to be a dump: when its neighbours are, under the same name but for the rank.
  void AddOther(const std::string& path, const std::string& directory, const std::string& name);
  // A dump that was read already, with its directory and time; `name` is that of its file.
  void AddRead(const std::string& name, Dump dump);

  // Reads the files with `threads` threads, a few ahead of what is joined, by directory, name and
  // rank. What cannot be read is a problem of the trace. Call once.
  Trace Load(unsigned threads = 2);

 private:
  struct File {
    std::string path;
    std::string directory;
    NamedRank name;
    Format format = Format::kNone;
  };

  static Dump Read(const File& file);
  void ReportOthers(Trace* trace) const;

  const RankPattern& pattern_;
  FlightTraceBuilder builder_;
  std::vector<File> files_;
  std::vector<File> others_;  // that have a rank in their name
};

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_DUMP_FILES_H_
