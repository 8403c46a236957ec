#include "collector/import/ring_import.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "collector/base/text.h"
#include "collector/import/python_import.h"
#include "collector/import/ring_elements.h"
#include "collector/import/trace_builder.h"
#include "collector/symbolize/demangle.h"
#include "proto/datatypes.h"
#include "proto/mpi_errors.h"
#include "proto/signature.h"

namespace rollcall {
namespace {

// Ranks in all the lists of one ring: 500 communicators of 16,384 ranks.
constexpr uint64_t kMaxListedRanks = uint64_t{1} << 23;
// Call paths do not overlap, but one may come with several contexts: so often, on average, each
// word of the table may be read. More is damage that would cost memory without bound.
constexpr uint64_t kMaxReadsPerPathWord = 16;

std::string Clean(std::string_view text) { return CleanText(text, 512); }

// std::stable_sort() of what is in order already, unless it is damaged.
template <typename T, typename Less>
void SortStably(std::vector<T>* all, Less less) {
  if (!std::is_sorted(all->begin(), all->end(), less)) {
    std::stable_sort(all->begin(), all->end(), less);
  }
}

}  // namespace

std::vector<int32_t> ExpandRanks(const std::vector<ring::RankRun>& runs) {
  std::vector<int32_t> ranks;
  for (const ring::RankRun& run : runs) {
    int64_t rank = run.first;
    for (uint32_t i = 0; i < run.count; ++i, rank += run.stride) {
      if (rank < 0 || rank >= int64_t{kMaxRanks}) return {};
      ranks.push_back(static_cast<int32_t>(rank));
    }
  }
  return ranks;
}

// The state of importing one ring.
class ProcessImport {
 public:
  ProcessImport(RingImporter* importer, const RingSnapshot& ring)
      : importer_(*importer),
        trace_(importer->trace_),
        ring_(ring),
        clock_(ring.header),
        python_(&ring, &importer->interner_, &importer->trace_.problems) {}

  uint32_t Run() {
    index_ = static_cast<uint32_t>(trace_.processes.size());
    ReadHeader();
    ReadMembers();
    for (const ring::GpuProgress& entry : ring_.gpu) {
      progress_.emplace(std::pair(entry.member, entry.stream), &entry);
    }
    for (const ring::Mark& mark : ring_.marks) ReadMark(mark);
    for (const ring::OpenRequest& request : ring_.open_requests) {
      if (request.waiter != 0) awaited_[request.waiter].push_back(request.uid);
    }
    for (const RingThread& thread : ring_.threads) ReadThread(thread);
    AddOpenRequests();
    FinishEvents();
    ReadChannels();
    ReadEndOfNccl();
    process_.records_unreadable += ring_.unreadable;
    trace_.problems.insert(trace_.problems.end(), ring_.problems.begin(), ring_.problems.end());
    trace_.processes.push_back(std::move(process_));
    return index_;
  }

 private:
  // An event with the ticks it is ordered by: a clock of unknown rate still orders.
  struct Call {
    uint64_t ticks = 0;
    uint64_t index = 0;  // in its ring
    uint32_t kind = 0;   // ring::RingKind
    uint32_t uid = 0;    // of the member
    bool nested = false;
    Operation failed = Operation::kNone;      // of an error that rejected a call: whose
    ErrorClass rejected = ErrorClass::kNone;  // of the call
    uint64_t launch = 0;                      // of an operation on a device, with its stream
    uint64_t stream = 0;
    bool captured = false;
    uint64_t prev_end_ticks = 0;
    uint64_t end_ticks = 0;
    Event event;
  };

