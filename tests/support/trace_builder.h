// Puts a trace together call by call, as a job would have made it: numbers collectives, interns
// arguments and call paths, keeps requests and channels. For text traces and generated ones;
// importers of recorded jobs fill a Trace themselves.
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

namespace rollcall {

// One call of one rank, with everything that can be said of it.
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
  std::vector<std::string> requests;  // names of those waited for
  uint32_t partitions = 0;            // of Psend_init; that a Pready marks
  uint32_t thread = 0;
  int64_t took_ns = 500;  // from entry to return, if it returns
  // Of a poll, when the picture is taken; kNoTime: since it was made.
  int64_t polls_tightly_ns = kNoTime;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(int ranks, int thread_level = 0);

  // `ranks` and `remote_ranks` are world ranks by local rank.
  uint32_t AddCommunicator(const std::string& name, std::vector<int32_t> members,
                           std::vector<int32_t> remote_ranks = {});
  // The communicator joins what was started apart: see HasOutsiders().
  void MarkSpawned(uint32_t communicator) {
    trace_.communicators[communicator].flags |= ring::kWeakIdentity;
  }
  // Gives a communicator a topology: `flag` says of which kind, `in` and `out` are the neighbors by
  // local rank, as MPI lists them.
  // False if it has fewer places than the communicator has members.
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
  // MPI rejected it: it returned this error, and took no part.
  void Reject(int rank, const Call& call, ErrorClass error);
  // The call took part, and returned an error of this number.
  void Fail(int rank, const Call& call, uint64_t error);
  // The rank is inside it for good.
  void Open(int rank, const Call& call);
  // On a device: enqueued, and not complete; `running` if seen to have begun there. Between the
  // outermost GroupStart() and GroupEnd() of its thread nothing is handed over.
  void Enqueue(int rank, const Call& call, bool running);
  void GroupStart(int rank, const Call& call);
  void GroupEnd(int rank, const Call& call);
  // Of a communicator that is known by `id`; `rank` as passed.
  void Create(int rank, const std::string& id, int32_t rank_passed, int32_t size, const Call& call,
              bool returned);
  // Devices of one host process, which one thread drives: one stands where another waits.
  void ShareProcess(const std::vector<int32_t>& ranks);
  // The last call of a thread, the main one unless `probe` names another, was an unsuccessful poll:
  // of its requests, or `probe`, if that names an operation. `tightly`: as
  // Thread::polls_tightly_since_ns.
  void Poll(int rank, bool tightly, const Call& probe = {});
  void AddLifecycle(int rank, Operation operation, uint64_t detail,
                    const std::vector<SourceFrame>& path);

  // What `count` such calls made is still there when the rank finalizes.
  void Leave(int rank, uint64_t count, const Call& call);

  Process* process(int rank) { return &trace_.processes[static_cast<size_t>(rank)]; }
  uint32_t InternPath(const std::vector<SourceFrame>& path, bool cut,
                      const std::vector<SourceFrame>& context = {});
  // Forgets the first `count` collectives of a rank, as a ring that wrapped.
  void LoseFirst(int rank, uint64_t count);
  // Forgets `count` of its collectives on a communicator, from `sequence` on.
  void LoseWithin(int rank, uint32_t communicator, uint64_t sequence, uint64_t count);
  // Its ring has room for so many channels; what finds none is counted under any tag of its peer.
  void LimitChannels(int rank, size_t room) { channel_room_[rank] = room; }
  // Its host's clock is ahead of that of the others.
  void SetClockAhead(int rank, int64_t ns) { clock_ahead_ns_[rank] = ns; }
  void RemoveRank(int rank) { missing_.push_back(rank); }
  // The picture was taken this long after the last call.
  void Idle(int64_t ns) { idle_ns_ = ns; }
  // An exception that nobody caught ends it now.
  void Raise(int rank, UncaughtException exception);
  // A hang was reported now: those that have not ended stand still until they do.
  void VerdictGiven();
  void Source(SourceBlocks source) { trace_.sources.push_back(std::move(source)); }
  uint64_t calls() const { return calls_; }

  // Empties the builder.
  Trace Finish();

 private:
  struct Made {
    Event event;
    Member* member = nullptr;
  };
  Made Make(int rank, const Call& call);
  // The channel of a message. As a ring counts them: sends when entered (persistent ones when they
  // are started), receives when complete.
  Channel* ChannelOf(int rank, uint32_t member, int32_t peer, int32_t tag);
  // Counts the messages that a call is about, those that it sends or those that it receives;
  // returns the number of the last on its channel.
  uint64_t Count(int rank, const Event& event, bool sends);
  // Its request was freed while it was under way.
  void MarkReceivesUnseen(int rank, const Event& event);
  void Start(int rank, const Made& made, const Call& call);
  void Mark(int rank, const Call& call);  // partitions
  void Cancel(int rank, const Call& call);
  // The requests that the call waited for, or frees, are complete.
  void Finish(int rank, const Call& call);
  uint32_t InternArguments(const Call& call);
  uint32_t MemberOf(int rank, uint32_t communicator) const;
  void AddCheckpoints(Member* member) const;
  void HoldUp();
  void ShiftClock(int rank, int64_t ns);

  Trace trace_;
  int64_t now_ns_ = 1'700'000'000'000'000'000;
  int64_t idle_ns_ = 200'000'000;
  uint64_t calls_ = 0;
  std::vector<int> missing_;
  std::map<int, int64_t> clock_ahead_ns_;
  std::map<int, size_t> channel_room_;
  std::map<std::pair<int, uint32_t>, int64_t> polls_tightly_ns_;  // by rank and thread
  struct Hole {
    uint32_t member;
    uint64_t first;
    uint64_t count;
  };
  std::vector<Hole> holes_;
  std::map<std::string, uint64_t> ids_;
  std::map<std::string, uint32_t> datatypes_;
  std::unordered_map<std::string, uint32_t> arguments_;
  std::map<std::string, uint32_t> codes_;
  std::map<std::tuple<std::vector<uint32_t>, bool, uint32_t>, uint32_t> paths_;  // with context
  std::map<std::pair<int, std::string>, uint64_t> requests_;
  std::map<std::tuple<uint32_t, int32_t, int32_t>, size_t> channels_;  // member, peer, tag
};

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_TRACE_BUILDER_H_
