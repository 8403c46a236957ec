// SPDX-License-Identifier: Apache-2.0
#include "collector/collect/collect.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "collector/base/byte_source.h"
#include "collector/base/file.h"
#include "collector/base/find.h"
#include "collector/bundle/format.h"
#include "collector/bundle/reader.h"
#include "collector/bundle/writer.h"
#include "collector/collect/observed.h"
#include "collector/import/load_inputs.h"
#include "collector/import/ring_image.h"
#include "collector/import/ring_reader.h"

namespace rollcall::collect {
namespace {

namespace fs = std::filesystem;

struct File {
  std::string path;
  std::string path_to_open;
  size_t input = 0;
  std::string name;  // below the input's own directory in the bundle
  const InputFormat* format = nullptr;
};

class Collector {
 public:
  Collector(const std::vector<std::string>& inputs, const std::string& path,
            const CollectOptions& options, Machine* machine)
      : inputs_(inputs), path_(path), options_(options), machine_(*machine) {}

  Collected Collect() {
    Inputs loaded = LoadInputs(inputs_, {}, machine_);
    trace_ = std::move(loaded.trace);
    result_.problems = trace_.problems;
    if (trace_.processes.empty()) {
      result_.error = "no rank's trace could be read";
      return std::move(result_);
    }
    if (trace_.evidence == Trace::Evidence::kLogs) {
      result_.error = "a log is text: send it as it is; a bundle has the traces of ranks";
      return std::move(result_);
    }
    ListFiles(loaded.files);
    if (HoldsTwoJobs()) return std::move(result_);
    SymbolizeTrace(&trace_);
    bundle::Writer writer(path_, options_.rollcall_version, machine_.NowNs());
    writer.Add(bundle::kObservedName, Observed());
    if (options_.sources) writer.Add(bundle::kSourcesName, DescribeSources(trace_));
    writer.Add(bundle::kEnvironmentName, Environment());
    // Small members, and those on which other members depend, come first: a bundle may be
    // truncated.
    for (const bool rings : {false, true}) {
      for (const File& file : files_) {
        const bool is_large = file.format == &kRingFormat || file.format == &kDumpFormat;
        if (is_large == rings) AddFile(file, &writer);
      }
    }
    result_.written = writer.Finish();
    result_.packed_bytes = writer.packed_bytes();
    if (!result_.written) result_.error = writer.error();
    return std::move(result_);
  }

 private:
  void ListFiles(const std::vector<FoundInput>& found) {
    for (const auto& [input, format] : found) {
      if (format == &kLogFormat) continue;  // most of its lines are of no use, and may be private
      std::error_code ignored;
      if (fs::equivalent(input.path, path_, ignored)) continue;  // about to be written over
      std::string name = input.name;
      if (!input.asked_for) {
        name = fs::path(input.path).lexically_relative(inputs_[input.input]).string();
      }
      files_.push_back({input.path, input.PathToOpen(), input.input, std::move(name), format});
      if (format == &kRingFormat) NoteRing(files_.back());
    }
  }

  // Notes the ring's job, and what identifies its process in a journal.
  void NoteRing(const File& file) {
    const auto opened = OpenRegularFile(file.path_to_open, bundle::kMaxPackedBytes);
    if (!opened) return;
    FileSource source(opened->fd.get());
    const RingSnapshot ring = ReadRing(source, file.path, ImageDepth::kState);
    if (!ring.usable) return;
    jobs_[file.input].insert(ring.header.job_key);
    rings_[file.path] = {
        RingId(ring.header),
        ring.activity,
        {ring.header.pid, ring.header.process_start_ticks, ring.header.pid_namespace}};
  }

  bool HoldsTwoJobs() {
    if (jobs_.empty()) return false;
    const auto& [first, jobs] = *jobs_.begin();
    for (const auto& [input, others] : jobs_) {
      std::set<uint64_t> both;
      for (const uint64_t job : others) {
        if (jobs.contains(job)) both.insert(job);
      }
      if (!both.empty()) continue;
      result_.error = fmt::format("{} is of another job than {}: make a bundle of each",
                                  inputs_[input], inputs_[first]);
      return true;
    }
    return false;
  }