  void ReadHeader() {
    const ring::FileHeader& header = ring_.header;
    process_.source = ring_.source;
    process_.rank =
        header.world_rank >= 0 && header.world_rank < int64_t{kMaxRanks} ? header.world_rank : -1;
    process_.host = Clean(header.host);
    process_.pid = header.pid;
    process_.executable = Clean(header.executable);
    if (header.flavor <= static_cast<uint32_t>(ring::Flavor::kMpiStandardAbi)) {
      process_.flavor = static_cast<ring::Flavor>(header.flavor);
    }
    if (header.thread_level <= 3) process_.thread_level = static_cast<int>(header.thread_level);
    process_.phase = static_cast<ring::Phase>(
        std::min(header.phase, static_cast<uint64_t>(ring::Phase::kFinalized)));
    if (header.exit_mark <= static_cast<uint64_t>(ring::ExitMark::kMpiAbort)) {
      process_.exit_mark = static_cast<ring::ExitMark>(header.exit_mark);
    }
    process_.exit_status = static_cast<int>(header.exit_status);
    process_.errors_seen = header.errors_seen;
    process_.taken_at_ns = ring_.taken_at_ns;
    ReadPythonState();
    process_.table_overflows =
        header.threads_unrecorded + header.calls_unrecorded + Lost(ring::SectionKind::kThreads) +
        Lost(ring::SectionKind::kMembers) + Lost(ring::SectionKind::kOpenRequests);
    process_.gpu = ring_.gpu;
    process_.graphs = header.version_minor >= 3 && header.calls_captured != 0;

    // Processes of one host read one clock, but each took its anchors at its own moments: converted
    // by them, their calls would be out of order by microseconds, and more with every minute.
    const auto host = importer_.host_clocks_.find(process_.host);
    if (host == importer_.host_clocks_.end()) {
      if (clock_.known()) importer_.host_clocks_.emplace(process_.host, clock_);
    } else if (host->second.Fits(header)) {
      clock_ = host->second;
    }

    process_.phase_ns = Time(header.phase_ticks);
    process_.exit_ns = Time(header.exit_ticks);
    process_.exit_call_path = CallPath(header.exit_call_path);
    ReadException();
  }

  void ReadException() {
    const ring::FileHeader& header = ring_.header;
    if (header.version_minor < 5) return;  // these bytes were reserved then
    UncaughtException exception;
    exception.kind = static_cast<ring::ExceptionKind>(header.exception);
    exception.type = Clean(ring_.String(header.exception_type));
    exception.message = Clean(ring_.String(header.exception_message));
    exception.at_ns = Time(header.exception_ticks);
    switch (exception.kind) {
      case ring::ExceptionKind::kPython:
        exception.call_path = CallPath(header.exception_call_path);
        break;
      case ring::ExceptionKind::kCPlusPlus: {
        // abort() may also be called where an exception was caught.
        exception.call_path = CallPath(header.exception_call_path);
        if (!Terminates(exception.call_path)) return;
        constexpr std::string_view kPrefix = "typeinfo for ";
        const std::string name = Demangle("_ZTI" + exception.type, NameStyle::kFull);
        if (name.starts_with(kPrefix)) exception.type = ShortenCxxName(name.substr(kPrefix.size()));
        break;
      }
      default:
        return;
    }
    if (!exception.type.empty()) process_.exception = std::move(exception);
  }

  // Whether the C++ library is on the way from the program to this call. The frame from which it
  // starts a std::thread is not: it has the C library's alone around it.
  bool Terminates(uint32_t call_path) const {
    if (call_path == kNoIndex) return false;
    bool inside_library = false;
    for (const uint32_t code : trace_.call_paths[call_path].codes) {  // innermost first
      const std::string_view path = trace_.codes[code].module_path;
      const std::string_view module = path.substr(path.rfind('/') + 1);
      if (module.starts_with("libstdc++") || module.starts_with("libc++abi")) {
        inside_library = true;
      } else if (inside_library && !module.starts_with("libc.so") &&
                 !module.starts_with("libpthread")) {
        return true;
      }
    }
    return false;
  }

  void ReadPythonState() {
    const ring::FileHeader& header = ring_.header;
    if (header.version_minor == 0) return;  // these bytes were reserved then
    if (header.python_state > static_cast<uint32_t>(ring::PythonState::kOff)) return;
    process_.python_version = header.python_version;
    process_.python_state = static_cast<ring::PythonState>(header.python_state);
    if (header.python_off <= static_cast<uint32_t>(ring::PythonOff::kNoMemory)) {
      process_.python_off = static_cast<ring::PythonOff>(header.python_off);
    }
    process_.python_unreadable = header.python_unreadable;
  }

  uint64_t Lost(ring::SectionKind kind) const { return ring_.lost[static_cast<uint32_t>(kind)]; }

  // Every time in the ring is a movement.
  int64_t Time(uint64_t ticks) {
    const int64_t ns = clock_.ToNs(ticks);
    process_.idle_since_ns = std::max(process_.idle_since_ns, ns);
    return ns;
  }

  std::vector<ring::RankRun> Runs(uint32_t ref) {
    std::vector<ring::RankRun> runs =
        ring_.RankList(ref, std::min<uint64_t>(ranks_left_, kMaxRanks));
    for (const ring::RankRun& run : runs) ranks_left_ -= run.count;
    if (runs.empty() && !ring_.String(ref).empty()) {
      trace_.problems.push_back(
          {ProblemCode::kOverLimit, "a list of ranks is too long to be true", ring_.source});
    }
    return runs;
  }

