// SPDX-License-Identifier: Apache-2.0
// The agent of one node: watches the rings in its run directory and the processes that write them,
// journals what only a live observer can see, and reports to the collector.
//
// The job never waits for the agent and does not notice its absence. The agent reads files and
// holds pidfds; it stops processes only for the moment of a live stack that the collector
// requested.
#ifndef ROLLCALL_COLLECTOR_AGENT_AGENT_H_
#define ROLLCALL_COLLECTOR_AGENT_AGENT_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/agent/agent_socket.h"
#include "collector/agent/clock_estimate.h"
#include "collector/agent/journal_tail.h"
#include "collector/agent/request_worker.h"
#include "collector/agent/ring_sample.h"
#include "collector/agent/thread_watch.h"
#include "collector/agent/transport.h"
#include "collector/base/file.h"
#include "collector/base/process_table.h"
#include "collector/base/result.h"
#include "collector/import/journal.h"
#include "collector/live/process_watch.h"
#include "collector/model/trace.h"
#include "collector/rpc/compression.h"

namespace rollcall::agent {

struct AgentOptions {
  std::string run_directory;
  std::string host;
  std::string version;
  int64_t sample_period_ns = 100'000'000;
  // Period of digests of moving processes, and of heartbeats if there are none; twice that in a
  // large job.
  int64_t heartbeat_ns = 1'000'000'000;
  // How long the agent waits for a parent's report on an ended process. After that it reports what
  // it has observed itself.
  int64_t parent_report_timeout_ns = 300'000'000;
  // If two processes end less than this apart, neither end is taken for a consequence of the other.
  // Shorter than kEndOrderBlurNs because one agent sees all ends of its node. After losing a rank,
  // Open MPI waits for one second before it ends the others.
  int64_t end_order_blur_ns = kEndOrderBlurNs / 2;
  // Time after a process's end at which its ring is reduced to the memory that it needs.
  int64_t release_after_ns = 1'000'000'000;
  // Limit for open rings of ended processes; beyond it, the oldest ones whose processes ended
  // normally are closed.
  size_t max_open_ended = 256;
  // Inode of the agent's own pid namespace.
  uint64_t pid_namespace = OwnPidNamespace();
};

// All methods except Wake() must be called by the one thread that calls RunOnce().
class Agent {
 public:
  // `transport` may be null: the agent then only journals. It must outlive the agent.
  Agent(AgentOptions options, Transport* transport);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Waits for work, at most `timeout_ms` and never past the next sample, and then does the work.
  void RunOnce(int timeout_ms);
  // Makes RunOnce() return soon. Callable from any thread; async-signal-safe.
  void Wake() { wake_.Wake(); }

  // The collector has reported that the run is over.
  bool shut_down() const { return shut_down_; }
  bool shut_down_keeps() const { return shut_down_keeps_; }
  // Whether the agent is connected to a collector.
  bool connected() const { return connection_ != 0; }
  // Number of processes ever seen, and number of processes that still live.
  size_t seen() const { return processes_.size(); }
  size_t alive() const;
  // The whole job was asked to stop, by rollcall itself or by the user through rollcall. Deaths
  // from then on count as consequences of this request. `at_ns`: CLOCK_MONOTONIC.
  void NoteInterrupted(bool by_rollcall, int64_t at_ns);
  // Signals every process that still lives; used when rollcall ends a job.
  void SignalAll(int signal);
  // Copies every ring that is not in the run directory's file system (a memfd, a deleted file) into
  // the run directory, so that it outlasts the agent. Returns the number of rings that could not be
  // copied.
  //
  // RunOnce() copies memfds earlier, a few at a time. It copies the rings that have changed when
  // the collector requests rings (each ring at most every ten seconds), when a process has died,
  // when a hang is reported, and when the job is interrupted. It also copies the ring of each
  // process that has ended.
  size_t PreserveRings();
  const std::vector<std::string>& problems() const { return problems_; }
  // Number of processes that could not record, by reason.
  const std::map<std::string, uint64_t>& refusals() const { return refusals_; }

 private:
  struct Process {
    std::string name;  // of the ring file
    std::unique_ptr<RingSampler> sampler;
    ProcessWatch watch;
    RingSample sample;
    bool readable = false;
    bool gave_up = false;      // not a ring that this version can read
    bool in_directory = true;  // false: a memfd whose last copy is not there yet
    bool copy_due = false;     // of such a memfd
    uint64_t copied_activity = 0;
    int64_t copied_ns = 0;  // CLOCK_MONOTONIC; 0: never
    pid_t peer_pid = 0;     // from the socket, if the ring was received there
    pid_t pid = 0;          // in the agent's pid namespace
    bool watch_tried = false;
    bool hidden = false;   // in a pid namespace that is not visible here: its end is not seen
    int64_t moved_ns = 0;  // CLOCK_MONOTONIC of the first sample that showed this state
    int64_t sampled_ns = 0;
    ThreadWatch threads;
    // The newest line in the journal; activity 0: there is none.
    journal::Quiet journaled_quiet;
    bool quiet = false;
    bool polling = false;
    std::string oom_counter;  // the counter's file, and its initial value
    uint64_t oom_kills = 0;
    bool ended = false;  // it has ended; the manner of the end may not be known yet
    bool end_known = false;
    bool released = false;  // ReleaseEnded() has handled it
    int64_t ended_ns = 0;   // CLOCK_MONOTONIC
    int64_t ended_realtime_ns = 0;
    std::optional<ProcessEnd> journaled_end;  // with a status, as reported by its parent
    // What was last sent to the collector on this connection.
    bool sent = false;
    uint64_t sent_activity = 0;
    bool sent_quiet = false;
    bool sent_ended = false;
    bool sent_polling = false;
    bool event_sent = false;
    std::vector<MemberSample> sent_members;
  };
  struct SnapshotJob {
    uint64_t request = 0;
    std::deque<size_t> processes;
    int64_t settle_until_ns = 0;  // CLOCK_MONOTONIC; 0: start at once
    uint64_t newest_records = UINT64_MAX;
    bool compress = false;
    bool batch = false;                         // the collector accepts several chunks per message
    std::optional<rpc::Compressor> compressor;  // created for the first ring
    std::vector<uint8_t> bytes;                 // of the ring being sent, in transfer form
    uint64_t image_bytes = 0;
    size_t offset = 0;
    bool has_bytes = false;
    uint64_t activity_before = 0;
    bool ended_before = false;  // before the bytes were copied
  };

