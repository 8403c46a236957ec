// SPDX-License-Identifier: Apache-2.0
// Builds a trace call by call, as a job would have made it: numbers collectives, interns arguments
// and call paths, keeps requests and channels. For text traces and generated traces; importers of
// recorded jobs fill a Trace themselves.
#ifndef ROLLCALL_TESTS_SUPPORT_TRACE_BUILDER_H_
#define ROLLCALL_TESTS_SUPPORT_TRACE_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/model/trace.h"
#include "tests/support/trace_data.h"

namespace rollcall {

// One call of one rank, with all its properties.
struct Call {
  Operation operation = Operation::kNone;
  uint32_t communicator = 0;  // as returned by TraceBuilder::AddCommunicator; 0 is the world
  Arguments arguments;        // operation, signatures and semantic hash are filled in
  std::vector<uint64_t> send_counts;  // v-collectives
  std::vector<uint64_t> recv_counts;
  std::vector<SourceFrame> path;  // innermost first
  bool path_cut = false;
  // Where the main thread was, for a call of a thread that runs no Python; innermost first.
  std::vector<SourceFrame> context;
  std::string request;                // name of the request made
  std::vector<std::string> requests;  // names of the requests waited for
  uint32_t partitions = 0;            // number for Psend_init; number that a Pready marks
  uint32_t thread = 0;
  int64_t took_ns = 500;  // from entry to return, if it returns
  // What it exchanges: of a nonblocking collective the input only, of a Start the input of the
  // (first) request, of a Wait the result of its (first) request.
  CallData data = {};
  // For a poll: how long it has polled tightly at the time of the snapshot; kNoTime: since its
  // call.
  int64_t polls_tightly_ns = kNoTime;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(int ranks, int thread_level = 0);

  // `ranks` and `remote_ranks` are world ranks by local rank.
  uint32_t AddCommunicator(const std::string& name, std::vector<int32_t> members,
                           std::vector<int32_t> remote_ranks = {});
  // The communicator joins processes that were started separately: see HasOutsiders().
  void MarkSpawned(uint32_t communicator) {
    trace_.communicators[communicator].flags |= ring::kWeakIdentity;
  }
  // Gives a communicator a topology of the kind `flag`. `in` and `out` are the neighbors by local
  // rank, in the order of MPI. False if the topology has fewer places than the communicator has
  // members.
  bool SetTopology(uint32_t communicator, ring::MemberFlag flag,
                   const std::vector<std::vector<int32_t>>& in,
                   const std::vector<std::vector<int32_t>>& out);
  bool IsMember(int rank, uint32_t communicator) const {
    return MemberOf(rank, communicator) != kNoIndex;
  }
  // A basic type by its MPI name; kNoIndex if there is none.
  uint32_t Datatype(const std::string& name);
  uint32_t AddDatatype(const std::string& name, uint32_t of, uint64_t count);

  // The call was made and returned. The rank must be a member of the call's communicator.
  void Complete(int rank, const Call& call);
  // MPI rejected the call: it returned this error and did not take part.
  void Reject(int rank, const Call& call, ErrorClass error);
  // The call took part, and returned an error of this number.
  void Fail(int rank, const Call& call, uint64_t error);
  // The rank is inside the call and does not return.
  void Open(int rank, const Call& call);
  // On a device: the call is enqueued and not complete; `running` if it was seen to have begun on
  // the device. Between the outermost GroupStart() and GroupEnd() of a thread, calls are not passed
  // to the device.
  void Enqueue(int rank, const Call& call, bool running);
  void GroupStart(int rank, const Call& call);
  void GroupEnd(int rank, const Call& call);
  // Creates a communicator that is identified by `id`.
  void Create(int rank, const std::string& id, int32_t rank_passed, int32_t size, const Call& call,
              bool returned);
  // The ranks are devices of one host process with one thread: a wait of one blocks the others.
  void ShareProcess(const std::vector<int32_t>& ranks);
  // The last call of a thread was an unsuccessful poll: of its requests, or `probe`, if that names
  // an operation. The thread is the main thread unless `probe` names another. `tightly`: see
  // Thread::polls_tightly_since_ns.
  void Poll(int rank, bool tightly, const Call& probe = {});
  void AddLifecycle(int rank, Operation operation, uint64_t detail,
                    const std::vector<SourceFrame>& path);

  // The objects that `count` such calls made still exist when the rank finalizes.
  void Leave(int rank, uint64_t count, const Call& call);

