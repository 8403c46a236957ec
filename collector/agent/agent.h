// One node's agent: watches the rings in its run directory and the processes that write them,
// journals what only the live side can see, and tells the collector.
//
// The job never waits for the agent and never notices its absence: it reads files and holds pidfds,
// it stops nobody except for the moment of a live stack that the collector asked for.
#ifndef ROLLCALL_COLLECTOR_AGENT_AGENT_H_
#define ROLLCALL_COLLECTOR_AGENT_AGENT_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/agent/agent_socket.h"
#include "collector/agent/answers.h"
#include "collector/agent/clock_estimate.h"
#include "collector/agent/journal_tail.h"
#include "collector/agent/ring_sample.h"
#include "collector/agent/thread_watch.h"
#include "collector/agent/transport.h"
#include "collector/base/process_table.h"
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
  int64_t heartbeat_ns = 1'000'000'000;
  // How long the parent's word on an ended process is waited for before the agent says what it
  // knows.
  int64_t parents_word_ns = 300'000'000;
  // Of two ends less than this apart none is taken for the other's consequence. Shorter than
  // kEndOrderBlurNs: one agent sees all the ends of its node. Open MPI, which lost a rank, waits
  // for 1 s before it ends the others.
  int64_t end_order_blur_ns = kEndOrderBlurNs / 2;
  // So long after a process ended its ring is given what it needs and no more.
  int64_t let_go_after_ns = 1'000'000'000;
  // Rings of ended processes that stay open; of more, those that ended well and first are closed.
  size_t most_open_ended = 256;
  // Inode of the pid namespace in which the agent is.
  uint64_t pid_namespace = OwnPidNamespace();
};

// Everything but Wake() belongs to the one thread that calls RunOnce().
class Agent {
 public:
  // `transport` may be null: an agent that only journals. It must outlive the agent.
  Agent(AgentOptions options, Transport* transport);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Waits for something to do, at most `timeout_ms` and never past the next sample, and does it.
  void RunOnce(int timeout_ms);
  // Makes RunOnce() return soon. Any thread, signal-safe.
  void Wake();

  // The collector said that the run is over.
  bool shut_down() const { return shut_down_; }
  bool shut_down_keeps() const { return shut_down_keeps_; }
  // Whether a collector is there.
  bool connected() const { return connection_ != 0; }
  // Processes that were ever seen, and those of them that still live.
  size_t seen() const { return processes_.size(); }
  size_t alive() const;
  // Somebody asked the whole job to stop, rollcall itself or the user through it: what dies from
  // then on dies of that. `at_ns`: CLOCK_MONOTONIC.
  void NoteInterrupted(bool by_rollcall, int64_t at_ns);
  // Signals every process that still lives; for the end of a job that rollcall ends.
  void SignalAll(int signal);
  // Writes every ring that is not in the run directory's file system (a memfd, a deleted file) into
  // it, so that they outlast the agent. Returns how many could not be written.
  size_t PreserveRings();
  const std::vector<std::string>& problems() const { return problems_; }
  // Processes that could not record, by reason.
  const std::map<std::string, uint64_t>& refusals() const { return refusals_; }

 private:
  struct Process {
    std::string name;  // of the ring file
    std::unique_ptr<RingSampler> sampler;
    ProcessWatch watch;
    RingSample sample;
    bool readable = false;
    bool gave_up = false;      // not a ring that this version reads
    bool in_directory = true;  // false: a memfd
    pid_t peer_pid = 0;        // from the socket, if it came that way
    pid_t pid = 0;             // as seen from here
    bool watch_tried = false;
    bool hidden = false;   // in a pid namespace that cannot be seen from here: ends unseen
    int64_t moved_ns = 0;  // CLOCK_MONOTONIC of the first sample that showed this state
    int64_t sampled_ns = 0;
    ThreadWatch threads;
    // The newest line of the journal; activity 0: there is none.
    journal::Quiet journaled_quiet;
    bool quiet = false;
    bool polling = false;
    std::string oom_counter;  // file, and what it said at first
    uint64_t oom_kills = 0;
    bool ended = false;  // gone; how may not be known yet
    bool end_known = false;
    bool let_go = false;   // LetGoOfEnded() has seen to it
    int64_t ended_ns = 0;  // CLOCK_MONOTONIC
    int64_t ended_realtime_ns = 0;
    std::optional<ProcessEnd> journaled_end;  // with a status, as its parent tells it
    // What the collector was told last on this connection.
    bool told = false;
    uint64_t told_activity = 0;
    bool told_quiet = false;
    bool told_ended = false;
    bool told_polling = false;
    bool event_told = false;
    std::vector<MemberSample> told_members;
  };
  struct SnapshotJob {
    uint64_t request = 0;
    std::deque<size_t> processes;
    int64_t settle_until_ns = 0;  // CLOCK_MONOTONIC; 0: at once
    uint64_t newest_records = UINT64_MAX;
    bool compress = false;
    bool batch = false;                         // the collector takes several chunks in one message
    std::optional<rpc::Compressor> compressor;  // from the first on
    std::vector<uint8_t> bytes;                 // of the one being sent, as they are sent
    uint64_t image_bytes = 0;
    size_t offset = 0;
    bool has_bytes = false;
    uint64_t activity_before = 0;
    bool ended_before = false;  // before the bytes were taken
  };

