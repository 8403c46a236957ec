// SPDX-License-Identifier: Apache-2.0
// Keeps the state of all processes as the digests report it, and decides whether that state is
// suspicious. A pure state machine: time is an argument, and nothing is sent from here. A suspicion
// is cheap and may be false: it costs a snapshot and a diagnosis, and only the diagnosis is
// reported. Slowness is not a hang, so a diagnosis without a finding delays the next one
// (DiagnosisSchedule).
#ifndef ROLLCALL_COLLECTOR_SERVICE_JOB_STATE_H_
#define ROLLCALL_COLLECTOR_SERVICE_JOB_STATE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "collector/service/progress_times.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

enum class Reason : uint8_t {
  kNone,
  kSomeWait,  // some have waited for a while, others continue
  kAllWait,   // every live process of a world waits and nothing moves
  kEnded,     // a process ended or finalized, others wait
  kMismatch,  // two members' hashes differ at one sequence number, or data has NaN
  kStalled,   // a process is outside any call for stall_after while others wait
};

struct Suspicion {
  Reason reason = Reason::kNone;
  // Changes with the evidence of the suspicion: the same fingerprint gets the same verdict.
  uint64_t fingerprint = 0;
  std::vector<uint64_t> stalled;  // ids, for kStalled
  // Ids of processes that may become stalled: they have been outside every call for half of
  // stall_after.
  std::vector<uint64_t> slow = {};
};

class JobState {
 public:
  struct Options {
    ProgressTimes times = {};
    int64_t some_wait_ns = 300'000'000;
    // Launchers end a job when a rank dies. A hang is reported only if the launcher has not ended
    // the job after this time.
    int64_t ended_ns = 400'000'000;
  };
  explicit JobState(const Options& options) : options_(options) {}

  // `agent` is any number that names a connection. All times are of one monotonic clock.
  void OnDigest(uint64_t agent, const rpc::ProcessDigest& digest, int64_t now_ns);
  void OnProcessEvent(const rpc::ProcessEvent& event);
  // Removes the processes of that connection: the agent is gone, or another one has taken its
  // place.
  void RemoveAgent(uint64_t agent);

  Suspicion Check(int64_t now_ns) const;
  // The rings did not confirm the mismatch: the digests were torn, or of different moments.
  void ClearMismatches();

  // A process' part in a communicator.
  struct Member {
    uint64_t key = 0;
    int32_t size = 0;
    uint64_t entered = 0;  // number of the newest collective
    uint64_t completed = 0;
  };
  // The outermost open call of a thread.
  struct OpenCall {
    uint32_t operation = 0;
    uint64_t key = 0;  // of the communicator; 0: none
    uint64_t sequence = 0;
    int64_t since_ns = 0;
  };
  struct Process {
    uint64_t agent = 0;
    uint64_t id = 0;
    int32_t world_rank = -1;
    int32_t world_size = -1;
    uint64_t job_key = 0;
    uint32_t phase = 0;
    bool inside_start = false;  // inside a call, in ring::Phase::kStarting
    uint64_t activity = 0;
    int64_t idle_since_ns = 0;
    bool quiet = false;
    bool polling = false;
    bool ended = false;
    int64_t gone_since_ns = 0;  // ended or finalized; 0: neither
    bool abnormal = false;      // known only when the manner of the end is known
    std::vector<OpenCall> open_calls;
    std::vector<Member> members;
    bool in_call() const { return !open_calls.empty(); }
    bool aborts() const;  // it is inside MPI_Abort
  };
  // Neither ended nor finalized.
  static bool IsLive(const Process& process);
  // It was observed twice in one call, or polling.
  static bool StandsStill(const Process& process) {
    return process.quiet && (process.in_call() || process.polling);
  }
  // "computing", "in_call", "waiting", "polling" or "ended".
  static std::string_view ActivityOf(const Process& process);
  const std::unordered_map<uint64_t, Process>& processes() const { return processes_; }

  // One communicator, summed over its members.
  struct Progress {
    uint64_t key = 0;
    uint64_t job = 0;
    int32_t size = 0;
    uint64_t entered_by_first = 0;
    uint64_t entered_by_last = UINT64_MAX;   // of the members that have reported
    uint64_t completed_by_all = UINT64_MAX;  // likewise
    size_t waiting = 0;
    int64_t longest_wait_ns = 0;
  };
  // The communicators that have a live member, largest first.
  std::vector<Progress> Communicators(int64_t now_ns) const;
  static constexpr size_t kMaxNameBytes = 64;
  // As the agents' digests have it; empty if not known. At most kMaxNameBytes.
  std::string NameOfCommunicator(uint64_t key) const;
  size_t live() const;
  // Thread-safe. Whether some process records calls. A process that met the others at the store of
  // torch.distributed and recorded nothing else does not count: the calls of its backend are not
  // recorded, or may not be.
  bool ever_seen() const { return ever_started_ || inside_start_ > 0; }

 private:
  struct Seen {
    uint64_t semantic_hash;
    uint64_t id;
  };
  // The newest sequence numbers of one communicator, with the first hash seen for each.
  static constexpr size_t kMarksKept = 256;
  // Digests of further communicators are not compared; their rings can still be fetched.
  static constexpr size_t kCommunicatorsKept = 1 << 16;
  // Of one process.
  static constexpr size_t kMembersKept = 4096;

  static void StoreMember(const rpc::MemberDigest& member, Process* process);
  void CompareHashes(const rpc::MemberDigest& member, uint64_t id);
  using Marks = google::protobuf::RepeatedPtrField<rpc::Mark>;
  void CompareMarks(uint64_t key, const Marks& marks, uint64_t id);

  const Options options_;
  std::unordered_map<uint64_t, Process> processes_;
  std::unordered_map<uint64_t, std::map<uint64_t, Seen>> marks_;  // by key, by sequence
  std::unordered_map<uint64_t, std::string> names_;               // of communicators, by key
  // By process: keys of communicators and numbers of calls with NaN or infinity.
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> non_finite_;
  uint64_t mismatches_ = 0;  // fingerprint of the mismatches found; 0 if none
  std::atomic<bool> ever_started_ = false;
  std::atomic<int64_t> inside_start_ = 0;  // processes with Process::inside_start
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_JOB_STATE_H_
