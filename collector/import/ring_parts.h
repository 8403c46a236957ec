// SPDX-License-Identifier: Apache-2.0
// The parts of a RingImporter, which imports one ring into a Trace: one class or function for each
// subject, each in its own file. Not thread-safe. Arguments of constructors must outlive the
// objects.
#ifndef ROLLCALL_COLLECTOR_IMPORT_RING_PARTS_H_
#define ROLLCALL_COLLECTOR_IMPORT_RING_PARTS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/base/text.h"
#include "collector/import/device_work.h"
#include "collector/import/interner.h"
#include "collector/import/python_import.h"
#include "collector/import/ring_clock.h"
#include "collector/import/ring_import.h"
#include "collector/import/ring_reader.h"
#include "collector/model/trace.h"

namespace rollcall {

inline std::string CleanName(std::string_view text) { return CleanText(text, 512); }

// Shared by the parts.
struct RingContext {
  RingContext(const RingSnapshot& from, Trace* to)
      : ring(from),
        trace(*to),
        index(static_cast<uint32_t>(to->processes.size())),
        clock(from.header) {}

  // Every time in the ring is a movement.
  int64_t Time(uint64_t ticks) {
    const int64_t ns = clock.ToNs(ticks);
    process.idle_since_ns = std::max(process.idle_since_ns, ns);
    return ns;
  }

  uint64_t Lost(ring::SectionKind kind) const { return ring.lost[static_cast<uint32_t>(kind)]; }
  Operation OperationOf(const Event& event) const {
    return trace.arguments[event.arguments].operation;
  }

  const RingSnapshot& ring;
  Trace& trace;
  const uint32_t index;  // of the process
  RingClock clock;
  Process process;  // moved into the trace when complete
};

// An event with its ticks, which order events even if the rate of the clock is unknown.
struct RingCall {
  uint64_t ticks = 0;
  uint64_t index = 0;  // in its ring
  uint32_t kind = 0;   // ring::RingKind
  uint32_t uid = 0;    // of the member
  bool nested = false;
  Operation failed = Operation::kNone;      // of the call that an error rejected
  ErrorClass rejected = ErrorClass::kNone;  // the error that rejected this call
  uint64_t launch = 0;                      // of an operation on a device, with its stream,
  uint64_t stream = 0;                      // and the member that enqueued it; 0: not seen
  uint32_t enqueued_by = 0;
  bool captured = false;
  uint64_t prev_end_ticks = 0;
  uint64_t end_ticks = 0;
  Event event;
};

// ring_references.cc: converts numbers in records to indices into the Trace; kNoIndex for none.
class RingReferences {
 public:
  RingReferences(RingContext* context, Interner* interner)
      : context_(*context),
        interner_(*interner),
        python_(&context->ring, interner, &context->trace.problems) {}

  // `operation`: the number of the operation in the trace.
  uint32_t Arguments(const RingRecord& from, uint16_t operation);
  // `outer` is the word of another thread's path, or 0.
  uint32_t CallPath(uint64_t word, uint32_t outer = 0);
  uint32_t Datatype(uint16_t number);
  // The arguments of a call of a process group, completed by facts that are only known from the
  // single NCCL collective that the call made.
  uint32_t Completed(uint32_t arguments, uint32_t of_nccl);
  // The arguments of a message. `carrier` identifies the NCCL communicator on which the message is
  // sent.
  uint32_t OnCarrier(uint32_t arguments, uint64_t carrier);

 private:
  uint32_t Counts(uint32_t index);
  uint32_t ReadCallPath(uint64_t word, uint32_t outer);
  bool IsTheShim(uint32_t number) const;
  uint32_t Module(uint32_t number);

  RingContext& context_;
  Interner& interner_;
  PythonImport python_;
  uint64_t path_words_read_ = 0;
  // by the indices of the word and of the outer path
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> paths_;
  std::vector<uint32_t> modules_;  // by number
  std::unordered_map<uint16_t, uint32_t> datatypes_;
};

// ring_process.cc: reads the process from the header. Call it before any time is converted: it may
// replace the context's clock by that of its host.
void ReadProcess(RingContext* context, RingReferences* references,
                 std::unordered_map<std::string, RingClock>* host_clocks);
// NCCL has no finalization: a process without MPI that returns from main has ended normally. Call
// it after the members were read.
void ReadEndWithoutMpi(Process* process);

// ring_members.cc: communicators, and the calls that made NCCL's.
class RingMembers {
 public:
  // Appends the members to the trace, and their drafts to `drafts`.
  RingMembers(RingContext* context, std::vector<MemberDraft>* drafts);

  // Index in Trace::members; kNoIndex for 0 and for members that the ring has lost.
  uint32_t Find(uint32_t uid) const;
  // All of them, in Trace::members.
  std::span<Member> all() const {
    return {context_.trace.members.begin() + first_, context_.trace.members.end()};
  }

  // Notes the call that made a communicator: its place and time. Inside a group, the call returns
  // long before the communicator exists.
  void NoteCreation(uint32_t uid, const Event& call);

