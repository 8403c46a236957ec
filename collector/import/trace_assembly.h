// SPDX-License-Identifier: Apache-2.0
// Assembles the contents of the files of one load.
#ifndef ROLLCALL_COLLECTOR_IMPORT_TRACE_ASSEMBLY_H_
#define ROLLCALL_COLLECTOR_IMPORT_TRACE_ASSEMBLY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/bundle/kept_sources.h"
#include "collector/bundle/reader.h"
#include "collector/import/flight_recorder/dump_files.h"
#include "collector/import/input_format.h"
#include "collector/import/journal.h"
#include "collector/import/logs/log_patterns.h"
#include "collector/import/logs/log_trace.h"
#include "collector/import/machine.h"
#include "collector/import/ring_reader.h"
#include "collector/import/stacks_text.h"
#include "collector/import/trace_builder.h"
#include "collector/model/trace.h"

namespace rollcall {

// Not thread-safe: one thread adds, in the order of the files. Throws std::bad_alloc only.
class TraceAssembly {
 public:
  // All arguments must outlive this object.
  TraceAssembly(const flight_recorder::RankPattern& pattern, Machine* machine,
                KeptSources* sources);

  void AddProblem(Problem problem) { builder_.trace()->problems.push_back(std::move(problem)); }
  void AddRing(const InputFile& file, RingSnapshot ring);
  // The journal is applied when all rings are added. Its `clock` applies to rings beside and below
  // it that are added later.
  void AddJournal(const InputFile& file, Journal journal);
  void AddStacks(StacksText stacks);
  // The number of processes of this machine that may hold rings and do not let them be read.
  void NoteDenied(size_t processes) { denied_ = processes; }
  // Reads the log. If there are rings or dumps, too, and the log was named as an input, the log is
  // taken for the output of their job.
  void AddLog(const InputFile& file);
  // The same for a descriptor, which is read to its end; `name` is for messages.
  void AddLog(int fd, const std::string& name);
  // The bundle is read when all files beside it are added.
  void AddBundle(std::string path) { bundles_.push_back(std::move(path)); }

  flight_recorder::DumpFiles* dumps() { return &dumps_; }
  KeptSources* sources() { return &sources_; }

  std::vector<StacksText> TakeStacks() { return std::move(stacks_); }

  // Reads the bundles and the dumps, and samples the live processes a second time. Call once.
  Trace Finish();

 private:
  // A process that was alive in the first sample.
  struct Live {
    std::string path;
    uint32_t process;
    uint64_t ring_id;
  };

  // The clock of the node whose run directory has the ring.
  std::optional<NodeClock> ClockOf(const InputFile& ring) const;
  void ReadBundle(const std::string& path);
  void AddMember(const std::string& bundle, const bundle::Member& member);
  void SampleLiveProcesses();
  template <typename Source>
  void ReadLogOf(const InputFile& file, Source&& from);
  void ReportMissingRings(const InputFile& file, const Journal& journal);

  Machine& machine_;
  KeptSources& sources_;
  const std::string host_;
  RingTraceBuilder builder_;
  flight_recorder::DumpFiles dumps_;
  std::unique_ptr<logs::LogPatterns> patterns_;  // null: there is no log
  std::unique_ptr<logs::LogTraceBuilder> logs_;  // likewise
  bool logs_asked_for_ = false;                  // not only found below a directory
  std::vector<std::string> bundles_;
  std::vector<StacksText> stacks_;
  size_t stacks_bytes_ = 0;
  std::vector<Journal> journals_;
  std::vector<InputFile> journal_files_;  // of the same index
  std::set<std::string> ring_names_;      // of all rings added
  size_t denied_ = 0;
  std::vector<uint32_t> copies_;  // processes whose ring is an older copy
  bool any_alive_ = false;
  std::map<std::string, NodeClock> clocks_;  // by the journal's directory
  std::vector<Live> live_;
  size_t known_members_ = 0;  // rings of the current bundle whose processes are duplicates
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_TRACE_ASSEMBLY_H_