  // The observations that only this machine can make, as lines of a journal.
  std::string Observed() const {
    std::string text;
    for (const Process& process : trace_.processes) {
      if (const auto* ring = FindOrNull(rings_, process.source)) {
        text += DescribeProcess(process, *ring);
      }
    }
    return text + DescribeCodes(trace_);
  }

  std::string Environment() const {
    ProcessTable processes;
    for (const Process& process : trace_.processes) {
      // One rank represents all ranks, because their environments differ only in the rank number.
      const auto ring = rings_.find(process.source);
      if (process.end.how != ProcessEnd::How::kAlive || ring == rings_.end()) continue;
      const Variables variables = EnvironmentOf(processes.Find(ring->second.writer).pid);
      if (!variables.empty()) {
        return DescribeEnvironment(variables, fmt::format("rank {}", process.rank));
      }
    }
    return DescribeEnvironment(options_.environment, "rollcall bundle");
  }

  void AddFile(const File& file, bundle::Writer* writer) {
    const auto opened = OpenRegularFile(file.path_to_open, bundle::kMaxPackedBytes);
    if (!opened) {
      result_.problems.push_back({ProblemCode::kUnreadable, opened.error(), file.path});
      return;
    }
    FileSource source(opened->fd.get());
    const std::string name = fmt::format("{}/{}", file.input, file.name);
    result_.trace_bytes += source.Size();
    if (file.format == &kBundleFormat) {
      AddMembers(&source, file, writer);
      return;
    }
    const std::optional<std::vector<uint8_t>> bytes =
        file.format == &kRingFormat ? RingBytes(&source, file.path) : AllBytes(&source, file.path);
    if (!bytes || !writer->Add(name, *bytes, opened->stamp.modified_ns)) return;
    result_.rings += file.format == &kRingFormat ? 1 : 0;
    result_.journals += file.format == &kJournalFormat ? 1 : 0;
    result_.dumps += file.format == &kDumpFormat ? 1 : 0;
  }

  void AddMembers(ByteSource* source, const File& file, bundle::Writer* writer) {
    bundle::ReadBundle(
        *source, file.path,
        [&](bundle::Member member) {
          MemorySource bytes(member.bytes);
          result_.rings += IsRing(member.name, &bytes) ? 1 : 0;
          writer->Add(fmt::format("{}/{}", file.input, member.name), member.bytes,
                      member.modified_ns);
        },
        [](const Problem&) {});  // LoadInputs() has reported it
  }

  // Returns the ring's image, which is small and consistent although the process may be writing. A
  // damaged ring is kept as it is, so that a reader of the bundle sees the damage.
  std::optional<std::vector<uint8_t>> RingBytes(ByteSource* source, const std::string& path) {
    const RingImage image = TakeImage(*source, path);
    if (image.usable && ParseImage(image).problems.empty()) return PackImage(image);
    return AllBytes(source, path);
  }

  std::optional<std::vector<uint8_t>> AllBytes(ByteSource* source, const std::string& path) {
    std::vector<uint8_t> bytes;
    if (source->Size() > bundle::kMaxMemberBytes) {
      result_.problems.push_back({ProblemCode::kOverLimit,
                                  fmt::format("{} bytes: not put into the bundle", source->Size()),
                                  path});
      return std::nullopt;
    }
    bytes.resize(source->Size());
    bytes.resize(source->Read(0, bytes.data(), bytes.size()));
    return bytes;
  }

  const std::vector<std::string>& inputs_;
  const std::string& path_;
  const CollectOptions& options_;
  Machine& machine_;
  Trace trace_;
  std::vector<File> files_;
  std::map<size_t, std::set<uint64_t>> jobs_;         // by input, if it has rings
  std::unordered_map<std::string, RingState> rings_;  // by path
  Collected result_;
};

}  // namespace

Collected Collect(const std::vector<std::string>& inputs, const std::string& path,
                  const CollectOptions& options, Machine& machine) {
  return Collector(inputs, path, options, &machine).Collect();
}

}  // namespace rollcall::collect