  // IsGroupOnDevices() and IsUncertainGroup() of its draft.
  bool IsGroupOnDevice(uint32_t uid) const;
  bool IsUncertain(uint32_t uid) const;
  // Notes that a call of a process group called this NCCL communicator. Returns its key; 0: not
  // known.
  uint64_t NoteCarrier(uint32_t uid);

 private:
  std::vector<ring::RankRun> Runs(uint32_t ref);
  void Add(const ring::Member& recorded, std::vector<MemberDraft>* drafts);
  void AddCreation(const ring::Member& member);

  RingContext& context_;
  std::vector<MemberDraft>& drafts_;
  uint64_t ranks_left_;
  const uint32_t first_;                            // in Trace::members
  std::unordered_map<uint32_t, size_t> creations_;  // by uid, into Trace::creations
};

// ring_device.cc: NCCL operations, and hosts that wait for streams.
class RingDevice {
 public:
  RingDevice(RingContext* context, std::vector<DeviceCall>* calls, std::vector<HostWait>* waits);

  // An operation on a known communicator. Its thread must be in the process already.
  void AddCall(const RingCall& call);
  // An open call, if it waits for a stream.
  void AddHostWait(const ring::Record& record, uint32_t thread);
  // An open call that waits for the operation with this request, which may be added later.
  void AddHostWait(uint64_t request, uint32_t thread);
  // Call it when all calls are added.
  void Finish();
  // A stream number that no program has, for calls of a process group whose streams are not seen.
  static uint64_t UnseenStream(const ring::Record& record);

 private:
  using Stream = std::pair<uint32_t, uint64_t>;  // the member's uid, and the stream
  // Launches that their device itself has reported.
  struct Marked {
    uint64_t completed = 0;
    std::set<uint64_t> outstanding;
  };

  void ReadMark(const ring::Mark& mark);
  void NumberUnseen();

  RingContext& context_;
  std::vector<DeviceCall>& calls_;
  std::vector<HostWait>& waits_;
  const size_t first_;                              // of this process, in the calls
  std::unordered_map<uint64_t, uint32_t> awaited_;  // threads, by request
  std::unordered_map<uint32_t, uint64_t> stopped_;  // launches, by uid
  std::map<Stream, const ring::GpuProgress*> progress_;
  std::map<Stream, Marked> marked_;
};

// ring_events.cc: converts the records of threads to events of the process and its members.
class RingEvents {
 public:
  RingEvents(RingContext* context, RingReferences* references, RingMembers* members,
             RingDevice* device);

  void ReadThread(const RingThread& from);
  // A record as a call of `thread`, in a ring of `kind`.
  RingCall MakeCall(const RingRecord& from, uint32_t kind, uint32_t thread);

  // Valid when all threads are read; by thread.
  const std::vector<RingCall>& p2p() const { return p2p_; }
  // Index in Process::threads, by RingThread::entry; kNoIndex for any other.
  uint32_t FindThread(uint32_t entry) const;

  // Sorts all events and moves those of the process into it. Call it last.
  void Finish();

 private:
  Event Asks(const ring::Polling& polling);
  std::vector<RingCall> CallsOf(const RingThread& from, uint32_t thread);
  void AddLeftover(const RingRecord& from, uint32_t thread);
  void ReserveEvents(const std::vector<RingCall>& calls);
  void FindEnds(const RingThread& from, std::vector<RingCall>* calls);
  void FindRejected(std::vector<RingCall>* calls);
  void ReadOpenCalls(const RingThread& from, uint32_t thread_index, std::vector<RingCall>* calls);
  void AddAwaited(const RingThread& from, const ring::Record& record, bool innermost,
                  OpenCall* open);
  void NoteCarriers(std::vector<RingCall>* calls);
  bool IsUncertain(const ring::Record& record) const;
  static bool IsInnermost(const RingThread& from, size_t depth);
  bool IsOfGroupOnDevice(const ring::Record& record) const;
  // The number that the trace has for the operation of a record.
  uint16_t NumberOf(const ring::Record& record) const;
  void Distribute(const RingCall& call);
  bool IsCall(const Event& event) const;

  RingContext& context_;
  RingReferences& references_;
  RingMembers& members_;
  RingDevice& device_;
  std::vector<RingCall> p2p_;
  std::vector<RingCall> lifecycle_;
  std::unordered_map<uint32_t, uint32_t> thread_by_entry_;
  std::unordered_map<uint32_t, std::vector<uint64_t>> awaited_;  // requests by OpenRequest::waiter
  std::set<uint64_t> on_device_;  // open requests whose operations run on devices
};

// ring_requests.cc: reads the tables of pending requests. Call it when all threads are read:
// `events` has more data about the calls that made the requests than the table. Collectives whose
// records the ring has lost are added to their members.
void ReadOpenRequests(RingContext* context, const RingMembers& members, RingEvents* events);
void ReadChannels(RingContext* context, const RingMembers& members);
// After ReadChannels(): from an older ring, the sums of its channels.
void ReadPeerCounts(RingContext* context, const RingMembers& members);

// ring_values.cc: reads the values of rollcall_value().
void ReadValues(RingContext* context, RingReferences* references);

// ring_data.cc: reads the data of the members' collectives.
void ReadData(RingContext* context, RingReferences* references, const RingMembers& members);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_RING_PARTS_H_
