// SPDX-License-Identifier: Apache-2.0
// The file formats from which traces are read. To add a format, write a file in
// collector/import/formats/ that defines an InputFormat, its declaration below, and a row in
// input_format.cc.
#ifndef ROLLCALL_COLLECTOR_IMPORT_INPUT_FORMAT_H_
#define ROLLCALL_COLLECTOR_IMPORT_INPUT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "collector/base/byte_source.h"
#include "collector/model/trace.h"

namespace rollcall {

class TraceAssembly;

// Larger files are not inputs: only a part of a ring is read, and a journal up to its limit.
inline constexpr uint64_t kMaxInputBytes = uint64_t{1} << 40;

// A file, or a member of a bundle.
struct InputFile {
  std::string path;        // also for messages; of a member, "<bundle>: <member>"
  std::string directory;   // the directory that contains it
  std::string name;        // the last part of the path
  size_t input = 0;        // index of the input that it is, or lies below
  bool asked_for = false;  // named as an input itself: any text is then read as a log
  bool in_bundle = false;
  int64_t modified_ns = kNoTime;  // of a member, as the bundle has it
  std::string opened_by = {};     // the path that opens it; empty: `path` does

  const std::string& PathToOpen() const { return opened_by.empty() ? path : opened_by; }
};

// Adds the contents of one file. Called once, on one thread, in the order of the files.
using AddContent = std::function<void(TraceAssembly*)>;

struct InputFormat {
  // Null: the file does not have this format. The content decides. The name decides only if the
  // content is inconclusive: an empty or overwritten ring is reported, but another file in the
  // directory is not. Damage is a problem of the trace, not a failure. May be called by several
  // threads at once, for different sources. Throws std::bad_alloc only.
  AddContent (*read)(const InputFile& file, ByteSource& bytes);
};

extern const InputFormat kRingFormat;
extern const InputFormat kDumpFormat;  // of PyTorch's Flight Recorder
extern const InputFormat kJournalFormat;
extern const InputFormat kBundleFormat;
extern const InputFormat kKeptSourcesFormat;  // only in bundles
extern const InputFormat kStacksFileFormat;   // of `rollcall attach`
extern const InputFormat kLogFormat;          // text that a job printed

// Whether a file of this name is a copy of a ring in memory. The copy was made while the process
// lived.
bool IsRingCopy(const std::string& name);
// The name or path of the ring itself. Other names are returned as they are.
std::string WithoutCopySuffix(const std::string& name);

// Whether a file is read as a ring.
bool IsRing(const InputFile& file, ByteSource& bytes);

// Both null: the file is not a trace.
struct InputContent {
  const InputFormat* format = nullptr;
  AddContent add;
};
InputContent ReadContent(const InputFile& file, ByteSource& bytes);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_INPUT_FORMAT_H_