  void Wait(int timeout_ms);
  void ScanRings();
  void AddRing(const std::string& name, int fd, pid_t peer_pid);
  void SampleAll();
  // Its ring's file is there, and the header is not yet.
  static bool IsBeingMade(const Process& process);
  void SampleRingsBeingMade();
  void SampleOne(Process* process);
  void WatchProcess(Process* process);
  static void MarkEnded(Process* process);
  // `may_wait`: for the parent's word, where an end was noticed only now.
  void NoticeEnds(bool may_wait);
  void ResolveEnd(Process* process, bool may_wait);
  void ReclassifyInterruptedEnd(Process* process);
  bool EndedInterrupted(const Process& process) const;
  bool IsSane(const Process& process) const;
  bool EndsAreKnown() const;
  bool EarlierAbnormalEnd(const Process& process) const;
  // A job may run a thousand short programs one after the other.
  void LetGoOfEnded();
  void LetGo(Process* process);
  UniqueFd OpenRing(const std::string& name) const;
  void ReadJournalLines();
  // Writes a line, and tells the collector.
  void Journal(const JournalEvent& event);
  // Likewise, but it is told with the lines that ReadJournalLines() finds next.
  void Append(const JournalEvent& event);
  static journal::ProcessName NameOf(const Process& process);
  void Talk();
  void TellProblems();
  void TellState();
  void FillDigest(Process* process, rpc::ProcessDigest* digest, bool everything);
  // A hang was found: writes down where everybody stands.
  void NoteVerdict(int64_t at_realtime_ns);
  void Handle(const rpc::CollectorMessage& message);
  void HandleClock(const rpc::Clock& answer);
  void PumpSnapshots();
  void TakeSnapshot(SnapshotJob* job, const Process& process);
  // The next piece; the last one of the job says so.
  rpc::SnapshotChunk NextChunk(SnapshotJob* job);
  void JournalQuiet(Process* process, uint64_t activity);
  Process* FindById(uint64_t id);

  const AgentOptions options_;
  Transport* const transport_;
  const ProcSource proc_;
  const int64_t realtime_offset_ns_;  // CLOCK_REALTIME less CLOCK_MONOTONIC
  int wake_fd_ = -1;
  int inotify_fd_ = -1;
  AgentSocket socket_;
  JournalTail journal_;
  std::optional<JournalWriter> journal_writer_;
  Answers answers_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::set<std::string> names_;
  std::vector<std::string> problems_;
  size_t problems_told_ = 0;  // on this connection
  bool told_hidden_ = false;
  std::map<std::string, uint64_t> refusals_;
  std::deque<SnapshotJob> snapshots_;
  bool rescan_ = true;
  bool shut_down_ = false;
  bool shut_down_keeps_ = true;
  std::optional<int64_t> interrupted_ns_;  // CLOCK_MONOTONIC
  bool by_rollcall_ = false;
  int64_t next_sample_ns_ = 0;
  int64_t next_heartbeat_ns_ = 0;
  int64_t next_moving_digest_ns_ = 0;
  int64_t next_clock_ns_ = 0;
  int clocks_came_ = 0;  // on this connection
  ClockEstimate clock_estimate_;
  uint64_t connection_ = 0;
  uint64_t connections_made_ = 0;
  const uint64_t id_;  // random: what names this agent to the collector
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_AGENT_H_
