// SPDX-License-Identifier: Apache-2.0
// The contents of each struct in a file of stacks (stacks.md), one line for each member. Reader and
// writer both use these lists. To store another member, add a line; files without the member have
// its default.
#ifndef ROLLCALL_COLLECTOR_ATTACH_STACKS_FIELDS_H_
#define ROLLCALL_COLLECTOR_ATTACH_STACKS_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/observation.h"
#include "collector/attach/stacks.h"
#include "collector/live/process_state.h"
#include "collector/model/source_blocks.h"
#include "collector/model/source_frame.h"
#include "collector/model/trace.h"

namespace rollcall::attach {

template <typename Struct, typename Member>
struct Field {
  std::string_view name;
  Member Struct::*member;
  // For a list: the number of elements. For a string: the number of bytes; longer strings are cut.
  // For a number: its largest value; a larger number is damage. For an enumeration: its last value;
  // a larger value is from a newer version and is read as the default.
  uint64_t most;
};

template <typename Struct, typename Member>
constexpr Field<Struct, Member> F(std::string_view name, Member Struct::*member, uint64_t most) {
  return {name, member, most};
}
template <typename Enum>
constexpr uint64_t Last(Enum last) {
  return static_cast<uint64_t>(last);
}

inline constexpr uint64_t kAnyNumber = UINT64_MAX;
inline constexpr uint64_t kMaxStackRank = 1 << 22;
inline constexpr uint64_t kMaxMemberRuns = 1 << 16;
inline constexpr uint64_t kMaxAlsoAwaited = 256;
inline constexpr uint64_t kMaxNearbyCalls = 512;
inline constexpr uint64_t kMaxWord = 1024;  // names
inline constexpr uint64_t kMaxText = 16384;

// A LiveFrame whose place is stored separately, as one of the file's frames.
struct StoredFrame {
  uint32_t frame = 0;  // its index, from 0
  uint64_t digest = 0;
  std::vector<PythonInteger> integers = {};
};
struct StoredPlace {
  SourceFrame place = {};
  std::string build_id = {};
};
// The first line; a file with an unsupported version has no other.
struct StacksHeader {
  std::string format = {};
  uint32_t version = 0;
  std::string rollcall = {};
  std::string host = {};
  std::string absent = {};
  int64_t taken_at_ns = kNoTime;
  bool has_rings = false;
};

template <typename Struct>
struct FieldsOf {};  // specializations define kList

template <>
struct FieldsOf<StacksHeader> {
  static constexpr auto kList = std::tuple(F("format", &StacksHeader::format, kMaxWord),
                                           F("version", &StacksHeader::version, kAnyNumber),
                                           F("rollcall", &StacksHeader::rollcall, kMaxWord),
                                           F("host", &StacksHeader::host, kMaxWord),
                                           F("absent", &StacksHeader::absent, kMaxText),
                                           F("taken_at_ns", &StacksHeader::taken_at_ns, kAnyNumber),
                                           F("has_rings", &StacksHeader::has_rings, 1));
};

// `ranks` are in the ranks' lines. `others` is not stored: it only helped to choose the job.
template <>
struct FieldsOf<FoundJob> {
  static constexpr auto kList = std::tuple(
      F("launcher", &FoundJob::launcher, kMaxWord), F("job", &FoundJob::job, kMaxWord),
      F("size", &FoundJob::size, kMaxStackRank), F("all_local", &FoundJob::all_local, 1));
};

template <>
struct FieldsOf<SourceBlocks> {
  static constexpr auto kList = std::tuple(
      F("file", &SourceBlocks::file, kMaxText), F("blocks", &SourceBlocks::blocks, 1 << 16),
      F("flow", &SourceBlocks::flow, 1 << 16), F("decides", &SourceBlocks::conditions, 1 << 16));
};

template <>
struct FieldsOf<SourceCondition> {
  static constexpr auto kList = std::tuple(F("first", &SourceCondition::first, INT32_MAX),
                                           F("last", &SourceCondition::last, INT32_MAX),
                                           F("condition", &SourceCondition::text, kMaxWord));
};

template <>
struct FieldsOf<SourceFlow> {
  static constexpr auto kList = std::tuple(
      F("kind", &SourceFlow::kind, Last(SourceFlow::Kind::kEnd)),
      F("first", &SourceFlow::first, INT32_MAX), F("last", &SourceFlow::last, INT32_MAX),
      F("group", &SourceFlow::group, UINT32_MAX), F("condition", &SourceFlow::condition, kMaxWord));
};

template <>
struct FieldsOf<SourceBlock> {
  static constexpr auto kList = std::tuple(
      F("kind", &SourceBlock::kind, Last(SourceBlock::Kind::kArm)),
      F("first", &SourceBlock::first, INT32_MAX), F("last", &SourceBlock::last, INT32_MAX),
      F("branch", &SourceBlock::branch, UINT32_MAX), F("subject", &SourceBlock::subject, kMaxWord),
      F("value", &SourceBlock::value, kMaxWord), F("equal", &SourceBlock::equal, 1));
};

template <>
struct FieldsOf<StoredPlace> {
  static constexpr auto kList = std::tuple(F("place", &StoredPlace::place, 0),
                                           F("build_id", &StoredPlace::build_id, kMaxWord));
};

template <>
struct FieldsOf<SourceFrame> {
  static constexpr auto kList = std::tuple(
      F("function", &SourceFrame::function, kMaxText), F("file", &SourceFrame::file, kMaxText),
      F("line", &SourceFrame::line, INT32_MAX),
      F("language", &SourceFrame::language, Last(Language::kPython)),
      F("module", &SourceFrame::module, kMaxText), F("vaddr", &SourceFrame::vaddr, kAnyNumber),
      F("inlined", &SourceFrame::inlined, 1),
      F("detail", &SourceFrame::detail, Last(FrameDetail::kModule)),
      F("symbol_offset", &SourceFrame::symbol_offset, kAnyNumber),
      F("note", &SourceFrame::note, kMaxText));
};

template <>
struct FieldsOf<ObservedRank> {
  static constexpr auto kList =
      std::tuple(F("process", &ObservedRank::rank, 0), F("first", &ObservedRank::first, 0),
                 F("second", &ObservedRank::second, 0), F("host", &ObservedRank::host, kMaxWord),
                 F("core", &ObservedRank::core, 0));
};

template <>
struct FieldsOf<CoreEnd> {
  static constexpr auto kList =
      std::tuple(F("file", &CoreEnd::file, kMaxText), F("signal", &CoreEnd::signal, 128),
                 F("fault", &CoreEnd::fault, 1));
};

template <>
struct FieldsOf<JobRank> {
  static constexpr auto kList = std::tuple(
      F("rank", &JobRank::rank, kMaxStackRank), F("pid", &JobRank::pid, INT32_MAX),
      F("start_ticks", &JobRank::start_ticks, kAnyNumber), F("name", &JobRank::name, kMaxWord),
      F("executable", &JobRank::executable, kMaxText), F("helpers", &JobRank::helpers, 4096),
      F("communicates", &JobRank::communicates, 1));
};

template <>
struct FieldsOf<RankSample> {
  static constexpr auto kList =
      std::tuple(F("state", &RankSample::state, 0), F("threads", &RankSample::threads, 1024),
                 F("other_threads", &RankSample::other_threads, Last(OtherThreads::kCallers)),
                 F("io_bytes", &RankSample::io_bytes, kAnyNumber),
                 F("error", &RankSample::error, kMaxText), F("helpers", &RankSample::helpers, 64));
};

template <>
struct FieldsOf<ThreadSample> {
  static constexpr auto kList = std::tuple(
      F("tid", &ThreadSample::tid, INT32_MAX), F("name", &ThreadSample::name, kMaxWord),
      F("frames", &ThreadSample::frames, 4096), F("whole", &ThreadSample::whole, 1),
      F("digest", &ThreadSample::digest, kAnyNumber), F("detail", &ThreadSample::detail, kMaxText),
      F("call", &ThreadSample::call, 0), F("more_digests", &ThreadSample::more_digests, 64),
      F("nearby", &ThreadSample::nearby, kMaxNearbyCalls));
};

template <>
struct FieldsOf<NearbyCall> {
  static constexpr auto kList = std::tuple(
      F("callee", &NearbyCall::callee, kMaxText), F("function", &NearbyCall::function, kMaxText),
      F("file", &NearbyCall::file, kMaxText), F("line", &NearbyCall::line, INT32_MAX));
};

template <>
struct FieldsOf<LibraryCall> {
  static constexpr auto kList =
      std::tuple(F("communicator", &LibraryCall::communicator, kMaxWord),
                 F("member_runs", &LibraryCall::member_runs, kMaxMemberRuns),
                 F("of_collective", &LibraryCall::of_collective, 1),
                 F("awaited", &LibraryCall::awaited, kMaxStackRank),
                 F("also_awaited", &LibraryCall::also_awaited, kMaxAlsoAwaited),
                 F("answered", &LibraryCall::answered, kMaxAlsoAwaited),
                 F("outside", &LibraryCall::outside, 1));
};

template <>
struct FieldsOf<StoredFrame> {
  static constexpr auto kList = std::tuple(
      F("frame", &StoredFrame::frame, UINT32_MAX), F("digest", &StoredFrame::digest, kAnyNumber),
      F("integers", &StoredFrame::integers, kMaxPythonIntegers));
};

template <>
struct FieldsOf<PythonInteger> {
  static constexpr auto kList = std::tuple(F("name", &PythonInteger::name, kMaxWord),
                                           F("value", &PythonInteger::value, kAnyNumber));
};

template <>
struct FieldsOf<ProcessState> {
  static constexpr auto kList = std::tuple(F("pid", &ProcessState::pid, INT32_MAX),
                                           F("parent_pid", &ProcessState::parent_pid, INT32_MAX),
                                           F("tracer_pid", &ProcessState::tracer_pid, INT32_MAX),
                                           F("name", &ProcessState::name, kMaxWord),
                                           F("state", &ProcessState::state, Last(RunState::kIdle)),
                                           F("user_ns", &ProcessState::user_ns, kAnyNumber),
                                           F("system_ns", &ProcessState::system_ns, kAnyNumber),
                                           F("start_ticks", &ProcessState::start_ticks, kAnyNumber),
                                           F("sampled_ns", &ProcessState::sampled_ns, kAnyNumber),
                                           F("threads", &ProcessState::threads, 1 << 15));
};

template <>
struct FieldsOf<ThreadState> {
  static constexpr auto kList = std::tuple(
      F("tid", &ThreadState::tid, INT32_MAX), F("name", &ThreadState::name, kMaxWord),
      F("state", &ThreadState::state, Last(RunState::kIdle)),
      F("user_ns", &ThreadState::user_ns, kAnyNumber),
      F("system_ns", &ThreadState::system_ns, kAnyNumber),
      F("cpu_ns", &ThreadState::cpu_ns, kAnyNumber),
      F("start_ticks", &ThreadState::start_ticks, kAnyNumber),
      F("wchan", &ThreadState::wchan, kMaxWord), F("blocked_call", &ThreadState::blocked_call, 0));
};

template <>
struct FieldsOf<BlockedCall> {
  static constexpr auto kList =
      std::tuple(F("number", &BlockedCall::number, kAnyNumber),
                 F("arguments", &BlockedCall::arguments, kAnyNumber),
                 F("stack_pointer", &BlockedCall::stack_pointer, kAnyNumber),
                 F("program_counter", &BlockedCall::program_counter, kAnyNumber));
};

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_STACKS_FIELDS_H_