  void ReadMembers() {
    for (const ring::Member& recorded : ring_.members) {
      Member member;
      member.process = index_;
      member.uid = recorded.uid;
      member.rank = recorded.rank;
      member.state = static_cast<ring::MemberState>(recorded.state);
      member.entered = recorded.entered;
      member.completed = recorded.completed;
      // A word that was reserved, and 0, before 1.5.
      member.rejected = recorded.rejected;
      member.neighbors_in = ExpandRanks(Runs(recorded.neighbors_in));
      member.neighbors_out = ExpandRanks(Runs(recorded.neighbors_out));
      ReadCheckpoints(recorded, &member);

      MemberDraft draft;
      draft.key = recorded.key;
      draft.parent_key = recorded.parent_key;
      draft.parent_sequence = recorded.parent_sequence;
      draft.creating_operation = recorded.creating_operation;
      draft.flags = recorded.flags;
      draft.device = static_cast<int32_t>(recorded.device) - 1;
      draft.size = recorded.size;
      draft.remote_size = recorded.remote_size;
      draft.name = CleanText(ring_.String(recorded.name), 128);
      draft.ranks = Runs(recorded.ranks);
      draft.remote_ranks = Runs(recorded.remote_ranks);

      if ((recorded.flags & ring::kIsNccl) != 0) {
        AddNccl(recorded);
        member.stopped = recorded.stopped_launch != 0;
      }
      member_by_uid_.emplace(recorded.uid, static_cast<uint32_t>(trace_.members.size()));
      trace_.members.push_back(std::move(member));
      importer_.drafts_.push_back(std::move(draft));
    }
  }

  void AddNccl(const ring::Member& member) {
    process_.device = true;
    if (member.stopped_launch != 0) {
      stopped_.emplace(member.uid, member.stopped_launch);
    }
    const OperationInfo& info = FindOperation(member.creating_operation);
    if (info.kind != Kind::kNcclInit) return;
    creation_by_uid_.emplace(member.uid, trace_.creations.size());
    Creation creation;
    creation.key = member.key;
    creation.process = index_;
    creation.rank = member.rank;
    creation.size = member.size;
    creation.call = info.name;
    creation.event.start_ns = Time(member.created_ticks);
    // One that failed, or was aborted in its making, nobody waits for.
    const bool over =
        member.in_flight == 0 || member.state == static_cast<uint32_t>(ring::MemberState::kFreed);
    if (over) creation.event.end_ns = creation.event.start_ns;
    trace_.creations.push_back(std::move(creation));
  }

  // The call that made a communicator: where, and when. Inside a group it returns long before the
  // communicator is there.
  void NoteCreation(const Call& call) {
    const auto found = creation_by_uid_.find(call.uid);
    if (found == creation_by_uid_.end()) return;
    Event& event = trace_.creations[found->second].event;
    const bool inside = event.end_ns == kNoTime;
    event = call.event;
    if (inside) event.end_ns = kNoTime;
    if (!inside && event.end_ns == kNoTime) event.end_ns = event.start_ns;
  }

  // NCCL has no end: a process that knows no MPI and returns from main in peace has come to its
  // own.
  void ReadEndOfNccl() {
    const bool only =
        process_.device && process_.flavor == ring::Flavor::kUnknown && process_.thread_level < 0;
    if (!only || process_.exit_mark != ring::ExitMark::kExit || process_.exit_status != 0) return;
    process_.phase = ring::Phase::kFinalized;
    process_.phase_ns = process_.exit_ns;
  }

  static bool IsEnqueued(uint16_t operation) {
    const OperationInfo& info = FindOperation(operation);
    return IsNccl(info.operation) && (info.kind == Kind::kNonblocking ||
                                      info.kind == Kind::kIsend || info.kind == Kind::kIrecv);
  }

  void ReadMark(const ring::Mark& mark) {
    if (mark.member == 0) return;
    Marked& marked = marked_[{mark.member, mark.stream}];
    if (mark.written == mark.number) {
      marked.completed = std::max(marked.completed, mark.launch);
    } else {
      marked.outstanding.insert(mark.launch);
    }
  }

  void AddDeviceCall(const Call& call) {
    DeviceCall work;
    work.process = index_;
    work.launch = call.launch;
    work.stream = call.stream;
    work.event = call.event;
    const Thread& thread = process_.threads[call.event.thread];
    const auto found = progress_.find({call.uid, call.stream});
    const ring::GpuProgress* progress = found == progress_.end() ? nullptr : found->second;
    const bool launched = progress != nullptr && call.launch <= progress->enqueued;
    if (launched) {
      const Marked& marked = marked_[{call.uid, call.stream}];
      work.done = call.launch <= std::max(progress->completed, marked.completed);
      work.exact = marked.outstanding.contains(call.launch) || progress->started == call.launch;
    } else if (thread.group.depth != 0) {
      work.held = true;
    } else {
      work.done = call.end_ticks != 0;  // refused: it is on no stream
    }
    const auto stopped = stopped_.find(call.uid);
    work.stopped = !work.done && stopped != stopped_.end() && call.launch <= stopped->second;
    importer_.device_calls_.push_back(work);
  }