  void Wait(int timeout_ms);
  void ScanRings();
  // `peer_pid`: from the socket, else 0.
  void AddRing(const std::string& name, UniqueFd fd, pid_t peer_pid, bool in_directory);
  // Adds the memfds that an earlier agent of the run directory received from processes that still
  // live.
  void AdoptMemoryRings();
  void SampleAll();
  // True if the process has created the file of the ring and has not written the header.
  static bool IsBeingMade(const Process& process);
  void SampleRingsBeingMade();
  void SampleOne(Process* process);
  void WatchProcess(Process* process);
  static void MarkEnded(Process* process);
  // `may_wait`: whether to wait for the parent's report on an end that was noticed only now.
  void NoticeEnds(bool may_wait);
  void ResolveEnd(Process* process, bool may_wait);
  void ReclassifyInterruptedEnd(Process* process);
  bool EndedInterrupted(const Process& process) const;
  bool FinalizedCleanly(const Process& process) const;
  bool EndsAreKnown() const;
  bool EarlierAbnormalEnd(const Process& process) const;
  // Releases resources of ended processes: a job may run a thousand short programs in sequence.
  void ReleaseEnded();
  void ReleaseProcess(Process* process);
  bool CopyToDirectory(Process* process);
  // Marks copies as due for all memfds that moved since their last copy, unless that copy is
  // younger than `min_age_ns`.
  void RequestCopies(int64_t min_age_ns);
  void PumpCopies();
  UniqueFd OpenRing(const std::string& name) const;
  void ReadJournalLines();
  void SendAnswers();
  // Appends a line to the journal, and sends it to the collector.
  void Journal(const JournalEvent& event);
  // Appends a line to the journal only. ReadJournalLines() finds and sends it later.
  void Append(const JournalEvent& event);
  static journal::ProcessName NameOf(const Process& process);
  // Begins a connection: everything that was sent on earlier connections is sent again.
  void SendHello();
  void SendUpdates();
  void SendProblems();
  int64_t ReportPeriodNs() const;
  void SendState();
  void FillDigest(Process* process, rpc::ProcessDigest* digest, bool everything);
  // A hang was found: journals the state of all processes.
  void NoteVerdict(int64_t at_realtime_ns);
  void Handle(const rpc::CollectorMessage& message);
  // True if the agent sees the processes of all ranks of the job of `of`. All of them run on this
  // node then.
  bool SeesAllRanks(const RingSample& of) const;
  void HandleClock(const rpc::Clock& answer);
  void PumpSnapshots();
  void TakeSnapshot(SnapshotJob* job, const Process& process);
  // The next chunk; the job's last one is marked as such.
  rpc::SnapshotChunk NextChunk(SnapshotJob* job);
  void JournalQuiet(Process* process, uint64_t activity);
  Process* FindById(uint64_t id);

  const AgentOptions options_;
  Transport* const transport_;
  const ProcSource proc_;
  const int64_t realtime_offset_ns_;  // CLOCK_REALTIME minus CLOCK_MONOTONIC
  const WakeFd wake_;                 // declared before request_worker_, whose thread uses it
  const UniqueFd inotify_fd_;
  AgentSocket socket_;
  JournalTail journal_;
  Result<JournalWriter> journal_writer_ = Error{};
  std::mutex answers_mutex_;
  std::vector<std::pair<uint64_t, rpc::AgentMessage>>
      answers_;  // of request_worker_, by connection
  RequestWorker request_worker_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::set<std::string> names_;
  std::vector<std::string> problems_;
  size_t problems_sent_ = 0;  // on this connection
  bool hidden_sent_ = false;
  std::map<std::string, uint64_t> refusals_;
  std::deque<SnapshotJob> snapshots_;
  bool rescan_ = true;
  bool adopted_ = false;
  bool copies_failed_ = false;
  bool shut_down_ = false;
  bool shut_down_keeps_ = true;
  std::optional<int64_t> interrupted_ns_;  // CLOCK_MONOTONIC
  bool by_rollcall_ = false;
  int64_t next_sample_ns_ = 0;
  int64_t next_heartbeat_ns_ = 0;
  int64_t next_moving_digest_ns_ = 0;
  int64_t next_clock_ns_ = 0;
  int clock_answers_ = 0;  // on this connection
  ClockEstimate clock_estimate_;
  uint64_t connection_ = 0;
  uint64_t connections_made_ = 0;
  const uint64_t id_;  // random; identifies this agent to the collector
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_AGENT_H_