  Process* process(int rank) { return &trace_.processes[static_cast<size_t>(rank)]; }
  uint32_t InternPath(const std::vector<SourceFrame>& path, bool cut,
                      const std::vector<SourceFrame>& context = {});
  uint32_t WithoutContext(uint32_t path);
  // Removes the first `count` collectives of a rank, as a ring does that overwrites records.
  void LoseFirst(int rank, uint64_t count);
  // Removes `count` of its collectives on a communicator, from `sequence` on.
  void LoseWithin(int rank, uint32_t communicator, uint64_t sequence, uint64_t count);
  // Its rings have room for `room` collectives and as many other calls: the last ones.
  void LimitRecords(int rank, size_t room) { record_room_[rank] = room; }
  // Its ring has room for `room` channels; messages without a channel are counted for any tag of
  // their peer.
  void LimitChannels(int rank, size_t room) { channel_room_[rank] = room; }
  // Its ring has room for the sums of `room` peers; 0: as a ring before version 1.11.
  void LimitPeers(int rank, size_t room) { peer_room_[rank] = room; }
  // The clock of its host is ahead of the clocks of the others.
  void SetClockAhead(int rank, int64_t ns) { clock_ahead_ns_[rank] = ns; }
  // When the newest call began.
  int64_t now_ns() const { return now_ns_; }
  void RemoveRank(int rank) { missing_.push_back(rank); }
  // The snapshot was taken this long after the last call.
  void Idle(int64_t ns) { idle_ns_ = ns; }
  // An uncaught exception ends the rank now.
  void Raise(int rank, UncaughtException exception);
  // A hang was reported now: ranks that have not ended make no progress until they end.
  void VerdictGiven();
  void Source(SourceBlocks source) { trace_.sources.push_back(std::move(source)); }
  uint64_t calls() const { return calls_; }
  // A buffer of rollcall_replica().
  // `text`: see text_trace.md.
  void AddValue(int rank, const std::string& name, const std::string& text,
                const std::vector<SourceFrame>& path);
  void AddReplica(int rank, const std::string& name, const CallData& data, TypeClass type,
                  const std::vector<SourceFrame>& path);
  // The first `count` reads of data of a rank are overwritten.
  void LoseData(int rank, uint64_t count) { lost_data_[rank] = count; }
  // The first text of data that was not understood; empty if there was none.
  const std::string& wrong_data() const { return wrong_data_; }

  // Returns the trace and empties the builder.
  Trace Finish();

 private:
  struct Made {
    Event event;
    Member* member = nullptr;
  };
  Made Make(int rank, const Call& call);
  // The channel of a message. Counted as in a ring: sends when entered (persistent sends when
  // started), receives when complete.
  Channel* ChannelOf(int rank, uint32_t member, int32_t peer, int32_t tag);
  // Counts the messages that a call sends or receives (`sends`); returns the number of the last one
  // on its channel.
  uint64_t Count(int rank, const Event& event, bool sends);
  // The request of `event` was freed before it was complete.
  void MarkReceivesUnseen(int rank, const Event& event);
  void Start(int rank, const Made& made, const Call& call);
  void Mark(int rank, const Call& call);  // partitions
  void Cancel(int rank, const Call& call);
  // Completes the requests that the call waited for or frees.
  void Finish(int rank, const Call& call);
  // Which sides of a call are read now.
  struct Sides {
    bool input;
    bool result;
  };
  void AddData(int rank, const Event& event, uint32_t start, const CallData& data, Sides sides);
  void AddRead(int rank, const Event& event, uint32_t start, DataRead read, MemberData* to);
  uint32_t InternArguments(const Call& call);
  uint32_t MemberOf(int rank, uint32_t communicator) const;
  void AddCheckpoints(Member* member) const;
  void HoldUp();
  void Overwrite(int rank, size_t room);
  void ShiftClock(int rank, int64_t ns);

  Trace trace_;
  int64_t now_ns_ = 1'700'000'000'000'000'000;
  int64_t idle_ns_ = 200'000'000;
  uint64_t calls_ = 0;
  std::vector<int> missing_;
  std::map<int, int64_t> clock_ahead_ns_;
  std::map<int, size_t> channel_room_;
  std::map<int, size_t> record_room_;
  std::map<int, size_t> peer_room_;
  std::map<std::pair<int, uint32_t>, int64_t> polls_tightly_ns_;  // by rank and thread
  struct Hole {
    uint32_t member;
    uint64_t first;
    uint64_t count;
  };
  std::vector<Hole> holes_;
  std::map<int, uint64_t> reads_;  // of data, by rank
  std::map<int, uint64_t> lost_data_;
  std::map<std::pair<int, std::string>, uint64_t> replicas_;
  std::string wrong_data_;
  std::map<std::string, uint64_t> ids_;
  std::map<std::string, uint32_t> datatypes_;
  std::unordered_map<std::string, uint32_t> arguments_;
  std::map<std::string, uint32_t> codes_;
  std::map<std::tuple<std::vector<uint32_t>, bool, uint32_t>, uint32_t> paths_;  // with context
  std::map<std::pair<int, std::string>, uint64_t> requests_;  // by name: the last one made
  uint64_t last_request_ = 0;
  std::map<std::tuple<uint32_t, int32_t, int32_t>, size_t> channels_;  // member, peer, tag
};

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_TRACE_BUILDER_H_