  void AddHostWait(const ring::Record& record, uint32_t thread) {
    if (FindOperation(record.operation).kind != Kind::kHostWait || record.detail == 0) return;
    const auto operation = static_cast<Operation>(record.operation);
    HostWait wait;
    wait.process = index_;
    wait.stream = record.detail2;
    wait.any_stream =
        operation == Operation::kcudaDeviceSynchronize || operation == Operation::kcuCtxSynchronize;
    wait.launch = record.detail;
    wait.thread = thread;
    importer_.host_waits_.push_back(wait);
  }

  static void ReadCheckpoints(const ring::Member& recorded, Member* member) {
    std::vector<Checkpoint>& all = member->checkpoints;
    const auto add = [&](const ring::Checkpoint& checkpoint) {
      if (!IsWhole(checkpoint, recorded)) return;
      all.push_back({checkpoint.sequence, checkpoint.semantic_hash, checkpoint.path_hash});
    };
    for (const ring::Checkpoint& checkpoint : recorded.recent) add(checkpoint);
    for (const ring::Checkpoint& checkpoint : recorded.history) add(checkpoint);
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
    const auto same = [](const auto& a, const auto& b) { return a.sequence == b.sequence; };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
  }

  void ReadThread(const RingThread& from) {
    const auto thread_index = static_cast<uint32_t>(process_.threads.size());
    thread_by_entry_.emplace(from.entry, thread_index);
    Thread thread;
    thread.tid = from.state.tid;
    thread.name = Clean(from.state.name);
    thread.main = (from.state.flags & 1) != 0;
    thread.ended = from.state.state == static_cast<uint32_t>(ring::ThreadState::kEnded);
    thread.polls = from.state.polls;
    // Its last call was an unsuccessful Test or Iprobe. That it polls on, others saw.
    const ring::Polling& polling = from.state.polling;
    thread.polling = from.open.empty() && LastCallPolled(from.state);
    if (IsWhole(polling) && IsPoll(FindOperation(polling.operation).kind))
      thread.asks = Asks(polling);
    thread.lost_collectives = from.calls[ring::kCollectiveRing].lost;
    thread.lost_p2p = from.calls[ring::kP2pRing].lost;
    thread.last_end_ns = Time(from.state.last_end_ticks);
    thread.group.depth = static_cast<uint32_t>(from.state.nccl_group >> 32);
    if (thread.group.depth != 0) thread.group.call_path = CallPath(from.state.nccl_group_path);
    process_.threads.push_back(std::move(thread));

    std::vector<Call> calls = CallsOf(from, thread_index);
    FindEnds(from, &calls);
    ReadOpenCalls(from, thread_index, &calls);
    FindRejected(&calls);
    ReserveEvents(calls);
    for (Call& call : calls) {
      call.event.end_ns = Time(call.end_ticks);
      Distribute(call);
    }
  }

  Event Asks(const ring::Polling& polling) {
    RingRecord poll;
    poll.record.operation = polling.operation;
    poll.record.start_ticks = polling.since_ticks;
    poll.record.member = polling.member;
    poll.record.root_or_peer = polling.peer;
    poll.record.tag = polling.tag;
    poll.record.call_path = polling.call_path;
    poll.record.request = polling.request;
    return MakeCall(poll, ring::kP2pRing, static_cast<uint32_t>(process_.threads.size())).event;
  }

  // Both rings in one order. Each is in order by itself, so that merging them is enough.
  std::vector<Call> CallsOf(const RingThread& from, uint32_t thread) {
    std::array<std::vector<Call>, ring::kRingKinds> rings;
    for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
      rings[kind].reserve(from.calls[kind].records.size());
      for (const RingRecord& record : from.calls[kind].records) {
        if (record.record.operation == static_cast<uint16_t>(Operation::kLeftover)) {
          AddLeftover(record, thread);
        } else {
          rings[kind].push_back(MakeCall(record, kind, thread));
        }
      }
      SortStably(&rings[kind], Earlier);
    }
    std::vector<Call> calls(rings[0].size() + rings[1].size());
    std::merge(rings[0].begin(), rings[0].end(), rings[1].begin(), rings[1].end(), calls.begin(),
               Earlier);
    return calls;
  }

