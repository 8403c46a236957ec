// SPDX-License-Identifier: Apache-2.0
// Flight Recorder dumps on disk: determines the rank of each, and makes one Trace of all.
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
  // `pattern` must outlive this object.
  explicit DumpFiles(const RankPattern& pattern) : pattern_(pattern) {}

  // Adds a file that is a dump by its content; Load() reads it.
  void Add(const std::string& path, const std::string& directory, const std::string& name,
           Format format);
  // Adds a file that is not a dump. An empty or overwritten dump is recognized by its name:
  // neighbors with the same name, except for the rank, are dumps.
  void AddOther(const std::string& path, const std::string& directory, const std::string& name);
  // Adds a dump that has been read, with its directory and time; `name` is its file name.
  void AddRead(const std::string& name, Dump dump);

  // Reads the files in the order of directory, name and rank, with `threads` threads that are a few
  // files ahead of the joining thread. Unreadable files are problems of the trace. Call once.
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
