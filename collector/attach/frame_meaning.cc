// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/frame_meaning.h"

#include <cctype>
#include <optional>
#include <unordered_map>

#include "collector/base/find.h"
#include "collector/base/text.h"
#include "collector/matching/gil_wait.h"

namespace rollcall::attach {
namespace {

enum class Match : uint8_t { kIs, kBegins };

struct NativeRow {
  FrameMeaning meaning;
  Match match;
  std::string_view pattern;
};
struct PythonRow {
  FrameMeaning meaning;
  std::string_view file;
  std::string_view function;
};

constexpr NativeRow kNativeRows[] = {
#define FRAME(meaning, match, pattern) {FrameMeaning::k##meaning, Match::k##match, pattern},
#define PYTHON(meaning, file, function)
#include "collector/attach/frames.def"
#undef FRAME
#undef PYTHON
};
constexpr PythonRow kPythonRows[] = {
#define FRAME(meaning, match, pattern)
#define PYTHON(meaning, file, function) {FrameMeaning::k##meaning, file, function},
#include "collector/attach/frames.def"
#undef FRAME
#undef PYTHON
};

// Maps "mpi_allreduce" to MPI_Allreduce; also for NCCL's functions.
const std::unordered_map<std::string, Operation>& OperationsByName() {
  static const auto names = [] {
    std::unordered_map<std::string, Operation> all;
    for (uint16_t number = 1; number < kOperationNumbers; ++number) {
      const OperationInfo& info = FindOperation(number);
      if (!info.name.empty()) all.emplace(ToLower(info.name), info.operation);
    }
    return all;
  }();
  return names;
}

// The operation of "PMPI_Allreduce", "mpi_allreduce_", "mpi_allreduce_f08_", "MPI_Allreduce_c",
// "ompi_mpi_finalize".
Operation OperationOf(std::string_view function) {
  std::string name = ToLower(function);
  if (name.starts_with("ompi_mpi_")) name.erase(0, 5);
  if (name.starts_with("pmpi_") || name.starts_with("pnccl")) name.erase(0, 1);
  for (const std::string_view suffix : {"_", "_", "_f08", "_f08ts", "_f", "_c"}) {
    if (const Operation* found = FindOrNull(OperationsByName(), name)) return *found;
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return FindOr(OperationsByName(), name, Operation::kNone);
}

// The meaning of one frame on its own.
std::optional<FrameMeaning> MeaningOfFrame(const SourceFrame& frame) {
  if (frame.language == Language::kPython) {
    for (const PythonRow& row : kPythonRows) {
      if (!frame.file.ends_with(row.file)) continue;
      // From Python 3.11 on, a method's name has its class as prefix.
      if (row.function.empty() || frame.function == row.function) return row.meaning;
    }
    return std::nullopt;
  }
  for (const NativeRow& row : kNativeRows) {
    const bool fits = row.match == Match::kIs ? frame.function == row.pattern
                                              : frame.function.starts_with(row.pattern);
    if (!fits) continue;
    // User functions may have names with these prefixes.
    const bool by_name = row.meaning == FrameMeaning::kMpi || row.meaning == FrameMeaning::kNccl;
    if (by_name && OperationOf(frame.function) == Operation::kNone) continue;
    return row.meaning;
  }
  return std::nullopt;
}

std::string CallText(FrameMeaning meaning, Operation operation, const SourceFrame& frame) {
  if (operation != Operation::kNone) {
    return std::string(FindOperation(static_cast<uint16_t>(operation)).name);
  }
  if (frame.language == Language::kPython && WaitsForRanks(meaning)) {
    return "torch.distributed." + frame.function;
  }
  return frame.function;
}

}  // namespace

StackMeaning MeaningOf(const std::vector<const SourceFrame*>& frames) {
  StackMeaning best;
  for (size_t i = 0; i < frames.size(); ++i) {
    const std::optional<FrameMeaning> meaning = MeaningOfFrame(*frames[i]);
    if (!meaning || *meaning > best.meaning) continue;
    // Of several frames with the same meaning, the outermost counts: it is the function that the
    // user's code called.
    best.meaning = *meaning;
    best.frame = static_cast<ptrdiff_t>(i);
  }
  // An interpreter without symbols has no take_gil(), so the lock is recognized by its frames.
  const ptrdiff_t gil = best.meaning == FrameMeaning::kLock ? GilFrame(frames) : -1;
  if (gil >= 0) {
    best.meaning = FrameMeaning::kGil;
    best.frame = gil;
  }
  if (best.frame < 0) return best;
  const SourceFrame& frame = *frames[static_cast<size_t>(best.frame)];
  const bool by_name = best.meaning == FrameMeaning::kMpi || best.meaning == FrameMeaning::kNccl;
  if (by_name) best.operation = OperationOf(frame.function);
  // An exiting process may wait for others in MPI_Finalize.
  if (best.meaning == FrameMeaning::kExit) {
    for (const SourceFrame* inner : frames) {
      if (MeaningOfFrame(*inner) == FrameMeaning::kMpi)
        best.operation = OperationOf(inner->function);
    }
  }
  best.call = CallText(best.meaning, best.operation, frame);
  return best;
}

}  // namespace rollcall::attach