  void AddLeftover(const RingRecord& from, uint32_t thread) {
    RingRecord made = from;
    made.record.operation = static_cast<uint16_t>(from.record.detail2);
    made.record.detail2 = 0;
    if (InfoOf(made.record.operation).kind == Kind::kNone) return;  // of a newer version
    process_.leftovers.push_back(MakeCall(made, ring::kCollectiveRing, thread).event);
  }

  static bool Earlier(const Call& a, const Call& b) { return a.ticks < b.ticks; }

  // Events are most of a trace: what a growing vector has to spare would be half as much again.
  void ReserveEvents(const std::vector<Call>& calls) {
    std::unordered_map<uint32_t, size_t> counts;
    uint32_t last = kNoIndex;
    size_t* count = nullptr;
    for (const Call& call : calls) {
      if (call.kind == ring::kP2pRing || call.event.sequence == 0) continue;
      if (call.rejected != ErrorClass::kNone || !IsCall(call.event)) continue;
      if (call.event.member == kNoIndex) continue;
      if (count == nullptr || call.event.member != last) {
        last = call.event.member;
        count = &counts[last];
      }
      ++*count;
    }
    for (const auto& [member, more] : counts) {
      std::vector<Event>& events = trace_.members[member].events;
      // Of the first thread just enough; of a thousand threads not a thousand copies.
      const size_t wanted = events.size() + more;
      if (wanted > events.capacity()) events.reserve(std::max(wanted, 2 * events.capacity()));
    }
  }

  Call MakeCall(const RingRecord& from, uint32_t kind, uint32_t thread) {
    const ring::Record& record = from.record;
    Call call;
    call.ticks = record.start_ticks;
    call.index = from.index;
    call.kind = kind;
    call.uid = record.member;
    call.nested = (record.flags & ring::kNested) != 0;
    call.prev_end_ticks = record.prev_end_ticks;
    if ((record.flags & ring::kRejected) != 0) {
      call.failed = static_cast<Operation>(record.detail2);
    }
    Event& event = call.event;
    event.sequence = record.sequence;
    event.start_ns = Time(record.start_ticks);
    event.request = record.request;
    event.detail = record.detail;
    if (IsEnqueued(record.operation)) {
      call.launch = record.detail;
      call.stream = record.detail2;
      call.captured = (record.flags & ring::kCaptured) != 0;
      event.detail = record.request;
    }
    event.arguments = Arguments(from);
    event.call_path = CallPath(record.call_path, record.context_path);
    const auto member = member_by_uid_.find(record.member);
    if (record.member != 0 && member != member_by_uid_.end()) {
      event.member = member->second;
    }
    event.thread = thread;
    return call;
  }

  // A record tells when the thread's previous call ended. Calls made inside a call (kNested) end,
  // at the latest, with it.
  void FindEnds(const RingThread& from, std::vector<Call>* calls) {
    // Between the last lost record of one ring and the first kept one, calls are missing, and
    // "previous" may be one of them.
    std::array<uint64_t, ring::kRingKinds> complete_from{};
    for (const Call& call : *calls) {
      if (complete_from[call.kind] == 0) complete_from[call.kind] = call.ticks;
    }
    uint64_t complete_ticks = 0;
    for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
      if (from.calls[kind].lost == 0) continue;
      complete_ticks =
          std::max(complete_ticks, complete_from[kind] == 0 ? ~uint64_t{0} : complete_from[kind]);
    }
    // An error is noted after its call with that call's words, the previous end among them.
    std::vector<Call*> running;
    const auto end_all = [&](uint64_t ticks) {
      for (Call* call : running) {
        if (ticks >= call->ticks && call->ticks >= complete_ticks) call->end_ticks = ticks;
      }
      running.clear();
    };
    for (Call& call : *calls) {
      if (!IsCall(call.event)) continue;
      if (!call.nested) end_all(call.prev_end_ticks);
      running.push_back(&call);
    }
    end_all(from.state.last_end_ticks);
  }

  // An error stands behind its call in the same ring, with that call's words. Calls between the two
  // were made inside it, by an error handler of the program's.
  void FindRejected(std::vector<Call>* calls) {
    constexpr size_t kMostBetween = 64;
    for (size_t i = 0; i < calls->size(); ++i) {
      const Call& error = (*calls)[i];
      if (error.failed == Operation::kNone) continue;
      const ErrorClass found = FindErrorClass(process_.flavor, error.event.detail).error;
      for (size_t back = 1; back <= std::min(i, kMostBetween); ++back) {
        Call& call = (*calls)[i - back];
        const bool same = call.kind == error.kind && call.uid == error.uid &&
                          call.event.sequence == error.event.sequence &&
                          call.event.call_path == error.event.call_path &&
                          OperationOf(call.event) == error.failed;
        if (!same || call.rejected != ErrorClass::kNone) continue;
        call.rejected = found;
        break;
      }
    }
  }

  void ReadOpenCalls(const RingThread& from, uint32_t thread_index, std::vector<Call>* calls) {
    std::vector<Call> added;
    for (size_t depth = 0; depth < from.open.size(); ++depth) {
      const ring::Record& record = from.open[depth];
      OpenCall open;
      open.depth = static_cast<uint32_t>(depth);
      const uint64_t index = record.lock / 2 - 1;
      // From the end: what is open is among the newest.
      const auto same = std::find_if(calls->rbegin(), calls->rend(), [&](const Call& call) {
        return call.index == index && call.ticks == record.start_ticks &&
               call.event.sequence == record.sequence && call.uid == record.member &&
               OperationOf(call.event) == static_cast<Operation>(record.operation);
      });
      if (same != calls->rend()) {
        same->end_ticks = 0;
        open.event = same->event;
      } else {
        RingRecord lost;
        lost.index = index;
        lost.record = record;
        if (record.continuations != 0) lost.record.flags |= ring::kCountsCut;
        const bool numbered = record.sequence != 0;
        Call call = MakeCall(lost, numbered ? ring::kCollectiveRing : ring::kP2pRing, thread_index);
        open.event = call.event;
        if (numbered) added.push_back(call);
      }
      AddAwaited(from, record, depth + 1 == from.open.size(), &open);
      AddHostWait(record, thread_index);
      process_.open_calls.push_back(std::move(open));
    }
    calls->insert(calls->end(), added.begin(), added.end());
  }

  void AddAwaited(const RingThread& from, const ring::Record& record, bool innermost,
                  OpenCall* open) {
    const Rule rule = InfoOf(record.operation).rule;
    if (!innermost || (rule != Rule::kWait && rule != Rule::kTest)) return;
    if (const auto it = awaited_.find(from.entry + 1); it != awaited_.end()) {
      open->requests = it->second;
    }
    if (open->requests.empty() && record.request != 0) open->requests.push_back(record.request);
  }

  void Distribute(const Call& call) {
    if (call.rejected != ErrorClass::kNone) {
      process_.rejected.push_back({.event = call.event, .error = call.rejected});
      lifecycle_.push_back(call);
      return;
    }
    if (call.captured) {
      lifecycle_.push_back(call);
      return;
    }
    const bool enqueued = call.launch != 0;
    if (enqueued && call.event.member != kNoIndex) AddDeviceCall(call);
    if (FindOperation(static_cast<uint16_t>(OperationOf(call.event))).kind == Kind::kNcclInit) {
      NoteCreation(call);
    }
    if (!IsCall(call.event) || (enqueued && call.event.member == kNoIndex)) {
      lifecycle_.push_back(call);
    } else if (call.kind == ring::kP2pRing) {
      p2p_.push_back(call);
    } else if (call.event.sequence != 0 && call.event.member != kNoIndex) {
      trace_.members[call.event.member].events.push_back(call.event);
    } else {
      lifecycle_.push_back(call);
    }
  }

  void AddOpenRequests() {
    std::unordered_map<uint64_t, OpenRequest*> by_uid;
    process_.open_requests.reserve(ring_.open_requests.size());
    for (const ring::OpenRequest& from : ring_.open_requests) {
      OpenRequest request;
      request.uid = from.uid;
      request.state = static_cast<ring::RequestState>(from.state);
      request.starts = from.starts;
      if (static_cast<Operation>(from.record.operation) == Operation::kPsend_init) {
        request.partitions = static_cast<uint32_t>(from.record.detail2);
        request.marked = static_cast<uint32_t>(from.record.detail2 >> 32);
      }
      const auto waiter = thread_by_entry_.find(from.waiter - 1);
      if (from.waiter != 0 && waiter != thread_by_entry_.end()) request.waiter = waiter->second;
      request.cancelled = (from.record.flags & ring::kCancelled) != 0;
      RingRecord record;
      record.record = from.record;
      // Its arguments are those of the call that made it.
      record.record.flags &= static_cast<uint16_t>(~ring::kCancelled);
      if (from.record.continuations != 0) record.record.flags |= ring::kCountsCut;
      request.event = MakeCall(record, ring::kCollectiveRing, 0).event;
      process_.open_requests.push_back(request);
      by_uid.emplace(from.uid, &process_.open_requests.back());
    }
    if (by_uid.empty()) return;
    // The table does not say which thread made the call, nor when it returned; the ring's record
    // does.
    std::unordered_map<uint64_t, bool> in_ring;
    const auto look = [&](const Event& event) {
      const auto it = event.request == 0 ? by_uid.end() : by_uid.find(event.request);
      if (it == by_uid.end()) return;
      Event& own = it->second->event;
      if (event.sequence != own.sequence || event.member != own.member ||
          OperationOf(event) != OperationOf(own)) {
        return;
      }
      // Once started, the table says when and where that was; the ring's record is the
      // initialisation's.
      const bool started = it->second->starts != 0;
      if (!started && event.start_ns != own.start_ns) return;
      if (!started) own = event;
      in_ring[event.request] = true;
    };
    for (const auto& [uid, member] : member_by_uid_) {
      for (const Event& event : trace_.members[member].events) look(event);
    }
    for (const Call& call : p2p_) look(call.event);
    for (const OpenRequest& request : process_.open_requests) {
      const Event& event = request.event;
      if (event.sequence == 0 || event.member == kNoIndex || in_ring.contains(request.uid)) {
        continue;
      }
      if (IsCollective(InfoOf(static_cast<uint16_t>(OperationOf(event))).kind)) {
        trace_.members[event.member].events.push_back(event);
      }
    }
  }

  void FinishEvents() {
    const auto finish = [](std::vector<Call>* calls, std::vector<Event>* events) {
      SortStably(calls, Earlier);
      events->reserve(calls->size());
      for (const Call& call : *calls) events->push_back(call.event);
    };
    finish(&p2p_, &process_.p2p);
    finish(&lifecycle_, &process_.lifecycle);
    for (const auto& [uid, index] : member_by_uid_) {
      Member& member = trace_.members[index];
      std::vector<Event>& events = member.events;
      SortStably(&events, [](const Event& a, const Event& b) { return a.sequence < b.sequence; });
      const auto same = [](const Event& a, const Event& b) { return a.sequence == b.sequence; };
      const auto end = std::unique(events.begin(), events.end(), same);
      process_.records_unreadable += static_cast<uint64_t>(events.end() - end);
      events.erase(end, events.end());
      events.shrink_to_fit();
    }
  }

  void ReadChannels() {
    process_.channels_lost = Lost(ring::SectionKind::kChannels) != 0;
    for (const ring::Channel& channel : ring_.channels) {
      const auto member = member_by_uid_.find(channel.member);
      if (member == member_by_uid_.end()) continue;
      process_.channels.push_back({member->second, channel.peer, channel.tag, channel.sent,
                                   channel.received, (channel.flags & ring::kReceivesUnseen) != 0});
    }
  }

  uint32_t Arguments(const RingRecord& from) {
    const ring::Record& record = from.record;
    rollcall::Arguments arguments;
    arguments.operation = static_cast<Operation>(record.operation);
    arguments.flags = record.flags;
    arguments.reduce_op = record.reduce_op;
    arguments.root_or_peer = record.root_or_peer;
    arguments.tag = record.tag;
    if ((record.flags & ring::kSecondPart) != 0) {
      arguments.peer2 = static_cast<int32_t>(record.detail2 >> 32);
      arguments.tag2 = static_cast<int32_t>(record.detail2);
    }
    arguments.send_count = record.send_count;
    arguments.recv_count = record.recv_count;
    arguments.send_signature = record.send_signature;
    arguments.recv_signature = record.recv_signature;
    arguments.send_datatype = Datatype(record.send_datatype);
    arguments.recv_datatype = Datatype(record.recv_datatype);
    arguments.send_counts = Counts(from.send_counts);
    arguments.recv_counts = Counts(from.recv_counts);
    arguments.semantic_hash = record.semantic_hash;
    return importer_.interner_.Arguments(arguments);
  }

  uint32_t Counts(uint32_t index) {
    return index == kNoIndex ? kNoIndex : importer_.interner_.Counts(ring_.count_arrays[index]);
  }

  uint32_t Datatype(uint16_t number) {
    if (number == 0) return kNoIndex;
    const auto [entry, is_new] = datatypes_.try_emplace(number, kNoIndex);
    if (!is_new) return entry->second;
    DatatypeInfo info;
    if (number < kFirstDerived) {
      const BasicTypeInfo basic = FindBasicType(number);
      if (basic.number == 0) return kNoIndex;
      info.name = basic.name;
      info.basic = number;
      info.bytes = basic.bytes;
      info.signature = BasicSignature(static_cast<uint32_t>(basic.type_class)).hash;
    } else {
      const size_t index = number - kFirstDerived;
      if (number == kNoDatatypeRoom || index >= ring_.datatypes.size()) return kNoIndex;
      const ring::Datatype& from = ring_.datatypes[index];
      info.basic = FindBasicType(static_cast<uint16_t>(from.basic)).number;
      info.name = CleanText(ring_.String(from.name), 128);
      if (info.name.empty()) {
        info.name = info.basic != 0 ? fmt::format("a derived type of {} {}", from.basics,
                                                  FindBasicType(info.basic).name)
                                    : fmt::format("a derived type of {} bytes", from.bytes);
      }
      info.basics = from.basics;
      info.bytes = from.bytes;
      info.signature = from.signature;
    }
    return entry->second = importer_.interner_.Datatype(info);
  }

  // `context` is the word of another thread's path, or 0.
  uint32_t CallPath(uint64_t word, uint32_t context = 0) {
    if (word == 0) return kNoIndex;
    const auto known = paths_.find({word, context});
    if (known != paths_.end()) return known->second;
    return paths_[{word, context}] = ReadCallPath(word, context);
  }

  uint32_t ReadCallPath(uint64_t word, uint32_t context) {
    const std::optional<RingSnapshot::PathView> view = ring_.Path(word);
    const uint64_t words = view ? view->frames.size() + view->python.size() : 0;
    if (!view || path_words_read_ + words > kMaxReadsPerPathWord * ring_.path_words.size()) {
      ++process_.records_unreadable;
      return kNoIndex;
    }
    path_words_read_ += words;
    rollcall::CallPath path;
    path.end = view->header.end <= static_cast<uint8_t>(ring::StackEnd::kNoRoom)
                   ? static_cast<ring::StackEnd>(view->header.end)
                   : ring::StackEnd::kBadFrame;
    path.portable_hash = view->header.portable_hash;
    path.codes.reserve(view->frames.size());
    constexpr uint64_t kAddressMask = (uint64_t{1} << ring::kFrameModuleShift) - 1;
    for (const uint64_t frame : view->frames) {
      path.codes.push_back(importer_.interner_.Code(
          Module(static_cast<uint32_t>(frame >> ring::kFrameModuleShift)), frame & kAddressMask));
    }
    python_.Read(word, *view, &path);
    if (!path.python.empty()) path.native = path.codes;
    path.context = CallPath(context);
    return importer_.interner_.CallPath(path);
  }

  // `number` is 1 + an index; 0 and numbers out of range are "in no module".
  uint32_t Module(uint32_t number) {
    if (number > ring_.modules.size()) number = 0;
    const auto [entry, is_new] = modules_.try_emplace(number, kNoIndex);
    if (!is_new) return entry->second;
    std::string path;
    std::string build_id;
    if (number != 0) {
      const ring::Module& module = ring_.modules[number - 1];
      path = ring_.String(module.path);
      build_id =
          ToHex(module.build_id, std::min<size_t>(module.build_id_bytes, sizeof(module.build_id)));
    }
    return entry->second = importer_.interner_.Module(path, build_id);
  }

  static const OperationInfo& InfoOf(uint16_t operation) { return FindOperation(operation); }
  bool IsCall(const Event& event) const {
    const Operation operation = OperationOf(event);
    return operation != Operation::kCallError && operation != Operation::kThreadExit;
  }

  Operation OperationOf(const Event& event) const {
    return trace_.arguments[event.arguments].operation;
  }

  RingImporter& importer_;
  Trace& trace_;
  const RingSnapshot& ring_;
  RingClock clock_;
  PythonImport python_;
  uint32_t index_ = 0;
  uint64_t ranks_left_ = kMaxListedRanks;
  uint64_t path_words_read_ = 0;
  Process process_;
  std::vector<Call> p2p_;
  std::vector<Call> lifecycle_;
  std::unordered_map<uint32_t, uint32_t> member_by_uid_;
  std::unordered_map<uint32_t, uint64_t> stopped_;        // launches, by uid
  std::unordered_map<uint32_t, size_t> creation_by_uid_;  // into Trace::creations
  std::map<std::pair<uint32_t, uint64_t>, const ring::GpuProgress*> progress_;  // by uid, stream
  // Of launches, what their device told by itself.
  struct Marked {
    uint64_t completed = 0;
    std::set<uint64_t> outstanding;
  };
  std::map<std::pair<uint32_t, uint64_t>, Marked> marked_;       // by uid, stream
  std::unordered_map<uint32_t, uint32_t> thread_by_entry_;       // model index by ThreadEntry index
  std::unordered_map<uint32_t, std::vector<uint64_t>> awaited_;  // requests by OpenRequest::waiter
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> paths_;      // by word index and context's
  std::unordered_map<uint32_t, uint32_t> modules_;
  std::unordered_map<uint16_t, uint32_t> datatypes_;
};

uint32_t RingImporter::Import(const RingSnapshot& snapshot) {
  return ProcessImport(this, snapshot).Run();
}

}  // namespace rollcall
